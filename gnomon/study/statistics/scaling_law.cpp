#include "gnomon/study/statistics/scaling_law.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <set>

#include "gnomon/core/distributions.h"

namespace gnomon {
namespace {

constexpr std::size_t kNumbers = 5;  // of the law
constexpr double kLeastExponent = 0.02, kMostExponent = 2;

using Three = std::array<double, 3>;

// The point without one seed; -1: with all.
double mean_without(const Reached& p, int seed) {
  double sum = 0;
  int n = 0;
  for (int s = 0; s < int(p.by_seed.size()); ++s) {
    if (s != seed) sum += p.by_seed[std::size_t(s)], ++n;
  }
  return sum / n;
}

// The least Σ (Σ_k c_k·x_k − 1)² with the chosen c_k alone, by Gauss with pivots; nullopt where they are not told apart, or one is
// negative.
std::optional<Three> solved(std::span<const Three> rows, unsigned chosen) {
  double a[3][4] = {};
  for (const Three& x : rows) {
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 3; ++j) a[i][j] += x[std::size_t(i)] * x[std::size_t(j)];
      a[i][3] += x[std::size_t(i)];
    }
  }
  for (int i = 0; i < 3; ++i) {
    if (chosen >> i & 1) continue;
    for (int j = 0; j < 3; ++j) a[i][j] = a[j][i] = i == j;
    a[i][3] = 0;
  }
  for (int i = 0; i < 3; ++i) {
    int best = i;
    for (int r = i + 1; r < 3; ++r) best = std::abs(a[r][i]) > std::abs(a[best][i]) ? r : best;
    if (std::abs(a[best][i]) < 1e-14) return std::nullopt;
    std::swap(a[i], a[best]);
    for (int r = 0; r < 3; ++r) {
      const double f = r == i ? 0 : a[r][i] / a[i][i];
      for (int j = i; j < 4; ++j) a[r][j] -= f * a[i][j];
    }
  }
  Three c{};
  for (int i = 0; i < 3; ++i) c[std::size_t(i)] = a[i][3] / a[i][i];
  return *std::min_element(c.begin(), c.end()) < 0 ? std::nullopt : std::optional(c);
}

struct Fit {
  ScalingLaw law{};
  double squares = std::numeric_limits<double>::infinity();
};
// For two exponents the law is linear in the other three numbers. Units in the middle of the points keep the powers near 1.
class Fitted {
 public:
  Fitted(std::span<const Reached> points, int without) : points_(points), without_(without) {
    double n = 0, d = 0;
    for (const Reached& p : points) n += std::log(p.parameters), d += std::log(p.tokens);
    unit_n_ = std::exp(n / double(points.size())), unit_d_ = std::exp(d / double(points.size()));
  }
  Fit at(double a, double b) const {
    std::vector<Three> rows;
    for (const Reached& p : points_) {
      const double y = mean_without(p, without_);
      rows.push_back({1 / y, std::pow(p.parameters / unit_n_, -a) / y, std::pow(p.tokens / unit_d_, -b) / y});
    }
    Fit best;
    for (unsigned chosen = 1; chosen < 8; ++chosen) {
      const auto c = solved(rows, chosen);
      if (!c) continue;
      double squares = 0;
      for (const Three& x : rows) {
        const double error = (*c)[0] * x[0] + (*c)[1] * x[1] + (*c)[2] * x[2] - 1;
        squares += error * error;
      }
      if (squares < best.squares)
        best = {{(*c)[0], (*c)[1] * std::pow(unit_n_, a), a, (*c)[2] * std::pow(unit_d_, b), b}, squares};
    }
    return best;
  }
  // A grid, then ever smaller crosses around its best.
  Fit best() const {
    constexpr int kSteps = 24;
    const double ratio = std::pow(kMostExponent / kLeastExponent, 1.0 / kSteps);
    Fit best;
    for (int i = 0; i <= kSteps; ++i) {
      for (int j = 0; j <= kSteps; ++j) {
        const Fit f = at(kLeastExponent * std::pow(ratio, i), kLeastExponent * std::pow(ratio, j));
        if (f.squares < best.squares) best = f;
      }
    }
    for (double step = std::sqrt(ratio); step > 1 + 1e-9;) {
      const double a = best.law.size_exponent, b = best.law.data_exponent;
      Fit next = best;
      for (const auto& [x, y] : {std::pair{a * step, b},
                                 {a / step, b},
                                 {a, b * step},
                                 {a, b / step},
                                 {a * step, b * step},
                                 {a / step, b / step},
                                 {a * step, b / step},
                                 {a / step, b * step}}) {
        if (std::min(x, y) < kLeastExponent || std::max(x, y) > kMostExponent) continue;
        if (const Fit f = at(x, y); f.squares < next.squares) next = f;
      }
      if (next.squares < best.squares)
        best = next;
      else
        step = std::sqrt(step);
    }
    return best;
  }

 private:
  const std::span<const Reached> points_;
  const int without_;
  double unit_n_, unit_d_;
};

std::optional<ScalingLaw> law_without(std::span<const Reached> points, int seed) {
  std::set<double> sizes;
  for (const Reached& p : points) {
    sizes.insert(p.parameters);
    if (p.by_seed.empty() || !(mean_without(p, seed) > 0)) return std::nullopt;
  }
  if (points.size() <= kNumbers || sizes.size() < 3) return std::nullopt;
  const Fit fit = Fitted(points, seed).best();
  return std::isfinite(fit.squares) ? std::optional(fit.law) : std::nullopt;
}

int least_seeds(std::span<const Reached> points) {
  std::size_t n = std::numeric_limits<int>::max();
  for (const Reached& p : points) n = std::min(n, p.by_seed.size());
  return int(n);
}
double deviation(std::span<const double> values) {
  double mean = 0, squares = 0;
  for (const double x : values) mean += x / double(values.size());
  for (const double x : values) squares += (x - mean) * (x - mean);
  return std::sqrt(squares / double(values.size() - 1));
}

// `value` of the laws without each seed; what the law misses at the points; a seed's deviation at the last of them.
std::optional<Estimate> predicted(int seeds, const std::function<std::optional<double>(int without)>& value,
                                  std::span<const double> residuals, double of_a_seed, int new_seeds) {
  const std::optional<double> all = value(-1);
  if (!all || seeds < 2) return std::nullopt;
  std::vector<double> without;
  for (int s = 0; s < seeds; ++s) {
    const std::optional<double> one = value(s);
    if (!one) return std::nullopt;
    without.push_back(*one);
  }
  const double n = seeds, points = double(residuals.size());
  double missed = 0;
  for (const double r : residuals) missed += r * r / (points - double(kNumbers));
  const double jackknife = deviation(without) * (n - 1) / std::sqrt(n);
  const double error = std::sqrt(jackknife * jackknife + missed + of_a_seed * of_a_seed / new_seeds);
  return Estimate{*all, error * t_quantile(0.025, n - 1), seeds, {{error, n - 1}}};
}

// The slope of a straight line through (x, y), each less the mean of its group; NaN where x does not differ.
struct Sample {
  double x, y;
  std::int64_t group;
};
double line(std::span<const Sample> samples) {
  double xx = 0, xy = 0;
  for (const Sample& s : samples) {
    double mean_x = 0, mean_y = 0, n = 0;
    for (const Sample& other : samples) {
      if (other.group == s.group) mean_x += other.x, mean_y += other.y, ++n;
    }
    xx += (s.x - mean_x / n) * (s.x - mean_x / n), xy += (s.x - mean_x / n) * (s.y - mean_y / n);
  }
  return xx > 0 ? xy / xx : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

double Reached::mean() const { return mean_without(*this, -1); }

double ScalingLaw::loss(double parameters, double tokens) const {
  return floor + of_size * std::pow(parameters, -size_exponent) + of_data * std::pow(tokens, -data_exponent);
}

std::optional<ScalingLaw> scaling_law(std::span<const Reached> points) { return law_without(points, -1); }

std::optional<Estimate> predicted_loss(std::span<const Reached> points, const Elsewhere& at) {
  const auto law = scaling_law(points);
  if (!law) return std::nullopt;
  std::vector<double> residuals;
  for (const Reached& p : points) residuals.push_back(p.mean() - law->loss(p.parameters, p.tokens));
  const auto value = [&](int without) -> std::optional<double> {
    const auto one = law_without(points, without);
    return one ? std::optional(one->loss(at.parameters, at.tokens)) : std::nullopt;
  };
  return predicted(least_seeds(points), value, residuals, deviation(points.back().by_seed), at.seeds);
}

std::optional<Estimate> predicted_difference(std::span<const Reached> arm, const Elsewhere& at,
                                             std::span<const Reached> baseline,
                                             const Elsewhere& baseline_at) {
  const auto law = scaling_law(arm), base = scaling_law(baseline);
  if (!law || !base || arm.size() != baseline.size()) return std::nullopt;
  const int seeds = std::min(least_seeds(arm), least_seeds(baseline));
  std::vector<double> residuals, last;
  for (std::size_t n = 0; n < arm.size(); ++n) {
    const Reached &a = arm[n], &b = baseline[n];
    residuals.push_back(a.mean() - b.mean() - law->loss(a.parameters, a.tokens) +
                        base->loss(b.parameters, b.tokens));
  }
  for (int s = 0; s < seeds; ++s)
    last.push_back(arm.back().by_seed[std::size_t(s)] - baseline.back().by_seed[std::size_t(s)]);
  const auto value = [&](int without) -> std::optional<double> {
    const auto one = law_without(arm, without), other = law_without(baseline, without);
    if (!one || !other) return std::nullopt;
    return one->loss(at.parameters, at.tokens) - other->loss(baseline_at.parameters, baseline_at.tokens);
  };
  return predicted(seeds, value, residuals, seeds < 2 ? 0 : deviation(last), at.seeds);
}

std::optional<Slopes> slopes(std::span<const Reached> differences) {
  std::size_t seeds = 0;
  for (const Reached& p : differences) seeds = std::max(seeds, p.by_seed.size());
  std::vector<double> compute, size;
  for (std::size_t s = 0; s < seeds; ++s) {
    std::vector<Sample> by_compute, by_size;
    for (const Reached& p : differences) {
      if (s >= p.by_seed.size()) continue;
      by_compute.push_back({std::log10(p.parameters * p.tokens), p.by_seed[s], 0});
      by_size.push_back(
          {std::log10(p.parameters), p.by_seed[s], std::llround(std::log2(p.tokens / p.parameters))});
    }
    compute.push_back(line(by_compute)), size.push_back(line(by_size));
  }
  if (seeds < 2 || std::any_of(size.begin(), size.end(), [](double x) { return std::isnan(x); }))
    return std::nullopt;
  return Slopes{mean_interval(compute), mean_interval(size)};
}

}  // namespace gnomon
