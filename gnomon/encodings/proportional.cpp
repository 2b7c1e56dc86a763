// p-RoPE, "proportional" rotary embedding. Barbero et al. 2024, https://arxiv.org/abs/2410.06205, section 6; Gemma 4.
//
//   pair i = (i, i + D/2) of q and k turns by p·θ_i,  θ_i = theta^(−2i/D)/factor for i < ⌊share·D/2⌋, else 0
//
// Only the fast pairs turn. It is not partial RoPE: the exponent has the whole head D, and pairs reach across the halves of
// the whole head. Acts on q and k. No parameters.
#include <cmath>

#include "gnomon/encodings/rotary.h"

namespace gnomon {
namespace {

class Proportional final : public Rotary {
 public:
  Proportional(const Options& options, const Shape& shape)
      : Rotary(shape, rotary_window("proportional", options, shape)),
        theta_(options.number("theta")),
        factor_(options.number("factor")),
        turning_(std::int64_t(options.number("share") * double(window().pairs()))) {}
  std::vector<double> frequencies() const override {
    auto w = geometric_frequencies(theta_, window().channels);
    for (std::size_t i = 0; i < w.size(); ++i) w[i] = i < std::size_t(turning_) ? w[i] / factor_ : 0;
    return w;
  }

 private:
  const double theta_, factor_;
  const std::int64_t turning_;
};

}  // namespace

extern const Entry proportional_entry;
const Entry proportional_entry = entry<Proportional>(
    {.name = "proportional",
     .aliases = {"p_rope", "prope"},
     .title = "p-RoPE: only the fastest pairs turn",
     .paper = "https://arxiv.org/abs/2410.06205",
     .formula = "pair i turns by p*theta^(-2i/D) for i < share*D/2, else not at all",
     .latex =
         R"(\text{pair } i \;\text{turns by}\; p\, \theta^{-2i/D} \;\text{for}\; i < \mathrm{share} \cdot \frac{D}{2}, \;\text{else not at all})",
     .pitfall =
         "it looks like partial RoPE but differs in exponent and pairing; mixing them up raises no error",
     .year = 2024,
     .relative = true,
     .options = rotary_options({{.name = "share",
                                 .help = "share of the pairs that turn, the fastest first",
                                 .standard = "0.75",
                                 .least = 0,
                                 .most = 1},
                                factor_option("1")})});

}  // namespace gnomon
