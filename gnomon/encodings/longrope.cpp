// LongRoPE. Ding et al. 2024, https://arxiv.org/abs/2402.13753, section 3; Hugging Face transformers, modeling_rope_utils.py,
// _compute_longrope_parameters (Phi-3).
//
//   pair i turns by p·θ_i/λ_i,   λ = short for L ≤ L0, long for L > L0;   L = last position + 1, L0 = original
//   q and k are both multiplied by √(1 + ln s/ln L0), s = factor;   attention_factor=a says it outright
//
// Acts on q and k. No parameters. The lists come from a search; one number stands for all pairs. The switch changes every
// key, also those in a cache.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/encodings/rotary.h"

namespace gnomon {
namespace {

std::vector<double> factors(const Options& options, std::string_view name, const RotaryWindow& window) {
  const auto list = options.numbers(name);
  const std::size_t pairs = std::size_t(window.pairs());
  if (list.size() == 1) return std::vector<double>(pairs, list.front());
  if (list.size() != pairs) {
    throw Error(Fault::usage, text("longrope: ", name, " has ", list.size(),
                                   " factors; allowed are 1, or one per pair: ", pairs));
  }
  return list;
}

class Longrope final : public Rotary {
 public:
  Longrope(const Options& options, const Shape& shape)
      : Rotary(shape, rotary_window("longrope", options, shape)),
        theta_(options.number("theta")),
        factor_(options.number("factor")),
        attention_(options.number("attention_factor")),
        original_(original_length(options, shape)),
        short_(factors(options, "short", window())),
        long_(factors(options, "long", window())) {}
  std::vector<double> frequencies() const override { return divided(short_); }

 protected:
  std::vector<double> frequencies_in(const Reach& reach) const override {
    return divided(reach.length() > original_ ? long_ : short_);
  }
  double scale(Role, double, const Reach&, std::int64_t) const override {
    if (attention_ > 0) return attention_;
    return factor_ <= 1 ? 1 : std::sqrt(1 + std::log(factor_) / std::log(original_));
  }

 private:
  std::vector<double> divided(const std::vector<double>& by) const {
    auto w = geometric_frequencies(theta_, window().channels);
    for (std::size_t i = 0; i < w.size(); ++i) w[i] /= by[i];
    return w;
  }
  const double theta_, factor_, attention_, original_;
  const std::vector<double> short_, long_;
};

}  // namespace

extern const Entry longrope_entry;
const Entry longrope_entry = entry<Longrope>(
    {.name = "longrope",
     .aliases = {"su", "longrope2", "phi3"},
     .title = "LongRoPE: a searched factor for each pair, one set for short and one for long contexts",
     .paper = "https://arxiv.org/abs/2402.13753",
     .formula = "theta_i/lambda_i, lambda short for L <= L0, long beyond; q, k times sqrt(1 + ln s/ln L0)",
     .latex =
         R"(\frac{\theta_i}{\lambda_i}, \quad \lambda \;\text{short for}\; L \le L_0, \;\text{long beyond}; \quad q, k \;\text{times}\; \sqrt{1 + \frac{\ln s}{\ln L_0}})",
     .pitfall = "the long factors apply to L > L0, not to L = L0; a switch during generation invalidates the "
                "cached keys",
     .year = 2024,
     .relative = false,
     .extrapolates = true,
     .options = rotary_options({{.name = "short",
                                 .help = "factors of the pairs in contexts up to the original length, such "
                                         "as 1/1.1/1.2; one number applies to all pairs",
                                 .standard = "1",
                                 .least = 0.001,
                                 .most = 1000000.0,
                                 .list = true},
                                {.name = "long",
                                 .help = "factors of the pairs in longer contexts",
                                 .standard = "4",
                                 .least = 0.001,
                                 .most = 1000000.0,
                                 .list = true},
                                factor_option("4"),
                                original_option(),
                                {.name = "attention_factor",
                                 .help = "factor on q and on k; 0 = computed as in the formula",
                                 .standard = "0",
                                 .least = 0,
                                 .most = 1000.0}})});

}  // namespace gnomon
