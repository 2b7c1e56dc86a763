// Dynamic NTK scaling. emozilla 2023; Hugging Face transformers, modeling_rope_utils.py,
// _compute_dynamic_ntk_parameters.
//
//   L > L0:  b' = theta·(factor·L/L0 − (factor − 1))^(r/(r−2)),  else b' = theta;   L = last position + 1, L0 = original, r the
//   channels of the window
//
// Every pair turns with the base of the whole context, also the keys of its beginning: a cache that keeps keys turned
// with an older base computes something else (re-rotate it: turns.h). So a shift of all positions is not without effect.
// Acts on q and k. No parameters.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/encodings/rotary.h"

namespace gnomon {
namespace {

class DynamicNtk final : public Rotary {
 public:
  DynamicNtk(const Options& options, const Shape& shape)
      : Rotary(shape, rotary_window("dynamic_ntk", options, shape)),
        theta_(options.number("theta")),
        factor_(options.number("factor")),
        original_(original_length(options, shape)) {
    if (window().channels == 2)
      throw Error(Fault::usage,
                  "dynamic_ntk: 2 rotated channels give a division by zero; allowed are 4 or more");
  }
  std::vector<double> frequencies() const override {
    return geometric_frequencies(theta_, window().channels);
  }

 protected:
  std::vector<double> frequencies_in(const Reach& reach) const override {
    const double r = double(window().channels), L = reach.length();
    if (L <= original_) return frequencies();
    return geometric_frequencies(theta_ * std::pow(factor_ * L / original_ - (factor_ - 1), r / (r - 2)),
                                 window().channels);
  }

 private:
  const double theta_, factor_, original_;
};

}  // namespace

extern const Entry dynamic_ntk_entry;
const Entry dynamic_ntk_entry = entry<DynamicNtk>(
    {.name = "dynamic_ntk",
     .aliases = {"dynamic", "ntk_dynamic"},
     .title = "Dynamic NTK: the base grows with the context",
     .paper = "https://arxiv.org/abs/2309.00071",
     .formula = "b' = b*(s*L/L0 - (s-1))^(r/(r-2)) for L > L0",
     .latex = R"(\hat{b} = b \left(\frac{s L}{L_0} - (s - 1)\right)^{r/(r-2)} \;\text{for}\; L > L_0)",
     .pitfall = "cached keys keep the base that they were rotated with; L0 is the original training length",
     .year = 2023,
     .relative = false,
     .extrapolates = true,
     .options = rotary_options({factor_option("2"), original_option()})});

}  // namespace gnomon
