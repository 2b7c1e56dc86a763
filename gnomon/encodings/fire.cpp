// FIRE: functional interpolation for relative position encodings. Li et al. 2023, https://arxiv.org/abs/2310.04418, equation
// 19 and appendix B.
//
//   s[h,i,j] = q_i·k_j/√D + MLP_h(ψ(p_i − p_j)/(ψ(max(|w·L|, p_i)) + ε)),   ψ(x) = ln(|c·x| + 1)
//   MLP: 1 → hidden → H with ReLU;  c starts at 0.1, w at 1, L = 512 tokens, ε = 10^(−6)
//
// The normaliser depends on where the query stands, so the bias is no function of the distance: it is made row by row.
// Acts on rows. Parameters: c, w, W1, b1 (hidden), W2 (H, hidden), b2 (H), each layer its own.
#include <algorithm>
#include <cmath>

#include "gnomon/encodings/rows.h"

namespace gnomon {
namespace {

class Fire final : public Encoding {
 public:
  Fire(const Options& options, const Shape& shape)
      : Encoding(shape), hidden_(options.whole("hidden")), length_(options.number("length")) {}
  bool per_layer() const override { return true; }
  std::vector<ParamSpec> params() const override {
    return {{"c", {1}, 0.1, 0, false},
            {"w", {1}, 1, 0, false},
            {"up.weight", {hidden_}, 0, 1, true},
            {"up.bias", {hidden_}, 0, 1, false},
            {"down.weight", {shape_.H, hidden_}, 0, 1 / std::sqrt(double(hidden_)), true},
            {"down.bias", {shape_.H}, 0, 0, false}};
  }

  double logit(const Scene& s, std::int64_t h, std::int64_t i, std::int64_t j) const override {
    const double x =
        psi(s.w[0], s.positions[i] - s.positions[j]) / normaliser(s.w[0], s.w[1], s.positions[i]);
    double sum = s.w[down() + shape_.H * hidden_ + h];
    for (std::int64_t n = 0; n < hidden_; ++n)
      sum += s.w[down() + h * hidden_ + n] * std::max(s.w[2 + n] * x + s.w[2 + hidden_ + n], 0.0);
    return plain_logit(s, h, i, j) + sum;
  }
  std::shared_ptr<const RowRule> rule(const Batch& b, const OwnChannels&) const override {
    return std::make_shared<Rule>(*this, b);
  }

 private:
  static double psi(double c, double x) { return std::log1p(std::abs(c * x)); }
  double threshold(double w) const { return std::abs(w * length_); }
  double normaliser(double c, double w, double position) const {
    return psi(c, std::max(threshold(w), position)) + 1e-6;
  }
  std::int64_t down() const { return 2 + 2 * hidden_; }

  class Rule final : public RowRule {
   public:
    Rule(const Fire& fire, const Batch& b) : fire_(fire), positions_(b.positions), w_(b.w) {}
    std::int64_t param_count() const override { return fire_.param_count(); }
    void forward(const QueryRow& query, LogitRows s) const override {
      const std::int64_t N = fire_.hidden_, H = query.H;
      const float *up = w_ + 2, *bias = up + N, *down = w_ + fire_.down(), *last = down + H * N;
      each(query, [&](std::int64_t j, float x) {
        for (std::int64_t h = 0; h < H; ++h) s.head(h)[j] += last[h];
        for (std::int64_t n = 0; n < N; ++n) {
          const float z = up[n] * x + bias[n];
          for (std::int64_t h = 0; !(z <= 0) && h < H; ++h) s.head(h)[j] += down[h * N + n] * z;
        }
      });
    }
    void backward(const QueryRow& query, LogitRows, LogitRows ds, const RuleGrad& grad) const override {
      const std::int64_t N = fire_.hidden_, H = query.H;
      const float *up = w_ + 2, *bias = up + N, *down = w_ + fire_.down();
      float *dup = grad.dw + 2, *dbias = dup + N, *ddown = grad.dw + fire_.down(), *dlast = ddown + H * N;
      const double c = w_[0], w = w_[1], place = positions_.row(query.b)[query.at];
      const double reach = std::max(fire_.threshold(w), place), norm = fire_.normaliser(c, w, place);
      // dψ(x)/dc = |x|·sign(c)/(1 + |c·x|), dψ(x)/dx = |c|/(1 + |c·x|) for x > 0
      const auto dpsi_dc = [&](double x) { return std::copysign(std::abs(x), c) / (1 + std::abs(c * x)); };
      const double dnorm_dc = dpsi_dc(reach);
      const double dnorm_dw = fire_.threshold(w) < place
                                  ? 0
                                  : std::abs(c) / (1 + std::abs(c) * reach) * std::copysign(fire_.length_, w);
      double dc = 0, dnorm = 0;
      each(query, [&](std::int64_t j, float x) {
        for (std::int64_t h = 0; h < H; ++h) dlast[h] += ds.head(h)[j];
        float dx = 0;
        for (std::int64_t n = 0; n < N; ++n) {
          const float z = up[n] * x + bias[n];
          if (z <= 0) continue;
          float dz = 0;
          for (std::int64_t h = 0; h < H; ++h) {
            ddown[h * N + n] += ds.head(h)[j] * z;
            dz += ds.head(h)[j] * down[h * N + n];
          }
          dup[n] += dz * x, dbias[n] += dz, dx += dz * up[n];
        }
        const double delta = place - positions_.row(query.b)[j];
        dc += dx * dpsi_dc(delta) / norm;
        dnorm -= double(dx) * x / norm;
      });
      grad.dw[0] += float(dc + dnorm * dnorm_dc);
      grad.dw[1] += float(dnorm * dnorm_dw);
    }

   private:
    template <class Body>
    void each(const QueryRow& query, const Body& f) const {
      const Positions row = positions_.row(query.b);
      const double norm = fire_.normaliser(w_[0], w_[1], row[query.at]);
      for (std::int64_t j = query.first; j < query.end; ++j)
        f(j, float(psi(w_[0], row[query.at] - row[j]) / norm));
    }
    const Fire& fire_;
    const Positions positions_;
    const float* w_;
  };
  const std::int64_t hidden_;
  const double length_;
};

}  // namespace

extern const Entry fire_entry;
const Entry fire_entry = {
    .name = "fire",
    .title = "FIRE: a small network of the distance over the position of the query",
    .paper = "https://arxiv.org/abs/2310.04418",
    .formula = "s = q*k/sqrt(D) + MLP_h(psi(p_i - p_j)/psi(max(|w*L|, p_i))), psi(x) = ln(|c*x| + 1)",
    .pitfall = "decoding must pass the absolute position of the query",
    .year = 2023,
    .acts = kRows,
    .relative = false,
    .extrapolates = true,
    .options = {{.name = "hidden",
                 .help = "width of the network",
                 .standard = "32",
                 .least = 1,
                 .most = 4096,
                 .whole = true},
                {.name = "length",
                 .help = "L: tokens below which the normaliser is constant while w is 1",
                 .standard = "512",
                 .least = 1,
                 .most = 1000000000.0}},
    .make = [](const Options& options, const Shape& shape) {
      return std::make_unique<Fire>(options, shape);
    }};

}  // namespace gnomon
