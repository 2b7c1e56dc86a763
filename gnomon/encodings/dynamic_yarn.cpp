// Dynamic YaRN. Peng et al. 2023, https://arxiv.org/abs/2309.00071, section 3.3 (dynamic scaling) with section 3.4.
//
//   pair i turns by p·θ'_i,   θ'_i = θ_i·γ_i + θ_i/s·(1 − γ_i),   γ_i = 1 − clamp((i − low)/(high − low), 0, 1)
//   low = ⌊d(beta_fast)⌋, high = ⌈d(beta_slow)⌉ within 0..r−1 (truncate=on), d(ρ) = r·ln(L0/(2πρ))/(2·ln theta)
//   q and k are both multiplied by a = 0.1·ln s + 1; so logits by a²
//   attention_factor=a says it outright; mscale=m, mscale_all_dim=n (both): a = (0.1·m·ln s + 1)/(0.1·n·ln s + 1)
//   softmax_mscale=n: all of q·k, also what does not turn, times (0.1·n·ln s + 1)², as DeepSeek-V3 has it for its
//   mscale_all_dim (modeling_deepseek_v3.py, yarn_apply_mscale); other models ignore that number there
//   extrapolation=e: γ_i·e in place of γ_i, the extrapolation_factor of YaRN's authors
//
// s = max(1, L/L0) is that of the context at hand: L = last position + 1, L0 = original. So a shift of all positions is not
// without effect, and cached keys have to be re-rotated when L grows. Acts on q and k. No parameters.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/encodings/ramp.h"
#include "gnomon/encodings/rotary.h"

namespace gnomon {
namespace {

class DynamicYarn final : public Rotary {
 public:
  DynamicYarn(const Options& options, const Shape& shape)
      : Rotary(shape, rotary_window("dynamic_yarn", options, shape)),
        yarn_(yarn_rule(options, shape, window())) {}
  std::vector<double> frequencies() const override { return yarn_frequencies(yarn_, 1); }

 protected:
  std::vector<double> frequencies_in(const Reach& reach) const override {
    return yarn_frequencies(yarn_, growth(reach));
  }
  double scale(Role, double, const Reach& reach, std::int64_t) const override {
    return yarn_attention_factor(yarn_, growth(reach));
  }
  double softmax_scale(const Reach& reach) const override { return yarn_softmax_scale(yarn_, growth(reach)); }
  bool scales_softmax() const override { return yarn_.softmax_mscale > 0; }

 private:
  double growth(const Reach& reach) const { return std::max(1.0, reach.length() / yarn_.original); }
  const YarnRule yarn_;
};

}  // namespace

extern const Entry dynamic_yarn_entry;
const Entry dynamic_yarn_entry =
    entry<DynamicYarn>({.name = "dynamic_yarn",
                        .aliases = {"yarn_dynamic"},
                        .title = "YaRN with a factor that follows the context length",
                        .paper = "https://arxiv.org/abs/2309.00071",
                        .formula = "YaRN with s = max(1, L/L0)",
                        .latex = R"(\text{YaRN with}\; s = \max\left(1, \frac{L}{L_0}\right))",
                        .pitfall = "cached keys keep the frequencies that they were rotated with",
                        .year = 2023,
                        .relative = false,
                        .extrapolates = true,
                        .options = rotary_options(yarn_options({original_option()}))});

}  // namespace gnomon
