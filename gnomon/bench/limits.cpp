#include "gnomon/bench/limits.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "gnomon/bench/multiply_bf16.h"
#include "gnomon/core/array.h"
#include "gnomon/core/error.h"
#include "gnomon/core/memory.h"
#include "gnomon/core/parallel.h"
#include "gnomon/core/text.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gnomon/bench/limits.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h:
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gnomon::bench::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// 12 independent chains: more than latency × throughput of the units, and they fit 16 registers.
double MultiplyAdds(std::int64_t rounds, float* sink) {
  const hn::ScalableTag<float> d;
  auto a = hn::Set(d, 0.999f), b = hn::Set(d, 1e-3f);
  // Chains that begin equal would be computed once.
  const auto from = [&](float x) HWY_ATTR { return hn::Set(d, x + *sink); };
  auto c0 = from(.1f), c1 = from(.2f), c2 = from(.3f), c3 = from(.4f), c4 = from(.5f), c5 = from(.6f);
  auto c6 = from(.7f), c7 = from(.8f), c8 = from(.9f), c9 = from(1.f), c10 = from(1.1f), c11 = from(1.2f);
  for (std::int64_t i = 0; i < rounds; ++i) {
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

// n is a multiple of 64 numbers, which is four vectors or more.
void Scale(float* x, std::int64_t n) {
  const hn::ScalableTag<float> d;
  const std::int64_t N = std::int64_t(hn::Lanes(d));
  const auto a = hn::Set(d, -1.0f);  // however often: no number becomes subnormal, which is slow
  for (std::int64_t i = 0; i < n; i += 4 * N) {
    for (std::int64_t j = i; j < i + 4 * N; j += N) hn::Store(hn::Mul(hn::Load(d, x + j), a), d, x + j);
  }
}
void Copy(const float* x, float* y, std::int64_t n) {
  const hn::ScalableTag<float> d;
  const std::int64_t N = std::int64_t(hn::Lanes(d));
  for (std::int64_t i = 0; i < n; i += 4 * N) {
    for (std::int64_t j = i; j < i + 4 * N; j += N) hn::Store(hn::Load(d, x + j), d, y + j);
  }
}
float Sum(const float* x, std::int64_t n) {
  const hn::ScalableTag<float> d;
  const std::int64_t N = std::int64_t(hn::Lanes(d));
  auto c0 = hn::Zero(d), c1 = c0, c2 = c0, c3 = c0;
  for (std::int64_t i = 0; i < n; i += 4 * N) {
    c0 = hn::Add(c0, hn::Load(d, x + i)), c1 = hn::Add(c1, hn::Load(d, x + i + N));
    c2 = hn::Add(c2, hn::Load(d, x + i + 2 * N)), c3 = hn::Add(c3, hn::Load(d, x + i + 3 * N));
  }
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(c0, c1), hn::Add(c2, c3))));
}
}  // namespace gnomon::bench::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gnomon::bench {
HWY_EXPORT(MultiplyAdds);
HWY_EXPORT(Scale);
HWY_EXPORT(Copy);
HWY_EXPORT(Sum);
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kAttempts = 3;

// The best rate of some attempts; `attempt` returns what it did.
template <class Attempt>
double best_rate(const Attempt& attempt) {
  double best = 0;
  for (int n = 0; n < kAttempts; ++n) {
    const auto start = Clock::now();
    const double did = attempt();
    best = std::max(best, did / std::chrono::duration<double>(Clock::now() - start).count());
  }
  return best;
}

// f(thread, its place for a result) on each of the threads; the sum of what f returns.
template <class Each>
double on_threads(int threads, const Each& f) {
  constexpr std::int64_t kApart = 64;  // no two threads write into one cache line
  std::vector<float> sinks(std::size_t(threads) * kApart);
  std::vector<double> did(sinks.size());
  parallel_for(threads,
               [&](std::int64_t t) { did[std::size_t(t * kApart)] = f(t, &sinks[std::size_t(t * kApart)]); });
  double sum = 0;
  for (const double d : did) sum += d;
  return sum;
}

double multiply_rate(bool bf16, int threads) {
  constexpr std::int64_t kRounds = 1'000'000;
  return best_rate([&] {
    return on_threads(threads, [&](std::int64_t, float* sink) {
      return bf16 ? multiply_bf16(kRounds, sink) : HWY_DYNAMIC_DISPATCH(MultiplyAdds)(kRounds, sink);
    });
  });
}

double memory_rate(const Limit& limit, int threads) {
  constexpr std::int64_t kPiece = 64;
  const std::int64_t share = limit.bytes / std::int64_t(sizeof(float)) / threads / kPiece * kPiece;
  if (share == 0)
    throw Error(Fault::usage, text("bench: ", limit.bytes, " bytes are too few for ", threads, " threads"));
  // Made once for a run of the same size: the system's zeroing of new pages is no part of the limit.
  static Floats x, y;
  const std::size_t numbers = std::size_t(share * threads);
  if (x.size() != numbers)
    check_memory("bench: a limit of the memory needs", 8 * numbers), x = Floats(numbers, 1.0f);
  if (limit.resource != Resource::copy) y = {};
  if (limit.resource == Resource::copy && y.size() != numbers) y = Floats(numbers, 1.0f);
  const std::int64_t times = std::max<std::int64_t>(1, (std::int64_t{1} << 28) / limit.bytes);
  const double each =
      double(share * std::int64_t(sizeof(float))) * (limit.resource == Resource::read ? 1 : 2);
  return best_rate([&] {
    return on_threads(threads, [&](std::int64_t t, float* sink) {
      float* mine = x.data() + t * share;
      for (std::int64_t n = 0; n < times; ++n) {
        if (limit.resource == Resource::scale) HWY_DYNAMIC_DISPATCH(Scale)(mine, share);
        if (limit.resource == Resource::copy) HWY_DYNAMIC_DISPATCH(Copy)(mine, y.data() + t * share, share);
        if (limit.resource == Resource::read) *sink += HWY_DYNAMIC_DISPATCH(Sum)(mine, share);
      }
      return each * double(times);
    });
  });
}

}  // namespace

std::string name(const Limit& limit) {
  switch (limit.resource) {
    case Resource::multiply_f32:
      return "float32 multiply";
    case Resource::multiply_bf16:
      return "bfloat16 multiply";
    case Resource::scale:
      return "in-place scale of " + bytes_text(double(limit.bytes));
    case Resource::copy:
      return "copy of " + bytes_text(double(limit.bytes));
    case Resource::read:
      return "read of " + bytes_text(double(limit.bytes));
  }
  return {};
}

bool has(const Limit& limit) { return limit.resource != Resource::multiply_bf16 || has_bf16(); }

double rate(const Limit& limit, int threads) {
  if (!has(limit)) throw Error(Fault::usage, "bench: this processor has no instruction for " + name(limit));
  const bool bf16 = limit.resource == Resource::multiply_bf16;
  return bf16 || limit.resource == Resource::multiply_f32 ? multiply_rate(bf16, threads)
                                                          : memory_rate(limit, threads);
}
}  // namespace gnomon::bench
#endif
