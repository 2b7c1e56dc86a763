// KERPLE, power. Chi, Fan, Ramadge, Rudnicky 2022, https://arxiv.org/abs/2205.09921, equation 2; the authors'
// megatron/mpu/layers.py.
//
//   s[h,i,j] = q_i·k_j/√D − a_h·|p_i − p_j|^(r_h),   a ≥ 0.01,   0.01 ≤ r ≤ 2, where they are clamped
//
// With r = 1 it is ALiBi. Acts on the logits. Parameters: a (H), r (H), each layer its own; they start evenly over (0,1)
// and (0,2).
#include <algorithm>
#include <cmath>

#include "gnomon/encodings/distance_bias.h"

namespace gnomon {
namespace {

constexpr double kLeast = 0.01, kMost = 2;

class KerplePower final : public DistanceBias {
 public:
  KerplePower(const Options&, const Shape& shape) : DistanceBias(shape) {}
  bool per_layer() const override { return true; }
  std::vector<ParamSpec> params() const override {
    std::vector<double> a, r;
    for (double h = 0; h < double(shape_.H); ++h) {
      a.push_back((h + 0.5) / double(shape_.H));
      r.push_back(2 * (h + 0.5) / double(shape_.H));
    }
    return {{"size", {shape_.H}, 0, 0, false, a}, {"power", {shape_.H}, 0, 0, false, r}};
  }

 protected:
  double by_distance(std::span<const double> w, std::int64_t h, double delta) const override {
    if (delta == 0) return 0;
    return -std::max(w[h], kLeast) * std::pow(std::abs(delta), std::clamp(w[shape_.H + h], kLeast, kMost));
  }
  void by_distance_backward(std::span<const double> w, std::int64_t h, double delta, double d,
                            std::span<double> dw) const override {
    if (delta == 0) return;
    const double a = std::max(w[h], kLeast), r = std::clamp(w[shape_.H + h], kLeast, kMost),
                 n = std::abs(delta);
    if (!(w[h] < kLeast)) dw[h] -= d * std::pow(n, r);
    if (!(w[shape_.H + h] < r || w[shape_.H + h] > r))
      dw[shape_.H + h] -= d * a * std::pow(n, r) * std::log(n);
  }
};

}  // namespace

extern const Entry kerple_power_entry;
const Entry kerple_power_entry = entry<KerplePower>(
    {.name = "kerple_power",
     .aliases = {"kerple"},
     .title = "KERPLE, power: a bias that falls with a learned power of the distance",
     .paper = "https://arxiv.org/abs/2205.09921",
     .formula = "s = q*k/sqrt(D) - a_h*|p_i - p_j|^r_h",
     .latex = R"(s_{ij} = \frac{q_i \cdot k_j}{\sqrt{D}} - a_h\, \left|p_i - p_j\right|^{r_h})",
     .pitfall = "r above 2 gives no valid kernel; at distance 0 the power is 0",
     .year = 2022,
     .relative = true,
     .extrapolates = true,
     .options = {}});

}  // namespace gnomon
