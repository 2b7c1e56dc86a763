// Attention of a few queries to one head of a cache: included once per SIMD target, by attend_cached.cpp.
#if defined(GNOMON_KERNELS_ATTEND_CACHED_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GNOMON_KERNELS_ATTEND_CACHED_INL_H_
#undef GNOMON_KERNELS_ATTEND_CACHED_INL_H_
#else
#define GNOMON_KERNELS_ATTEND_CACHED_INL_H_
#endif
#include <hwy/cache_control.h>

#include <vector>

#include "gnomon/kernels/extras-inl.h"
#include "gnomon/kernels/product-inl.h"
#include "gnomon/kernels/terms.h"

HWY_BEFORE_NAMESPACE();
namespace gnomon::HWY_NAMESPACE {

class CachedHead {
 public:
  explicit CachedHead(const CachedTask& t) : t_(t), s_(t.shape) {}

  void forward() {
    pack_queries();
    std::fill_n(t_.most, t_.rows(), kMinusInfinity);
    std::fill_n(t_.sum, t_.rows(), 0.0f);
    std::fill_n(t_.out, t_.rows() * t_.Dp, 0.0f);
    logits_.resize(kTileRows * kStep);
    for (std::int64_t r = 0; r < t_.rows(); r += kTileRows) {
      const std::int64_t m = std::min(kTileRows, t_.rows() - r);
      for (std::int64_t slot = t_.begin; slot < t_.end; slot += kTileKeys) {
        // Where the ring closes, the newest token lies beside the oldest: indices jump, and the tile is two.
        const std::int64_t n = std::min(kTileKeys, t_.end - slot), newest = t_.total % t_.slots;
        const std::int64_t jump = std::clamp<std::int64_t>(newest - slot, 0, n), lap = t_.total - newest;
        add_tile({r, m, slot, 0, jump, lap + slot});
        add_tile({r, m, slot, jump, n, lap + slot - t_.slots});
      }
    }
  }

 private:
  static constexpr std::int64_t kTileRows = 8 * kRows, kTileKeys = 4 * kBlock;
  static constexpr std::int64_t kStep =
      kTileKeys + kWidest;  // of rows of logits: the last vector may stand out

  // Rows r0..r0+m against columns begin..end of the slots from `slot` on. Column c is the token of index + c.
  struct Tile {
    std::int64_t r0, m, slot, begin, end, index;
  };
  // Columns that a row sees, or all rows do.
  struct Columns {
    std::int64_t from, n;
  };
  Columns seen(const Tile& tile, std::int64_t a) const {
    const std::int64_t i = (tile.r0 + a) / t_.group;
    const auto column = [&](std::int64_t index, std::int64_t least) {
      return std::clamp(index - tile.index, least, tile.end);
    };
    const std::int64_t from = column(t_.first_of(i), tile.begin);
    return {from, column(t_.end_of(i), from)};
  }

  void pack_queries() {
    const float scale = s_.scale * t_.terms->content_scale;
    q_.resize(t_.rows() * s_.K);
    for (std::int64_t r = 0; r < t_.rows(); ++r) {
      const float* row = t_.q.row(t_.b, r / t_.group, t_.first_head + r % t_.group);
      for (std::int64_t c = 0; c < s_.K; ++c) q_[r * s_.K + c] = scale * row[c];
    }
  }

  void add_tile(const Tile& tile) {
    Columns any{tile.end, tile.begin};
    for (std::int64_t a = 0; a < tile.m; ++a) {
      const Columns c = seen(tile, a);
      if (c.from < c.n) any = {std::min(any.from, c.from), std::max(any.n, c.n)};
    }
    if (any.from >= any.n) return;
    any.from = any.from / kBlock * kBlock;
    add_keys(tile, any);
    for (std::int64_t a = 0; a < tile.m; ++a) soften(tile, any, a);
    if (t_.tame) add_values(tile, any);
  }

  // Block by block and part by part: while a part is multiplied, the same part of the block that comes next is fetched.
  // Left to itself a decoded token takes twice as long (gnomon bench decode). An address beyond the array fetches nothing.
  static constexpr std::int64_t kPart = 32;
  static void fetch(const float* part) {
    for (std::int64_t n = 0; n < kPart * kBlock; n += 16) hwy::Prefetch(part + n);
  }
  // Logits of all rows: q·k.
  void add_keys(const Tile& tile, const Columns& any) {
    const float *keys = t_.k + tile.slot * s_.K, *values = t_.v + tile.slot * t_.Dp;
    for (std::int64_t c = any.from; c < any.n; c += kBlock) {
      const float* next = c + kBlock < any.n ? keys + (c + kBlock) * s_.K : values + any.from * t_.Dp;
      for (std::int64_t p = 0; p < s_.K; p += kPart) {
        fetch(next + p * kBlock);
        product({tile.m, kBlock, std::min(kPart, s_.K - p)}, {&q_[tile.r0 * s_.K + p], s_.K, 1},
                keys + c * s_.K + p * kBlock, kBlock, &logits_[c], kStep, p > 0);
      }
    }
  }
  // Weights times values, of all rows.
  void add_values(const Tile& tile, const Columns& any) const {
    const float *keys = t_.k + tile.slot * s_.K, *values = t_.v + tile.slot * t_.Dp;
    for (std::int64_t c = any.from; c < any.n; c += kBlock) {
      const float* next = c + kBlock < any.n ? values + (c + kBlock) * t_.Dp : keys + kTileKeys * s_.K;
      for (std::int64_t d = 0; d < t_.Dp; d += kPart) {
        fetch(next + d * kBlock);
        product({tile.m, std::min(kPart, t_.Dp - d), std::min(kBlock, any.n - c)}, {&logits_[c], kStep, 1},
                values + c * t_.Dp + d, t_.Dp, t_.out + tile.r0 * t_.Dp + d, t_.Dp, true);
      }
    }
  }

  // Online softmax of row a, as in attend-inl.h: the logits become weights, 0 where the row sees nothing.
  void soften(const Tile& tile, const Columns& any, std::int64_t a) {
    const std::int64_t r = tile.r0 + a, i = r / t_.group, h = t_.first_head + r % t_.group;
    const Columns c = seen(tile, a);
    float *s = &logits_[a * kStep], *out = t_.out + r * t_.Dp, &most = t_.most[r];
    std::fill(s + any.from, s + c.from, 0.0f);
    if (c.from >= c.n) return std::fill(s + c.from, s + round_up(any.n, kBlock), 0.0f);
    const std::int64_t n = c.n - c.from, j = tile.index + c.from - t_.oldest;
    s += c.from;
    const Row row{i, h, j, tile.slot + c.from, n};
    find_distances(row);
    add_products(row, s);
    const auto& x = *t_.extras;
    const RowExtras extras{x.soft_cap, x.bias.data ? x.bias.row(t_.b, h, i) + j : nullptr,
                           x.mask.data ? x.mask.row(t_.b, h, i) + j : nullptr};
    const bool defined = apply_extras(extras, Added{added(row)}, {s, 0, n}, nullptr);
    std::fill(s + n, &logits_[a * kStep] + round_up(any.n, kBlock), 0.0f);
    V top = set(kMinusInfinity), sum_now = hn::Zero(F());
    for (std::int64_t b = 0; b < n; b += lanes())
      top = hn::Max(top, b + lanes() <= n ? hn::LoadU(F(), s + b)
                                          : hn::IfThenElse(hn::FirstN(F(), n - b), load(s + b, n - b),
                                                           set(kMinusInfinity)));
    const float now = defined ? std::max(most, hn::GetLane(hn::MaxOfLanes(F(), top)))
                              : std::numeric_limits<float>::quiet_NaN();
    if (now == kMinusInfinity) return std::fill(s, s + n, 0.0f);
    for (std::int64_t b = 0; b < n; b += lanes()) {
      const V p = first(hn::Exp(F(), hn::Sub(load(s + b, n - b), set(now))), n - b);
      store(p, s + b, n - b);
      sum_now = hn::Add(sum_now, p);
    }
    const float shrink = std::exp(most - now);
    t_.sum[r] = t_.sum[r] * shrink + sum(sum_now);
    most = now;
    if (shrink != 1.0f) {
      for (std::int64_t d = 0; d < t_.Dp; d += lanes())
        hn::StoreU(hn::Mul(set(shrink), hn::LoadU(F(), out + d)), F(), out + d);
    }
    if (!t_.tame) {  // 0·x may not be 0: only the values that the row sees
      extras.each_run(0, n, [&](std::int64_t begin, std::int64_t end) {
        product({1, t_.Dp, end - begin}, {s + begin, n, 1}, t_.v + (row.slot + begin) * t_.Dp, t_.Dp, out,
                t_.Dp, true);
      });
    }
    add_values_of_terms(row, s, out);
  }

  // --- Terms, one number after the other: what is added by position is little beside the keys themselves.

  // n columns of query i and head h that begin at key j, in this slot.
  struct Row {
    std::int64_t i, h, j, slot, n;
  };
  struct Added {
    const float* numbers;
    HWY_INLINE V operator()(V s, std::int64_t b) const {
      return numbers ? hn::Add(s, hn::LoadU(F(), numbers + b)) : s;
    }
  };
  // Where the distances of a row are in arrays of all heads.
  void find_distances(const Row& row) {
    if (!t_.given.over_distances) return;
    at_.resize(std::size_t(kTileKeys));
    const double here = t_.positions[t_.queries[row.i] % t_.slots];
    const std::int64_t first = row.h * t_.terms->distances - t_.terms->first_distance;
    for (std::int64_t b = 0; b < row.n; ++b)
      at_[std::size_t(b)] = first + std::int64_t(here - t_.positions[row.slot + b]);
  }
  // f(pair, column b) for the columns of a row, if such a term is given.
  template <class Kind, class F>
  void each_pair(const Row& row, const F& f) const {
    if (!TermRows<Kind>::given(*t_.terms)) return;
    CachedPair pair{s_, t_.b * s_.H + row.h, row.i, 0, 0, t_.q.row(t_.b, row.i, row.h), nullptr, kBlock};
    for (std::int64_t b = 0; b < row.n; ++b) {
      const std::int64_t slot = row.slot + b;
      pair.j = row.j + b, pair.at = t_.given.over_distances ? at_[std::size_t(b)] : 0;
      pair.k = t_.k + slot / kBlock * kBlock * s_.K + slot % kBlock;
      f(pair, b);
    }
  }
  // What may be −∞ to hide a key; null: nothing.
  const float* added(const Row& row) {
    if (!t_.given.late) return nullptr;
    added_.assign(kTileKeys + kWidest, 0.0f);
    each_record(*t_.terms, [&]<class Kind>(const Kind& kind) {
      if constexpr (CachedLate<Kind>) {
        each_pair<Kind>(row,
                        [&](const CachedPair& pair, std::int64_t b) { kind.cached_late(pair, added_[b]); });
      }
    });
    return added_.data();
  }
  void add_products(const Row& row, float* s) {
    if (!t_.given.products) return;
    added_.assign(kTileKeys + kWidest, 0.0f);
    each_record(*t_.terms, [&]<class Kind>(const Kind& kind) {
      if constexpr (CachedProduct<Kind>) {
        each_pair<Kind>(
            row, [&](const CachedPair& pair, std::int64_t b) { kind.cached_product(pair, added_[b]); });
      }
    });
    for (std::int64_t b = 0; b < row.n; ++b) s[b] += added_[b];
  }
  void add_values_of_terms(const Row& row, const float* p, float* out) const {
    if (!t_.given.values) return;
    each_record(*t_.terms, [&]<class Kind>(const Kind& kind) {
      if constexpr (CachedValue<Kind>) {
        each_pair<Kind>(row,
                        [&](const CachedPair& pair, std::int64_t b) { kind.cached_value(pair, p[b], out); });
      }
    });
  }

  const CachedTask& t_;
  const AttendShape& s_;
  std::vector<std::int64_t> at_;
  Scratch q_, logits_, added_;
};

}  // namespace gnomon::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
