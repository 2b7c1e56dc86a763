#include "gnomon/study/statistics/budgets.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "gnomon/core/error.h"

namespace gnomon {
namespace {

// By rising compute.
std::vector<Budget> sorted(std::string_view place, std::span<const Budget> curve) {
  std::vector<Budget> s(curve.begin(), curve.end());
  std::sort(s.begin(), s.end(), [](const Budget& a, const Budget& b) { return a.compute < b.compute; });
  bool fit = s.size() >= 2 && s[0].compute > 0;
  for (std::size_t i = 1; i < s.size(); ++i) fit &= s[i].compute > s[i - 1].compute;
  if (fit) return s;
  throw Error(Fault::usage, text(place, ": found a curve of ", counted(s.size(), "budget"),
                                 ", allowed are two or more, all positive and different"));
}

// Between two numbers, linear in their logarithms: at `share` of the way.
double between(double low, double high, double share) { return low * std::pow(high / low, share); }

// Of a curve that is sorted and has this compute in its range.
double loss_at(std::span<const Budget> curve, double compute) {
  std::size_t i = 1;
  while (i + 1 < curve.size() && curve[i].compute < compute) ++i;
  const Budget &a = curve[i - 1], &b = curve[i];
  return std::lerp(a.loss, b.loss, std::log(compute / a.compute) / std::log(b.compute / a.compute));
}

// For one exponent the law is linear in floor and scale.
struct Fit {
  PowerLaw law;
  double squares, slope;  // sum of squared errors, and half of its derivative by the exponent
};
// Compute is in units of `unit`.
Fit fit(std::span<const Budget> curve, double unit, double exponent) {
  const double n = double(curve.size());
  double mean_x = 0, mean_y = 0, xx = 0, xy = 0;
  const auto power = [&](const Budget& b) { return std::pow(b.compute / unit, -exponent); };
  for (const Budget& b : curve) mean_x += power(b) / n, mean_y += b.loss / n;
  for (const Budget& b : curve) {
    const double x = power(b) - mean_x;
    xx += x * x, xy += x * (b.loss - mean_y);
  }
  const double scale = xy / xx;
  Fit f{{mean_y - scale * mean_x, scale * std::pow(unit, exponent), exponent}, 0, 0};
  for (const Budget& b : curve) {
    const double x = power(b), error = b.loss - mean_y - scale * (x - mean_x);
    f.squares += error * error;
    f.slope += error * scale * x * std::log(b.compute / unit);
  }
  return f;
}

}  // namespace

double PowerLaw::loss(double compute) const { return floor + scale * std::pow(compute, -exponent); }
double PowerLaw::compute(double loss) const {
  if (loss <= floor) return std::numeric_limits<double>::infinity();
  return std::pow(scale / (loss - floor), 1 / exponent);
}

std::optional<PowerLaw> power_law(std::span<const Budget> given) {
  const auto curve = sorted("power_law", given);
  if (curve.size() < 3) return std::nullopt;
  // A unit in the middle of the range keeps the powers near 1.
  const double unit = std::sqrt(curve.front().compute * curve.back().compute), least = 0.01, most = 10;
  constexpr int kSteps = 300;
  const auto at = [&](int i) { return fit(curve, unit, between(least, most, double(i) / kSteps)); };
  int best = 0;
  for (int i = 1; i <= kSteps; ++i) best = at(i).squares < at(best).squares ? i : best;
  if (best == 0 || best == kSteps || at(best).law.scale <= 0) return std::nullopt;
  double low = at(best - 1).law.exponent, high = at(best + 1).law.exponent;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (fit(curve, unit, middle).slope < 0 ? low : high) = middle;
  }
  return fit(curve, unit, (low + high) / 2).law;
}

SpeedUp speed_up(std::span<const Budget> baseline, Budget arm, const std::optional<PowerLaw>& law) {
  using enum SpeedUp::Bound;
  auto curve = sorted("speed_up", baseline);
  if (law) {
    for (Budget& b : curve) b.loss = law->loss(b.compute);
  }
  if (arm.loss > curve.front().loss) return {curve.front().compute / arm.compute, at_most};
  if (arm.loss == curve.front().loss) return {curve.front().compute / arm.compute, equal};
  for (std::size_t i = 1; i < curve.size(); ++i) {
    const Budget &a = curve[i - 1], &b = curve[i];
    if (b.loss > arm.loss) continue;
    const double reached =
        law ? law->compute(arm.loss) : between(a.compute, b.compute, (a.loss - arm.loss) / (a.loss - b.loss));
    return {reached / arm.compute, equal};
  }
  return {curve.back().compute / arm.compute, at_least};
}

std::vector<double> crossings(std::span<const Budget> a, std::span<const Budget> b) {
  const auto one = sorted("crossings", a), two = sorted("crossings", b);
  const double first = std::max(one.front().compute, two.front().compute),
               last = std::min(one.back().compute, two.back().compute);
  std::vector<double> knots;
  for (const auto* curve : {&one, &two}) {
    for (const Budget& budget : *curve) {
      if (budget.compute >= first && budget.compute <= last) knots.push_back(budget.compute);
    }
  }
  std::sort(knots.begin(), knots.end());
  std::vector<double> found;
  double before = 0, since = 0;  // the last difference that was not 0; where they met after it, 0: nowhere
  for (std::size_t i = 0; i < knots.size(); ++i) {
    const double gap = loss_at(one, knots[i]) - loss_at(two, knots[i]);
    if (gap == 0) {
      since = since > 0 ? since : knots[i];
      continue;
    }
    if (before * gap < 0) {
      found.push_back(since > 0 ? since : between(knots[i - 1], knots[i], before / (before - gap)));
    }
    before = gap, since = 0;
  }
  return found;
}

}  // namespace gnomon
