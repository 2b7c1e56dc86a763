// GRAPE, multiplicative. Zhang et al. 2025, https://arxiv.org/abs/2512.07805, section 3: group representations.
//
//   G(p) = exp(p·L),   L = a·bᵀ − b·aᵀ (rank 2, skew), in each head
//        = I + sin(p·s)/s·L + (1 − cos(p·s))/s²·L²,   s = √(|a|²|b|² − (a·b)²)
//   s[h,i,j] = (G(p_i)q_i)·(G(p_j)k_j)/√D = q_iᵀ G(p_j − p_i) k_j/√D
//
// RoPE is the case of D/2 fixed planes; here the plane and its angular frequency s are learned. Acts on q and k. Parameters:
// a, b (H,D), each layer its own; the start has s near `frequency`.
#include <cmath>

#include "gnomon/encodings/angle.h"
#include "gnomon/encodings/rows.h"

namespace gnomon {
namespace {

// sin(p·s)/s and (1 − cos(p·s))/s² with their derivatives by s; by series where p·s is small.
struct Waves {
  double sine, cosine, dsine, dcosine;
};
Waves waves(double p, double s) {
  const double x = p * s;
  if (std::abs(x) < 1e-3) {
    return {p * (1 - x * x / 6), p * p / 2 * (1 - x * x / 12), -p * p * x / 3, -p * p * p * x / 12};
  }
  const Angle angle(p, s), half(p / 2, s);
  const double sin = angle.sin(), cos = angle.cos(), versine = 2 * half.sin() * half.sin();
  return {sin / s, versine / (s * s), (x * cos - sin) / (s * s), (x * sin - 2 * versine) / (s * s * s)};
}

class Grape final : public Encoding {
 public:
  Grape(const Options& options, const Shape& shape)
      : Encoding(shape), frequency_(options.number("frequency")) {}
  bool per_layer() const override { return true; }
  std::vector<ParamSpec> params() const override {
    const double deviation = std::sqrt(frequency_ / double(shape_.D));
    return {{"a", {shape_.H, shape_.D}, 0, deviation, false},
            {"b", {shape_.H, shape_.D}, 0, deviation, false}};
  }

  double logit(const Scene& s, std::int64_t h, std::int64_t i, std::int64_t j) const override {
    const std::int64_t D = shape_.D;
    const double *q = &s.q[(h * s.T() + i) * D], *k = &s.k[(h * s.T() + j) * D];
    const Plane plane(&s.w[h * D], &s.w[(shape_.H + h) * D], D);
    const auto turned = plane.turn(k, s.positions[j] - s.positions[i]);
    double sum = 0;
    for (std::int64_t d = 0; d < D; ++d) sum += q[d] * (k[d] + turned.a * plane.a[d] + turned.b * plane.b[d]);
    return sum / std::sqrt(double(D));
  }
  void map(const Batch& b, Role role, const MapRows& rows, float* x) const override {
    if (role != Role::q && role != Role::k) return;
    const auto planes = planes_of(b.w);
    each_row(rows.layout, b.positions, [&](std::int64_t t, std::int64_t h, std::int64_t place) {
      planes[h].add_turn(b.positions[t], x + place);
    });
  }
  void map_backward(const Batch& b, Role role, const MapRows& rows, const float* y, float* dy,
                    const BatchGrad& grad) const override {
    if (role != Role::q && role != Role::k) return;
    const std::int64_t D = shape_.D;
    const auto planes = planes_of(b.w);
    std::vector<double> da(std::size_t(shape_.H * D)), db(da.size()), x(D);
    each_row(rows.layout, b.positions, [&](std::int64_t t, std::int64_t h, std::int64_t place) {
      const Plane& plane = planes[h];
      const double p = b.positions[t];
      const float* row = y + place;
      const auto back = plane.turn(row, -p);  // x = G(−p)·y
      for (std::int64_t d = 0; d < D; ++d) x[d] = row[d] + back.a * plane.a[d] + back.b * plane.b[d];
      backward_row(plane, p, x, dy + place, {&da[h * D], &db[h * D]});
    });
    for (std::size_t n = 0; n < da.size(); ++n)
      grad.w[n] += float(da[n]), grad.w[da.size() + n] += float(db[n]);
  }

 private:
  // y = x + A·a + B·b
  struct Turned {
    double a, b;
  };
  struct Plane {
    std::vector<double> a, b;
    double aa = 0, bb = 0, ab = 0, s = 0;
    template <class W>
    Plane(const W* a_row, const W* b_row, std::int64_t D) : a(a_row, a_row + D), b(b_row, b_row + D) {
      for (std::int64_t d = 0; d < D; ++d) aa += a[d] * a[d], bb += b[d] * b[d], ab += a[d] * b[d];
      s = std::sqrt(std::max(0.0, aa * bb - ab * ab));
    }
    template <class X>
    Turned turn(const X* x, double p) const {
      double u = 0, v = 0;  // b·x and a·x: L·x = a·u − b·v
      for (std::size_t d = 0; d < a.size(); ++d) u += b[d] * double(x[d]), v += a[d] * double(x[d]);
      const Waves w = waves(p, s);
      return {w.sine * u + w.cosine * (ab * u - bb * v), -w.sine * v - w.cosine * (aa * u - ab * v)};
    }
    void add_turn(double p, float* x) const {
      const Turned t = turn(x, p);
      for (std::size_t d = 0; d < a.size(); ++d) x[d] = float(x[d] + t.a * a[d] + t.b * b[d]);
    }
  };
  std::vector<Plane> planes_of(const float* w) const {
    std::vector<Plane> planes;
    for (std::int64_t h = 0; h < shape_.H; ++h)
      planes.emplace_back(w + h * shape_.D, w + (shape_.H + h) * shape_.D, shape_.D);
    return planes;
  }
  struct PlaneGrad {
    double *a, *b;
  };
  void backward_row(const Plane& plane, double p, const std::vector<double>& x, float* g,
                    const PlaneGrad& grad) const {
    const std::int64_t D = shape_.D;
    const auto& [a, b, aa, bb, ab, s] = plane;
    const Waves w = waves(p, s);
    const Turned t = plane.turn(x.data(), p);
    double u = 0, v = 0, dA = 0, dB = 0;
    for (std::int64_t d = 0; d < D; ++d) {
      u += b[d] * x[d], v += a[d] * x[d];
      dA += a[d] * double(g[d]), dB += b[d] * double(g[d]);
      grad.a[d] += t.a * double(g[d]), grad.b[d] += t.b * double(g[d]);
    }
    const double C = w.cosine, S = w.sine;
    const double du = dA * (S + C * ab) - dB * C * aa, dv = -dA * C * bb + dB * (C * ab - S);
    const double ds =
        (dA * u - dB * v) * w.dsine + (dA * (ab * u - bb * v) - dB * (aa * u - ab * v)) * w.dcosine;
    const double ds2 = s > 0 ? ds / (2 * s) : 0;
    const double daa = -dB * C * u + bb * ds2, dbb = -dA * C * v + aa * ds2,
                 dab = C * (dA * u + dB * v) - 2 * ab * ds2;
    for (std::int64_t d = 0; d < D; ++d) {
      grad.a[d] += dv * x[d] + 2 * daa * a[d] + dab * b[d];
      grad.b[d] += du * x[d] + 2 * dbb * b[d] + dab * a[d];
      g[d] = float(g[d] + du * b[d] + dv * a[d]);
    }
  }
  const double frequency_;
};

}  // namespace

extern const Entry grape_entry;
const Entry grape_entry = {.name = "grape",
                           .title = "GRAPE, multiplicative: a learned plane that turns",
                           .paper = "https://arxiv.org/abs/2512.07805",
                           .formula = "G(p) = exp(p*(a*b^T - b*a^T)) on q and k",
                           .pitfall = "sin(s)/s and (1 - cos(s))/s^2 need a series where s is small",
                           .year = 2025,
                           .acts = kQk,
                           .relative = true,
                           .options = {{.name = "frequency",
                                        .help = "of the start, in radians a token",
                                        .standard = "0.1",
                                        .least = 1e-06,
                                        .most = 10}},
                           .make = [](const Options& options, const Shape& shape) {
                             return std::make_unique<Grape>(options, shape);
                           }};

}  // namespace gnomon
