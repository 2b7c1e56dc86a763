// KERPLE, logarithmic. Chi, Fan, Ramadge, Rudnicky 2022, https://arxiv.org/abs/2205.09921, equation 3; the authors'
// megatron/mpu/layers.py.
//
//   s[h,i,j] = q_i·k_j/√D − r_h·ln(1 + a_h·|p_i − p_j|),   r, a > 0: not below 0.01, where the authors clamp them
//
// Acts on the logits. Parameters: r (H), a (H), each layer its own; they start evenly over (0,2) and (0,1), where the
// authors draw them.
#include <algorithm>
#include <cmath>

#include "gnomon/encodings/distance_bias.h"

namespace gnomon {
namespace {

constexpr double kLeast = 0.01;

class KerpleLog final : public DistanceBias {
 public:
  KerpleLog(const Options&, const Shape& shape) : DistanceBias(shape) {}
  bool per_layer() const override { return true; }
  std::vector<ParamSpec> params() const override {
    std::vector<double> r, a;
    for (double h = 0; h < double(shape_.H); ++h) {
      r.push_back(2 * (h + 0.5) / double(shape_.H));
      a.push_back((h + 0.5) / double(shape_.H));
    }
    return {{"size", {shape_.H}, 0, 0, false, r}, {"rate", {shape_.H}, 0, 0, false, a}};
  }

 protected:
  double by_distance(std::span<const double> w, std::int64_t h, double delta) const override {
    return -std::max(w[h], kLeast) * std::log1p(std::max(w[shape_.H + h], kLeast) * std::abs(delta));
  }
  void by_distance_backward(std::span<const double> w, std::int64_t h, double delta, double d,
                            std::span<double> dw) const override {
    const double r = std::max(w[h], kLeast), a = std::max(w[shape_.H + h], kLeast), n = std::abs(delta);
    if (!(w[h] < kLeast)) dw[h] -= d * std::log1p(a * n);
    if (!(w[shape_.H + h] < kLeast)) dw[shape_.H + h] -= d * r * n / (1 + a * n);
  }
};

}  // namespace

extern const Entry kerple_log_entry;
const Entry kerple_log_entry = entry<KerpleLog>(
    {.name = "kerple_log",
     .aliases = {"kerple"},
     .title = "KERPLE, logarithmic: a bias that falls with the logarithm of the distance",
     .paper = "https://arxiv.org/abs/2205.09921",
     .formula = "s = q*k/sqrt(D) - r_h*ln(1 + a_h*|p_i - p_j|)",
     .latex =
         R"(s_{ij} = \frac{q_i \cdot k_j}{\sqrt{D}} - r_h \ln\big(1 + a_h\, \left|p_i - p_j\right|\big))",
     .pitfall = "16-bit distances are wrong: float16 beyond 2048, bfloat16 beyond 256; the parameters must "
                "stay positive",
     .year = 2022,
     .relative = true,
     .extrapolates = true,
     .options = {}});

}  // namespace gnomon
