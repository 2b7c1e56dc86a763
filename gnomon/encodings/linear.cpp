// Position interpolation. Chen et al. 2023, https://arxiv.org/abs/2306.15595, section 3.2.
//
//   pair i turns by p·θ_i/factor,   θ_i = theta^(−2i/r), r the channels of the window
//
// Acts on q and k. No parameters. `factor` is the growth of the context: llama.cpp's --rope-freq-scale is its inverse.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/encodings/rotary.h"

namespace gnomon {
namespace {

class Linear final : public Rotary {
 public:
  Linear(const Options& options, const Shape& shape)
      : Rotary(shape, rotary_window("linear", options, shape)),
        theta_(options.number("theta")),
        factor_(options.number("factor")) {}
  std::vector<double> frequencies() const override {
    auto w = geometric_frequencies(theta_, window().channels);
    for (double& x : w) x /= factor_;
    return w;
  }

 private:
  const double theta_, factor_;
};

}  // namespace

extern const Entry linear_entry;
const Entry linear_entry =
    entry<Linear>({.name = "linear",
                   .aliases = {"pi", "position_interpolation", "interpolation"},
                   .title = "Position interpolation: positions divided by a factor",
                   .paper = "https://arxiv.org/abs/2306.15595",
                   .formula = "pair i turns by p*theta_i/s",
                   .latex = R"(\text{pair } i \;\text{turns by}\; p\, \frac{\theta_i}{s})",
                   .pitfall = "the factor is the growth of the context, not its inverse; without "
                              "fine-tuning, near tokens are hard to tell apart",
                   .year = 2023,
                   .relative = true,
                   .extrapolates = true,
                   .options = rotary_options({factor_option("4")})});

}  // namespace gnomon
