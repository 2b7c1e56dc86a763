#include "gnomon/kernels/loss.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "gnomon/core/check.h"
#include "gnomon/core/error.h"
#include "gnomon/core/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gnomon/kernels/loss.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h:
#include "gnomon/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gnomon::HWY_NAMESPACE {
float CrossEntropyRow(std::int64_t Vocabulary, float dscale, float* logits, std::int32_t target) {
  const std::int64_t N = lanes();
  auto most = set(logits[0]);
  std::int64_t whole = 0;
  for (; whole + N <= Vocabulary; whole += N) most = hn::Max(most, hn::LoadU(F(), logits + whole));
  float top = hn::GetLane(hn::MaxOfLanes(F(), most));
  for (; whole < Vocabulary; ++whole) top = logits[whole] > top ? logits[whole] : top;
  auto total = hn::Zero(F());
  for (std::int64_t v = 0, n = Vocabulary; v < Vocabulary; v += N, n -= N) {
    total = hn::Add(total, first(exp(hn::Sub(load(logits + v, n), set(top))), n));  // NaN: so is all below
  }
  const float normaliser = sum(total), loss = std::log(normaliser) + top - logits[target];
  if (dscale == 0) return loss;
  const auto weight = set(dscale / normaliser);
  for (std::int64_t v = 0, n = Vocabulary; v < Vocabulary; v += N, n -= N) {
    store(hn::Mul(weight, hn::Exp(F(), hn::Sub(load(logits + v, n), set(top)))), logits + v, n);
  }
  logits[target] -= dscale;
  return loss;
}
}  // namespace gnomon::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gnomon {
HWY_EXPORT(CrossEntropyRow);

void cross_entropy(const CrossEntropy& s, float* logits, const std::int32_t* targets, float* losses) {
  const std::int64_t step = s.step ? s.step : s.V;
  check_extents("cross_entropy",
                {{"N", s.N, 0, kMostNumbers}, {"V", s.V, 1, std::numeric_limits<std::int32_t>::max()}});
  check_rows("cross_entropy", {"logits", logits, s.V, {{{s.N, step}}}}, true);
  check_pointers("cross_entropy", s.N, {{"targets", targets}, {"losses", losses}});
  if (!(s.dscale >= 0 && std::isfinite(s.dscale)))
    throw Error(Fault::usage,
                text("cross_entropy: dscale is ", s.dscale, "; allowed is a finite number of 0 or more"));
  for (std::int64_t n = 0; n < s.N; ++n) {
    if (targets[n] == kUnscored || (targets[n] >= 0 && targets[n] < s.V)) continue;
    throw Error(Fault::usage, text("cross_entropy: target ", n, " is ", targets[n], "; allowed are 0 to ",
                                   s.V - 1, ", and ", kUnscored, " for no target"));
  }
  parallel_ranges(s.N, 64, [&](auto begin, auto end) {
    for (auto n = begin; n < end; ++n) {
      float* row = logits + n * step;
      const bool scored = targets[n] != kUnscored;
      losses[n] = scored ? HWY_DYNAMIC_DISPATCH(CrossEntropyRow)(s.V, s.dscale, row, targets[n]) : 0.0f;
      if (!scored && s.dscale != 0) std::fill_n(row, s.V, 0.0f);
    }
  });
}
}  // namespace gnomon
#endif
