#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace gnomon {

// Student's t: the value that a variable with `freedom` degrees of freedom exceeds with probability `tail`.
// From the regularised incomplete beta function (Abramowitz, Stegun 26.7.1 and 26.5.8); relative error below
// 1e-9.
double t_quantile(double tail, double freedom);

// A mean with the half-width of its 95 % t interval; the half-width is NaN for n < 2: no inference.
struct Estimate {
  double mean, half_width;
  int n;
};
Estimate mean_interval(std::span<const double> values);
// Of the differences a_i − b_i: a paired t interval. The spans have equal length.
double median(std::vector<double> values);  // 0 of none
// TEMPORARY
Estimate crossed_interval(std::span<const double> values, std::int64_t seeds);
Estimate paired_interval(std::span<const double> a, std::span<const double> b);

}  // namespace gnomon
