#ifndef GNOMON_KERNELS_TERMS_VALUE_H_
#define GNOMON_KERNELS_TERMS_VALUE_H_
#include "gnomon/kernels/terms/kind.h"

namespace gnomon {

// o[h,i] += Σ_j p[h,i,j] value[h,δ], of the weights p. Shaw
struct ValueTerm {
  Floats value;  // (H,R,D)

  static constexpr TermFacts kFacts{.name = "value", .cached = true};
  static constexpr std::array kArrays{
      ArrayOf<ValueTerm>{"value", &ValueTerm::value, {Dim::heads, Dim::distances, Dim::D}}};
  bool operator==(const ValueTerm&) const = default;
};

}  // namespace gnomon
#endif
