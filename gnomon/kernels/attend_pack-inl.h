// What attention of one head reads, packed for whole vectors: included once per SIMD target.
#if defined(GNOMON_KERNELS_ATTEND_PACK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GNOMON_KERNELS_ATTEND_PACK_INL_H_
#undef GNOMON_KERNELS_ATTEND_PACK_INL_H_
#else
#define GNOMON_KERNELS_ATTEND_PACK_INL_H_
#endif
#include <deque>

#include "gnomon/kernels/attend_tiles-inl.h"
#include "gnomon/kernels/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gnomon::HWY_NAMESPACE {

struct Queries {
  std::int64_t i0, ni;
};

// Rows over distances, in the order of e: the entries begin..end of `span` rows, each padded; transposed, (width,span); and their
// gradients. The entries before `same_before` are the same as the first, those from `same_from` on as the last.
struct DistanceRows {
  std::int64_t begin = 0, end = 0, same_before = 0, same_from = 0;
  Scratch rows, transposed, gradients;
};
// Numbers of a row, and of the same padded to whole vectors.
struct Width {
  std::int64_t given, padded;
};

class Packed : public Tiles {
 public:
  using Tiles::Tiles;
  void start() {
    Tiles::start();
    asked_ = 0;
  }

  // --- Packing: rows padded with zeros to whole vectors, so that no product has a tail in n. A row that is padding
  // becomes 0: nobody sees it, whatever it holds.

  struct Extents {
    std::int64_t n, width, padded;
  };
  void pack_rows(const Strided<float>& x, const Extents& e, float factor, const std::uint8_t* padding,
                 Scratch& to) {
    to.resize(e.n * e.padded);
    float* row = to.data();
    auto tame = all_lanes();
    constexpr std::int64_t kAhead = 8;
    for (std::int64_t t = 0; t < e.n; ++t, row += e.padded) {
      if (t + kAhead < e.n) fetch(x.row(t + kAhead), e.width);
      if (padding && padding[t]) {
        std::fill_n(row, e.padded, 0.0f);
        continue;
      }
      for (std::int64_t c = 0; c < e.padded; c += lanes()) {
        const V v = hn::Mul(c < e.width ? load(x.row(t) + c, e.width - c) : hn::Zero(F()), set(factor));
        tame = hn::And(tame, is_tame(v));
        hn::StoreU(v, F(), row + c);
      }
    }
    tame_ = tame_ && hn::AllTrue(F(), tame);
  }
  // Of keys.
  void pack_transposed(const Strided<float>& x, std::int64_t n, std::int64_t width, Scratch& to) const {
    to.resize(width * keys_);
    transpose({x.data, x.step, n, width}, to.data(), keys_);
    for (std::int64_t c = 0; c < width; ++c) {
      std::fill_n(&to[c * keys_ + n], keys_ - n, 0.0f);
      for (std::int64_t t = 0; t_.padding && t < n; ++t) {
        if (t_.padding[t]) to[c * keys_ + t] = 0;
      }
    }
  }
  void check_tame(const float* x, std::int64_t n) {
    auto tame = all_lanes();
    for (std::int64_t i = 0; i < n; i += lanes()) tame = hn::And(tame, is_tame(load(x + i, n - i)));
    tame_ = tame_ && hn::AllTrue(F(), tame);
  }
  void pack_queries(std::int64_t i0, std::int64_t ni) {
    pack_rows({t_.q.row(i0), t_.q.step}, {ni, s_.K, Kp_}, s_.scale, nullptr, q_);
  }
  void pack_keys() { pack_rows(t_.k, {s_.keys, s_.K, Kp_}, 1, t_.padding, k_); }

  // The distances that can occur: entries begin..end in the order of e, of which the first is column `first` of the caller's
  // array, and the next one `step` further. With places the order stays the caller's.
  struct Run {
    std::int64_t begin, end, first, step;
  };
  Run distances() const {
    const std::int64_t all = t_.given->distances, nearest = t_.given->first_distance;
    if (t_.places) return {0, all, 0, 1};
    const std::int64_t lowest = std::max(1 - s_.place(s_.queries), 1 - nearest - all),
                       end = std::max(lowest, std::min(s_.keys - shift_, 1 - nearest));
    return {lowest + zero_, end + zero_, -lowest - nearest, -1};
  }
  // f(column r of the caller's array, entry x in the order of e)
  template <class Body>
  void each_distance(const Body& f) const {
    const Run run = distances();
    for (std::int64_t x = run.begin, r = run.first; x < run.end; ++x, r += run.step) f(r, x);
  }
  // Rows over distances (R,width), in the order of e: as rows, and transposed.
  void pack_distances(const float* x, const Width& width, float factor, DistanceRows& to) {
    const Run run = distances();
    const std::int64_t n = run.end - run.begin, padded = width.padded;
    if (to.begin != run.begin || to.end != run.end || std::int64_t(to.rows.size()) != span_ * padded) {
      to.begin = run.begin, to.end = run.end;
      to.rows.assign(span_ * padded, 0.0f);
      to.transposed.assign(t_.places ? 0 : width.given * span_, 0.0f);
    }
    check_tame(x, t_.given->distances * width.given);
    const RowsToTurn given{x + run.first * width.given, run.step * width.given, n, width.given};
    for (std::int64_t i = 0; i < n; ++i) {
      float* row = &to.rows[(run.begin + i) * padded];
      for (std::int64_t c = 0; c < width.given; c += lanes())
        hn::StoreU(hn::Mul(set(factor), load(given.row(i) + c, width.given - c)), F(), row + c);
    }
    if (t_.places) return;
    transpose({&to.rows[run.begin * padded], padded, n, width.given}, to.transposed.data() + run.begin,
              span_);
    const auto same = [&](std::int64_t i, std::int64_t as) {
      return std::equal(given.row(i), given.row(i) + width.given, given.row(as));
    };
    std::int64_t before = std::min<std::int64_t>(1, n), from = n;
    while (before < n && same(before, 0)) ++before;
    while (from > before && same(from - 1, n - 1)) --from;
    to.same_before = run.begin + before, to.same_from = run.begin + from;
  }
  // Memory that the kinds of one head ask for in the same order as those of the next.
  DistanceRows& next_distance_rows() {
    if (std::size_t(asked_) == distance_rows_.size()) distance_rows_.emplace_back();
    return distance_rows_[std::size_t(asked_++)];
  }

  // --- And back

  void write_row(const float* row, std::int64_t width, float factor, float* to) const {
    for (std::int64_t c = 0; c < width; c += lanes())
      store(hn::Mul(set(factor), hn::LoadU(F(), row + c)), to + c, width - c);
  }
  // The numbers of an array over distances, from the order of e. Null: nobody asks.
  void collect_distances(float* to, const Scratch& from, const Width& width, float factor) const {
    if (!to) return;
    each_distance([&](std::int64_t r, std::int64_t x) {
      float* row = to + r * width.given;
      for (std::int64_t c = 0; c < width.given; c += lanes()) {
        const V more = load(&from[x * width.padded + c], width.given - c);
        store(hn::MulAdd(set(factor), more, load(row + c, width.given - c)), row + c, width.given - c);
      }
    });
  }
  // Those of the tokens of queries i0..i0+ni, from rows of a tile.
  void collect_queries(float* to, const Scratch& from, const Width& width, const Queries& at) const {
    for (std::int64_t n = 0; to && n < at.ni * width.given; ++n)
      to[(at.i0 + shift_) * width.given + n] += from[n / width.given * width.padded + n % width.given];
  }

  // Rows of queries of a tile, of keys and of values; of what the output of the tile gets back.
  Scratch q_, k_, k_t_, v_, v_t_, dout_;
  // Of a tile: logits, which become weights; the output; the gradient of the weights, which becomes that of the logits; and
  // that of the score, where it is another.
  TileRows logits_, dp_;
  Scratch out_, dscore_;
  Scratch dq_, dk_, dv_;

 private:
  std::deque<DistanceRows> distance_rows_;  // a kind refers to its own
  std::int64_t asked_ = 0;
};

}  // namespace gnomon::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
