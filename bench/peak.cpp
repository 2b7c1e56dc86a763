#include "bench/peak.h"

#include "gnomon/core/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/peak.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h:
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gnomon::bench::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// 12 independent chains: more than latency × throughput of the units, and they fit 16 registers.
double MultiplyAdds(long rounds, float* sink) {
  const hn::ScalableTag<float> d;
  auto a = hn::Set(d, 0.999f), b = hn::Set(d, 1e-3f);
  // Chains that begin equal would be computed once.
  const auto from = [&](float x) HWY_ATTR { return hn::Set(d, x + *sink); };
  auto c0 = from(.1f), c1 = from(.2f), c2 = from(.3f), c3 = from(.4f), c4 = from(.5f), c5 = from(.6f);
  auto c6 = from(.7f), c7 = from(.8f), c8 = from(.9f), c9 = from(1.f), c10 = from(1.1f), c11 = from(1.2f);
  for (long i = 0; i < rounds; ++i) {
    c0 = hn::MulAdd(c0, a, b), c1 = hn::MulAdd(c1, a, b), c2 = hn::MulAdd(c2, a, b),
    c3 = hn::MulAdd(c3, a, b);
    c4 = hn::MulAdd(c4, a, b), c5 = hn::MulAdd(c5, a, b), c6 = hn::MulAdd(c6, a, b),
    c7 = hn::MulAdd(c7, a, b);
    c8 = hn::MulAdd(c8, a, b), c9 = hn::MulAdd(c9, a, b), c10 = hn::MulAdd(c10, a, b),
    c11 = hn::MulAdd(c11, a, b);
  }
  const auto low = hn::Add(hn::Add(hn::Add(c0, c1), hn::Add(c2, c3)), hn::Add(c4, c5));
  const auto high = hn::Add(hn::Add(hn::Add(c6, c7), hn::Add(c8, c9)), hn::Add(c10, c11));
  *sink = hn::GetLane(hn::SumOfLanes(d, hn::Add(low, high)));
  return 24.0 * double(hn::Lanes(d)) * double(rounds);
}

double Read(const float* numbers, long n) {
  const hn::ScalableTag<float> d;
  const long N = long(hn::Lanes(d));
  auto c0 = hn::Zero(d), c1 = c0, c2 = c0, c3 = c0;
  for (long i = 0; i + 4 * N <= n; i += 4 * N) {
    const float* p = numbers + i;
    c0 = hn::Add(c0, hn::LoadU(d, p)), c1 = hn::Add(c1, hn::LoadU(d, p + N));
    c2 = hn::Add(c2, hn::LoadU(d, p + 2 * N)), c3 = hn::Add(c3, hn::LoadU(d, p + 3 * N));
  }
  return double(hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(c0, c1), hn::Add(c2, c3)))));
}
}  // namespace gnomon::bench::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gnomon::bench {
HWY_EXPORT(MultiplyAdds);
HWY_EXPORT(Read);

double read_seconds(const float* numbers, std::int64_t n, int threads) {
  constexpr std::int64_t kPiece = 4096;
  const std::int64_t share = n / kPiece / threads * kPiece;
  std::vector<double> sinks(std::size_t(threads) * 8);
  volatile double sink = 0;
  const auto start = std::chrono::steady_clock::now();
  parallel_for(threads, [&](std::int64_t t) {
    sinks[std::size_t(t * 8)] = HWY_DYNAMIC_DISPATCH(Read)(numbers + t * share, long(share));
  });
  const double seconds = seconds_since(start);
  for (const double s : sinks) sink = sink + s;
  return seconds;
}

double peak_flops(int threads) {
  std::vector<float> sinks(std::size_t(threads) * 64);
  std::vector<double> flops(sinks.size());
  double best = 0;
  for (int attempt = 0; attempt < 3; ++attempt) {
    const auto start = std::chrono::steady_clock::now();
    parallel_for(threads, [&](std::int64_t t) {
      flops[std::size_t(t * 64)] = HWY_DYNAMIC_DISPATCH(MultiplyAdds)(2'000'000, &sinks[std::size_t(t * 64)]);
    });
    double sum = 0;
    for (int t = 0; t < threads; ++t) sum += flops[std::size_t(t * 64)];
    best = std::max(best, sum / seconds_since(start));
  }
  return best;
}
}  // namespace gnomon::bench
#endif
