// ALiBi with learned slopes. Press, Smith, Lewis 2021, https://arxiv.org/abs/2108.12409, section 3 (they report no gain);
// McGill-NLP/length-generalization, "alibi_learned".
//
//   s[h,i,j] = q_i·k_j/√D − e^(w_h)·|p_i − p_j|,   w starts at the logarithm of ALiBi's slope
//
// Acts on the logits. Parameters: log slope w (H), one for all layers.
#include <cmath>

#include "gnomon/encodings/distance_bias.h"

namespace gnomon {
namespace {

class AlibiLearned final : public DistanceBias {
 public:
  AlibiLearned(const Options& options, const Shape& shape)
      : DistanceBias(shape), geometric_(options.word("slopes") == "geometric") {}
  std::vector<ParamSpec> params() const override {
    std::vector<double> start;
    for (std::int64_t h = 0; h < shape_.H; ++h)
      start.push_back(std::log(alibi_slope(h, shape_.H, geometric_)));
    return {{"log_slope", {shape_.H}, 0, 0, false, start}};
  }

 protected:
  double by_distance(std::span<const double> w, std::int64_t h, double delta) const override {
    return -std::exp(w[h]) * std::abs(delta);
  }
  void by_distance_backward(std::span<const double> w, std::int64_t h, double delta, double d,
                            std::span<double> dw) const override {
    dw[h] += d * by_distance(w, h, delta);
  }

 private:
  const bool geometric_;
};

}  // namespace

extern const Entry alibi_learned_entry;
const Entry alibi_learned_entry = entry<AlibiLearned>(
    {.name = "alibi_learned",
     .aliases = {"learned_alibi"},
     .title = "ALiBi with learned slopes",
     .paper = "https://arxiv.org/abs/2108.12409",
     .formula = "s = q*k/sqrt(D) - exp(w_h)*|p_i - p_j|",
     .latex = R"(s_{ij} = \frac{q_i \cdot k_j}{\sqrt{D}} - e^{w_h}\, \left|p_i - p_j\right|)",
     .pitfall = "fused GPU kernels return no gradient for slopes",
     .year = 2021,
     .relative = true,
     .options = {{.name = "slopes",
                  .help = "rule of the initial slopes, if the number of heads is not a power of two",
                  .standard = "authors",
                  .words = {"authors", "geometric"},
                  .must_be_named = true}}});

}  // namespace gnomon
