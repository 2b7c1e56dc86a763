#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace gnomon::bench {

// float32 multiply-adds ×2 a second that `threads` threads reach in registers: the limit of every ratio here.
double peak_flops(int threads);

// Seconds in which `threads` threads read n numbers once, whole pieces of 4,096: the limit of what must read them.
double read_seconds(const float* numbers, std::int64_t n, int threads);

inline double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Shares of the peak, measured in turns: work, peak, work, peak, so that a slow moment of the machine meets
// both.
struct Share {
  double median, least, most, seconds;  // of n shares; median time of the work
};
template <class Work>
Share share_of_peak(double flops, int threads, int n, const Work& work) {
  std::vector<double> shares, times;
  work();  // warm
  for (int i = 0; i < n; ++i) {
    const auto start = std::chrono::steady_clock::now();
    work();
    times.push_back(seconds_since(start));
    shares.push_back(flops / times.back() / peak_flops(threads));
  }
  std::sort(shares.begin(), shares.end());
  std::sort(times.begin(), times.end());
  return {shares[n / 2], shares.front(), shares.back(), times[n / 2]};
}

}  // namespace gnomon::bench
