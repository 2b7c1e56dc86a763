#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace gnomon {

// A standard error of a mean, and the degrees of freedom that it was estimated with.
struct Spread {
  double error, freedom;
};

// A mean with the half-width of its 95 % interval; NaN for n < 2: no inference.
struct Estimate {
  double mean, half_width;
  int n;                             // seeds
  std::vector<Spread> spreads = {};  // whose widest t interval it is; none: no inference
};

// By Student's t.
Estimate mean_interval(std::span<const double> values);
double median(std::vector<double> values);  // 0 of none

// Of shares: Student's t on their log-odds ln(p/(1 − p)), so that no end leaves 0 to 1. Every share is of `cases` cases, and one
// that leaves half a case or less to the other side counts as half a case there: 0 and 1 have no log-odds.
struct ShareEstimate {
  double share, low, high;  // the ends are NaN for n < 2
  int n;
};
ShareEstimate share_interval(std::span<const double> shares, double cases);
double log_odds(double share);
// Of the differences a_i − b_i: a paired t interval. The spans have equal length.
Estimate paired_interval(std::span<const double> a, std::span<const double> b);
// Of the mean of a less that of b, which have nothing in common: Welch 1947, with his degrees of freedom. n: of the smaller.
Estimate welch_interval(std::span<const double> a, std::span<const double> b);

// Of values (seeds, blocks), row-major: the mean as a statement about seeds that were not trained and about text that was
// not read, both at once. Seeds and blocks are crossed random effects: with the mean squares of the two-way layout of n
// seeds and B blocks, (MS_seeds + MS_blocks − MS_rest) / (n·B) estimates the variance of the mean (Searle, Casella,
// McCulloch 1992, Variance Components, ch. 4). By itself it covers too little where it happens to come out small, so the
// interval is the widest of three: over seeds alone (n − 1 degrees of freedom), over blocks alone (B − 1), and by that
// variance, no less than theirs, with Satterthwaite's degrees of freedom, no fewer than theirs. With 64
// blocks, as studies have, it covers 94 to 96 % where seeds or blocks matter and up to 99 % where neither does; with 16 blocks
// of very skewed losses 91 to 96 % (coverage_test, bench_intervals). With one block there is no
// inference, as with one seed. Blocks have to be long enough to be nearly independent.
Estimate crossed_interval(std::span<const double> values, std::int64_t seeds);
// Of the differences a − b of two arms, each (seeds, blocks) with the same seeds and blocks.
Estimate paired_crossed_interval(std::span<const double> a, std::span<const double> b, std::int64_t seeds);

// Of the interval at another level, e.g. 0.99. NaN without inference, as everything below.
double half_width(const Estimate& e, double level);
// Two-sided, against a mean of 0: of a paired t test where `e` is a paired interval. 1 where all values are 0.
double p_value(const Estimate& e);

// Two one-sided tests (Schuirmann 1987): p that the mean lies outside ±margin as far as the data goes. Equivalent at 5 %
// exactly where the 90 % interval lies within ±margin.
struct Equivalence {
  double p;
  bool equivalent;
};
Equivalence equivalence(const Estimate& difference, double margin);

// The difference that a paired t test finds with probability `power` at 5 %, two-sided, by the non-central t; the
// differences of n pairs have standard deviation `deviation`. NaN for n < 2.
double detectable_effect(double deviation, int n, double power = 0.8);

// Pearson's correlation of two arms over seeds, or over blocks: what pairing bought. Differences have the variance
// s_a² + s_b² − 2·r·s_a·s_b. NaN for fewer than three pairs, and where an arm does not vary.
double pairing_correlation(std::span<const double> a, std::span<const double> b);

}  // namespace gnomon
