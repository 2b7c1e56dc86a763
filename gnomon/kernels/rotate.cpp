#include "gnomon/kernels/rotate.h"

#include <algorithm>

#include "gnomon/core/check.h"
#include "gnomon/core/error.h"
#include "gnomon/core/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gnomon/kernels/rotate.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h:
#include "gnomon/kernels/stored-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gnomon::HWY_NAMESPACE {
// Rows of one token, `head` apart, and how many heads ahead of time a row is asked for (0: not at all).
template <class Stored>
struct TokenRows {
  std::int64_t H, head, ahead;
  Stored* x;
};
// Where the numbers of a pair stand: one of each half, or neighbours.
struct Halves {
  std::int64_t gap;
  template <class Stored>
  static Stored* at(Stored* row, std::int64_t i) {
    return row + i;
  }
  template <class D, class Stored>
  HWY_INLINE void load(D d, const Stored* low, hn::Vec<D>& a, hn::Vec<D>& b) const {
    a = load_stored(d, low), b = load_stored(d, low + gap);
  }
  template <class D, class Stored>
  HWY_INLINE void store(D d, hn::Vec<D> a, hn::Vec<D> b, Stored* low) const {
    store_rounded(d, a, low), store_rounded(d, b, low + gap);
  }
  template <class D, class Stored>
  HWY_INLINE void fetch(D, const Stored* low) const {
    hwy::Prefetch(low), hwy::Prefetch(low + gap);
  }
};
struct Neighbours {
  template <class Stored>
  static Stored* at(Stored* row, std::int64_t i) {
    return row + 2 * i;
  }
  template <class D, class Stored>
  HWY_INLINE void load(D d, const Stored* low, hn::Vec<D>& a, hn::Vec<D>& b) const {
    load_pairs(d, low, a, b);
  }
  template <class D, class Stored>
  HWY_INLINE void store(D d, hn::Vec<D> a, hn::Vec<D> b, Stored* low) const {
    store_pairs(d, a, b, low);
  }
  template <class D, class Stored>
  HWY_INLINE void fetch(D d, const Stored* low) const {
    hwy::Prefetch(low), hwy::Prefetch(low + hn::Lanes(d));
  }
};
// (a, b) → (a cos − b sin, a sin + b cos) for as many pairs as there are W vectors of D's size, from pair i on. cos and sin stay in
// registers while the rows pass by. The first pair that is left.
template <int W, class D, class Pairs, class Stored>
std::int64_t turn(D d, Pairs pairs, const RowRotation& r, float sign, std::int64_t i,
                  const TokenRows<Stored>& rows) {
  const auto N = std::int64_t(hn::Lanes(d));
  for (; i + W * N <= r.pairs; i += W * N) {
    hn::Vec<D> c[W], s[W];
    GNOMON_UNROLL
    for (int w = 0; w < W; ++w) {
      c[w] = hn::LoadU(d, r.cos + i + w * N);
      s[w] = hn::Mul(hn::Set(d, sign), hn::LoadU(d, r.sin + i + w * N));
    }
    Stored* row = rows.x;
    const std::int64_t step = rows.head, ahead = rows.ahead * step;
    for (std::int64_t h = rows.H; h > 0; --h, row += step) {
      GNOMON_UNROLL
      for (int w = 0; w < W; ++w) {
        Stored* low = Pairs::at(row, i + w * N);
        if (ahead > 0) pairs.fetch(d, low + ahead);
        hn::Vec<D> a, b;
        pairs.load(d, low, a, b);
        pairs.store(d, hn::MulSub(a, c[w], hn::Mul(b, s[w])), hn::MulAdd(a, s[w], hn::Mul(b, c[w])), low);
      }
    }
  }
  return i;
}
template <class Pairs, class Stored>
void turn_all(const Pairs& pairs, const RowRotation& r, float sign, const TokenRows<Stored>& rows) {
  std::int64_t i = turn<4>(F(), pairs, r, sign, 0, rows);
  i = turn<2>(F(), pairs, r, sign, i, rows);
  i = turn<1>(F(), pairs, r, sign, i, rows);
  i = turn<1>(hn::CappedTag<float, 8>(), pairs, r, sign, i, rows);
  i = turn<1>(hn::CappedTag<float, 4>(), pairs, r, sign, i, rows);
  turn<1>(hn::CappedTag<float, 1>(), pairs, r, sign, i, rows);
}
void RotateRow(const RowRotation& r, float sign, float* x) {
  turn_all(Halves{r.gap}, r, sign, TokenRows<float>{1, 0, 0, x});
}
void RotateRowBackward(const RowGradient& r, float sign, const float* x, const float* dy) {
  const auto add = [&](std::int64_t i, std::int64_t n) HWY_ATTR {
    const V a = load(x + i, n), b = load(x + r.gap + i, n);
    const V da = load(dy + i, n), db = hn::Mul(set(sign), load(dy + r.gap + i, n));
    const V same = hn::MulAdd(a, da, hn::Mul(hn::Mul(set(sign), b), db));
    const V turned = hn::MulSub(a, db, hn::Mul(hn::Mul(set(sign), b), da));
    store(hn::Add(load(r.dcos + i, n), same), r.dcos + i, n);
    store(hn::Add(load(r.dsin + i, n), turned), r.dsin + i, n);
  };
  std::int64_t i = 0;
  for (; i + lanes() <= r.pairs; i += lanes()) add(i, lanes());
  if (i < r.pairs) add(i, r.pairs - i);
}
// The tokens begin..end of all sequences.
template <class Stored>
void rotate_tokens(const Rotation& r, const RowLayout& rows, float sign, std::int64_t begin, std::int64_t end,
                   Stored* x) {
  constexpr std::int64_t kAhead = 2048;  // numbers: so much is on its way from memory
  const std::int64_t ahead = kAhead / std::max<std::int64_t>(1, 2 * r.pairs);
  for (std::int64_t n = begin; n < end; ++n) {
    const std::int64_t b = n / rows.T, t = n % rows.T, at = (r.per_sequence ? n : t) * r.pairs;
    const RowRotation row{r.pairs, r.pairs, r.cos + at, r.sin + at};
    const TokenRows<Stored> token{rows.H, rows.head, ahead, x + b * rows.batch + t * rows.token};
    r.pairing == Pairing::halves ? turn_all(Halves{r.pairs}, row, sign, token)
                                 : turn_all(Neighbours(), row, sign, token);
  }
}
void RotateFloats(const Rotation& r, const RowLayout& rows, float sign, std::int64_t begin, std::int64_t end,
                  float* x) {
  rotate_tokens(r, rows, sign, begin, end, x);
}
void RotateBFloat16s(const Rotation& r, const RowLayout& rows, float sign, std::int64_t begin,
                     std::int64_t end, BFloat16* x) {
  rotate_tokens(r, rows, sign, begin, end, x);
}
void RotateFloat16s(const Rotation& r, const RowLayout& rows, float sign, std::int64_t begin,
                    std::int64_t end, Float16* x) {
  rotate_tokens(r, rows, sign, begin, end, x);
}
}  // namespace gnomon::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gnomon {
HWY_EXPORT(RotateRow);
HWY_EXPORT(RotateFloats);
HWY_EXPORT(RotateBFloat16s);
HWY_EXPORT(RotateFloat16s);
HWY_EXPORT(RotateRowBackward);

void rotate_row(const RowRotation& r, int sign, float* x) {
  HWY_DYNAMIC_DISPATCH(RotateRow)(r, float(sign), x);
}

void rotate_row_backward(const RowGradient& r, int sign, const float* x, const float* dy) {
  HWY_DYNAMIC_DISPATCH(RotateRowBackward)(r, float(sign), x, dy);
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

namespace {
// turn(begin, end): the tokens begin..end of all sequences.
template <class Turn>
void rotate_all(const Rotation& r, const RowLayout& rows, int sign, const void* x, const Turn& turn) {
  check_extents("rotate", {{"pairs", r.pairs, 0, kMostWidth / 2}});
  if (sign != 1 && sign != -1)
    throw Error(Fault::usage, text("rotate: sign is ", sign, "; allowed are 1 and -1"));
  const std::int64_t numbers = check_layout("rotate", rows, 2 * r.pairs, x);
  check_pointers("rotate", numbers, {{"cos", r.cos}, {"sin", r.sin}});
  if (numbers > 0) parallel_ranges(rows.B * rows.T, 64, turn);
}
}  // namespace

void rotate(const Rotation& r, const RowLayout& rows, int sign, float* x) {
  rotate_all(r, rows, sign, x, [&](auto begin, auto end) {
    HWY_DYNAMIC_DISPATCH(RotateFloats)(r, rows, float(sign), begin, end, x);
  });
}
void rotate(const Rotation& r, const RowLayout& rows, int sign, BFloat16* x) {
  rotate_all(r, rows, sign, x, [&](auto begin, auto end) {
    HWY_DYNAMIC_DISPATCH(RotateBFloat16s)(r, rows, float(sign), begin, end, x);
  });
}
void rotate(const Rotation& r, const RowLayout& rows, int sign, Float16* x) {
  rotate_all(r, rows, sign, x, [&](auto begin, auto end) {
    HWY_DYNAMIC_DISPATCH(RotateFloat16s)(r, rows, float(sign), begin, end, x);
  });
}
}  // namespace gnomon
#endif
