// PoPE, polar position embedding. Gopalakrishnan et al. 2025, https://arxiv.org/abs/2509.10534, equations 4 to 6;
// x-transformers, x_transformers.py, PolarEmbedding.
//
//   s[h,i,j] = Σ_d μ(q_d)·μ(k_d)·cos((p_j − p_i)·θ_d + δ[h,d])/√D,   μ = softplus, θ_d = theta^(−d/D), d = 0..D−1
//   δ within −2π..0, where it is clamped
//
// What (the size) and where (the angle) are apart: D frequencies, not D/2. q and k become 2D wide in the product; values
// stay. Acts on q and k. Parameters: δ (H,D), each layer its own; 0 at the start, or uniform (start=uniform).
#include <algorithm>
#include <cmath>
#include <numbers>

#include "gnomon/encodings/angle.h"
#include "gnomon/encodings/rows.h"

namespace gnomon {
namespace {

class Pope final : public Encoding {
 public:
  Pope(const Options& options, const Shape& shape)
      : Encoding(shape), uniform_(options.word("start") == "uniform") {
    for (std::int64_t d = 0; d < shape.D; ++d)
      frequencies_.push_back(std::pow(options.number("theta"), -double(d) / double(shape.D)));
  }
  std::vector<double> frequencies() const override { return frequencies_; }
  bool per_layer() const override { return true; }
  std::vector<ParamSpec> params() const override {
    std::vector<double> start;
    const Random random(1, "pope phases");
    for (std::int64_t n = 0; uniform_ && n < shape_.H * shape_.D; ++n)
      start.push_back(-2 * std::numbers::pi * random.uniform(std::uint64_t(n)));
    return {{"phase", {shape_.H, shape_.D}, 0, 0, false, start}};
  }
  Widths widths() const override { return {shape_.D, 0}; }

  double logit(const Scene& s, std::int64_t h, std::int64_t i, std::int64_t j) const override {
    const double *q = &s.q[(h * s.T() + i) * shape_.D], *k = &s.k[(h * s.T() + j) * shape_.D];
    double sum = 0;
    for (std::int64_t d = 0; d < shape_.D; ++d) {
      Angle angle(s.positions[j] - s.positions[i], frequencies_[d]);
      angle.add(clamped(s.w[h * shape_.D + d]), 1);
      sum += softplus(q[d]) * softplus(k[d]) * angle.cos();
    }
    return sum / std::sqrt(double(shape_.D));
  }
  // cos (tokens,D), then sin.
  Floats tables(const Positions& p) const override {
    const std::int64_t n = p.size() * shape_.D;
    Floats all(2 * n);
    for (std::int64_t at = 0; at < n; ++at) {
      const Angle angle(p[at / shape_.D], frequencies_[at % shape_.D]);
      all[at] = float(angle.cos()), all[n + at] = float(angle.sin());
    }
    return all;
  }
  void map(const Batch& b, Role role, const MapRows& rows, float* x) const override {
    if (role != Role::q && role != Role::k) return;
    const Turn turn(*this, b, role);
    each_row(rows.layout, b.positions, [&](std::int64_t t, std::int64_t h, std::int64_t place) {
      float *low = x + place, *high = low + rows.joined;
      for (std::int64_t d = 0; d < shape_.D; ++d) {
        const float size = low[d] > 30 ? low[d] : std::log1p(std::exp(low[d]));
        high[d] = size * turn.sin(t, h, d);
        low[d] = size * turn.cos(t, h, d);
      }
    });
  }
  // The size is softplus(x) = √(low² + high²), and softplus' = 1 − e^(−size).
  void map_backward(const Batch& b, Role role, const MapRows& rows, const float* y, float* dy,
                    const BatchGrad& grad) const override {
    if (role != Role::q && role != Role::k) return;
    const Turn turn(*this, b, role);
    std::vector<double> dphase(std::size_t(shape_.H * shape_.D));
    each_row(rows.layout, b.positions, [&](std::int64_t t, std::int64_t h, std::int64_t place) {
      for (std::int64_t d = 0; d < shape_.D; ++d) {
        const std::int64_t low = place + d, high = low + rows.joined;
        const float size = std::hypot(y[low], y[high]);
        dphase[h * shape_.D + d] += double(y[low]) * dy[high] - double(y[high]) * dy[low];
        const float dsize = dy[low] * turn.cos(t, h, d) + dy[high] * turn.sin(t, h, d);
        dy[low] = -std::expm1(-size) * dsize;
      }
    });
    for (std::size_t n = 0; role == Role::k && n < dphase.size(); ++n) {
      const float inside = float(clamped(b.w[n]));
      if (!(b.w[n] < inside || b.w[n] > inside)) grad.w[n] += float(dphase[n]);
    }
  }

 private:
  static double clamped(double w) { return std::clamp(w, -2 * std::numbers::pi, 0.0); }
  // cos and sin of p·θ for q, of p·θ + δ for k.
  struct Turn {
    const float *c, *s;
    std::int64_t D;
    std::vector<float> phase_cos, phase_sin;
    Turn(const Pope& pope, const Batch& b, Role role)
        : c(b.tables.data()), s(c + b.tokens() * pope.shape_.D), D(pope.shape_.D) {
      for (std::int64_t n = 0; n < pope.shape_.H * D; ++n) {
        const double phase = role == Role::k ? clamped(b.w[n]) : 0;
        phase_cos.push_back(float(std::cos(phase))), phase_sin.push_back(float(std::sin(phase)));
      }
    }
    float cos(std::int64_t t, std::int64_t h, std::int64_t d) const {
      return c[t * D + d] * phase_cos[h * D + d] - s[t * D + d] * phase_sin[h * D + d];
    }
    float sin(std::int64_t t, std::int64_t h, std::int64_t d) const {
      return s[t * D + d] * phase_cos[h * D + d] + c[t * D + d] * phase_sin[h * D + d];
    }
  };
  const bool uniform_;
  std::vector<double> frequencies_;
};

}  // namespace

extern const Entry pope_entry;
const Entry pope_entry = {
    .name = "pope",
    .title = "Polar position embedding: size from the content, angle from the position",
    .paper = "https://arxiv.org/abs/2509.10534",
    .formula = "s = sum_d softplus(q_d)*softplus(k_d)*cos((p_j - p_i)*theta_d + delta_hd)/sqrt(D)",
    .pitfall = "q and k of the product are twice as wide as the head; D frequencies with exponent -d/D",
    .year = 2025,
    .acts = kQk,
    .relative = true,
    .extrapolates = true,
    .options = {{.name = "theta",
                 .help = "base of the frequencies",
                 .standard = "10000",
                 .least = 1e-06,
                 .most = 1000000000000000.0},
                {.name = "start", .help = "of the phases", .standard = "zero", .words = {"zero", "uniform"}}},
    .make = [](const Options& options, const Shape& shape) {
      return std::make_unique<Pope>(options, shape);
    }};

}  // namespace gnomon
