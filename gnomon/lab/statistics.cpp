#include "gnomon/lab/statistics.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace gnomon {
namespace {

// Continued fraction of the incomplete beta function, by Lentz's method.
double beta_fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  double c = 1, d = 1 - (a + b) * x / (a + 1);
  d = 1 / (std::abs(d) < kTiny ? kTiny : d);
  double f = d;
  for (int m = 1; m < 500; ++m) {
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
double incomplete_beta(double a, double b, double x) {
  if (x <= 0 || x >= 1) return x <= 0 ? 0 : 1;
  const double front =
      std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x));
  return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a
                                   : 1 - front * beta_fraction(b, a, 1 - x) / b;
}

}  // namespace

double t_quantile(double tail, double freedom) {
  const auto above = [&](double t) {
    return 0.5 * incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t));
  };
  double low = 0, high = 1;
  while (above(high) > tail) high *= 2;
  for (int i = 0; i < 200 && high - low > 1e-13 * high; ++i) {
    const double middle = (low + high) / 2;
    (above(middle) > tail ? low : high) = middle;
  }
  return (low + high) / 2;
}

Estimate mean_interval(std::span<const double> values) {
  const double n = double(values.size());
  double mean = 0, squares = 0;
  for (const double x : values) mean += x / n;
  for (const double x : values) squares += (x - mean) * (x - mean);
  const double half =
      values.size() < 2 ? std::nan("") : t_quantile(0.025, n - 1) * std::sqrt(squares / (n - 1) / n);
  return {mean, half, int(values.size())};
}

double median(std::vector<double> x) {
  if (x.empty()) return 0;
  std::sort(x.begin(), x.end());
  return (x[(x.size() - 1) / 2] + x[x.size() / 2]) / 2;
}

Estimate crossed_interval(std::span<const double> values, std::int64_t seeds) {
  std::vector<double> means;
  for (std::int64_t s = 0; s < seeds && !values.empty(); ++s) {
    const std::size_t B = values.size() / std::size_t(seeds);
    double sum = 0;
    for (std::size_t b = 0; b < B; ++b) sum += values[std::size_t(s) * B + b];
    means.push_back(sum / double(B));
  }
  return mean_interval(means);
}

Estimate paired_interval(std::span<const double> a, std::span<const double> b) {
  std::vector<double> difference;
  for (std::size_t i = 0; i < a.size(); ++i) difference.push_back(a[i] - b[i]);
  return mean_interval(difference);
}

}  // namespace gnomon
