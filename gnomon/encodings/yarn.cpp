// YaRN. Peng et al. 2023, https://arxiv.org/abs/2309.00071, section 3.4; Hugging Face transformers,
// modeling_rope_utils.py, _compute_yarn_parameters.
//
//   pair i turns by p·θ'_i,   θ'_i = θ_i·γ_i + θ_i/s·(1 − γ_i),   γ_i = 1 − clamp((i − low)/(high − low), 0, 1)
//   low = ⌊d(beta_fast)⌋, high = ⌈d(beta_slow)⌉ within 0..r−1 (truncate=on), d(ρ) = r·ln(L0/(2πρ))/(2·ln theta)
//   q and k are both multiplied by a = 0.1·ln s + 1; so logits by a²
//   attention_factor=a says it outright; mscale=m, mscale_all_dim=n (both): a = (0.1·m·ln s + 1)/(0.1·n·ln s + 1)
//   softmax_mscale=n: all of q·k, also what does not turn, times (0.1·n·ln s + 1)², as DeepSeek-V3 has it for its
//   mscale_all_dim (modeling_deepseek_v3.py, yarn_apply_mscale); other models ignore that number there
//   extrapolation=e: γ_i·e in place of γ_i, the extrapolation_factor of YaRN's authors
//
// s = factor, L0 = original. Acts on q and k. No parameters.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/encodings/ramp.h"
#include "gnomon/encodings/rotary.h"

namespace gnomon {
namespace {

class Yarn final : public Rotary {
 public:
  Yarn(const Options& options, const Shape& shape)
      : Rotary(shape, rotary_window("yarn", options, shape)),
        yarn_(yarn_rule(options, shape, window())),
        factor_(options.number("factor")) {}
  std::vector<double> frequencies() const override { return yarn_frequencies(yarn_, factor_); }

 protected:
  double scale(Role, double, const Reach&, std::int64_t) const override {
    return yarn_attention_factor(yarn_, factor_);
  }
  double softmax_scale(const Reach&) const override { return yarn_softmax_scale(yarn_, factor_); }
  bool scales_softmax() const override { return yarn_.softmax_mscale > 0; }

 private:
  const YarnRule yarn_;
  const double factor_;
};

}  // namespace

extern const Entry yarn_entry;
const Entry yarn_entry = entry<Yarn>(
    {.name = "yarn",
     .title = "YaRN: slow pairs interpolated, fast ones kept, logits sharpened",
     .paper = "https://arxiv.org/abs/2309.00071",
     .formula = "theta' = theta/s*(1-g) + theta*g; q, k times 0.1 ln s + 1",
     .latex =
         R"(\hat{\theta}_i = \frac{\theta_i}{s}\,(1 - g_i) + \theta_i\, g_i, \quad q, k \;\text{times}\; 0.1 \, \ln s + 1)",
     .pitfall = "the factor applies to q and to k, so the logits get its square; an explicit "
                "attention_factor replaces it; L0 is the original length; gpt-oss needs truncate=off",
     .year = 2023,
     .relative = true,
     .extrapolates = true,
     .options = rotary_options(yarn_options({factor_option("4"), original_option()}))});

}  // namespace gnomon
