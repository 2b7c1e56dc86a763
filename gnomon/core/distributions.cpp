#include "gnomon/core/distributions.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "gnomon/core/error.h"

namespace gnomon {
namespace {

void check_tail(double tail) {
  if (tail > 0 && tail < 1) return;
  throw Error(Fault::usage,
              text("statistics: found a probability of ", tail, "; allowed are numbers above 0 and below 1"));
}
void check_freedom(double freedom) {
  if (freedom >= 1 && std::isfinite(freedom)) return;
  throw Error(Fault::usage,
              text("statistics: found ", freedom, " degrees of freedom; allowed are 1 or more"));
}

// ln Γ(a + 1/2) − ln Γ(a). Where a is large the difference of the two logarithms keeps few digits, and its
// asymptotic series has them all (Abramowitz, Stegun 6.1.40).
double half_step_of_log_gamma(double a) {
  if (a < 100) return std::lgamma(a + 0.5) - std::lgamma(a);
  return std::log(a) / 2 - 1 / (8 * a) + 1 / (192 * a * a * a);
}

// Continued fraction of the incomplete beta function, by Lentz's method.
double beta_fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  double c = 1, d = 1 - (a + b) * x / (a + 1);
  d = 1 / (std::abs(d) < kTiny ? kTiny : d);
  double f = d;
  for (int m = 1; m < 10000; ++m) {
    const auto step = [&](double term) {
      d = 1 + term * d;
      c = 1 + term / c;
      d = 1 / (std::abs(d) < kTiny ? kTiny : d);
      c = std::abs(c) < kTiny ? kTiny : c;
      return c * d;
    };
    f *= step(m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)));
    const double last = step(-(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)));
    f *= last;
    if (std::abs(last - 1) < 1e-15) break;
  }
  return f;
}

// Where a tail that is convex above 0 has fallen to `tail` ≤ 1/2: Newton's steps from 0 approach it and never pass it, until
// one is rounding.
template <class Tail, class Density>
double upper_point(double tail, const Tail& tail_of, const Density& density_of) {
  double x = 0;
  for (int i = 0; i < 2000; ++i) {
    const double step = (tail_of(x) - tail) / density_of(x);
    x += step;
    if (!(step > 1e-15 * x)) break;
  }
  return x;
}

}  // namespace

double normal_tail(double z) { return std::erfc(z / std::numbers::sqrt2) / 2; }

double normal_quantile(double tail) {
  check_tail(tail);
  if (tail > 0.5) return -normal_quantile(1 - tail);
  return upper_point(tail, normal_tail,
                     [](double z) { return std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi); });
}

double t_tail(double t, double freedom) {
  check_freedom(freedom);
  if (std::isnan(t)) return t;
  if (t < 0) return 1 - t_tail(-t, freedom);
  if (std::isinf(t)) return 0;
  // I_x(a, 1/2) / 2 with x = freedom / (freedom + t²), and 1 − x without its rounding.
  const double a = freedom / 2, square = t * t, x = 1 / (1 + square / freedom),
               rest = 1 / (1 + freedom / square);
  if (square == 0) return 0.5;
  const double front = std::exp(half_step_of_log_gamma(a) - std::log(std::numbers::pi) / 2 -
                                a * std::log1p(square / freedom) + std::log(rest) / 2);
  return x < (a + 1) / (a + 2.5) ? front * beta_fraction(a, 0.5, x) / a / 2
                                 : 0.5 - front * beta_fraction(0.5, a, rest);
}

double t_quantile(double tail, double freedom) {
  check_tail(tail);
  check_freedom(freedom);
  if (tail > 0.5) return -t_quantile(1 - tail, freedom);
  const double top = std::exp(half_step_of_log_gamma(freedom / 2)) / std::sqrt(freedom * std::numbers::pi);
  return upper_point(
      tail, [&](double t) { return t_tail(t, freedom); },
      [&](double t) { return top * std::exp(-(freedom + 1) / 2 * std::log1p(t * t / freedom)); });
}

// The normal tail at t·s − shift, over the density of s = √(χ²/freedom). In u = ln s that integrand is smooth and
// dies out fast on both sides, so the trapezoidal rule converges geometrically.
double noncentral_t_tail(double t, double freedom, double shift) {
  check_freedom(freedom);
  const double root = std::sqrt(freedom), step = 1 / (8 * (root + std::abs(shift)));
  double sum = 0, weight = 0;
  for (double u = -40 / freedom - 9 / root; u < 9 / root; u += step) {
    const double density = std::exp(freedom * u - freedom / 2 * std::expm1(2 * u));
    weight += density;
    sum += density * normal_tail(t * std::exp(u) - shift);
  }
  return sum / weight;
}

}  // namespace gnomon
