// What attention of one head reads, packed for whole vectors: included once per SIMD target.
#if defined(GNOMON_KERNELS_ATTEND_PACK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GNOMON_KERNELS_ATTEND_PACK_INL_H_
#undef GNOMON_KERNELS_ATTEND_PACK_INL_H_
#else
#define GNOMON_KERNELS_ATTEND_PACK_INL_H_
#endif
#include "gnomon/kernels/attend_tiles-inl.h"
#include "gnomon/kernels/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gnomon::HWY_NAMESPACE {

struct Queries {
  std::int64_t i0, ni;
};

class Packed : public Tiles {
 public:
  using Tiles::Tiles;

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
      for (std::int64_t c = 0; c < e.padded; c += N_) {
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
    for (std::int64_t i = 0; i < n; i += N_) tame = hn::And(tame, is_tame(load(x + i, n - i)));
    tame_ = tame_ && hn::AllTrue(F(), tame);
  }
  void pack_queries(std::int64_t i0, std::int64_t ni) {
    pack_rows({t_.q.row(i0), t_.q.step}, {ni, s_.K, Kp_}, s_.scale, nullptr, q_);
  }
  void pack_keys() { pack_rows(t_.k, {s_.keys, s_.K, Kp_}, 1, t_.padding, k_); }

  // f(column r of the caller's array, entry x in the order of e) for every distance that can occur. With places the order
  // stays the caller's.
  template <class Body>
  void each_distance(const Body& f) const {
    for (std::int64_t r = 0; r < t_.given->distances; ++r) {
      if (t_.places) {
        f(r, r);
        continue;
      }
      const std::int64_t e = -(t_.given->first_distance + r);
      if (e > -s_.place(s_.queries) && e < s_.keys - shift_) f(r, e + zero_);
    }
  }
  // Rows over distances (R,width), in the order of e: as rows, and transposed.
  void pack_distances(const float* x, std::int64_t width, float factor, Scratch& rows, Scratch& transposed) {
    const std::int64_t padded = round_up(width, N_);
    rows.assign(span_ * padded, 0.0f);
    transposed.assign(t_.places ? 0 : width * span_, 0.0f);
    check_tame(x, t_.given->distances * width);
    each_distance([&](std::int64_t r, std::int64_t at) {
      for (std::int64_t c = 0; c < width; ++c) {
        rows[at * padded + c] = factor * x[r * width + c];
        if (!t_.places) transposed[c * span_ + at] = factor * x[r * width + c];
      }
    });
  }

  // --- And back

  void write_row(const float* row, std::int64_t width, float factor, float* to) const {
    for (std::int64_t c = 0; c < width; c += N_)
      store(hn::Mul(set(factor), hn::LoadU(F(), row + c)), to + c, width - c);
  }
  // The numbers of an array over distances, from the order of e; from rows of `padded` for `width`. Null: nobody asks.
  struct Width {
    std::int64_t given, padded;
  };
  void collect_distances(float* to, const Scratch& from, const Width& width, float factor) const {
    if (!to) return;
    each_distance([&](std::int64_t r, std::int64_t x) {
      for (std::int64_t c = 0; c < width.given; ++c)
        to[r * width.given + c] += factor * from[x * width.padded + c];
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
};

}  // namespace gnomon::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
