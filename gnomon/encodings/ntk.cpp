// NTK-aware scaling. bloc97 2023; Peng et al. 2023 (YaRN), https://arxiv.org/abs/2309.00071, section 3.1, definition 1.
//
//   pair i turns by p·b'^(−2i/r),   b' = theta·factor^(r/(r−2)),   r the channels of the window
//
// The slowest pair is interpolated by factor, the fastest not at all. HunYuan's configurations call this "dynamic" and factor
// `alpha` (Hugging Face transformers, modeling_hunyuan_v1_dense.py, compute_ntk_alpha_rope_parameters). Acts on q and k. No parameters. A window of
// two channels has no such base.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/encodings/rotary.h"

namespace gnomon {
namespace {

class Ntk final : public Rotary {
 public:
  Ntk(const Options& options, const Shape& shape)
      : Rotary(shape, rotary_window("ntk", options, shape)),
        theta_(options.number("theta")),
        factor_(options.number("factor")) {
    if (window().channels == 2)
      throw Error(Fault::usage, "ntk: 2 rotated channels give a division by zero; allowed are 4 or more");
  }
  std::vector<double> frequencies() const override {
    const double r = double(window().channels);
    return geometric_frequencies(theta_ * std::pow(factor_, r / (r - 2)), window().channels);
  }

 private:
  const double theta_, factor_;
};

}  // namespace

extern const Entry ntk_entry;
const Entry ntk_entry = entry<Ntk>({.name = "ntk",
                                    .aliases = {"ntk_aware"},
                                    .title = "NTK-aware scaling of the base",
                                    .paper = "https://arxiv.org/abs/2309.00071",
                                    .formula = "b' = b*s^(r/(r-2))",
                                    .latex = R"(\hat{b} = b\, s^{\,r/(r-2)})",
                                    .pitfall = "HunYuan calls the method dynamic and the factor alpha; the "
                                               "exponent uses the number of rotated channels",
                                    .year = 2023,
                                    .relative = true,
                                    .extrapolates = true,
                                    .options = rotary_options({factor_option("4")})});

}  // namespace gnomon
