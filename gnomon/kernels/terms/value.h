#ifndef GNOMON_KERNELS_TERMS_VALUE_H_
#define GNOMON_KERNELS_TERMS_VALUE_H_
#include "gnomon/kernels/terms/kind.h"

namespace gnomon {

// o[h,i] += Σ_j p[h,i,j] value[h,δ], of the weights p. Shaw
struct ValueTerm {
  Floats value;  // (H,R,D)

  static constexpr TermFacts kFacts{.name = "value"};
  static constexpr std::array kArrays{
      ArrayOf<ValueTerm>{"value", &ValueTerm::value, {Dim::heads, Dim::distances, Dim::D}}};
  void cached_value(const CachedPair& pair, float p, float* out) const {
    if (p == 0) return;
    const float* row = &value[pair.at * pair.s.D];
    for (std::int64_t d = 0; d < pair.s.D; ++d) out[d] += p * row[d];
  }
  bool operator==(const ValueTerm&) const = default;
};

}  // namespace gnomon
#endif

#ifdef GNOMON_TERMS_AT_WORK  // attend_terms-inl.h
HWY_BEFORE_NAMESPACE();
namespace gnomon::HWY_NAMESPACE {

template <>
class AtWork<ValueTerm> : public TermAtWork {
 public:
  explicit AtWork(Distances& head)
      : TermAtWork(head), rows_(head, t_.terms.of<&ValueTerm::value>(), s_.D, 1) {}
  void give(const Tile& tile) { rows_.gather(tile, head_.logits_, head_.out_.data()); }

  void start_gradients() {
    if (gradient()) rows_.start_gradients();
  }
  void give_back(const Tile& tile) { rows_.spread(tile, head_.dout_.data(), head_.dp_); }
  void backward(const Tile& tile) {
    if (gradient()) rows_.collect(tile, head_.logits_, head_.dout_.data());
  }
  void finish() { rows_.finish(gradient()); }

 private:
  float* gradient() const { return t_.dterms.of<&ValueTerm::value>(); }
  RowsByDistance rows_;
};

}  // namespace gnomon::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
