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
  explicit AtWork(Distances& head) : TermAtWork(head) {
    head_.pack_distances(t_.terms.of<&KeyCrossTerm::key_cross>(), s_.K, 1, rows_, transposed_);
    if (t_.places) head_.pack_keys();
  }
  // g[b,x] = k_b·key_cross[x]; s[a,b] += g[b, b − a + ni − 1]
  void by_key(const Tile& tile) {
    if (t_.places) {
      return head_.each_row(tile, [&](const Seen& r) {
        const std::int32_t* at = head_.columns(tile, r);
        float* s = head_.logits(r.a);
        for (std::int64_t b = r.from; b < r.n; ++b)
          s[b] += head_.dot(&head_.k_[(tile.j0 + b) * Kp_], &rows_[at[b] * Kp_], Kp_);
      });
    }
    head_.each_columns(tile, [&](const Columns& c) {
      float* bands = head_.key_band_.data();
      product({c.n, c.width, s_.K}, {&head_.k_t_[tile.j0 + c.b0], 1, keys_}, transposed_.data() + c.start,
              span_, bands, ldg_, false);
      for (std::int64_t a = c.a0; a < tile.ni; ++a) {
        float* row = &head_.logits_[a * ld_ + c.b0];
        const float* band = bands + tile.ni - 1 - a;
        for (std::int64_t b = 0; b < c.n; ++b) row[b] += band[b * (ldg_ + 1)];
      }
    });
  }

  void start_gradients() {
    if (gradient()) drows_.assign(span_ * Kp_, 0.0f);
  }
  void backward(const Tile& tile) {
    if (t_.places) return backward_by_places(tile);
    head_.each_columns(tile, [&](const Columns& c) {
      float* bands = head_.key_band_.data();
      std::fill_n(bands, c.n * ldg_, 0.0f);
      for (std::int64_t a = c.a0; a < tile.ni; ++a) {
        const float* ds = &head_.dp_[a * ld_ + c.b0];
        float* band = bands + tile.ni - 1 - a;
        for (std::int64_t b = 0; b < c.n; ++b) band[b * (ldg_ + 1)] = ds[b];
      }
      product({c.n, Kp_, c.width}, {bands, ldg_, 1}, rows_.data() + c.start * Kp_, Kp_,
              &head_.dk_[(tile.j0 + c.b0) * Kp_], Kp_, true);
      if (!gradient()) return;
      product({c.width, Kp_, c.n}, {bands, 1, ldg_}, &head_.k_[(tile.j0 + c.b0) * Kp_], Kp_,
              drows_.data() + c.start * Kp_, Kp_, true);
    });
  }
  void finish() { head_.collect_distances(gradient(), drows_, {s_.K, Kp_}, 1); }

 private:
  float* gradient() const { return t_.dterms.of<&KeyCrossTerm::key_cross>(); }
  void backward_by_places(const Tile& tile) {
    head_.each_row(tile, [&](const Seen& r) {
      const std::int32_t* at = head_.columns(tile, r);
      const float* ds = &head_.dp_[r.a * ld_];
      for (std::int64_t b = r.from; b < r.n; ++b) {
        const std::int64_t j = tile.j0 + b, x = at[b] * Kp_;
        if (ds[b] == 0) continue;  // what a hidden key holds may be no number
        head_.add(ds[b], &rows_[x], Kp_, &head_.dk_[j * Kp_]);
        if (gradient()) head_.add(ds[b], &head_.k_[j * Kp_], Kp_, &drows_[x]);
      }
    });
  }
  Scratch rows_, transposed_, drows_;
};

}  // namespace gnomon::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
