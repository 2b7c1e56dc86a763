// Llama 3's scaling of the frequencies. Grattafiori et al. 2024, https://arxiv.org/abs/2407.21783; Hugging Face
// transformers, modeling_rope_utils.py, _compute_llama3_parameters.
//
//   λ = 2π/θ_i;   λ < L0/high: θ_i;   λ > L0/low: θ_i/s;   else (1 − σ)·θ_i/s + σ·θ_i,   σ = (L0/λ − low)/(high − low)
//
// low = high, as Llama 4 Scout has it: a step, with nothing between.
// s = factor, L0 = original, low and high = turns in L0. Acts on q and k. No parameters.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/encodings/rotary.h"

namespace gnomon {
namespace {

class Llama3 final : public Rotary {
 public:
  Llama3(const Options& options, const Shape& shape)
      : Rotary(shape, rotary_window("llama3", options, shape)),
        theta_(options.number("theta")),
        factor_(options.number("factor")),
        original_(original_length(options, shape)),
        low_(options.number("low")),
        high_(options.number("high")) {
    if (high_ < low_)
      throw Error(Fault::usage, text("llama3: high=", shortest(high_), " is below low=", shortest(low_)));
  }
  std::vector<double> frequencies() const override {
    auto w = geometric_frequencies(theta_, window().channels);
    for (double& x : w) {
      const double turns = original_ * x / (2 * std::numbers::pi);
      const double keep =
          high_ == low_ ? double(turns > low_) : std::clamp((turns - low_) / (high_ - low_), 0.0, 1.0);
      x = (1 - keep) * x / factor_ + keep * x;
    }
    return w;
  }

 private:
  const double theta_, factor_, original_, low_, high_;
};

}  // namespace

extern const Entry llama3_entry;
const Entry llama3_entry = entry<Llama3>(
    {.name = "llama3",
     .aliases = {"llama", "llama3_1"},
     .title = "Llama 3: slow pairs divided by a factor, medium pairs blended",
     .paper = "https://arxiv.org/abs/2407.21783",
     .formula = "theta_i for more than 4 turns in L0, theta_i/8 for less than 1, a blend between",
     .latex =
         R"(\theta_i \;\text{for more than 4 turns in}\; L_0, \quad \frac{\theta_i}{8} \;\text{for less than 1,}\quad \text{a blend between})",
     .pitfall = "Llama 3.2 has factor 32; L0 is 8192, not the new length",
     .year = 2024,
     .relative = true,
     .extrapolates = true,
     .options = [] {
       auto all = rotary_options(
           {factor_option("8"),
            original_option(),
            {.name = "low",
             .help = "pairs with fewer turns than this over the original length have their frequency divided "
                     "by the factor",
             .standard = "1",
             .least = 0.001,
             .most = 1000000.0},
            {.name = "high",
             .help = "pairs with at least this many turns over the original length keep their frequency",
             .standard = "4",
             .least = 0.001,
             .most = 1000000.0}});
       all[0].standard = "500000";
       return all;
     }()});

}  // namespace gnomon
