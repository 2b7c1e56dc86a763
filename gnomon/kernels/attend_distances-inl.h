// Distances of queries and keys along the rows of a tile: included once per SIMD target.
#if defined(GNOMON_KERNELS_ATTEND_DISTANCES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GNOMON_KERNELS_ATTEND_DISTANCES_INL_H_
#undef GNOMON_KERNELS_ATTEND_DISTANCES_INL_H_
#else
#define GNOMON_KERNELS_ATTEND_DISTANCES_INL_H_
#endif
#include "gnomon/kernels/attend_pack-inl.h"
#include "gnomon/kernels/attend_rules-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gnomon::HWY_NAMESPACE {

// Numbers that depend on δ alone, for the columns of a row: where tokens follow each other by 1, a row of a table in the
// order of e; with places, computed for each pair.
class Distances : public Packed {
 public:
  using Packed::Packed;
  void start() {
    Packed::start();
    delta_.clear();
  }
  // ln(1 + rate·|δ|)
  struct Warp {
    float rate;
    Scratch table, row;
  };
  Warp make_warp(float rate) const {
    Warp w{rate, {}, {}};
    if (t_.places) {
      w.row.assign(ld_, 0.0f);
      return w;
    }
    w.table.assign(span_, 0.0f);
    for (std::int64_t e = 1 - s_.place(s_.queries); e < s_.keys - shift_; ++e)
      w.table[zero_ + e] = float(std::log1p(double(rate) * std::abs(double(e))));
    return w;
  }
  const float* row(Warp& w, const Tile& tile, const Seen& r) {
    if (!t_.places) return &w.table[band_of(tile, r.a)];
    const float* delta = distances(tile, r);
    r.each_vector([&](std::int64_t b) {
      const V x = hn::Mul(set(w.rate), hn::Abs(hn::LoadU(F(), delta + b)));
      hn::StoreU(hn::Log1p(F(), x), F(), &w.row[b]);
      if (std::isnan(w.rate)) hn::StoreU(x, F(), &w.row[b]);
    });
    return w.row.data();
  }
  // δ
  const float* distances(const Tile& tile, const Seen& r) {
    if (!t_.places) {
      if (delta_.empty()) {
        delta_.assign(span_, 0.0f);
        for (std::int64_t e = 1 - s_.place(s_.queries); e < s_.keys - shift_; ++e)
          delta_[zero_ + e] = float(-e);
      }
      return &delta_[band_of(tile, r.a)];
    }
    if (delta_.empty()) delta_.assign(ld_, 0.0f);
    const double place = t_.places[tile.i0 + r.a + shift_], *key = t_.places + tile.j0;
    for (std::int64_t b = r.from; b < r.n; ++b) delta_[b] = float(place - key[b]);
    return delta_.data();
  }
  // The columns of the arrays over distances; with places.
  const std::int32_t* columns(const Tile& tile, const Seen& r) {
    columns_.resize(std::size_t(ld_));
    const double place = t_.places[tile.i0 + r.a + shift_] - double(t_.given->first_distance),
                 *key = t_.places + tile.j0;
    for (std::int64_t b = r.from; b < r.n; ++b) columns_[std::size_t(b)] = std::int32_t(place - key[b]);
    return columns_.data();
  }
  // By column 1 where row r must not look, though it is among what it sees: padding and what the caller hides. Null: nowhere.
  const std::uint8_t* hides(const Tile& tile, const Seen& r) {
    const std::uint8_t* padding = t_.padding ? t_.padding + tile.j0 : nullptr;
    if (!t_.extras.bias.data && !t_.extras.mask.data) return padding;
    hidden_.assign(std::size_t(ld_), 0);
    const RowExtras extras = extras_of(tile, r.a);
    for (std::int64_t b = r.from; b < r.n; ++b)
      hidden_[std::size_t(b)] = extras.hides(b) || (padding && padding[b]);
    return hidden_.data();
  }
  Seen seen(const Tile& tile, std::int64_t a) const { return {a, hidden(tile, a), visible(tile, a)}; }
  // f(row) for those that see a column of the tile.
  template <class Body>
  void each_row(const Tile& tile, const Body& f) const {
    for (std::int64_t a = 0; a < tile.ni; ++a) {
      if (const Seen r = seen(tile, a); r.from < r.n) f(r);
    }
  }
  float* logits(std::int64_t a) { return &logits_[a * ld_]; }
  std::int64_t band_of(const Tile& tile, std::int64_t a) const { return band_start(tile) + tile.ni - 1 - a; }

 private:
  Scratch delta_;
  std::vector<std::int32_t> columns_;
  std::vector<std::uint8_t> hidden_;
};

// What a kind sees of the head that it works for, under the head's own names.
class TermAtWork {
 protected:
  explicit TermAtWork(Distances& head)
      : head_(head),
        t_(head.t_),
        s_(head.s_),
        shift_(head.shift_),
        bq_(head.bq_),
        Kp_(head.Kp_),
        Dp_(head.Dp_),
        keys_(head.keys_),
        ld_(head.ld_),
        ldg_(head.ldg_),
        span_(head.span_) {}
  Distances& head_;
  const HeadTask& t_;
  const AttendShape& s_;
  const std::int64_t shift_, bq_, Kp_, Dp_, keys_, ld_, ldg_, span_;
};

}  // namespace gnomon::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
