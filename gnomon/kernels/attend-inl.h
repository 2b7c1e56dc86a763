// Attention of one head, tile by tile: included once per SIMD target, by attend.cpp.
#if defined(GNOMON_KERNELS_ATTEND_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GNOMON_KERNELS_ATTEND_INL_H_
#undef GNOMON_KERNELS_ATTEND_INL_H_
#else
#define GNOMON_KERNELS_ATTEND_INL_H_
#endif
#include "gnomon/kernels/extras-inl.h"
#include "gnomon/kernels/product-inl.h"

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

class Head {
 public:
  explicit Head(const HeadTask& t)
      : t_(t),
        s_(t.shape),
        N_(lanes()),
        shift_(s_.place(0)),
        bq_(s_.query_tile ? s_.query_tile : 8 * kRows),
        bk_(s_.key_tile ? s_.key_tile : 128),
        Kp_(round_up(s_.K, N_)),
        Dp_(round_up(s_.D, N_)),
        keys_(round_up(s_.keys, N_) + N_),
        ld_(round_up(bk_, 2 * N_) + 2 * N_),
        ldg_(round_up(bq_ + bk_, 2 * N_) + 2 * N_),
        zero_(s_.place(s_.queries) + bq_ + 2 * N_),
        span_(s_.keys + s_.queries + bq_ + bk_ + 6 * N_) {}

  void forward() {
    pack_keys();
    check_tame(k_t_.data(), s_.K * keys_);
    pack_rows(t_.v, {s_.keys, s_.D, Dp_}, 1, t_.padding, v_);
    if (t_.terms.value) pack_distances(t_.terms.value, s_.D, 1, value_, value_t_);
    logits_.resize(bq_ * ld_);
    Scratch out(bq_ * Dp_), most(bq_), total(bq_);
    for (std::int64_t i0 = 0; i0 < s_.queries; i0 += bq_) {
      const std::int64_t ni = std::min(bq_, s_.queries - i0), seen = end_of(i0 + ni - 1);
      pack_queries(i0, ni);
      // A sink is a logit that was met before all others. One that is no number makes the sum NaN.
      const float sink = t_.extras.sink;
      std::fill(most.begin(), most.end(), sink);
      std::fill(total.begin(), total.end(), sink == kMinusInfinity ? 0.0f : std::exp(sink - sink));
      std::fill(out.begin(), out.end(), 0.0f);
      for (std::int64_t j0 = first_of(i0) / bk_ * bk_; j0 < seen; j0 += bk_) {
        const Tile tile = make_tile(i0, ni, j0, std::min(bk_, seen - j0));
        compute_logits(tile);
        for (std::int64_t a = 0; a < ni; ++a) soften(tile, a, most[a], total[a], &out[a * Dp_]);
        rows_times(tile, logits_.data(), &v_[j0 * Dp_], Dp_, out.data());
        if (t_.terms.value) {
          each_panel(tile, [&](const Panel& panel) {
            to_band(panel, logits_.data());
            product({panel.m, Dp_, panel.width}, {band_.data(), ldg_, 1}, value_.data() + panel.start * Dp_,
                    Dp_, &out[panel.a0 * Dp_], Dp_, true);
          });
        }
      }
      for (std::int64_t a = 0; a < ni; ++a) {
        const float sum = total[a];
        write_row(&out[a * Dp_], s_.D, sum == 0 ? 0.0f : 1.0f / sum, t_.out.at(i0 + a));
        t_.lse[i0 + a] = sum == 0 ? kMinusInfinity : most[a] + std::log(sum);
      }
    }
  }

  // p = exp(s − lse), dp = dout·v, ds = p (dp − Σ_j p dp), and Σ_j p dp = dout·out.
  void backward() {
    pack_keys();
    pack_transposed(t_.v, s_.keys, s_.D, v_t_);
    pack_rows(t_.k, {s_.keys, s_.K, Kp_}, 1, t_.padding, k_);
    pack_rows(t_.dout, {s_.queries, s_.D, Dp_}, 1, nullptr, dout_);
    if (t_.terms.value) pack_distances(t_.terms.value, s_.D, 1, value_, value_t_);
    logits_.resize(bq_ * ld_);
    dp_.resize(bq_ * ld_);
    start_gradients();
    for (std::int64_t i0 = 0; i0 < s_.queries; i0 += bq_) {
      const std::int64_t ni = std::min(bq_, s_.queries - i0), seen = end_of(i0 + ni - 1);
      pack_queries(i0, ni);
      dq_.assign(bq_ * Kp_, 0.0f);
      for (std::int64_t j0 = first_of(i0) / bk_ * bk_; j0 < seen; j0 += bk_)
        backward_tile(make_tile(i0, ni, j0, std::min(bk_, seen - j0)));
      for (std::int64_t a = 0; a < ni; ++a) write_row(&dq_[a * Kp_], s_.K, s_.scale, t_.dq.at(i0 + a));
    }
    if (t_.extras.dsink) *t_.extras.dsink = sink_gradient();
    for (std::int64_t j = 0; j < s_.keys; ++j) {
      write_row(&dk_[j * Kp_], s_.K, 1, t_.dk.at(j));
      write_row(&dv_[j * Dp_], s_.D, 1, t_.dv.at(j));
    }
    finish_gradients();
  }

 private:
  // --- Packing: rows padded with zeros to whole vectors, so that no product has a tail in n. A row that is padding
  // becomes 0: nobody sees it, whatever it holds.

  struct Extents {
    std::int64_t n, width, padded;
  };
  void pack_rows(const Rows& x, const Extents& e, float factor, const std::uint8_t* padding, Scratch& to) {
    to.resize(e.n * e.padded);
    float* row = to.data();
    auto tame = all_lanes();
    for (std::int64_t t = 0; t < e.n; ++t, row += e.padded) {
      if (padding && padding[t]) {
        std::fill_n(row, e.padded, 0.0f);
        continue;
      }
      for (std::int64_t c = 0; c < e.padded; c += N_) {
        const V v = hn::Mul(c < e.width ? load(x.at(t) + c, e.width - c) : hn::Zero(F()), set(factor));
        tame = hn::And(tame, is_tame(v));
        hn::StoreU(v, F(), row + c);
      }
    }
    tame_ = tame_ && hn::AllTrue(F(), tame);
  }
  // Of keys.
  void pack_transposed(const Rows& x, std::int64_t n, std::int64_t width, Scratch& to) const {
    to.resize(width * keys_);
    constexpr std::int64_t kBlock = 16;  // columns at a time: their lines stay in the nearest cache
    for (std::int64_t c0 = 0; c0 < width; c0 += kBlock) {
      for (std::int64_t t = 0; t < n; ++t) {
        const float* row = x.at(t);
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
    pack_rows({t_.q.at(i0), t_.q.step}, {ni, s_.K, Kp_}, s_.scale, nullptr, q_);
  }

  void pack_keys() {
    pack_transposed(t_.k, s_.keys, s_.K, k_t_);
    const HeadTerms& terms = t_.terms;
    if (terms.by_query || terms.by_key || t_.padding) {
      by_key_.assign(keys_, 0.0f);
      if (terms.by_key) check_tame(terms.by_key, s_.keys);
      if (terms.by_query) check_tame(terms.by_query, s_.queries);
      for (std::int64_t j = 0; j < s_.keys; ++j) {
        by_key_[j] = t_.padding && t_.padding[j] ? kMinusInfinity : terms.by_key ? terms.by_key[j] : 0.0f;
      }
    }
    if (terms.by_distance) {
      by_distance_.assign(span_, 0.0f);
      check_tame(terms.by_distance, terms.distances);
      each_distance([&](std::int64_t r, std::int64_t x) { by_distance_[x] = terms.by_distance[r]; });
    }
    // q is packed with the scale of the logits, which the cross term does not have.
    if (terms.query_cross)
      pack_distances(terms.query_cross, s_.K, 1 / s_.scale, query_cross_, query_cross_t_);
    if (terms.key_cross) pack_distances(terms.key_cross, s_.K, 1, key_cross_, key_cross_t_);
  }

  // f(column r of the caller's array, entry x in the order of e) for every distance that can occur.
  template <class Body>
  void each_distance(const Body& f) const {
    for (std::int64_t r = 0; r < t_.terms.distances; ++r) {
      const std::int64_t e = -(t_.terms.first_distance + r);
      if (e > -s_.place(s_.queries) && e < s_.keys - shift_) f(r, e + zero_);
    }
  }
  // Rows over distances (R,width), in the order of e: as rows, and transposed.
  void pack_distances(const float* x, std::int64_t width, float factor, Scratch& rows, Scratch& transposed) {
    const std::int64_t padded = round_up(width, N_);
    rows.assign(span_ * padded, 0.0f);
    transposed.assign(width * span_, 0.0f);
    check_tame(x, t_.terms.distances * width);
    each_distance([&](std::int64_t r, std::int64_t at) {
      for (std::int64_t c = 0; c < width; ++c) {
        rows[at * padded + c] = factor * x[r * width + c];
        transposed[c * span_ + at] = factor * x[r * width + c];
      }
    });
  }

  // --- Tiles

  Tile make_tile(std::int64_t i0, std::int64_t ni, std::int64_t j0, std::int64_t nj) const {
    return {i0, ni, j0, nj, ni + nj - 1};
  }
  std::int64_t band_start(const Tile& tile) const {
    return zero_ + tile.j0 - (tile.i0 + tile.ni - 1 + shift_);
  }
  // Query row i sees the keys first_of(i) ≤ j < end_of(i).
  std::int64_t first_of(std::int64_t i) const {
    return t_.first_key ? std::max<std::int64_t>(0, t_.first_key[i + shift_]) : 0;
  }
  std::int64_t end_of(std::int64_t i) const {
    const std::int64_t end = s_.causal ? i + shift_ + 1 : s_.keys;
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
  bool whole(const Tile& tile) const { return visible(tile, 0) == tile.nj; }

  // c (rows of the tile, columns) = left·right, for the columns that each panel of rows can see.
  void times_columns(const Tile& tile, Left left, const Scratch& right, std::int64_t k, Scratch& c) const {
    const float* b = &right[tile.j0];
    const std::int64_t panel = whole(tile) ? tile.ni : kRows;
    for (std::int64_t a = 0; a < tile.ni; a += panel) {
      const std::int64_t m = std::min(panel, tile.ni - a), n = visible(tile, a + m - 1);
      product({m, n, k}, {left.data + a * left.row, left.row, left.column}, b, keys_, &c[a * ld_], ld_,
              false);
    }
  }
  // c (rows, padded) += w (rows, columns)·x (columns, padded): only over the columns that a panel of rows
  // sees. w is 0 where a row of it does not; where 0·x may not be 0, each row goes alone over what it sees.
  void rows_times(const Tile& tile, const float* w, const float* x, std::int64_t padded, float* c) const {
    for (std::int64_t a = 0; !tame_ && a < tile.ni; ++a) {
      each_run(tile, a, [&](std::int64_t from, std::int64_t n) {
        product({1, padded, n - from}, {w + a * ld_ + from, ld_, 1}, x + from * padded, padded,
                c + a * padded, padded, true);
      });
    }
    if (!tame_) return;
    const std::int64_t panel = whole(tile) ? tile.ni : kRows;
    for (std::int64_t a = 0; a < tile.ni; a += panel) {
      const std::int64_t m = std::min(panel, tile.ni - a), k = visible(tile, a + m - 1);
      product({m, padded, k}, {w + a * ld_, ld_, 1}, x, padded, c + a * padded, padded, true);
    }
  }
  // c (columns, padded) += wᵀ·x (rows, padded): a panel of columns is seen by the rows from its first
  // position on.
  void columns_times(const Tile& tile, const float* w, const float* x, std::int64_t padded, float* c) const {
    for (std::int64_t a = 0; !tame_ && a < tile.ni; ++a) {
      each_run(tile, a, [&](std::int64_t from, std::int64_t n) {
        product({n - from, padded, 1}, {w + a * ld_ + from, 1, ld_}, x + a * padded, padded,
                c + from * padded, padded, true);
      });
    }
    if (!tame_) return;
    const std::int64_t panel = whole(tile) ? tile.nj : kRows;
    for (std::int64_t b = 0; b < tile.nj; b += panel) {
      const std::int64_t m = std::min(panel, tile.nj - b);
      const std::int64_t from = s_.causal ? std::max<std::int64_t>(0, tile.j0 + b - (tile.i0 + shift_)) : 0;
      if (from >= tile.ni) continue;
      product({m, padded, tile.ni - from}, {w + from * ld_ + b, 1, ld_}, x + from * padded, padded,
              c + b * padded, padded, true);
    }
  }

  // --- Logits

  // logits_ = scale·q·kᵀ + what is added by distance, for the columns that each row sees; by_key comes in
  // soften.
  void compute_logits(const Tile& tile) {
    times_columns(tile, {q_.data(), Kp_, 1}, k_t_, s_.K, logits_);
    if (t_.terms.query_cross) {
      each_panel(tile, [&](const Panel& panel) {
        product({panel.m, panel.width, s_.K}, {&q_[panel.a0 * Kp_], Kp_, 1},
                query_cross_t_.data() + panel.start, span_, band_.data(), ldg_, false);
        from_band(panel, logits_.data());
      });
    }
    if (t_.terms.key_cross) add_key_cross(tile);
  }
  // Rows a0..a0+m of a tile with the columns that they see: row a reads entry b − (a − a0) + m − 1 of a band that
  // begins at `start` of an array over distances. Few rows waste little of the band.
  struct Panel {
    std::int64_t a0, m, n, width, start;
    std::int64_t at(std::int64_t a) const { return m - 1 - (a - a0); }
  };
  template <class Body>
  void each_panel(const Tile& tile, const Body& f) {
    constexpr std::int64_t kPanel = 2 * kRows;
    band_.resize(kPanel * ldg_);
    for (std::int64_t a0 = 0; a0 < tile.ni; a0 += kPanel) {
      const std::int64_t m = std::min(kPanel, tile.ni - a0), n = visible(tile, a0 + m - 1);
      if (n > 0) f(Panel{a0, m, n, m + n - 1, zero_ + tile.j0 - (tile.i0 + a0 + m - 1 + shift_)});
    }
  }
  // s[a,b] += band[a − a0, b − (a − a0) + m − 1]
  void from_band(const Panel& panel, float* s) const {
    for (std::int64_t a = panel.a0; a < panel.a0 + panel.m; ++a) {
      const float* band = &band_[(a - panel.a0) * ldg_ + panel.at(a)];
      float* row = s + a * ld_;
      for (std::int64_t b = 0; b < panel.n; b += N_)
        store(hn::Add(load(row + b, panel.n - b), load(band + b, panel.n - b)), row + b, panel.n - b);
    }
  }
  // The other way, and 0 elsewhere. Columns that a row does not see hold 0 in s.
  void to_band(const Panel& panel, const float* s) {
    for (std::int64_t a = panel.a0; a < panel.a0 + panel.m; ++a) {
      float* band = &band_[(a - panel.a0) * ldg_];
      std::fill_n(band, panel.at(a), 0.0f);
      std::copy_n(s + a * ld_, panel.n, band + panel.at(a));
      std::fill(band + panel.at(a) + panel.n, band + round_up(panel.width, 2 * N_), 0.0f);
    }
  }
  // The same for columns b0..b0+n of a tile and the rows from a0 on that see them: column b reads entry
  // b − b0 − a + ni − 1 of a band that begins at `start`.
  struct Columns {
    std::int64_t b0, n, a0, width, start;
  };
  template <class Body>
  void each_columns(const Tile& tile, const Body& f) {
    constexpr std::int64_t kColumns = 2 * kRows;
    key_band_.resize(kColumns * ldg_);
    for (std::int64_t b0 = 0; b0 < tile.nj; b0 += kColumns) {
      const std::int64_t n = std::min(kColumns, tile.nj - b0);
      const std::int64_t a0 = s_.causal ? std::max<std::int64_t>(0, tile.j0 + b0 - (tile.i0 + shift_)) : 0;
      if (a0 < tile.ni) f(Columns{b0, n, a0, tile.ni - a0 + n - 1, band_start(tile) + b0});
    }
  }
  // g[b,x] = k_b·key_cross[x]; s[a,b] += g[b, b − a + ni − 1]
  void add_key_cross(const Tile& tile) {
    each_columns(tile, [&](const Columns& c) {
      product({c.n, c.width, s_.K}, {&k_t_[tile.j0 + c.b0], 1, keys_}, key_cross_t_.data() + c.start, span_,
              key_band_.data(), ldg_, false);
      for (std::int64_t a = c.a0; a < tile.ni; ++a) {
        float* row = &logits_[a * ld_ + c.b0];
        const float* band = &key_band_[tile.ni - 1 - a];
        for (std::int64_t b = 0; b < c.n; ++b) row[b] += band[b * (ldg_ + 1)];
      }
    });
  }

  // What is added to vector b.. of row a: from the distance, and (difference first: two large sums meet
  // there) from query and key.
  struct RowBias {
    const float *distance, *key;
    float query;
    HWY_INLINE V operator()(V s, std::int64_t b) const {
      if (distance) s = hn::Add(s, hn::LoadU(F(), distance + b));
      if (key) s = hn::Add(s, hn::Add(set(query), hn::LoadU(F(), key + b)));
      return s;
    }
  };
  RowBias row_bias(const Tile& tile, std::int64_t a) const {
    RowBias bias{};
    if (t_.terms.by_distance) bias.distance = &by_distance_[band_start(tile) + tile.ni - 1 - a];
    if (!by_key_.empty()) bias.key = &by_key_[tile.j0];
    bias.query = t_.terms.by_query ? t_.terms.by_query[tile.i0 + a] : 0.0f;
    return bias;
  }

  // No logit of columns from..n is NaN or +∞, or has overflowed to −∞: only what is added may be −∞, to hide a key.
  bool all_defined(const RowBias& bias, const float* s, std::int64_t from, std::int64_t n) const {
    auto defined = all_lanes();
    for (std::int64_t b = from / N_ * N_; b < n; b += N_) {
      V v = bias(no_infinity(hn::LoadU(F(), s + b)), b);
      if (b < from) v = hn::IfThenZeroElse(hn::FirstN(F(), from - b), v);
      defined = hn::And(defined, hn::Lt(first(v, n - b), set(-kMinusInfinity)));
    }
    return hn::AllTrue(F(), defined);
  }

  // Online softmax of row a: the tile's logits become exp(s − m); the sum and the output so far are rescaled
  // when the maximum m grows. Columns that the row does not see become 0. A logit that is no number makes m NaN, and
  // so the sum and the output.
  void soften(const Tile& tile, std::int64_t a, float& most, float& total, float* out) {
    float* s = &logits_[a * ld_];
    const std::int64_t from = hidden(tile, a), n = visible(tile, a), end = round_up(tile.nj, 2 * N_);
    RowBias bias = row_bias(tile, a);
    const V lowest = set(kMinusInfinity);
    V top = lowest;
    bool defined;
    if (t_.extras.of_pairs) {
      defined = apply_extras(extras_of(tile, a), std::exchange(bias, {}), {s, from, n}, nullptr);
    } else {
      defined = tame_ || all_defined(bias, s, from, n);
    }
    for (std::int64_t b = 0; b < n; b += N_) {
      V v = bias(hn::LoadU(F(), s + b), b);
      if (b + N_ > n) v = hn::IfThenElse(hn::FirstN(F(), n - b), v, lowest);
      if (b < from) v = hn::IfThenElse(hn::FirstN(F(), from - b), lowest, v);
      hn::StoreU(v, F(), s + b);
      top = hn::Max(top, v);
    }
    const float now = defined ? std::max(most, hn::GetLane(hn::MaxOfLanes(F(), top)))
                              : std::numeric_limits<float>::quiet_NaN();
    V sum_now = hn::Zero(F());
    std::int64_t b = 0;
    if (now != kMinusInfinity) {
      for (; b < n; b += N_) {
        const V p = hn::Exp(F(), hn::Sub(hn::LoadU(F(), s + b), set(now)));
        hn::StoreU(p, F(), s + b);
        sum_now = hn::Add(sum_now, p);
      }
      const float shrink = std::exp(most - now);
      total = total * shrink + sum(sum_now);
      if (shrink != 1.0f) {
        for (std::int64_t c = 0; c < Dp_; c += N_)
          hn::StoreU(hn::Mul(set(shrink), hn::LoadU(F(), out + c)), F(), out + c);
      }
      most = now;
    }
    for (; b < end; b += N_) hn::StoreU(hn::Zero(F()), F(), s + b);
  }

  // --- Gradients

  void start_gradients() {
    dk_.assign(s_.keys * Kp_, 0.0f);
    dv_.assign(s_.keys * Dp_, 0.0f);
    if (t_.dterms.by_distance) dby_distance_.assign(span_, 0.0f);
    if (t_.dterms.by_key) dby_key_.assign(keys_, 0.0f);
    if (t_.dterms.query_cross) dquery_cross_.assign(span_ * Kp_, 0.0f);
    if (t_.dterms.key_cross) dkey_cross_.assign(span_ * Kp_, 0.0f);
    if (t_.dterms.value) dvalue_.assign(span_ * Dp_, 0.0f);
  }

  void backward_tile(const Tile& tile) {
    const float* dout = &dout_[tile.i0 * Dp_];
    compute_logits(tile);
    times_columns(tile, {dout, Dp_, 1}, v_t_, s_.D, dp_);
    if (t_.terms.value) {
      each_panel(tile, [&](const Panel& panel) {
        product({panel.m, panel.width, s_.D}, {dout + panel.a0 * Dp_, Dp_, 1}, value_t_.data() + panel.start,
                span_, band_.data(), ldg_, false);
        from_band(panel, dp_.data());
      });
    }
    for (std::int64_t a = 0; a < tile.ni; ++a) soften_backward(tile, a);
    // logits_ now holds p, dp_ holds ds.
    columns_times(tile, logits_.data(), dout, Dp_, &dv_[tile.j0 * Dp_]);
    columns_times(tile, dp_.data(), q_.data(), Kp_, &dk_[tile.j0 * Kp_]);
    rows_times(tile, dp_.data(), &k_[tile.j0 * Kp_], Kp_, dq_.data());
    if (t_.terms.value && t_.dterms.value) {
      each_panel(tile, [&](const Panel& panel) {
        to_band(panel, logits_.data());
        product({panel.width, Dp_, panel.m}, {band_.data(), 1, ldg_}, dout + panel.a0 * Dp_, Dp_,
                dvalue_.data() + panel.start * Dp_, Dp_, true);
      });
    }
    if (t_.terms.query_cross) query_cross_backward(tile);
    if (t_.terms.key_cross) key_cross_backward(tile);
  }

  // Row a: logits_ from s to p, dp_ from dp to ds.
  void soften_backward(const Tile& tile, std::int64_t a) {
    float *s = &logits_[a * ld_], *dp = &dp_[a * ld_];
    const std::int64_t i = tile.i0 + a, end = round_up(tile.nj, 2 * N_);
    const float lse = t_.lse[i];
    const std::int64_t n = lse == kMinusInfinity ? 0 : visible(tile, a), from = hidden(tile, a);
    RowBias bias = row_bias(tile, a);
    const bool of_pairs = t_.extras.of_pairs;
    const float* slope = nullptr;
    if (of_pairs) {
      slope_.resize(ld_);
      apply_extras(extras_of(tile, a), std::exchange(bias, {}), {s, from, n}, slope_.data());
      if (t_.extras.soft_cap != 0) slope = slope_.data();
    }
    float* dbias = t_.extras.dbias.data ? t_.extras.dbias.row(i) + tile.j0 : nullptr;
    const V mean = set(dot(t_.dout.at(i), t_.out.at(i)));
    float* by_distance = t_.dterms.by_distance ? &dby_distance_[band_start(tile) + tile.ni - 1 - a] : nullptr;
    float* by_key = t_.dterms.by_key ? &dby_key_[tile.j0] : nullptr;
    V row_sum = hn::Zero(F());
    std::int64_t b = 0;
    for (; b < n; b += N_) {
      V p = first(hn::Exp(F(), hn::Sub(bias(hn::LoadU(F(), s + b), b), set(lse))), n - b);
      V ds = first(hn::Mul(p, hn::Sub(hn::LoadU(F(), dp + b), mean)), n - b);
      if (b < from) {
        p = hn::IfThenZeroElse(hn::FirstN(F(), from - b), p);
        ds = hn::IfThenZeroElse(hn::FirstN(F(), from - b), ds);
      }
      if (of_pairs) {
        const Mask hides = hn::Eq(hn::LoadU(F(), s + b), set(kMinusInfinity));
        p = hn::IfThenZeroElse(hides, p), ds = hn::IfThenZeroElse(hides, ds);
        if (dbias) store(hn::Add(ds, load(dbias + b, n - b)), dbias + b, n - b);
        if (slope) ds = hn::Mul(ds, hn::LoadU(F(), slope + b));
      }
      hn::StoreU(p, F(), s + b);
      hn::StoreU(ds, F(), dp + b);
      if (by_distance) hn::StoreU(hn::Add(ds, hn::LoadU(F(), by_distance + b)), F(), by_distance + b);
      if (by_key) hn::StoreU(hn::Add(ds, hn::LoadU(F(), by_key + b)), F(), by_key + b);
      row_sum = hn::Add(row_sum, ds);
    }
    if (std::isnan(lse)) {  // of NaN hn::Exp made 0; ds is NaN by the mean
      each_run(tile, a, [&](std::int64_t begin, std::int64_t run_end) {
        if (begin < run_end) std::fill(s + begin, s + run_end, lse);
      });
    }
    if (t_.dterms.by_query) t_.dterms.by_query[i] += sum(row_sum);
    for (; b < end; b += N_) {
      hn::StoreU(hn::Zero(F()), F(), s + b);
      hn::StoreU(hn::Zero(F()), F(), dp + b);
    }
  }

  // The weight of the sink, exp(sink − lse), has no value: its ds is −p Σ_j p dp.
  double sink_gradient() const {
    double sum = 0;
    for (std::int64_t i = 0; i < s_.queries; ++i) {
      if (t_.lse[i] == kMinusInfinity) continue;
      sum -= double(std::exp(t_.extras.sink - t_.lse[i])) * double(dot(t_.dout.at(i), t_.out.at(i)));
    }
    return sum;
  }

  void query_cross_backward(const Tile& tile) {
    each_panel(tile, [&](const Panel& panel) {
      to_band(panel, dp_.data());
      // dq is scaled when it is written, and query_cross_ carries 1/scale.
      product({panel.m, Kp_, panel.width}, {band_.data(), ldg_, 1}, query_cross_.data() + panel.start * Kp_,
              Kp_, &dq_[panel.a0 * Kp_], Kp_, true);
      if (!t_.dterms.query_cross) return;
      product({panel.width, Kp_, panel.m}, {band_.data(), 1, ldg_}, &q_[panel.a0 * Kp_], Kp_,
              dquery_cross_.data() + panel.start * Kp_, Kp_, true);
    });
  }
  void key_cross_backward(const Tile& tile) {
    each_columns(tile, [&](const Columns& c) {
      std::fill_n(key_band_.begin(), c.n * ldg_, 0.0f);
      for (std::int64_t a = c.a0; a < tile.ni; ++a) {
        const float* ds = &dp_[a * ld_ + c.b0];
        float* band = &key_band_[tile.ni - 1 - a];
        for (std::int64_t b = 0; b < c.n; ++b) band[b * (ldg_ + 1)] = ds[b];
      }
      product({c.n, Kp_, c.width}, {key_band_.data(), ldg_, 1}, key_cross_.data() + c.start * Kp_, Kp_,
              &dk_[(tile.j0 + c.b0) * Kp_], Kp_, true);
      if (!t_.dterms.key_cross) return;
      product({c.width, Kp_, c.n}, {key_band_.data(), 1, ldg_}, &k_[(tile.j0 + c.b0) * Kp_], Kp_,
              dkey_cross_.data() + c.start * Kp_, Kp_, true);
    });
  }

  void finish_gradients() {
    const HeadTerms& d = t_.dterms;
    const auto collect = [&](float* to, const Scratch& from, std::int64_t width, float factor) {
      if (!to) return;
      const std::int64_t padded = width == 1 ? 1 : round_up(width, N_);
      each_distance([&](std::int64_t r, std::int64_t x) {
        for (std::int64_t c = 0; c < width; ++c) to[r * width + c] += factor * from[x * padded + c];
      });
    };
    collect(d.by_distance, dby_distance_, 1, 1);
    collect(d.query_cross, dquery_cross_, s_.K, 1 / s_.scale);
    collect(d.key_cross, dkey_cross_, s_.K, 1);
    collect(d.value, dvalue_, s_.D, 1);
    if (d.by_key) {
      for (std::int64_t j = 0; j < s_.keys; ++j) d.by_key[j] += dby_key_[j];
    }
  }

  float dot(const float* a, const float* b) const {
    V total = hn::Zero(F());
    for (std::int64_t c = 0; c < s_.D; c += N_)
      total = hn::MulAdd(load(a + c, s_.D - c), load(b + c, s_.D - c), total);
    return sum(total);
  }
  void write_row(const float* row, std::int64_t width, float factor, float* to) const {
    for (std::int64_t c = 0; c < width; c += N_)
      store(hn::Mul(set(factor), hn::LoadU(F(), row + c)), to + c, width - c);
  }

  const HeadTask& t_;
  const AttendShape& s_;
  const std::int64_t N_, shift_, bq_, bk_, Kp_, Dp_;
  const std::int64_t keys_;         // length of a packed row over keys, with room for whole vectors
  const std::int64_t ld_, ldg_;     // steps of the rows of a tile and of a band
  const std::int64_t zero_, span_;  // entry of e = 0, and length, of an array in the order of e
  bool tame_ = true;                // so far, everything that was packed

  Scratch q_, k_, k_t_, v_, v_t_, dout_, by_key_, by_distance_;
  Scratch query_cross_, query_cross_t_, key_cross_, key_cross_t_, value_, value_t_;
  Scratch logits_, dp_, band_, key_band_, slope_;
  Scratch dq_, dk_, dv_, dby_distance_, dby_key_, dquery_cross_, dkey_cross_, dvalue_;
};

}  // namespace gnomon::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
