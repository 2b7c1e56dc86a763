#ifndef GNOMON_KERNELS_TERMS_BY_DISTANCE_H_
#define GNOMON_KERNELS_TERMS_BY_DISTANCE_H_
#include "gnomon/kernels/terms/kind.h"

namespace gnomon {

// s[h,i,j] += by_distance[h,δ]. ALiBi, T5, KERPLE, Sandwich
struct ByDistanceTerm {
  Floats by_distance;  // (H,R)

  static constexpr TermFacts kFacts{.name = "by_distance"};
  static constexpr std::array kArrays{
      ArrayOf<ByDistanceTerm>{"by_distance", &ByDistanceTerm::by_distance, {Dim::heads, Dim::distances}}};
  void cached_late(const CachedPair& pair, float& s) const { s += by_distance[pair.at]; }
  bool operator==(const ByDistanceTerm&) const = default;
};

}  // namespace gnomon
#endif

#ifdef GNOMON_TERMS_AT_WORK  // attend_terms-inl.h
HWY_BEFORE_NAMESPACE();
namespace gnomon::HWY_NAMESPACE {

template <>
class AtWork<ByDistanceTerm> : public TermAtWork {
 public:
  explicit AtWork(Distances& head) : TermAtWork(head) {
    numbers_.assign(span_, 0.0f);
    head_.check_tame(given_, t_.given->distances);
    head_.each_distance([&](std::int64_t r, std::int64_t x) { numbers_[x] = given_[r]; });
  }
  struct Late {
    const float* row = nullptr;
    HWY_INLINE V operator()(V s, std::int64_t b) const {
      return row ? hn::Add(s, hn::LoadU(F(), row + b)) : s;
    }
  };
  Late late(const Tile& tile, std::int64_t a) {
    if (!t_.places) return {&numbers_[head_.band_of(tile, a)]};
    gathered_.assign(ld_, 0.0f);
    const Seen r = head_.seen(tile, a);
    const std::int32_t* at = head_.columns(tile, r);
    for (std::int64_t b = r.from; b < r.n; ++b) gathered_[b] = numbers_[at[b]];
    return {gathered_.data()};
  }

  void start_gradients() {
    if (gradient_) dnumbers_.assign(span_, 0.0f);
  }
  // Beyond what the row sees, ds is 0.
  void backward(const Tile& tile, const Seen& r, const float* ds) {
    if (!gradient_) return;
    if (t_.places) {
      const std::int32_t* at = head_.columns(tile, r);
      for (std::int64_t b = r.from; b < r.n; ++b) dnumbers_[at[b]] += ds[b];
      return;
    }
    float* to = &dnumbers_[head_.band_of(tile, r.a)];
    for (std::int64_t b = 0; b < r.n; b += lanes())
      hn::StoreU(hn::Add(hn::LoadU(F(), ds + b), hn::LoadU(F(), to + b)), F(), to + b);
  }
  void finish() { head_.collect_distances(gradient_, dnumbers_, {1, 1}, 1); }

 private:
  const float* given_ = t_.terms.of<&ByDistanceTerm::by_distance>();
  float* gradient_ = t_.dterms.of<&ByDistanceTerm::by_distance>();
  Scratch numbers_, gathered_, dnumbers_;  // in the order of e; of a row
};

}  // namespace gnomon::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
