#pragma once

namespace gnomon {

// Tails of the distributions that the statistics rest on, and their inverses. A tail is the probability to exceed a
// value: P(X > x), so that a small one keeps its digits; the distribution function is 1 − tail, or the tail of −x.
// Relative errors are below 1e-9 (statistics_test: Distributions), for degrees of freedom up to 1e6.
// A tail to be inverted lies in [1e-100, 1), and degrees of freedom are 1 or more, else Error(usage).

double normal_tail(double z);
double normal_quantile(double tail);  // the value that is exceeded with probability `tail`

// Student's t, by the regularised incomplete beta function (Abramowitz, Stegun 26.7.1 and 26.5.8).
double t_tail(double t, double freedom);
double t_quantile(double tail, double freedom);

// (Z + shift) / √(χ²/freedom): what a t statistic is where there is an effect of `shift` standard errors.
double noncentral_t_tail(double t, double freedom, double shift);

}  // namespace gnomon
