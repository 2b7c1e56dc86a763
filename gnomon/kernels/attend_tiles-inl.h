// The geometry of attention in tiles, and the products over a tile: included once per SIMD target.
#if defined(GNOMON_KERNELS_ATTEND_TILES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GNOMON_KERNELS_ATTEND_TILES_INL_H_
#undef GNOMON_KERNELS_ATTEND_TILES_INL_H_
#else
#define GNOMON_KERNELS_ATTEND_TILES_INL_H_
#endif
#include "gnomon/kernels/attend_head.h"
#include "gnomon/kernels/extras-inl.h"
#include "gnomon/kernels/product_rounded-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gnomon::HWY_NAMESPACE {

// A tile: query rows i0..i0+ni against key columns j0..j0+nj. A row's distances run along its columns: with
// e = j − (position of i), column b of row a reads entry (b − a) + (ni − 1) of a *band* that begins at
// e = j0 − (position of the last row). So every array over distances is kept in the order of e, and a row of
// it is one unaligned load away.
struct Tile {
  std::int64_t i0, ni, j0, nj;
  std::int64_t width;  // of the band: ni + nj − 1
};

// Rows a0..a0+m of a tile with the columns that they see: row a reads entry b − (a − a0) + m − 1 of a band that
// begins at `start` of an array over distances. Few rows waste little of the band.
struct Panel {
  std::int64_t a0, m, n, width, start;
};
// The same for columns b0..b0+n of a tile and the rows from a0 on that see them: column b reads entry
// b − b0 − a + ni − 1 of a band that begins at `start`.
struct Columns {
  static constexpr std::int64_t kMost = 32;
  std::int64_t b0, n, a0, width, start;
};
// The rows of a tile, with room before the first; what is read before it is written is 0.
class TileRows {
 public:
  void resize(std::int64_t numbers, std::int64_t margin) {
    if (const auto wanted = std::size_t(margin + numbers); memory_.size() != wanted)
      memory_.assign(wanted, 0.0f);
    margin_ = margin;
  }
  float* data() { return memory_.data() + margin_; }
  const float* data() const { return memory_.data() + margin_; }
  float& operator[](std::int64_t n) { return data()[n]; }
  const float& operator[](std::int64_t n) const { return data()[n]; }
  void clear_margin() { std::fill_n(memory_.data(), margin_, 0.0f); }

 private:
  Scratch memory_;
  std::int64_t margin_ = 0;
};

// The size of the parts of n, each a multiple of `step`: as few as `most` allows, and of about one size.
inline std::int64_t even_part(std::int64_t n, std::int64_t most, std::int64_t step) {
  const std::int64_t parts = std::max<std::int64_t>(1, (n + most - 1) / most);
  return std::max(step, round_up((n + parts - 1) / parts, step));
}

// One head after the other, all of one call: the task that is referred to is overwritten, and start() takes it up. So the
// memory of the arrays is asked for once. Its members are open to the kinds of terms (attend_terms-inl.h).
class Tiles {
 public:
  explicit Tiles(const HeadTask& t)
      : t_(t),
        s_(t.shape),
        bq_(s_.query_tile ? s_.query_tile : even_part(s_.queries, 8 * kRows, kRows)),
        bk_(s_.key_tile
                ? s_.key_tile
                : std::min<std::int64_t>(192, round_up(std::max<std::int64_t>(1, s_.keys), 2 * lanes()))),
        Kp_(round_up(s_.K, lanes())),
        Dp_(round_up(s_.D, lanes())),
        keys_(round_up(s_.keys, lanes()) + lanes()),
        margin_(round_up(kRows + lanes(), 2 * lanes())),
        ld_(round_up(bk_, 2 * lanes()) + margin_),
        ldg_(round_up(bq_ + bk_, 2 * lanes()) + 2 * lanes()),
        span_(t.places ? t.given->distances : s_.keys + s_.queries + bq_ + bk_ + 6 * lanes()) {}
  void start() {
    shift_ = s_.place(0);
    zero_ = s_.place(s_.queries) + bq_ + 2 * lanes();
    tame_ = true;
  }

  Tile make_tile(std::int64_t i0, std::int64_t ni, std::int64_t j0, std::int64_t nj) const {
    return {i0, ni, j0, nj, ni + nj - 1};
  }
  std::int64_t band_start(const Tile& tile) const {
    return zero_ + tile.j0 - (tile.i0 + tile.ni - 1 + shift_);
  }
  // The entry of an array over distances that the pairs (a, a + x) of a tile read; and the end of such x.
  std::int64_t entry(const Tile& tile, std::int64_t x) const { return band_start(tile) + tile.ni - 1 + x; }
  std::int64_t end_of_steps(const Tile& tile) const {
    return s_.causal ? std::min(tile.nj, tile.i0 + shift_ - tile.j0 + 1) : tile.nj;
  }
  // Query row i sees the keys first_of(i) ≤ j < end_of(i).
  std::int64_t first_of(std::int64_t i) const {
    const std::int64_t first = s_.left < 0 ? 0 : std::max<std::int64_t>(0, i + shift_ - s_.left);
    return t_.first_key ? std::max<std::int64_t>(first, t_.first_key[i + shift_]) : first;
  }
  std::int64_t end_of(std::int64_t i) const {
    std::int64_t end = s_.causal ? i + shift_ + 1 : s_.keys;
    if (s_.right >= 0) end = std::min(end, i + shift_ + s_.right + 1);
    if (t_.given->weights == Weighting::stick) --end;
    return std::min<std::int64_t>(end, t_.end_key ? t_.end_key[i + shift_] : s_.keys);
  }
  // Row a of the tile sees its columns from hidden() on, before visible().
  std::int64_t visible(const Tile& tile, std::int64_t a) const {
    return std::clamp<std::int64_t>(end_of(tile.i0 + a) - tile.j0, 0, tile.nj);
  }
  std::int64_t hidden(const Tile& tile, std::int64_t a) const {
    return std::clamp<std::int64_t>(first_of(tile.i0 + a) - tile.j0, 0, tile.nj);
  }
  // What the caller asks of the logits of row a.
  RowExtras extras_of(const Tile& tile, std::int64_t a) const {
    const HeadExtras& x = t_.extras;
    const std::int64_t i = tile.i0 + a;
    return {x.soft_cap, x.bias.data ? x.bias.row(i) + tile.j0 : nullptr,
            x.mask.data ? x.mask.row(i) + tile.j0 : nullptr};
  }
  // f(begin, end) for the runs of columns that row a sees.
  template <class Body>
  void each_run(const Tile& tile, std::int64_t a, const Body& f) const {
    const std::int64_t from = hidden(tile, a), n = visible(tile, a);
    if (!t_.extras.of_pairs) return f(from, n);
    extras_of(tile, a).each_run(from, n, f);
  }
  // e^x, of a logit less the largest; 0 below 2^−100, which beside a weight of 1 and values below 2^50 adds nothing that
  // float32 holds. Some processors take a hundred times as long for a product with a subnormal number.
  V weight(V x) const { return tame_ ? exp_or_nothing(x) : hn::Exp(F(), x); }
  bool whole(const Tile& tile) const { return visible(tile, 0) == tile.nj; }

  float dot(const float* a, const float* b, std::int64_t n) const {
    V total = hn::Zero(F());
    for (std::int64_t c = 0; c < n; c += lanes())
      total = hn::MulAdd(load(a + c, n - c), load(b + c, n - c), total);
    return sum(total);
  }
  // y += x·factor
  void add(float factor, const float* x, std::int64_t n, float* y) const {
    for (std::int64_t c = 0; c < n; c += lanes())
      hn::StoreU(hn::MulAdd(set(factor), hn::LoadU(F(), x + c), hn::LoadU(F(), y + c)), F(), y + c);
  }

  // Where products are of bfloat16: the memory for rounded factors. Those of heads that hold numbers which are not tame stay in
  // float32.
  PackedFactors* pairs() {
    return kRounds && tame_ && s_.precision == Precision::bfloat16 ? &pairs_ : nullptr;
  }

  // c (rows of the tile, columns) = left·right, for the columns that each panel of rows can see.
  void times_columns(const Tile& tile, Left left, const Scratch& right, std::int64_t k, float* c) {
    const ProductInParts multiply({tile.ni, tile.nj, k}, left, &right[tile.j0], keys_, pairs());
    const std::int64_t panel = whole(tile) ? tile.ni : even_part(tile.ni, kRows, 1);
    for (std::int64_t a = 0; a < tile.ni; a += panel) {
      const std::int64_t m = std::min(panel, tile.ni - a), n = visible(tile, a + m - 1);
      multiply({a, m, n, 0, k}, c + a * ld_, ld_, false);
    }
  }
  // c (rows, padded) += w (rows, columns)·x (columns, padded): only over the columns that a panel of rows
  // sees. w is 0 where a row of it does not; where 0·x may not be 0, each row goes alone over what it sees.
  void rows_times(const Tile& tile, const float* w, const float* x, std::int64_t padded, float* c) {
    for (std::int64_t a = 0; !tame_ && a < tile.ni; ++a) {
      each_run(tile, a, [&](std::int64_t from, std::int64_t n) {
        product({1, padded, n - from}, {w + a * ld_ + from, ld_, 1}, x + from * padded, padded,
                c + a * padded, padded, true);
      });
    }
    if (!tame_) return;
    const ProductInParts multiply({tile.ni, padded, tile.nj}, {w, ld_, 1}, x, padded, pairs());
    const std::int64_t panel = whole(tile) ? tile.ni : even_part(tile.ni, kRows, 1);
    for (std::int64_t a = 0; a < tile.ni; a += panel) {
      const std::int64_t m = std::min(panel, tile.ni - a);
      multiply({a, m, padded, 0, visible(tile, a + m - 1)}, c + a * padded, padded, true);
    }
  }
  // c (columns, padded) += wᵀ·x (rows, padded): a panel of columns is seen by the rows from its first
  // position on.
  void columns_times(const Tile& tile, const float* w, const float* x, std::int64_t padded, float* c) {
    for (std::int64_t a = 0; !tame_ && a < tile.ni; ++a) {
      each_run(tile, a, [&](std::int64_t from, std::int64_t n) {
        product({n - from, padded, 1}, {w + a * ld_ + from, 1, ld_}, x + a * padded, padded,
                c + from * padded, padded, true);
      });
    }
    if (!tame_) return;
    const ProductInParts multiply({tile.nj, padded, tile.ni}, {w, 1, ld_}, x, padded, pairs());
    const std::int64_t panel = whole(tile) ? tile.nj : even_part(tile.nj, kRows, 1);
    for (std::int64_t b = 0; b < tile.nj; b += panel) {
      const std::int64_t m = std::min(panel, tile.nj - b);
      const std::int64_t from = first_row(tile, b);
      if (from >= tile.ni) continue;
      multiply({b, m, padded, from, tile.ni - from}, c + b * padded, padded, true);
    }
  }

  // The first row of the tile that column b can be seen by.
  std::int64_t first_row(const Tile& tile, std::int64_t b) const {
    return s_.causal ? std::max<std::int64_t>(0, tile.j0 + b - (tile.i0 + shift_)) : 0;
  }
  template <class Body>
  void each_panel(const Tile& tile, const Body& f) const {
    for (std::int64_t a0 = 0; a0 < tile.ni; a0 += kRows) {
      const std::int64_t m = std::min<std::int64_t>(kRows, tile.ni - a0), n = visible(tile, a0 + m - 1);
      if (n > 0) f(Panel{a0, m, n, m + n - 1, zero_ + tile.j0 - (tile.i0 + a0 + m - 1 + shift_)});
    }
  }
  // The rows of a panel, each moved so far that a column of what is seen here is one distance: ld_ + 1 apart. What is beside
  // a row of the tile is read as 0; what a product adds there, the softmax makes 0 again.
  float* by_distance(TileRows& rows, const Panel& panel) const {
    return rows.data() + panel.a0 * ld_ - (panel.m - 1);
  }
  template <class Body>
  void each_columns(const Tile& tile, const Body& f) const {
    for (std::int64_t b0 = 0; b0 < tile.nj; b0 += Columns::kMost) {
      const std::int64_t n = std::min(Columns::kMost, tile.nj - b0);
      const std::int64_t a0 = first_row(tile, b0);
      if (a0 < tile.ni) f(Columns{b0, n, a0, tile.ni - a0 + n - 1, band_start(tile) + b0});
    }
  }

  // The bands of columns, and after them as many numbers for their rows.
  float* key_bands() {
    if (const auto wanted = std::size_t(Columns::kMost * (ldg_ + bq_)); key_bands_.size() != wanted)
      key_bands_.assign(wanted, 0.0f);
    return key_bands_.data();
  }

  const HeadTask& t_;
  const AttendShape& s_;
  const std::int64_t bq_, bk_, Kp_, Dp_;
  const std::int64_t keys_;      // length of a packed row over keys, with room for whole vectors
  const std::int64_t margin_;    // room beside each row of a tile, for the products by distance
  const std::int64_t ld_, ldg_;  // steps of the rows of a tile and of a band
  const std::int64_t span_;      // length of an array in the order of e; with places, in the caller's order
  std::int64_t shift_ = 0;       // place of query 0
  std::int64_t zero_ = 0;        // entry of e = 0 of an array in the order of e
  bool tame_ = true;             // so far, everything that was packed
  Scratch key_bands_;
  PackedFactors pairs_;
  bool by_distance_ = false;      // some kind asks for by_distance()
  std::int64_t rows_beside_ = 0;  // rows of zeros that a kind reads before and behind those of dp_
};

}  // namespace gnomon::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
