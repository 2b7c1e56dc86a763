// DAPE: data-adaptive positional encoding. Zheng et al. 2024, https://arxiv.org/abs/2405.14722, equation 4.
//
//   s'[·,i,j] = s + b + W2·leaky(W1·[s ; b] + b1) + b2,   s = q_i·k_j/√D of all heads, b a bias of all heads
//   bias=alibi: b_h = −m_h·|p_i − p_j|      bias=kerple: b_h = −r_h·ln(1 + a_h·|p_i − p_j|), learned
//
// The network mixes the heads at each pair of tokens: it needs whole rows of all heads. leaky has slope 0.01. Acts on rows.
// Parameters: W1 (hidden, 2H), b1, W2 (H, hidden), b2, and r, a (H) with bias=kerple, each layer its own.
#include <algorithm>
#include <cmath>

#include "gnomon/encodings/distance_bias.h"
#include "gnomon/encodings/rows.h"

namespace gnomon {
namespace {

class Dape final : public Encoding {
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

  double logit(const Scene& s, std::int64_t h, std::int64_t i, std::int64_t j) const override {
    const std::int64_t H = shape_.H;
    const double delta = s.positions[i] - s.positions[j];
    std::vector<double> x(std::size_t(2 * H));
    for (std::int64_t n = 0; n < H; ++n)
      x[n] = plain_logit(s, n, i, j), x[H + n] = bias(s.w.data(), n, delta);
    double sum = x[h] + x[H + h] + s.w[down() + H * hidden_ + h];
    for (std::int64_t n = 0; n < hidden_; ++n) {
      double z = s.w[2 * H * hidden_ + n];
      for (std::int64_t c = 0; c < 2 * H; ++c) z += s.w[n * 2 * H + c] * x[c];
      sum += s.w[down() + h * hidden_ + n] * (z > 0 ? z : 0.01 * z);
    }
    return sum;
  }
  std::shared_ptr<const RowRule> rule(const Batch& b, const OwnChannels&) const override {
    return std::make_shared<Rule>(*this, b);
  }

 private:
  std::int64_t down() const { return (2 * shape_.H + 1) * hidden_; }
  std::int64_t kernel() const { return down() + shape_.H * (hidden_ + 1); }
  template <class W>
  double bias(const W* w, std::int64_t h, double delta) const {
    if (!kerple_) return -alibi_slope(h, shape_.H, false) * std::abs(delta);
    const double r = std::max(double(w[kernel() + h]), 0.01),
                 a = std::max(double(w[kernel() + shape_.H + h]), 0.01);
    return -r * std::log1p(a * std::abs(delta));
  }

  class Rule final : public RowRule {
   public:
    Rule(const Dape& dape, const Batch& b) : dape_(dape), positions_(b.positions), w_(b.w) {}
    std::int64_t param_count() const override { return dape_.param_count(); }
    void forward(const QueryRow& query, LogitRows s) const override {
      const std::int64_t H = query.H, N = dape_.hidden_;
      const float *down = w_ + dape_.down(), *last = down + H * N;
      std::vector<float> x(2 * H), z(N);
      for (std::int64_t j = query.first; j < query.end; ++j) {
        if (s.head(0)[j] == -INFINITY) continue;
        read(query, s, j, x, z);
        for (std::int64_t h = 0; h < H; ++h) {
          float sum = x[h] + x[H + h] + last[h];
          for (std::int64_t n = 0; n < N; ++n) sum += down[h * N + n] * leaky(z[n]);
          s.head(h)[j] = sum;
        }
      }
    }
    void backward(const QueryRow& query, LogitRows before, LogitRows ds,
                  const RuleGrad& grad) const override {
      const std::int64_t H = query.H, N = dape_.hidden_;
      const float* down = w_ + dape_.down();
      float *dup = grad.dw, *dbias = dup + 2 * H * N, *ddown = grad.dw + dape_.down(), *dlast = ddown + H * N;
      std::vector<float> x(2 * H), z(N), dx(2 * H);
      for (std::int64_t j = query.first; j < query.end; ++j) {
        if (before.head(0)[j] == -INFINITY) continue;
        read(query, before, j, x, z);
        for (std::int64_t h = 0; h < H; ++h) dx[h] = dx[H + h] = ds.head(h)[j], dlast[h] += ds.head(h)[j];
        for (std::int64_t n = 0; n < N; ++n) {
          float dz = 0;
          for (std::int64_t h = 0; h < H; ++h) {
            ddown[h * N + n] += ds.head(h)[j] * leaky(z[n]);
            dz += ds.head(h)[j] * down[h * N + n];
          }
          dz *= z[n] > 0 ? 1.0f : 0.01f;
          dbias[n] += dz;
          for (std::int64_t c = 0; c < 2 * H; ++c)
            dup[n * 2 * H + c] += dz * x[c], dx[c] += dz * w_[n * 2 * H + c];
        }
        for (std::int64_t h = 0; h < H; ++h) {
          ds.head(h)[j] = dx[h];
          bias_backward(query, h, j, dx[H + h], grad.dw + dape_.kernel());
        }
      }
    }

   private:
    static float leaky(float z) { return z > 0 ? z : 0.01f * z; }
    void read(const QueryRow& query, LogitRows s, std::int64_t j, std::vector<float>& x,
              std::vector<float>& z) const {
      const std::int64_t H = query.H;
      const Positions row = positions_.row(query.b);
      for (std::int64_t h = 0; h < H; ++h) {
        x[h] = s.head(h)[j];
        x[H + h] = float(dape_.bias(w_, h, row[query.at] - row[j]));
      }
      const float* bias = w_ + 2 * H * dape_.hidden_;
      for (std::int64_t n = 0; n < dape_.hidden_; ++n) {
        z[n] = bias[n];
        for (std::int64_t c = 0; c < 2 * H; ++c) z[n] += w_[n * 2 * H + c] * x[c];
      }
    }
    void bias_backward(const QueryRow& query, std::int64_t h, std::int64_t j, double d, float* dw) const {
      if (!dape_.kerple_) return;
      const Positions row = positions_.row(query.b);
      const float* w = w_ + dape_.kernel();
      const double r = std::max(double(w[h]), 0.01), a = std::max(double(w[query.H + h]), 0.01);
      const double n = std::abs(row[query.at] - row[j]);
      if (!(double(w[h]) < 0.01)) dw[h] -= float(d * std::log1p(a * n));
      if (!(double(w[query.H + h]) < 0.01)) dw[query.H + h] -= float(d * r * n / (1 + a * n));
    }
    const Dape& dape_;
    const Positions positions_;
    const float* w_;
  };
  const std::int64_t hidden_;
  const bool kerple_;
};

}  // namespace

extern const Entry dape_entry;
const Entry dape_entry = {.name = "dape",
                          .title = "Data-adaptive: a network mixes the logits of all heads with a bias",
                          .paper = "https://arxiv.org/abs/2405.14722",
                          .formula = "s' = s + b + MLP([s ; b]) over the heads",
                          .pitfall = "it needs the logits of all heads at once: no fused kernel has them",
                          .year = 2024,
                          .acts = kRows,
                          .relative = true,
                          .extrapolates = true,
                          .options = {{.name = "hidden",
                                       .help = "width of the network",
                                       .standard = "32",
                                       .least = 1,
                                       .most = 4096,
                                       .whole = true},
                                      {.name = "bias",
                                       .help = "that the network adapts",
                                       .standard = "alibi",
                                       .words = {"alibi", "kerple"}}},
                          .make = [](const Options& options, const Shape& shape) {
                            return std::make_unique<Dape>(options, shape);
                          }};

}  // namespace gnomon
