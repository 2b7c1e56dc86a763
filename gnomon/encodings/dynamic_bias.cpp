// Dynamic position bias. Wang et al. 2021 (CrossFormer), https://arxiv.org/abs/2108.00154, section 3.3; Liu et al. 2021
// (Swin V2), https://arxiv.org/abs/2111.09883 (log=on); x-transformers, x_transformers.py, DynamicPositionBias.
//
//   s[h,i,j] = q_i·k_j/√D + b2_h + W2_h·silu(z),   z = W1·x + b1,   x = δ, or sign(δ)·ln(1 + |δ|) with log=on;  δ = p_i − p_j
//   depth=n: n − 1 times more, z ← V·silu(z) + c
//
// Acts on the logits. Parameters: W1, b1 (hidden), V (hidden, hidden), c (hidden) of each further layer, W2 (H, hidden), b2
// (H), each layer of the model its own.
#include <cmath>

#include "gnomon/core/error.h"
#include "gnomon/encodings/distance_bias.h"
#include "gnomon/encodings/gates.h"

namespace gnomon {
namespace {

class DynamicBias final : public DistanceBias {
 public:
  DynamicBias(const Options& options, const Shape& shape)
      : DistanceBias(shape),
        hidden_(options.whole("hidden")),
        depth_(options.whole("depth")),
        log_(options.word("log") == "on") {}
  bool per_layer() const override { return true; }
  std::vector<ParamSpec> params() const override {
    const double deviation = 1 / std::sqrt(double(hidden_));
    std::vector<ParamSpec> all{{"up.weight", {hidden_}, 0, 1, true}, {"up.bias", {hidden_}, 0, 1, false}};
    for (std::int64_t l = 1; l < depth_; ++l) {
      all.push_back({text("layer", l, ".weight"), {hidden_, hidden_}, 0, deviation, true});
      all.push_back({text("layer", l, ".bias"), {hidden_}, 0, 0, false});
    }
    all.push_back({"down.weight", {shape_.H, hidden_}, 0, deviation, true});
    all.push_back({"down.bias", {shape_.H}, 0, 0, false});
    return all;
  }

 protected:
  double by_distance(std::span<const double> w, std::int64_t h, double delta) const override {
    const std::vector<double> z = inner(w, delta);
    double sum = w[down() + shape_.H * hidden_ + h];
    for (std::int64_t n = 0; n < hidden_; ++n) {
      const double last = z[(depth_ - 1) * hidden_ + n];
      sum += w[down() + h * hidden_ + n] * last * sigmoid(last);
    }
    return sum;
  }
  void by_distance_backward(std::span<const double> w, std::int64_t h, double delta, double d,
                            std::span<double> dw) const override {
    const std::vector<double> z = inner(w, delta);
    dw[down() + shape_.H * hidden_ + h] += d;
    std::vector<double> dsilu(std::size_t(hidden_), 0.0), dz(dsilu.size());
    for (std::int64_t n = 0; n < hidden_; ++n) {
      const double last = z[(depth_ - 1) * hidden_ + n];
      dw[down() + h * hidden_ + n] += d * last * sigmoid(last);
      dsilu[n] = d * w[down() + h * hidden_ + n];
    }
    for (std::int64_t l = depth_; l-- > 0;) {
      for (std::int64_t n = 0; n < hidden_; ++n) {
        const double at = z[l * hidden_ + n], g = sigmoid(at);
        dz[n] = dsilu[n] * g * (1 + at * (1 - g));
      }
      if (l > 0) dsilu = layer_backward(w, l, &z[(l - 1) * hidden_], dz, dw);
    }
    const double x = coordinate_of(delta);
    for (std::int64_t n = 0; n < hidden_; ++n) dw[n] += dz[n] * x, dw[hidden_ + n] += dz[n];
  }

 private:
  // Offsets of the weights of further layer l, 1..depth−1, and of what leads down to the heads.
  std::int64_t layer(std::int64_t l) const { return 2 * hidden_ + (l - 1) * hidden_ * (hidden_ + 1); }
  std::int64_t down() const { return layer(depth_); }
  // z of every layer (depth, hidden).
  std::vector<double> inner(std::span<const double> w, double delta) const {
    const double x = coordinate_of(delta);
    std::vector<double> z(std::size_t(depth_ * hidden_), 0.0);
    for (std::int64_t n = 0; n < hidden_; ++n) z[n] = w[n] * x + w[hidden_ + n];
    for (std::int64_t l = 1; l < depth_; ++l) {
      for (std::int64_t n = 0; n < hidden_; ++n) {
        double sum = w[layer(l) + hidden_ * hidden_ + n];
        for (std::int64_t k = 0; k < hidden_; ++k) {
          const double below = z[(l - 1) * hidden_ + k];
          sum += w[layer(l) + n * hidden_ + k] * below * sigmoid(below);
        }
        z[l * hidden_ + n] = sum;
      }
    }
    return z;
  }
  // The gradient of silu(z) of the layer below.
  std::vector<double> layer_backward(std::span<const double> w, std::int64_t l, const double* below,
                                     const std::vector<double>& dz, std::span<double> dw) const {
    std::vector<double> dsilu(std::size_t(hidden_), 0.0);
    for (std::int64_t n = 0; n < hidden_; ++n) {
      dw[layer(l) + hidden_ * hidden_ + n] += dz[n];
      for (std::int64_t k = 0; k < hidden_; ++k) {
        const std::int64_t at = layer(l) + n * hidden_ + k;
        dw[at] += dz[n] * below[k] * sigmoid(below[k]);
        dsilu[k] += dz[n] * w[at];
      }
    }
    return dsilu;
  }
  double coordinate_of(double delta) const {
    return log_ ? std::copysign(std::log1p(std::abs(delta)), delta) : delta;
  }
  const std::int64_t hidden_, depth_;
  const bool log_;
};

}  // namespace

extern const Entry dynamic_bias_entry;
const Entry dynamic_bias_entry = entry<DynamicBias>(
    {.name = "dynamic_bias",
     .aliases = {"dpb", "cpb"},
     .title = "Dynamic position bias: a small network maps the distance to a bias",
     .paper = "https://arxiv.org/abs/2108.00154",
     .formula = "s = q*k/sqrt(D) + MLP(sign(d)*ln(1 + |d|))_h",
     .latex =
         R"(s = \frac{q \cdot k}{\sqrt{D}} + \mathrm{MLP}_h\big(\mathrm{sign}(d) \ln(1 + \left|d\right|)\big))",
     .pitfall = "without the logarithm the network's input is unbounded",
     .year = 2021,
     .relative = true,
     .options = {{.name = "hidden",
                  .help = "width of the network",
                  .standard = "32",
                  .least = 1,
                  .most = 4096,
                  .whole = true},
                 {.name = "depth",
                  .help = "number of hidden layers in the network",
                  .standard = "1",
                  .least = 1,
                  .most = 16,
                  .whole = true},
                 {.name = "log",
                  .help = "give the network the logarithm of the distance",
                  .standard = "on",
                  .words = {"on", "off"}}}});

}  // namespace gnomon
