// What the terms along a row of logits are made of: included once per SIMD target. A sum along the keys of a row crosses its
// tiles. They come from the first key to the last, so each row first learns its total (learn), and then what is left of it
// is what the keys from here on hold. What crosses vectors is in double.
#if defined(GNOMON_KERNELS_ATTEND_RULES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GNOMON_KERNELS_ATTEND_RULES_INL_H_
#undef GNOMON_KERNELS_ATTEND_RULES_INL_H_
#else
#define GNOMON_KERNELS_ATTEND_RULES_INL_H_
#endif
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "gnomon/core/array.h"
#include "gnomon/kernels/extras-inl.h"
#include "gnomon/kernels/softplus-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gnomon::HWY_NAMESPACE {

// Columns from ≤ b < n of row a of a tile: those that it sees. Beyond n, arrays of a row hold one vector more.
struct Seen {
  std::int64_t a, from, n;
  template <class Body>
  HWY_INLINE void each_vector(const Body& f) const {
    for (std::int64_t b = from; b < n; b += lanes()) f(b);
  }
};

// Of each lane: the sum of it and those after it. The first lane holds all, with the same bits wherever it is asked for.
template <int step = 1>
HWY_INLINE V sums_from(V x) {
  if constexpr (step < int(hn::MaxLanes(F()))) {
    const hn::RebindToSigned<F> whole;
    const auto last = hn::Set(whole, std::int32_t(lanes() - 1));
    const auto there = hn::IndicesFromVec(F(), hn::Min(hn::Iota(whole, step), last));
    const V other =
        hn::IfThenElseZero(hn::FirstN(F(), std::size_t(lanes() - step)), hn::TableLookupLanes(x, there));
    return sums_from<2 * step>(hn::Add(x, other));
  } else {
    return x;
  }
}
HWY_INLINE double first_lane(V x) { return double(hn::GetLane(x)); }
inline double sum_of(const float* x, const Seen& r) {
  double sum = 0;
  std::int64_t b = r.from;
#if HWY_HAVE_FLOAT64  // Highway has no vectors of double for WebAssembly
  const hn::ScalableTag<double> wide;
  const hn::Rebind<float, decltype(wide)> narrow;
  auto sums = hn::Zero(wide);
  for (const std::int64_t step = std::int64_t(hn::Lanes(wide)); b + step <= r.n; b += step)
    sums = hn::Add(sums, hn::PromoteTo(wide, hn::LoadU(narrow, x + b)));
  sum = hn::GetLane(hn::SumOfLanes(wide, sums));
#endif
  for (; b < r.n; ++b) sum += double(x[b]);
  return sum;
}

// Of the rows of a tile: a sum along all keys, what is left of it, and the sum of gradients so far.
struct Along {
  std::vector<double> total, left, dsum;
  void start(std::int64_t rows) { total.assign(std::size_t(rows), 0), begin(); }
  void begin() { left = total, dsum.assign(total.size(), 0); }
};

}  // namespace gnomon::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
