// Rows over distances that act on a tile, for terms that have them: included once per SIMD target.
#if defined(GNOMON_KERNELS_ATTEND_CROSS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GNOMON_KERNELS_ATTEND_CROSS_INL_H_
#undef GNOMON_KERNELS_ATTEND_CROSS_INL_H_
#else
#define GNOMON_KERNELS_ATTEND_CROSS_INL_H_
#endif
#include "gnomon/kernels/attend_distances-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gnomon::HWY_NAMESPACE {

// Rows over distances (R,width), times `factor`, and what they do to a tile: numbers of its queries, (queries,padded) and 0 beyond
// the width, on one side, numbers of pairs on the other. The products run along the diagonals. Beyond the limit of a clipped
// distance all rows are the same: there a row of the tile needs one product.
class RowsByDistance : public TermAtWork {
 public:
  RowsByDistance(Distances& head, const float* rows, std::int64_t width, float factor)
      : TermAtWork(head),
        width_(width),
        padded_(round_up(width, lanes())),
        factor_(factor),
        at_(head.next_distance_rows()) {
    head_.pack_distances(rows, {width_, padded_}, factor, at_);
    head_.by_distance_ = true;
  }
  std::int64_t padded() const { return padded_; }
  const DistanceRows& packed() const { return at_; }
  float* gradients() { return at_.gradients.data(); }

  // pairs[a,b] += numbers[a]·rows[δ]
  void spread(const Tile& tile, const float* numbers, TileRows& pairs) {
    if (t_.places) {
      return each_pair(tile, pairs, [&](float* pair, std::int64_t a, std::int64_t x) {
        *pair += head_.dot(numbers + a * padded_, &at_.rows[x * padded_], padded_);
      });
    }
    each_panel(tile, [&](const Panel& panel, const Zones& zone) {
      product({panel.m, zone.to - zone.from, width_}, {numbers + panel.a0 * padded_, padded_, 1},
              at_.transposed.data() + panel.start + zone.from, span_,
              head_.by_distance(pairs, panel) + zone.from, ld_ + 1, true);
      each_same(panel, zone, [&](std::int64_t a, std::int64_t from, std::int64_t to, const float* row) {
        const V same = set(head_.dot(numbers + a * padded_, row, padded_));
        for (float* x = &pairs[a * ld_ + from]; from < to; from += lanes(), x += lanes())
          hn::StoreU(hn::Add(hn::LoadU(F(), x), first(same, to - from)), F(), x);
      });
    });
  }
  // numbers[a] += Σ_b pairs[a,b]·rows[δ]. What a hidden key holds may be no number: there the pair is 0.
  void gather(const Tile& tile, TileRows& pairs, float* numbers) {
    if (t_.places) {
      return each_pair(tile, pairs, [&](const float* pair, std::int64_t a, std::int64_t x) {
        if (*pair != 0) head_.add(*pair, &at_.rows[x * padded_], padded_, numbers + a * padded_);
      });
    }
    each_panel(tile, [&](const Panel& panel, const Zones& zone) {
      product({panel.m, padded_, zone.to - zone.from},
              {head_.by_distance(pairs, panel) + zone.from, ld_ + 1, 1},
              at_.rows.data() + (panel.start + zone.from) * padded_, padded_, numbers + panel.a0 * padded_,
              padded_, true);
      each_same(panel, zone, [&](std::int64_t a, std::int64_t from, std::int64_t to, const float* row) {
        V sums = hn::Zero(F());
        for (const float* x = &pairs[a * ld_ + from]; from < to; from += lanes(), x += lanes())
          sums = hn::Add(sums, first(hn::LoadU(F(), x), to - from));
        head_.add(sum(sums), row, padded_, numbers + a * padded_);
      });
    });
  }

  // The gradient of the rows is asked for.
  void start_gradients() {
    if (std::int64_t(at_.gradients.size()) != span_ * padded_) at_.gradients.assign(span_ * padded_, 0.0f);
    std::fill_n(&at_.gradients[at_.begin * padded_], (at_.end - at_.begin) * padded_, 0.0f);
  }
  // gradients[δ] += pairs[a,b]·numbers[a], each distance its own
  void collect(const Tile& tile, TileRows& pairs, const float* numbers) {
    if (t_.places) {
      return each_pair(tile, pairs, [&](const float* pair, std::int64_t a, std::int64_t x) {
        if (*pair != 0) head_.add(*pair, numbers + a * padded_, padded_, &at_.gradients[x * padded_]);
      });
    }
    // A panel of distances, of all rows: it reaches a little beside the tile, where pairs are 0.
    const std::int64_t end = head_.end_of_steps(tile);
    for (std::int64_t x = 1 - tile.ni; x < end; x += kRows) {
      const std::int64_t m = std::min<std::int64_t>(kRows, end - x), a = std::max<std::int64_t>(0, 1 - m - x),
                         k = std::min(tile.ni, tile.nj - x) - a;
      if (k <= 0) continue;
      product({m, padded_, k}, {pairs.data() + a * ld_ + a + x, 1, ld_ + 1}, numbers + a * padded_, padded_,
              &at_.gradients[head_.entry(tile, x) * padded_], padded_, true);
    }
  }
  // Adds to the gradient of the rows (R,width), or nothing to null.
  void finish(float* to) const { head_.collect_distances(to, at_.gradients, {width_, padded_}, factor_); }

 private:
  // Columns of a panel's band, whose rows are not all the same; before and behind them they are.
  struct Zones {
    std::int64_t from, to;
  };
  template <class Body>
  void each_panel(const Tile& tile, const Body& f) const {
    head_.each_panel(tile, [&](const Panel& panel) {
      const std::int64_t before = std::clamp<std::int64_t>(at_.same_before - panel.start, 0, panel.width),
                         from = before / lanes() * lanes(), to = std::max(from, at_.same_from - panel.start);
      f(panel, Zones{from, std::min(panel.width, from + round_up(to - from, lanes()))});
    });
  }
  // f(row of the tile, from, to, what its columns from..to share)
  template <class Body>
  void each_same(const Panel& panel, const Zones& zone, const Body& f) const {
    for (std::int64_t a = 0; a < panel.m; ++a) {
      const std::int64_t column = a - (panel.m - 1);  // of the first of the band
      if (zone.from + column > 0 && zone.from > 0)
        f(panel.a0 + a, std::int64_t{0}, zone.from + column, &at_.rows[at_.begin * padded_]);
      if (zone.to + column < panel.n && zone.to < panel.width)
        f(panel.a0 + a, std::max<std::int64_t>(0, zone.to + column), panel.n,
          &at_.rows[(at_.end - 1) * padded_]);
    }
  }
  // f(number of the pair, row, its distance), with places.
  template <class Body>
  void each_pair(const Tile& tile, TileRows& pairs, const Body& f) {
    head_.each_row(tile, [&](const Seen& r) {
      const std::int32_t* at = head_.columns(tile, r);
      for (std::int64_t b = r.from; b < r.n; ++b) f(&pairs[r.a * ld_ + b], r.a, std::int64_t(at[b]));
    });
  }
  const std::int64_t width_, padded_;
  const float factor_;
  DistanceRows& at_;
};

}  // namespace gnomon::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
