#ifndef GNOMON_KERNELS_TERMS_KEY_CROSS_H_
#define GNOMON_KERNELS_TERMS_KEY_CROSS_H_
#include "gnomon/kernels/terms/kind.h"

namespace gnomon {

// s[h,i,j] += k[h,j]·key_cross[h,δ]. DeBERTa
struct KeyCrossTerm {
  Floats key_cross;  // (H,R,K)

  static constexpr TermFacts kFacts{.name = "key_cross", .reads = TermReads::rows, .cached = true};
  static constexpr std::array kArrays{
      ArrayOf<KeyCrossTerm>{"key_cross", &KeyCrossTerm::key_cross, {Dim::heads, Dim::distances, Dim::K}}};
  bool operator==(const KeyCrossTerm&) const = default;
};

}  // namespace gnomon
#endif
