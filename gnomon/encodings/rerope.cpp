// ReRoPE. Su 2023, https://kexue.fm/archives/9708: rectified rotary position embedding.
//
//   s[h,i,j] = q_iᵀ R(min(p_i − p_j, window)) k_j/√D
//
// No distance beyond the window is ever seen, so a model trained on the window extends without training. For causal masks.
// Acts on q and k, and on rows: far keys have a product of their own. No parameters.
#include "gnomon/encodings/two_pass.h"

namespace gnomon {
namespace {

class Rerope final : public TwoPass {
 public:
  Rerope(const Options& options, const Shape& shape) : TwoPass(options, shape, "rerope") {}

 protected:
  double far_turn(Role role, double) const override { return role == Role::q ? near() : 0; }
};

}  // namespace

extern const Entry rerope_entry;
const Entry rerope_entry = entry<Rerope>(
    {.name = "rerope",
     .title = "ReRoPE: rotary embedding with distances capped at a window",
     .paper = "https://kexue.fm/archives/9708",
     .formula = "q^T R(min(p_i - p_j, w)) k",
     .latex = R"(s_{ij} = \frac{1}{\sqrt{D}}\, q_i^{\top} R\big(\min(p_i - p_j, w)\big)\, k_j)",
     .pitfall = "it needs two products of q and k; one rotated copy of each key in the cache is not enough",
     .year = 2023,
     .relative = true,
     .causal_only = true,
     .extrapolates = true,
     .options = rotary_options({{.name = "window",
                                 .help = "keys this many tokens away or more count as far",
                                 .standard = "64",
                                 .least = 1,
                                 .most = 1000000000.0,
                                 .whole = true}})});

}  // namespace gnomon
