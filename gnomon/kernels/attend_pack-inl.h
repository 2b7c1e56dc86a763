// What attention of one head reads, packed for whole vectors: included once per SIMD target.
#if defined(GNOMON_KERNELS_ATTEND_PACK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GNOMON_KERNELS_ATTEND_PACK_INL_H_
#undef GNOMON_KERNELS_ATTEND_PACK_INL_H_
#else
#define GNOMON_KERNELS_ATTEND_PACK_INL_H_
#endif
#include "gnomon/kernels/attend_tiles-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gnomon::HWY_NAMESPACE {

class Packed : protected Tiles {
 protected:
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
    for (std::int64_t t = 0; t < e.n; ++t, row += e.padded) {
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
    constexpr std::int64_t kBlock = 16;  // columns at a time: their lines stay in the nearest cache
    for (std::int64_t c0 = 0; c0 < width; c0 += kBlock) {
      for (std::int64_t t = 0; t < n; ++t) {
        const float* row = x.row(t);
        for (std::int64_t c = c0; c < std::min(c0 + kBlock, width); ++c) to[c * keys_ + t] = row[c];
      }
    }
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
    if (far()) pack_rows(far_rows({t_.q.row(i0), t_.q.step}, ni), {ni, s_.K, Kp_}, s_.scale, nullptr, far_q_);
  }
  bool far() const { return std::isfinite(t_.given->far_from); }
  // The rows of q or k that far keys take: the channels beside, then those of the product that none of them replaces.
  Strided<float> far_rows(const Strided<float>& x, std::int64_t n) {
    far_rows_.resize(n * s_.K);
    for (std::int64_t t = 0; t < n; ++t) {
      std::copy_n(x.row(t) + s_.K, s_.beside, &far_rows_[t * s_.K]);
      std::copy_n(x.row(t) + s_.beside, s_.K - s_.beside, &far_rows_[t * s_.K + s_.beside]);
    }
    return {far_rows_.data(), s_.K};
  }

  void pack_keys() {
    pack_transposed(t_.k, s_.keys, s_.K, k_t_);
    if (far()) pack_transposed(far_rows(t_.k, s_.keys), s_.keys, s_.K, far_k_t_);
    if (t_.terms.of<&ByTokenTerm::by_query>() || t_.terms.of<&ByTokenTerm::by_key>() || t_.padding) {
      by_key_.assign(keys_, 0.0f);
      if (t_.terms.of<&ByTokenTerm::by_key>()) check_tame(t_.terms.of<&ByTokenTerm::by_key>(), s_.keys);
      if (t_.terms.of<&ByTokenTerm::by_query>())
        check_tame(t_.terms.of<&ByTokenTerm::by_query>(), s_.queries);
      for (std::int64_t j = 0; j < s_.keys; ++j) {
        by_key_[j] = t_.padding && t_.padding[j]           ? kMinusInfinity
                     : t_.terms.of<&ByTokenTerm::by_key>() ? t_.terms.of<&ByTokenTerm::by_key>()[j]
                                                           : 0.0f;
      }
    }
    if (t_.terms.of<&ByDistanceTerm::by_distance>()) {
      by_distance_.assign(span_, 0.0f);
      check_tame(t_.terms.of<&ByDistanceTerm::by_distance>(), t_.given->distances);
      each_distance([&](std::int64_t r, std::int64_t x) {
        by_distance_[x] = t_.terms.of<&ByDistanceTerm::by_distance>()[r];
      });
    }
    // q is packed with the scale of the logits, which the cross term does not have.
    if (t_.terms.of<&QueryCrossTerm::query_cross>())
      pack_distances(t_.terms.of<&QueryCrossTerm::query_cross>(), s_.K, 1 / s_.scale, query_cross_,
                     query_cross_t_);
    if (t_.terms.of<&KeyCrossTerm::key_cross>())
      pack_distances(t_.terms.of<&KeyCrossTerm::key_cross>(), s_.K, 1, key_cross_, key_cross_t_);
    if (t_.terms.of<&ProfileTerm::profile>())
      pack_distances(t_.terms.of<&ProfileTerm::profile>(), t_.given->profile_width, 1, profile_, profile_t_);
  }

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
  // A row of dq or dk: what the near keys gave, and where it belongs what the far ones did.
  void write_far(const Scratch& rows, std::int64_t t, float factor, float* to) const {
    if (!far()) return void(std::fill_n(to + s_.K, s_.beside, 0.0f));
    const float* row = &rows[t * Kp_];
    for (std::int64_t c = 0; c < s_.K; ++c) {
      if (c < s_.beside) to[s_.K + c] = factor * row[c];
      if (c >= s_.beside) to[c] += factor * row[c];
    }
  }

  Scratch q_, k_, k_t_, v_, v_t_, dout_, by_key_, by_distance_;
  Scratch far_q_, far_k_, far_k_t_, far_rows_;
  Scratch query_cross_, query_cross_t_, key_cross_, key_cross_t_, value_, value_t_;
  Scratch profile_query_, profile_, profile_t_;
};

}  // namespace gnomon::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
