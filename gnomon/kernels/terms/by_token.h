#ifndef GNOMON_KERNELS_TERMS_BY_TOKEN_H_
#define GNOMON_KERNELS_TERMS_BY_TOKEN_H_
#include "gnomon/kernels/terms/kind.h"

namespace gnomon {

// s[h,i,j] += by_query[h,i] + by_key[h,j]. FoX, Transformer-XL's u·k
struct ByTokenTerm {
  Floats by_query,
      by_key;  // (B,H,queries), (B,H,tokens): each may be there alone

  static constexpr TermFacts kFacts{.name = "by_token"};
  static constexpr std::array kArrays{
      ArrayOf<ByTokenTerm>{"by_query", &ByTokenTerm::by_query, {Dim::sequences, Dim::heads, Dim::queries}},
      ArrayOf<ByTokenTerm>{"by_key", &ByTokenTerm::by_key, {Dim::sequences, Dim::heads, Dim::keys}}};
  void cached_late(const CachedPair& pair, float& s) const {
    const float query = by_query.empty() ? 0.0f : by_query[pair.bh * pair.s.queries + pair.i];
    s += query + (by_key.empty() ? 0.0f : by_key[pair.bh * pair.s.keys + pair.j]);
  }
  bool operator==(const ByTokenTerm&) const = default;
};

}  // namespace gnomon
#endif

#ifdef GNOMON_TERMS_AT_WORK  // attend_terms-inl.h
HWY_BEFORE_NAMESPACE();
namespace gnomon::HWY_NAMESPACE {

// Padding is a −∞ of its keys.
template <>
class AtWork<ByTokenTerm> : public TermAtWork {
 public:
  static bool wanted(const HeadTask& t) { return t.padding || TermRows<ByTokenTerm>::given(*t.given); }
  explicit AtWork(Distances& head) : TermAtWork(head) {
    const float* by_key = t_.terms.of<&ByTokenTerm::by_key>();
    if (by_key) head_.check_tame(by_key, s_.keys);
    if (by_query_) head_.check_tame(by_query_, s_.queries);
    by_key_.assign(keys_, 0.0f);
    for (std::int64_t j = 0; j < s_.keys; ++j)
      by_key_[j] = t_.padding && t_.padding[j] ? kMinusInfinity : by_key ? by_key[j] : 0.0f;
  }
  // The two first: two large sums meet there.
  struct Late {
    float query = 0;
    const float* key = nullptr;
    HWY_INLINE V operator()(V s, std::int64_t b) const {
      return key ? hn::Add(s, hn::Add(set(query), hn::LoadU(F(), key + b))) : s;
    }
  };
  Late late(const Tile& tile, std::int64_t a) {
    return {by_query_ ? by_query_[tile.i0 + a] : 0.0f, &by_key_[tile.j0]};
  }

  void start_gradients() {
    if (dby_key()) dby_key_.assign(keys_, 0.0f);
  }
  // Beyond what the row sees, ds is 0.
  void backward(const Tile& tile, const Seen& r, const float* ds) {
    float *of_query = dby_query(), *of_key = dby_key() ? &dby_key_[tile.j0] : nullptr;
    if (!of_query && !of_key) return;
    V row_sum = hn::Zero(F());
    for (std::int64_t b = 0; b < r.n; b += lanes()) {
      const V d = hn::LoadU(F(), ds + b);
      if (of_key) hn::StoreU(hn::Add(d, hn::LoadU(F(), of_key + b)), F(), of_key + b);
      row_sum = hn::Add(row_sum, d);
    }
    if (of_query) of_query[tile.i0 + r.a] += sum(row_sum);
  }
  void finish() {
    for (std::int64_t j = 0; dby_key() && j < s_.keys; ++j) dby_key()[j] += dby_key_[j];
  }

 private:
  float* dby_query() const { return t_.dterms.of<&ByTokenTerm::by_query>(); }
  float* dby_key() const { return t_.dterms.of<&ByTokenTerm::by_key>(); }
  const float* by_query_ = t_.terms.of<&ByTokenTerm::by_query>();
  Scratch by_key_, dby_key_;
};

}  // namespace gnomon::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
