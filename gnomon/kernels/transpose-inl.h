// Rows of numbers as columns: included once per SIMD target.
#if defined(GNOMON_KERNELS_TRANSPOSE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GNOMON_KERNELS_TRANSPOSE_INL_H_
#undef GNOMON_KERNELS_TRANSPOSE_INL_H_
#else
#define GNOMON_KERNELS_TRANSPOSE_INL_H_
#endif
#include <algorithm>

#include "gnomon/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gnomon::HWY_NAMESPACE {

// Rows of `width` numbers, `step` apart.
struct RowsToTurn {
  const float* data;
  std::int64_t step, n, width;
  const float* row(std::int64_t t) const { return data + t * step; }
};

// Rows of a head are too short, and too far apart, for what the processor fetches of itself.
inline void fetch(const float* row, std::int64_t width) {
  for (std::int64_t c = 0; c < width; c += 16) hwy::Prefetch(row + c);
}

#if HWY_TARGET == HWY_SCALAR
inline constexpr int kColumnsAtOnce = 1;  // that transpose_some() takes; 1: it does not
HWY_INLINE void transpose_some(const RowsToTurn&, std::int64_t, std::int64_t, float*, std::int64_t) {}
#else
inline constexpr int kColumnsAtOnce = 4;
// Columns c..c+4 of the rows t, t + 4, t + 8 ..., side by side.
template <class D>
HWY_INLINE hn::Vec<D> every_fourth(D d, const RowsToTurn& x, std::int64_t t, std::int64_t c) {
  if constexpr (hn::MaxLanes(D()) <= 4) {
    return hn::LoadU(d, x.row(t) + c);
  } else {
    const hn::Half<D> half;
    const std::int64_t rows = std::int64_t(hn::Lanes(half));
    return hn::Combine(d, every_fourth(half, x, t + rows, c), every_fourth(half, x, t, c));
  }
}
// to[n·step + r] = x[t + r, c + n] for a vector of rows and four columns.
HWY_INLINE void transpose_some(const RowsToTurn& x, std::int64_t t, std::int64_t c, float* to,
                               std::int64_t step) {
  const F d;
  const hn::Repartition<std::uint64_t, F> two;
  const V r0 = every_fourth(d, x, t, c), r1 = every_fourth(d, x, t + 1, c);
  const V r2 = every_fourth(d, x, t + 2, c), r3 = every_fourth(d, x, t + 3, c);
  const auto low01 = hn::BitCast(two, hn::InterleaveLower(d, r0, r1)),
             low23 = hn::BitCast(two, hn::InterleaveLower(d, r2, r3));
  const auto high01 = hn::BitCast(two, hn::InterleaveUpper(d, r0, r1)),
             high23 = hn::BitCast(two, hn::InterleaveUpper(d, r2, r3));
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(two, low01, low23)), d, to);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(two, low01, low23)), d, to + step);
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(two, high01, high23)), d, to + 2 * step);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(two, high01, high23)), d, to + 3 * step);
}
#endif

// to[c·step + t] = x[t, c]
inline void transpose(const RowsToTurn& x, float* to, std::int64_t step) {
  const std::int64_t N = lanes(), whole_rows = kColumnsAtOnce > 1 ? x.n / N * N : 0,
                     whole_columns = x.width / 4 * 4;
  for (std::int64_t t = 0; t < whole_rows; t += N) {
    for (std::int64_t r = t + N; r < std::min(x.n, t + 2 * N); ++r) fetch(x.row(r), x.width);
    for (std::int64_t c = 0; c < whole_columns; c += 4) transpose_some(x, t, c, to + c * step + t, step);
  }
  for (std::int64_t t = 0; t < x.n; ++t) {
    for (std::int64_t c = t < whole_rows ? whole_columns : 0; c < x.width; ++c)
      to[c * step + t] = x.row(t)[c];
  }
}

}  // namespace gnomon::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
