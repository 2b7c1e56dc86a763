#ifndef GNOMON_KERNELS_TERMS_KEY_CROSS_H_
#define GNOMON_KERNELS_TERMS_KEY_CROSS_H_
#include "gnomon/kernels/terms/kind.h"

namespace gnomon {

// s[h,i,j] += k[h,j]·key_cross[h,δ]. DeBERTa
struct KeyCrossTerm {
  Floats key_cross;  // (H,R,K)

  static constexpr TermFacts kFacts{.name = "key_cross", .reads = TermReads::rows};
  static constexpr std::array kArrays{
      ArrayOf<KeyCrossTerm>{"key_cross", &KeyCrossTerm::key_cross, {Dim::heads, Dim::distances, Dim::K}}};
  void cached_product(const CachedPair& pair, float& s) const {
    const float *k = pair.k, *row = &key_cross[pair.at * pair.s.K];
    float sum = s;
    for (std::int64_t c = 0; c < pair.s.K; ++c) sum += k[c * pair.step] * row[c];
    s = sum;
  }
  bool operator==(const KeyCrossTerm&) const = default;
};

}  // namespace gnomon
#endif

#ifdef GNOMON_TERMS_AT_WORK  // attend_terms-inl.h
HWY_BEFORE_NAMESPACE();
namespace gnomon::HWY_NAMESPACE {

template <>
class AtWork<KeyCrossTerm> : public TermAtWork {
 public:
  explicit AtWork(Distances& head)
      : TermAtWork(head), rows_(head, t_.terms.of<&KeyCrossTerm::key_cross>(), s_.K, 1) {
    head_.rows_beside_ = kRows;
    if (t_.places) head_.pack_keys();
  }
  // g[b,x] = k_b·key_cross[x]; s[a,b] += g[b, b − a + ni − 1]. Each row of g begins one number early, so that what a row of the
  // tile gets of it is a column.
  void by_key(const Tile& tile) {
    if (t_.places) {
      return head_.each_row(tile, [&](const Seen& r) {
        const std::int32_t* at = head_.columns(tile, r);
        float* s = head_.logits(r.a);
        for (std::int64_t b = r.from; b < r.n; ++b)
          s[b] += head_.dot(&head_.k_[(tile.j0 + b) * Kp_], &rows_.packed().rows[at[b] * Kp_], Kp_);
      });
    }
    head_.each_columns(tile, [&](const Columns& c) {
      float *bands = head_.key_bands(), *turned = bands + Columns::kMost * ldg_;
      product({c.n, c.width, s_.K}, {&head_.k_t_[tile.j0 + c.b0], 1, keys_},
              rows_.packed().transposed.data() + c.start, span_, bands, ldg_ - 1, false);
      transpose({bands, ldg_, round_up(c.n, lanes()), tile.ni - c.a0}, turned, Columns::kMost);
      for (std::int64_t a = tile.ni - 1; a >= c.a0; --a, turned += Columns::kMost) {
        float* row = &head_.logits_[a * ld_ + c.b0];
        for (std::int64_t b = 0; b < c.n; b += lanes())
          hn::StoreU(hn::Add(hn::LoadU(F(), row + b), hn::LoadU(F(), turned + b)), F(), row + b);
      }
    });
  }

  void start_gradients() {
    if (gradient()) rows_.start_gradients();
  }
  void backward(const Tile& tile) {
    if (t_.places) return backward_by_places(tile);
    std::fill_n(&head_.dp_[tile.ni * ld_], kRows * ld_, 0.0f);
    keys_backward(tile);
    if (gradient()) rows_backward(tile);
  }
  void finish() { rows_.finish(gradient()); }

 private:
  float* gradient() const { return t_.dterms.of<&KeyCrossTerm::key_cross>(); }
  // dk_b += Σ_x ds[b − x, b]·key_cross[x]: a step along x goes a row back. Some columns share the rows that they read, and beside
  // the tile there are rows of zeros.
  void keys_backward(const Tile& tile) {
    for (std::int64_t b0 = 0; b0 < tile.nj; b0 += kRows) {
      const std::int64_t m = std::min<std::int64_t>(kRows, tile.nj - b0), a0 = head_.first_row(tile, b0);
      if (a0 >= tile.ni) continue;
      const std::int64_t last = tile.ni - 1;
      product({m, Kp_, tile.ni - a0 + m - 1}, {&head_.dp_[last * ld_ + b0], ld_ + 1, -ld_},
              &rows_.packed().rows[head_.entry(tile, b0 - last) * Kp_], Kp_, &head_.dk_[(tile.j0 + b0) * Kp_],
              Kp_, true);
    }
  }
  // dkey_cross[x] += Σ_b ds[b − x, b]·k_b
  void rows_backward(const Tile& tile) {
    const std::int64_t end = head_.end_of_steps(tile);
    for (std::int64_t x = 1 - tile.ni; x < end; x += kRows) {
      const std::int64_t m = std::min<std::int64_t>(kRows, end - x), b = std::max<std::int64_t>(0, x),
                         k = std::min(tile.nj, x + m - 1 + tile.ni) - b;
      if (k <= 0) continue;
      product({m, Kp_, k}, {head_.dp_.data() + (b - x) * ld_ + b, -ld_, ld_ + 1},
              &head_.k_[(tile.j0 + b) * Kp_], Kp_, rows_.gradients() + head_.entry(tile, x) * Kp_, Kp_, true);
    }
  }
  void backward_by_places(const Tile& tile) {
    head_.each_row(tile, [&](const Seen& r) {
      const std::int32_t* at = head_.columns(tile, r);
      const float* ds = &head_.dp_[r.a * ld_];
      for (std::int64_t b = r.from; b < r.n; ++b) {
        const std::int64_t j = tile.j0 + b, x = at[b] * Kp_;
        if (ds[b] == 0) continue;  // what a hidden key holds may be no number
        head_.add(ds[b], &rows_.packed().rows[x], Kp_, &head_.dk_[j * Kp_]);
        if (gradient()) head_.add(ds[b], &head_.k_[j * Kp_], Kp_, rows_.gradients() + x);
      }
    });
  }
  RowsByDistance rows_;
};

}  // namespace gnomon::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
