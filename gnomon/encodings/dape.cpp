// DAPE: data-adaptive positional encoding. Zheng et al. 2024, https://arxiv.org/abs/2405.14722, equation 4.
//
//   s'[·,i,j] = s + b + W2·leaky(W1·[s ; b] + b1) + b2,   s = q_i·k_j/√D of all heads, b a bias of all heads
//   bias=alibi: b_h = −m_h·|p_i − p_j|      bias=kerple: b_h = −r_h·ln(1 + a_h·|p_i − p_j|), learned
//
// The network mixes the heads at each pair of tokens: attention goes through all heads together. leaky has slope 0.01. Acts on rows.
// Parameters: W1 (hidden, 2H), b1, W2 (H, hidden), b2, and r, a (H) with bias=kerple, each layer its own.
#include <algorithm>
#include <cmath>

#include "gnomon/encodings/distance_bias.h"
#include "gnomon/encodings/gates.h"

namespace gnomon {
namespace {

class Dape final : public Encoding, public RulePart {
 public:
  Dape(const Options& options, const Shape& shape)
      : Encoding(shape), hidden_(options.whole("hidden")), kerple_(options.word("bias") == "kerple") {}
  bool per_layer() const override { return true; }
  std::vector<ParamSpec> params() const override {
    const std::int64_t H = shape_.H;
    std::vector<ParamSpec> all{{"up.weight", {hidden_, 2 * H}, 0, 1 / std::sqrt(2.0 * double(H)), true},
                               {"up.bias", {hidden_}, 0, 0, false},
                               {"down.weight", {H, hidden_}, 0, 0.1 / std::sqrt(double(hidden_)), true},
                               {"down.bias", {H}, 0, 0, false}};
    if (kerple_) {
      all.push_back({"size", {H}, 1, 0, false});
      all.push_back({"rate", {H}, 0.5, 0, false});
    }
    return all;
  }

  double rule(const Scene& s, const Scores& scores, std::int64_t h, std::int64_t i,
              std::int64_t j) const override {
    const std::int64_t H = shape_.H;
    const double delta = s.positions[i] - s.positions[j];
    std::vector<double> x(std::size_t(2 * H));
    for (std::int64_t n = 0; n < H; ++n) x[n] = scores.score(n, i, j), x[H + n] = bias(s.w.data(), n, delta);
    double sum = x[H + h] + s.w[down() + H * hidden_ + h];
    for (std::int64_t n = 0; n < hidden_; ++n) {
      double z = s.w[2 * H * hidden_ + n];
      for (std::int64_t c = 0; c < 2 * H; ++c) z += s.w[n * 2 * H + c] * x[c];
      sum += s.w[down() + h * hidden_ + n] * (z > 0 ? z : 0.01 * z);
    }
    return sum;
  }
  void lower(const Batch& b, Terms& t) const override {
    const std::int64_t H = shape_.H, N = hidden_;
    const float *up = b.w, *down = b.w + this->down();
    t.mix_up.assign(up, up + 2 * H * N), t.mix_up_bias.assign(up + 2 * H * N, down);
    t.mix_down.assign(down, down + H * N), t.mix_down_bias.assign(down + H * N, b.w + kernel());
    t.mix_size.clear(), t.mix_rate.clear();
    for (std::int64_t h = 0; h < H; ++h) {
      t.mix_size.push_back(float(kerple_ ? clamped(b.w, h) : alibi_slope(h, H, false)));
      if (kerple_) t.mix_rate.push_back(float(clamped(b.w, H + h)));
    }
  }
  void lower_backward(const Batch& b, const Terms& g, const BatchGrad& grad) const override {
    float* to = grad.w;
    for (const Floats* d : {&g.mix_up, &g.mix_up_bias, &g.mix_down, &g.mix_down_bias}) {
      for (const float x : *d) *to++ += x;
    }
    const float* w = b.w + kernel();
    for (std::int64_t h = 0; kerple_ && h < shape_.H; ++h) {
      if (!(double(w[h]) < kLeast)) to[h] += g.mix_size[h];
      if (!(double(w[shape_.H + h]) < kLeast)) to[shape_.H + h] += g.mix_rate[h];
    }
  }

 private:
  std::int64_t down() const { return (2 * shape_.H + 1) * hidden_; }
  std::int64_t kernel() const { return down() + shape_.H * (hidden_ + 1); }
  template <class W>
  double bias(const W* w, std::int64_t h, double delta) const {
    if (!kerple_) return -alibi_slope(h, shape_.H, false) * std::abs(delta);
    const double r = clamped(w, h), a = clamped(w, shape_.H + h);
    return -r * std::log1p(a * std::abs(delta));
  }
  static constexpr double kLeast = 0.01;  // of r and a
  template <class W>
  double clamped(const W* w, std::int64_t n) const {
    return std::max(double(w[kernel() + n]), kLeast);
  }
  const std::int64_t hidden_;
  const bool kerple_;
};

}  // namespace

extern const Entry dape_entry;
const Entry dape_entry =
    entry<Dape>({.name = "dape",
                 .title = "Data-adaptive bias: a small network mixes the logits of all heads with a bias",
                 .paper = "https://arxiv.org/abs/2405.14722",
                 .formula = "s' = s + b + MLP([s ; b]) over the heads",
                 .latex = R"(\hat{s} = s + b + \mathrm{MLP}([s\,;\, b]) \;\text{over the heads})",
                 .pitfall = "it needs the logits of all heads at once, which no fused kernel provides",
                 .year = 2024,
                 .relative = true,
                 .extrapolates = true,
                 .options = {{.name = "hidden",
                              .help = "width of the network",
                              .standard = "32",
                              .least = 1,
                              .most = 4096,
                              .whole = true},
                             {.name = "bias",
                              .help = "bias that the network adapts",
                              .standard = "alibi",
                              .words = {"alibi", "kerple"}}}});

}  // namespace gnomon
