#include "gnomon/kernels/plane.h"

#include <algorithm>
#include <cmath>

#include "gnomon/kernels/angle.h"

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

}  // namespace

void Plane::measure() {
  for (std::size_t d = 0; d < a_.size(); ++d)
    aa_ += a_[d] * a_[d], bb_ += b_[d] * b_[d], ab_ += a_[d] * b_[d];
  s_ = std::sqrt(std::max(0.0, aa_ * bb_ - ab_ * ab_));
  if (std::isnan(aa_ + bb_)) s_ = aa_ + bb_;  // std::max drops NaN
}

Plane::Turned Plane::turned(const Projected& x, double p) const {
  const Waves w = waves(p, s_);
  return {w.sine * x.u + w.cosine * (ab_ * x.u - bb_ * x.v),
          -w.sine * x.v - w.cosine * (aa_ * x.u - ab_ * x.v)};
}

void Plane::backward(double p, const float* x, float* g, std::span<double> da, std::span<double> db) const {
  const Waves w = waves(p, s_);
  const auto [u, v] = project(x);
  const Turned t = turned({u, v}, p);
  double dA = 0, dB = 0;
  for (std::size_t d = 0; d < a_.size(); ++d) {
    dA += a_[d] * double(g[d]), dB += b_[d] * double(g[d]);
    da[d] += t.a * double(g[d]), db[d] += t.b * double(g[d]);
  }
  const double C = w.cosine, S = w.sine;
  const double du = dA * (S + C * ab_) - dB * C * aa_, dv = -dA * C * bb_ + dB * (C * ab_ - S);
  const double ds =
      (dA * u - dB * v) * w.dsine + (dA * (ab_ * u - bb_ * v) - dB * (aa_ * u - ab_ * v)) * w.dcosine;
  const double ds2 = s_ > 0 ? ds / (2 * s_) : 0;
  const double daa = -dB * C * u + bb_ * ds2, dbb = -dA * C * v + aa_ * ds2,
               dab = C * (dA * u + dB * v) - 2 * ab_ * ds2;
  for (std::size_t d = 0; d < a_.size(); ++d) {
    da[d] += dv * double(x[d]) + 2 * daa * a_[d] + dab * b_[d];
    db[d] += du * double(x[d]) + 2 * dbb * b_[d] + dab * a_[d];
    g[d] = float(double(g[d]) + du * b_[d] + dv * a_[d]);
  }
}

}  // namespace gnomon
