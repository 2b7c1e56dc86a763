// Self-Extend. Jin et al. 2024, https://arxiv.org/abs/2401.01325, section 3.3, equations 2 to 4.
//
//   p_i − p_j < window: RoPE;   else the distance is ⌊p_i/group⌋ − ⌊p_j/group⌋ + window − ⌊window/group⌋
//
// No training needed. ⌊p/group⌋ depends on where the groups begin, so a shift of all positions is not without effect. For
// causal masks. Acts on q and k, and on rows: far keys have a product of their own. No parameters.
#include <cmath>

#include "gnomon/encodings/two_pass.h"

namespace gnomon {
namespace {

class SelfExtend final : public TwoPass {
 public:
  SelfExtend(const Options& options, const Shape& shape)
      : TwoPass(options, shape, "self_extend"), group_(options.number("group")) {}

 protected:
  double far_turn(Role role, double position) const override {
    const double grouped = std::floor(position / group_);
    return role == Role::q ? grouped + near() - std::floor(near() / group_) : grouped;
  }

 private:
  const double group_;
};

}  // namespace

extern const Entry self_extend_entry;
const Entry self_extend_entry = entry<SelfExtend>(
    {.name = "self_extend",
     .aliases = {"selfextend", "grouped"},
     .title = "Self-Extend: far positions share groups",
     .paper = "https://arxiv.org/abs/2401.01325",
     .formula = "RoPE below w; else distance floor(p_i/G) - floor(p_j/G) + w - floor(w/G)",
     .latex =
         R"(\text{RoPE below}\; w; \;\text{else the distance is}\; \left\lfloor \frac{p_i}{G} \right\rfloor - \left\lfloor \frac{p_j}{G} \right\rfloor + w - \left\lfloor \frac{w}{G} \right\rfloor)",
     .pitfall = "it needs two products of q and k; one rotated copy of each key in the cache is not enough",
     .year = 2024,
     .relative = false,
     .causal_only = true,
     .extrapolates = true,
     .options = rotary_options({{.name = "window",
                                 .help = "keys this many tokens away or more count as far",
                                 .standard = "64",
                                 .least = 1,
                                 .most = 1000000000.0,
                                 .whole = true},
                                {.name = "group",
                                 .help = "size of a group, in tokens",
                                 .standard = "4",
                                 .least = 1,
                                 .most = 1000000000.0,
                                 .whole = true}})});

}  // namespace gnomon
