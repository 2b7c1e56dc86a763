// FIRE: functional interpolation for relative position encodings. Li et al. 2023, https://arxiv.org/abs/2310.04418, equation
// 19 and appendix B.
//
//   s[h,i,j] = q_i·k_j/√D + MLP_h(ψ(p_i − p_j)/(ψ(max(|w·L|, p_i)) + ε)),   ψ(x) = ln(|c·x| + 1)
//   MLP: 1 → hidden → H with ReLU;  c starts at 0.1, w at 1, L = 512 tokens, ε = 10^(−6)
//
// The normaliser depends on where the query stands, so the bias is no function of the distance. Of one number, the network
// is linear between the knots where its units begin or end: attention gets the pieces. Acts on rows. Parameters: c, w, W1, b1 (hidden), W2 (H, hidden), b2 (H), each layer its own.
#include <algorithm>
#include <cmath>

#include "gnomon/encodings/gates.h"

namespace gnomon {
namespace {

class Fire final : public Encoding, public RulePart {
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

  double rule(const Scene& s, const Scores&, std::int64_t h, std::int64_t i, std::int64_t j) const override {
    const double x =
        psi(s.w[0], s.positions[i] - s.positions[j]) / normaliser(s.w[0], s.w[1], s.positions[i]);
    double sum = s.w[down() + shape_.H * hidden_ + h];
    for (std::int64_t n = 0; n < hidden_; ++n)
      sum += s.w[down() + h * hidden_ + n] * std::max(s.w[2 + n] * x + s.w[2 + hidden_ + n], 0.0);
    return sum;
  }
  void lower(const Batch& b, Terms& t) const override {
    const std::int64_t H = shape_.H, N = hidden_;
    const double c = b.w[0], w = b.w[1];
    t.curve_rate = {float(std::abs(c))};
    t.curve_by_token.clear(), t.curve_slope.clear(), t.curve_intercept.clear();
    for (std::int64_t n = 0; n < b.tokens(); ++n)
      t.curve_by_token.push_back(float(1 / normaliser(c, w, b.positions[n])));
    t.curve_knots = knots(b.w);
    const std::int64_t pieces = std::int64_t(t.curve_knots.size()) + 1;
    const float *up = b.w + 2, *bias = up + N, *down = b.w + this->down(), *last = down + H * N;
    for (std::int64_t h = 0; h < H; ++h) {
      for (std::int64_t p = 0; p < pieces; ++p) {
        double slope = 0, intercept = double(last[h]);
        each_unit(b.w, t.curve_knots, p, [&](std::int64_t n) {
          slope += double(down[h * N + n]) * double(up[n]),
              intercept += double(down[h * N + n]) * double(bias[n]);
        });
        t.curve_slope.push_back(float(slope)), t.curve_intercept.push_back(float(intercept));
      }
    }
  }
  void lower_backward(const Batch& b, const Terms& g, const BatchGrad& grad) const override {
    const std::int64_t H = shape_.H, N = hidden_;
    const Floats at = knots(b.w);
    const std::int64_t pieces = std::int64_t(at.size()) + 1;
    const float *up = b.w + 2, *bias = up + N, *down = b.w + this->down();
    float *dup = grad.w + 2, *dbias = dup + N, *ddown = grad.w + this->down(), *dlast = ddown + H * N;
    for (std::int64_t p = 0; p < pieces; ++p) {
      for (std::int64_t h = 0; h < H; ++h) {
        const float dslope = g.curve_slope[h * pieces + p], dintercept = g.curve_intercept[h * pieces + p];
        dlast[h] += dintercept;
        each_unit(b.w, at, p, [&](std::int64_t n) {
          ddown[h * N + n] += dslope * up[n] + dintercept * bias[n];
          dup[n] += down[h * N + n] * dslope, dbias[n] += down[h * N + n] * dintercept;
        });
      }
    }
    normaliser_backward(b, g, grad);
  }

 private:
  static double psi(double c, double x) { return std::log1p(std::abs(c * x)); }
  double threshold(double w) const { return std::abs(w * length_); }
  double normaliser(double c, double w, double position) const {
    return psi(c, std::max(threshold(w), position)) + 1e-6;
  }
  std::int64_t down() const { return 2 + 2 * hidden_; }

  // Where units begin or end above 0, rising.
  Floats knots(const float* w) const {
    Floats all;
    for (std::int64_t n = 0; n < hidden_; ++n) {
      const float x = -w[2 + hidden_ + n] / w[2 + n];
      if (x > 0 && std::isfinite(x)) all.push_back(x);
    }
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
  }
  // f(n) for the units that are not 0 within piece p.
  template <class Body>
  void each_unit(const float* w, const Floats& at, std::int64_t p, const Body& f) const {
    const double low = p > 0 ? double(at[p - 1]) : 0,
                 high = p < std::int64_t(at.size()) ? double(at[p]) : 2 * low + 1;
    const double x = (low + high) / 2;
    for (std::int64_t n = 0; n < hidden_; ++n) {
      if (!(double(w[2 + n]) * x + double(w[2 + hidden_ + n]) <= 0)) f(n);
    }
  }
  // dψ(x)/dc = |x|·sign(c)/(1 + |c·x|), dψ(x)/dx = |c|/(1 + |c·x|) for x > 0
  void normaliser_backward(const Batch& b, const Terms& g, const BatchGrad& grad) const {
    const double c = b.w[0], w = b.w[1];
    double dc = std::copysign(1.0, c) * double(g.curve_rate[0]), dw = 0;
    for (std::int64_t n = 0; n < b.tokens(); ++n) {
      const double place = b.positions[n], norm = normaliser(c, w, place),
                   reach = std::max(threshold(w), place);
      const double dnorm = -double(g.curve_by_token[n]) / (norm * norm);
      dc += dnorm * std::copysign(reach, c) / (1 + std::abs(c * reach));
      if (!(threshold(w) < place))
        dw += dnorm * std::abs(c) / (1 + std::abs(c) * reach) * std::copysign(length_, w);
    }
    grad.w[0] += float(dc), grad.w[1] += float(dw);
  }
  const std::int64_t hidden_;
  const double length_;
};

}  // namespace

extern const Entry fire_entry;
const Entry fire_entry = entry<Fire>(
    {.name = "fire",
     .title = "FIRE: a small network maps the distance, divided by the position of the query, to a bias",
     .paper = "https://arxiv.org/abs/2310.04418",
     .formula = "s = q*k/sqrt(D) + MLP_h(psi(p_i - p_j)/psi(max(|w*L|, p_i))), psi(x) = ln(|c*x| + 1)",
     .latex =
         R"(s_{ij} = \frac{q_i \cdot k_j}{\sqrt{D}} + \mathrm{MLP}_h\left(\frac{\psi(p_i - p_j)}{\psi(\max(\left|w L\right|, p_i))}\right), \quad \psi(x) = \ln(\left|c x\right| + 1))",
     .pitfall = "decoding must pass the absolute position of the query",
     .year = 2023,
     .relative = false,
     .extrapolates = true,
     .options = {{.name = "hidden",
                  .help = "width of the network",
                  .standard = "32",
                  .least = 1,
                  .most = 4096,
                  .whole = true},
                 {.name = "length",
                  .help = "L: the normaliser is constant for queries before this position, while w is 1",
                  .standard = "512",
                  .least = 1,
                  .most = 1000000000.0}}});

}  // namespace gnomon
