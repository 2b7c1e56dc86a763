#include "gnomon/kernels/rotate.h"

#include "gnomon/core/check.h"
#include "gnomon/core/error.h"
#include "gnomon/core/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gnomon/kernels/rotate.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h:
#include "gnomon/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gnomon::HWY_NAMESPACE {
// (a, b) → (a cos − b sin, a sin + b cos) for the pairs of H rows, `head` apart, of one token.
void RotateHalves(const RowRotation& r, float sign, std::int64_t H, std::int64_t head, float* x) {
  for (std::int64_t i = 0, n = r.pairs; i < r.pairs; i += lanes(), n -= lanes()) {
    const auto c = load(r.cos + i, n), s = hn::Mul(set(sign), load(r.sin + i, n));
    for (std::int64_t h = 0; h < H; ++h) {
      float *low = x + h * head + i, *high = low + r.gap;
      const auto a = load(low, n), b = load(high, n);
      store(hn::MulSub(a, c, hn::Mul(b, s)), low, n);
      store(hn::MulAdd(a, s, hn::Mul(b, c)), high, n);
    }
  }
}

void RotateAdjacent(std::int64_t pairs, const float* cos, const float* sin, float sign, std::int64_t H,
                    std::int64_t head, float* x) {
  const F d;
  std::int64_t i = 0;
  for (; i + lanes() <= pairs; i += lanes()) {
    const auto c = hn::LoadU(d, cos + i), s = hn::Mul(set(sign), hn::LoadU(d, sin + i));
    for (std::int64_t h = 0; h < H; ++h) {
      float* pair = x + h * head + 2 * i;
      V a, b;
      hn::LoadInterleaved2(d, pair, a, b);
      hn::StoreInterleaved2(hn::MulSub(a, c, hn::Mul(b, s)), hn::MulAdd(a, s, hn::Mul(b, c)), d, pair);
    }
  }
  for (; i < pairs; ++i) {
    for (std::int64_t h = 0; h < H; ++h) {
      float* pair = x + h * head + 2 * i;
      const float a = pair[0], b = pair[1], s = sign * sin[i];
      pair[0] = a * cos[i] - b * s;
      pair[1] = a * s + b * cos[i];
    }
  }
}
}  // namespace gnomon::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gnomon {
HWY_EXPORT(RotateHalves);
HWY_EXPORT(RotateAdjacent);

void rotate_row(const RowRotation& r, int sign, float* x) {
  HWY_DYNAMIC_DISPATCH(RotateHalves)(r, float(sign), 1, 0, x);
}

std::int64_t check_layout(std::string_view place, const RowLayout& rows, std::int64_t width, const void* x) {
  check_extents(place, {{"B", rows.B, 0, kMostTokens},
                        {"T", rows.T, 0, kMostTokens},
                        {"H", rows.H, 0, kMostHeads},
                        {"width", width, 0, kMostWidth}});
  check_rows(place, {"x", x, width, {{{rows.B, rows.batch}, {rows.T, rows.token}, {rows.H, rows.head}}}},
             true);
  return count_numbers(place, {rows.B, rows.T, rows.H, width});
}

void rotate(const Rotation& r, const RowLayout& rows, int sign, float* x) {
  check_extents("rotate", {{"pairs", r.pairs, 0, kMostWidth / 2}});
  if (sign != 1 && sign != -1)
    throw Error(Fault::usage, text("rotate: sign is ", sign, "; allowed are 1 and -1"));
  const std::int64_t numbers = check_layout("rotate", rows, 2 * r.pairs, x);
  check_pointers("rotate", numbers, {{"cos", r.cos}, {"sin", r.sin}});
  if (numbers == 0) return;
  parallel_ranges(rows.B * rows.T, 64, [&](auto begin, auto end) {
    for (auto n = begin; n < end; ++n) {
      const auto b = n / rows.T, t = n % rows.T;
      float* token = x + b * rows.batch + t * rows.token;
      const auto at = (r.per_sequence ? n : t) * r.pairs;
      const float *cos = r.cos + at, *sin = r.sin + at;
      if (r.pairing == Pairing::halves) {
        HWY_DYNAMIC_DISPATCH(RotateHalves)
        ({r.pairs, r.pairs, cos, sin}, float(sign), rows.H, rows.head, token);
      } else {
        HWY_DYNAMIC_DISPATCH(RotateAdjacent)(r.pairs, cos, sin, float(sign), rows.H, rows.head, token);
      }
    }
  });
}
}  // namespace gnomon
#endif
