#ifndef GNOMON_KERNELS_TERMS_QUERY_CROSS_H_
#define GNOMON_KERNELS_TERMS_QUERY_CROSS_H_
#include "gnomon/kernels/terms/kind.h"

namespace gnomon {

// s[h,i,j] += q[h,i]·query_cross[h,δ]. Shaw, Transformer-XL, DeBERTa
struct QueryCrossTerm {
  Floats query_cross;  // (H,R,K)

  static constexpr TermFacts kFacts{
      .name = "query_cross", .reads = TermReads::rows, .divides_by_scale = true};
  static constexpr std::array kArrays{ArrayOf<QueryCrossTerm>{
      "query_cross", &QueryCrossTerm::query_cross, {Dim::heads, Dim::distances, Dim::K}}};
  void cached_product(const CachedPair& pair, float& s) const {
    const float *q = pair.q, *row = &query_cross[pair.at * pair.s.K];
    float sum = s;
    for (std::int64_t c = 0; c < pair.s.K; ++c) sum += q[c] * row[c];
    s = sum;
  }
  bool operator==(const QueryCrossTerm&) const = default;
};

}  // namespace gnomon
#endif

#ifdef GNOMON_TERMS_AT_WORK  // attend_terms-inl.h
HWY_BEFORE_NAMESPACE();
namespace gnomon::HWY_NAMESPACE {

// q is packed with the scale of the logits, which the term does not have; dq is scaled when it is written.
template <>
class AtWork<QueryCrossTerm> : public TermAtWork {
 public:
  explicit AtWork(Distances& head)
      : TermAtWork(head), rows_(head, t_.terms.of<&QueryCrossTerm::query_cross>(), s_.K, 1 / s_.scale) {}
  void by_query(const Tile& tile) { rows_.spread(tile, head_.q_.data(), head_.logits_); }

  void start_gradients() {
    if (gradient()) rows_.start_gradients();
  }
  void backward(const Tile& tile) {
    rows_.gather(tile, head_.dp_, head_.dq_.data());
    if (gradient()) rows_.collect(tile, head_.dp_, head_.q_.data());
  }
  void finish() { rows_.finish(gradient()); }

 private:
  float* gradient() const { return t_.dterms.of<&QueryCrossTerm::query_cross>(); }
  RowsByDistance rows_;
};

}  // namespace gnomon::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
