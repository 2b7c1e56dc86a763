#pragma once
#include <cstdint>
#include <span>

namespace gnomon {

// A share in [0, 1] with its 95 % interval, which is not symmetrical.
struct ShareInterval {
  double share, low, high;
};

// Of k cases of n that are independent of each other: the interval of Wilson 1927, as in Brown, Cai, DasGupta 2001,
// "Interval estimation for a binomial proportion", (4). Throws Error(usage) unless 0 ≤ k ≤ n and n ≥ 1.
ShareInterval wilson_interval(std::int64_t k, std::int64_t n);

// Over seeds that were right in k_i of n cases each: a t interval of the logits ln((k_i + 1/2) / (n − k_i + 1/2)), which
// are finite for 0 and n as well (Cox, Snell 1989, Analysis of Binary Data, 2.1.6: nearly unbiased), as shares. So `share`
// is the share of the middle seed rather than the mean of shares, and lies a little inside of k/n; low and high are widened
// to what was counted over all seeds, where it lies outside. NaN for low and high
// where there are fewer than two seeds: no inference. Errors as above. Seeds that are all or nothing have no middle: count
// those that succeed, and take Wilson's interval.
ShareInterval share_interval(std::span<const std::int64_t> k, std::int64_t n);

}  // namespace gnomon
