// Dynamic position bias. Wang et al. 2021 (CrossFormer), https://arxiv.org/abs/2108.00154, section 3.3; Liu et al. 2021
// (Swin V2), https://arxiv.org/abs/2111.09883 (log=on); x-transformers, x_transformers.py, DynamicPositionBias.
//
//   s[h,i,j] = q_i·k_j/√D + b2_h + W2_h·silu(W1·x + b1),   x = δ, or sign(δ)·ln(1 + |δ|) with log=on;  δ = p_i − p_j
//
// Acts on the logits. Parameters: W1, b1 (hidden), W2 (H, hidden), b2 (H), each layer its own.
#include <cmath>

#include "gnomon/encodings/distance_bias.h"
#include "gnomon/encodings/rows.h"

namespace gnomon {
namespace {

class DynamicBias final : public DistanceBias {
 public:
  DynamicBias(const Options& options, const Shape& shape)
      : DistanceBias(shape), hidden_(options.whole("hidden")), log_(options.word("log") == "on") {}
  bool per_layer() const override { return true; }
  std::vector<ParamSpec> params() const override {
    return {{"up.weight", {hidden_}, 0, 1, true},
            {"up.bias", {hidden_}, 0, 1, false},
            {"down.weight", {shape_.H, hidden_}, 0, 1 / std::sqrt(double(hidden_)), true},
            {"down.bias", {shape_.H}, 0, 0, false}};
  }

 protected:
  double bias(std::span<const double> w, std::int64_t h, double delta) const override {
    const double x = coordinate_of(delta);
    double sum = w[(2 + shape_.H) * hidden_ + h];
    for (std::int64_t n = 0; n < hidden_; ++n) {
      const double z = w[n] * x + w[hidden_ + n];
      sum += w[(2 + h) * hidden_ + n] * z * sigmoid(z);
    }
    return sum;
  }
  void bias_backward(std::span<const double> w, std::int64_t h, double delta, double d,
                     std::span<double> dw) const override {
    const double x = coordinate_of(delta);
    dw[(2 + shape_.H) * hidden_ + h] += d;
    for (std::int64_t n = 0; n < hidden_; ++n) {
      const double z = w[n] * x + w[hidden_ + n], g = sigmoid(z);
      dw[(2 + h) * hidden_ + n] += d * z * g;
      const double dz = d * w[(2 + h) * hidden_ + n] * g * (1 + z * (1 - g));
      dw[n] += dz * x;
      dw[hidden_ + n] += dz;
    }
  }

 private:
  double coordinate_of(double delta) const {
    return log_ ? std::copysign(std::log1p(std::abs(delta)), delta) : delta;
  }
  const std::int64_t hidden_;
  const bool log_;
};

}  // namespace

extern const Entry dynamic_bias_entry;
const Entry dynamic_bias_entry = {
    .name = "dynamic_bias",
    .title = "Dynamic position bias: a small network of the distance",
    .paper = "https://arxiv.org/abs/2108.00154",
    .formula = "s = q*k/sqrt(D) + MLP(sign(d)*ln(1 + |d|))_h",
    .pitfall = "without the logarithm its input is unbounded",
    .year = 2021,
    .acts = kLogits,
    .relative = true,
    .options = {{.name = "hidden",
                 .help = "width of the network",
                 .standard = "32",
                 .least = 1,
                 .most = 4096,
                 .whole = true},
                {.name = "log", .help = "of the distance", .standard = "on", .words = {"on", "off"}}},
    .make = [](const Options& options, const Shape& shape) {
      return std::make_unique<DynamicBias>(options, shape);
    }};

}  // namespace gnomon
