// NTK-by-parts, the first code. Peng et al. 2023 (YaRN), https://arxiv.org/abs/2309.00071, section 3.2; the authors'
// LlamaPartNTKScaledRotaryEmbedding.
//
//   d(ρ) = r·ln(L0/(2πρ))/(2·ln theta), r the channels of the window: the pair that turns ρ times in L0 tokens
//   first θ/s and NTK are blended over the pairs d(1.25)..d(0.75), then the result and θ over d(16)..d(2)
//
// Superseded by yarn, which leaves out the NTK part. Acts on q and k. No parameters.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/encodings/ramp.h"
#include "gnomon/encodings/rotary.h"

namespace gnomon {
namespace {

class NtkByParts final : public Rotary {
 public:
  NtkByParts(const Options& options, const Shape& shape)
      : Rotary(shape, rotary_window("ntk_by_parts", options, shape)),
        theta_(options.number("theta")),
        factor_(options.number("factor")),
        original_(original_length(options, shape)) {
    if (window().channels == 2)
      throw Error(Fault::usage,
                  "ntk_by_parts: 2 rotated channels give a division by zero; allowed are 4 or more");
  }
  std::vector<double> frequencies() const override {
    const std::int64_t channels = window().channels;
    const double r = double(channels);
    auto w = geometric_frequencies(theta_, channels);
    const auto ntk = geometric_frequencies(theta_ * std::pow(factor_, r / (r - 2)), channels);
    const Ramp slow = turning_ramp({theta_, original_, channels, true}, 1.25, 0.75),
               fast = turning_ramp({theta_, original_, channels, true}, 16, 2);
    for (std::size_t i = 0; i < w.size(); ++i) {
      const double keep_ntk = 1 - slow.at(double(i)), keep = 1 - fast.at(double(i));
      const double blended = w[i] / factor_ * (1 - keep_ntk) + ntk[i] * keep_ntk;
      w[i] = blended * (1 - keep) + w[i] * keep;
    }
    return w;
  }

 private:
  const double theta_, factor_, original_;
};

}  // namespace

extern const Entry ntk_by_parts_entry;
const Entry ntk_by_parts_entry = entry<NtkByParts>(
    {.name = "ntk_by_parts",
     .aliases = {"by_parts"},
     .title = "NTK-by-parts: interpolate slow pairs, keep fast ones",
     .paper = "https://arxiv.org/abs/2309.00071",
     .formula = "blend of theta/s, NTK and theta by two ramps",
     .latex = R"(\text{a blend of}\; \frac{\theta_i}{s}, \;\text{NTK and}\; \theta_i \;\text{by two ramps})",
     .pitfall = "superseded by yarn; other code uses this name for the method of Llama 3",
     .year = 2023,
     .relative = true,
     .extrapolates = true,
     .options = rotary_options({factor_option("4"), original_option()})});

}  // namespace gnomon
