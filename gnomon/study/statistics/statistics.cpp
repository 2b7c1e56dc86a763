#include "gnomon/study/statistics/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include "gnomon/core/check.h"
#include "gnomon/core/distributions.h"

namespace gnomon {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

std::vector<double> differences(std::string_view place, std::span<const double> a,
                                std::span<const double> b) {
  check_size(place, "the second arm", b.size(), std::int64_t(a.size()));
  std::vector<double> all(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) all[i] = a[i] - b[i];
  return all;
}

double mean_of(std::span<const double> values) {
  // From the first value on, so that equal values have deviations of exactly 0.
  const double first = values.empty() ? 0 : values[0];
  double sum = 0;
  for (const double x : values) sum += (x - first) / double(values.size());
  return first + sum;
}
// Sum of products of what two arms deviate from their means.
double deviations(std::span<const double> a, std::span<const double> b) {
  const double mean_a = mean_of(a), mean_b = mean_of(b);
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - mean_a) * (b[i] - mean_b);
  return sum;
}
double squares(std::span<const double> values) { return deviations(values, values); }

Estimate with_interval(double mean, std::int64_t n, std::vector<Spread> spreads) {
  Estimate e{mean, kNaN, int(n), std::move(spreads)};
  e.half_width = half_width(e, 0.95);
  return e;
}

// Standard errors that a value lies above 0; a value of 0 does not, even where there is no spread.
double in_errors(double value, double error) { return value == 0 ? 0 : value / error; }

// The largest of a function of the spreads: the least that can be said by any of them.
template <class Function>
double largest(const Estimate& e, const Function& of) {
  double most = kNaN;
  for (const Spread& s : e.spreads) most = std::fmax(most, of(s));
  return most;
}

// The mean squares of a table (n, B), over n·B: variances of its mean.
struct TwoWay {
  double seeds, blocks, rest;
};
TwoWay two_way(std::span<const double> values, std::int64_t n, std::int64_t B) {
  std::vector<double> by_seed(n), by_block(B), column(n);
  for (std::int64_t i = 0; i < n; ++i) by_seed[i] = mean_of(values.subspan(i * B, B));
  for (std::int64_t j = 0; j < B; ++j) {
    for (std::int64_t i = 0; i < n; ++i) column[i] = values[i * B + j];
    by_block[j] = mean_of(column);
  }
  const double mean = mean_of(by_seed);
  double rest = 0;
  for (std::int64_t i = 0; i < n * B; ++i) {
    const double r = values[i] - by_seed[i / B] - by_block[i % B] + mean;
    rest += r * r;
  }
  const double seeds = squares(by_seed) / double((n - 1) * n),
               blocks = squares(by_block) / double((B - 1) * B);
  return {seeds, blocks, rest / double((n - 1) * (B - 1)) / double(n * B)};
}

}  // namespace

Estimate mean_interval(std::span<const double> values) {
  const double n = double(values.size()), mean = mean_of(values);
  if (values.size() < 2) return with_interval(mean, std::int64_t(values.size()), {});
  return with_interval(mean, std::int64_t(values.size()),
                       {{std::sqrt(squares(values) / (n - 1) / n), n - 1}});
}

double log_odds(double share) { return std::log(share) - std::log1p(-share); }

ShareEstimate share_interval(std::span<const double> shares, double cases) {
  const double half = .5 / cases;
  std::vector<double> odds;
  for (const double p : shares) odds.push_back(log_odds(std::clamp(p, half, 1 - half)));
  const Estimate e = mean_interval(odds);
  const auto back = [](double x) { return 1 / (1 + std::exp(-x)); };
  return {back(e.mean), back(e.mean - e.half_width), back(e.mean + e.half_width), e.n};
}

double median(std::vector<double> x) {
  if (x.empty()) return 0;
  std::sort(x.begin(), x.end());
  return (x[(x.size() - 1) / 2] + x[x.size() / 2]) / 2;
}

Estimate paired_interval(std::span<const double> a, std::span<const double> b) {
  return mean_interval(differences("paired_interval", a, b));
}

Estimate welch_interval(std::span<const double> a, std::span<const double> b) {
  const double mean = mean_of(a) - mean_of(b), n = double(a.size()), m = double(b.size());
  const auto fewer = std::int64_t(std::min(a.size(), b.size()));
  if (fewer < 2) return with_interval(mean, fewer, {});
  const double x = squares(a) / (n - 1) / n, y = squares(b) / (m - 1) / m;
  const double freedom = (x + y) * (x + y) / (x * x / (n - 1) + y * y / (m - 1));
  // fmax: where nothing varies at all, 0/0 is no number of degrees of freedom.
  return with_interval(mean, fewer, {{std::sqrt(x + y), std::fmax(freedom, double(fewer - 1))}});
}

Estimate crossed_interval(std::span<const double> values, std::int64_t seeds) {
  check_extents("crossed_interval", {{"the number of seeds", seeds, 1, kMostNumbers}});
  const std::int64_t blocks = std::int64_t(values.size()) / seeds;
  check_size("crossed_interval", "values (seeds, blocks)", values.size(),
             seeds * std::max<std::int64_t>(blocks, 1));
  if (seeds < 2 || blocks < 2) return with_interval(mean_of(values), seeds, {});
  const double n = double(seeds), B = double(blocks);
  const TwoWay of = two_way(values, seeds, blocks);
  const double both = std::max({of.seeds, of.blocks, of.seeds + of.blocks - of.rest}),
               satterthwaite =
                   both * both / (of.seeds * of.seeds / (n - 1) + of.blocks * of.blocks / (B - 1));
  return with_interval(mean_of(values), seeds,
                       {{std::sqrt(of.seeds), n - 1},
                        {std::sqrt(of.blocks), B - 1},
                        // fmax: where nothing varies at all, 0/0 is no number of degrees of freedom.
                        {std::sqrt(both), std::fmax(satterthwaite, std::min(n, B) - 1)}});
}

Estimate paired_crossed_interval(std::span<const double> a, std::span<const double> b, std::int64_t seeds) {
  return crossed_interval(differences("paired_crossed_interval", a, b), seeds);
}

double half_width(const Estimate& e, double level) {
  return largest(e, [&](const Spread& s) { return s.error * t_quantile((1 - level) / 2, s.freedom); });
}

double p_value(const Estimate& e) {
  return largest(
      e, [&](const Spread& s) { return 2 * t_tail(in_errors(std::abs(e.mean), s.error), s.freedom); });
}

Equivalence equivalence(const Estimate& d, double margin) {
  const double p = largest(
      d, [&](const Spread& s) { return t_tail(in_errors(margin - std::abs(d.mean), s.error), s.freedom); });
  return {p, p <= 0.05};
}

double detectable_effect(double deviation, int n, double power) {
  if (n < 2) return kNaN;
  const double freedom = n - 1, limit = t_quantile(0.025, freedom);
  const auto found = [&](double shift) {
    return noncentral_t_tail(limit, freedom, shift) + noncentral_t_tail(limit, freedom, -shift);
  };
  double low = 0, high = 1;
  while (found(high) < power) low = high, high *= 2;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (found(middle) < power ? low : high) = middle;
  }
  return (low + high) / 2 * deviation / std::sqrt(double(n));
}

double pairing_correlation(std::span<const double> a, std::span<const double> b) {
  check_size("pairing_correlation", "the second arm", b.size(), std::int64_t(a.size()));
  if (a.size() < 3) return kNaN;
  return deviations(a, b) / std::sqrt(squares(a) * squares(b));
}

}  // namespace gnomon
