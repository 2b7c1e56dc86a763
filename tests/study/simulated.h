// Intervals and tests where the truth is known: draws, designs, and how often they hold. The tests ask for bounds, and
// bench/intervals.cpp prints the tables.
#pragma once
#include <algorithm>
#include <cmath>
#include <functional>
#include <string_view>
#include <vector>

#include "gnomon/core/distributions.h"
#include "gnomon/core/random.h"
#include "gnomon/study/statistics/comparisons.h"
#include "gnomon/study/statistics/shares.h"
#include "gnomon/study/statistics/statistics.h"

namespace gnomon {

using Numbers = std::vector<double>;

// One random number after the other.
class Draws {
 public:
  explicit Draws(std::string_view name) : random_(1, name) {}
  double uniform() { return random_.uniform(next_++); }
  double normal() { return random_.normal(next_++); }
  // Mean 0, variance 1; skewness 0 (normal), 1 or 2 (the gamma distributions of shape 4 and 1).
  double effect(int skewness) {
    if (skewness == 0) return normal();
    const int shape = skewness == 1 ? 4 : 1;
    double sum = 0;
    for (int i = 0; i < shape; ++i) sum -= std::log(uniform());
    return (sum - shape) / std::sqrt(double(shape));
  }
  std::int64_t binomial(std::int64_t n, double p) {
    std::int64_t k = 0;
    for (std::int64_t i = 0; i < n; ++i) k += uniform() < p;
    return k;
  }

 private:
  Random random_;
  std::uint64_t next_ = 0;
};

// The share of n trials that come out true.
inline double share_of(int n, const std::function<bool()>& trial) {
  int count = 0;
  for (int i = 0; i < n; ++i) count += trial();
  return double(count) / n;
}
inline bool holds(const Estimate& e, double truth) { return std::abs(e.mean - truth) <= e.half_width; }
// Whether the t interval of this spread alone holds a truth of 0.
inline bool holds(const Estimate& e, const Spread& s) {
  return std::abs(e.mean) <= s.error * t_quantile(0.025, s.freedom);
}

// Standard deviations of the effects of seeds and blocks, and of what is neither; the mean is 0.
struct Design {
  const char* name;
  std::int64_t n, B;
  double seeds, blocks, rest;
  int skewness = 0;  // of the blocks
};
inline Estimate simulated(const Design& d, Draws& draws) {
  Numbers of_blocks(d.B), values;
  for (double& b : of_blocks) b = d.blocks * draws.effect(d.skewness);
  for (std::int64_t i = 0; i < d.n; ++i) {
    const double of_seed = d.seeds * draws.normal();
    for (const double of_block : of_blocks) values.push_back(of_seed + of_block + d.rest * draws.normal());
  }
  return crossed_interval(values, d.n);
}
inline std::vector<Design> designs(int skewness = 0) {
  std::vector<Design> all;
  for (const std::int64_t n : {3, 5, 8}) {
    for (const std::int64_t B : {16, 64}) {
      const double root_n = std::sqrt(double(n)), root_B = std::sqrt(double(B));
      all.push_back({"seeds dominate", n, B, 1, 0.1, 0.1, skewness});
      all.push_back({"blocks dominate", n, B, 0.1, 1, 0.1, skewness});
      all.push_back({"all equal", n, B, 1, 1, 1, skewness});
      all.push_back({"seeds and blocks move the mean alike", n, B, root_n, root_B, 1, skewness});
      all.push_back({"seeds move the mean as the rest does", n, B, 1 / root_B, 0, 1, skewness});
      all.push_back({"the rest alone", n, B, 0, 0, 1, skewness});
    }
  }
  return all;
}

inline double binomial(std::int64_t k, std::int64_t n, double p) {
  return std::exp(std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1) + double(k) * std::log(p) +
                  double(n - k) * std::log1p(-p));
}
// Exactly, over all counts and 500 shares p: Wilson's mean and least, Wald's mean.
struct WilsonCoverage {
  double mean = 0, least = 1, wald = 0;
};
inline WilsonCoverage wilson_coverage(std::int64_t n) {
  WilsonCoverage w;
  constexpr int kSteps = 500;
  for (int step = 0; step < kSteps; ++step) {
    const double p = (step + 0.5) / kSteps;
    double covered = 0;
    for (std::int64_t k = 0; k <= n; ++k) {
      const ShareInterval s = wilson_interval(k, n);
      if (s.low <= p && p <= s.high) covered += binomial(k, n, p);
      if (std::abs(s.share - p) <= 1.96 * std::sqrt(s.share * (1 - s.share) / double(n)))
        w.wald += binomial(k, n, p) / kSteps;
    }
    w.mean += covered / kSteps;
    w.least = std::min(w.least, covered);
  }
  return w;
}

// Seeds whose logits are normal around that of `middle`, with n cases each.
struct ShareDesign {
  std::int64_t seeds, n;
  double middle, deviation;
};
inline ShareInterval simulated(const ShareDesign& d, Draws& draws) {
  std::vector<std::int64_t> k(d.seeds);
  for (std::int64_t& right : k) {
    const double logit = std::log(d.middle / (1 - d.middle)) + d.deviation * draws.normal();
    right = draws.binomial(d.n, 1 / (1 + std::exp(-logit)));
  }
  return share_interval(k, d.n);
}
inline std::vector<ShareDesign> share_designs(std::int64_t n) {
  std::vector<ShareDesign> all;
  for (const std::int64_t seeds : {3, 5, 8}) {
    for (const double middle : {0.5, 0.9, 0.97}) {
      for (const double deviation : {0.0, 0.5, 1.0}) all.push_back({seeds, n, middle, deviation});
    }
  }
  return all;
}

// How often differences that are just as large as matters are called equivalent; `deviation` in units of that.
inline double equivalence_error(int n, double deviation, Draws& draws) {
  return share_of(20000, [&] {
    Numbers d(n);
    for (double& x : d) x = 1 + deviation * draws.normal();
    return equivalence(mean_interval(d), 1).equivalent;
  });
}

// Differences of arms to one baseline, which they share; deviations of the arms and of the baseline are 1.
inline std::vector<Estimate> family(const Numbers& truths, int n, Draws& draws) {
  Numbers baseline(n);
  for (double& x : baseline) x = draws.normal();
  std::vector<Estimate> all;
  for (const double truth : truths) {
    Numbers arm(n);
    for (double& x : arm) x = truth + draws.normal();
    all.push_back(paired_interval(arm, baseline));
  }
  return all;
}
struct FamilyErrors {
  double holm = 0, unadjusted = 0, differences = 0, equivalences = 0, intervals = 0;
};
// Shares of families with at least one error. A difference of 0 is no difference, one of ±margin or more is none that
// is equivalent.
inline FamilyErrors family_errors(const Numbers& truths, int n, double margin, int simulations) {
  Draws draws("family");
  FamilyErrors errors;
  for (int i = 0; i < simulations; ++i) {
    const auto estimates = family(truths, n, draws);
    const auto compared = compare(estimates, margin);
    bool by_holm = false, plain = false, difference = false, equivalent = false, missed = false;
    for (std::size_t k = 0; k < truths.size(); ++k) {
      const Comparison& c = compared[k];
      missed |= !holds(c.difference, truths[k]);
      equivalent |= std::abs(truths[k]) >= margin && c.decision == Decision::equivalent;
      if (truths[k] != 0) continue;
      by_holm |= c.p <= 0.05, plain |= p_value(estimates[k]) <= 0.05;
      difference |= c.decision == Decision::better || c.decision == Decision::worse;
    }
    errors.holm += double(by_holm) / simulations, errors.unadjusted += double(plain) / simulations;
    errors.differences += double(difference) / simulations, errors.intervals += double(missed) / simulations;
    errors.equivalences += double(equivalent) / simulations;
  }
  return errors;
}

}  // namespace gnomon
