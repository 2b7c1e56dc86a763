#ifndef GNOMON_KERNELS_TERMS_TILT_H_
#define GNOMON_KERNELS_TERMS_TILT_H_
#include "gnomon/kernels/terms/kind.h"

namespace gnomon {

// s[h,i,j] += tilt[h]·δ·(tilt_query[h,i] + tilt_key[h,j]). Additive GRAPE
struct TiltTerm {
  Floats tilt, tilt_query, tilt_key;  // (H), (B,H,tokens) twice

  static constexpr TermFacts kFacts{.name = "tilt", .once = "tilt the distance by gates"};
  static constexpr std::array kArrays{
      ArrayOf<TiltTerm>{"tilt", &TiltTerm::tilt, {Dim::heads}, &TiltTerm::tilt},
      ArrayOf<TiltTerm>{
          "tilt_query", &TiltTerm::tilt_query, {Dim::sequences, Dim::heads, Dim::tokens}, &TiltTerm::tilt},
      ArrayOf<TiltTerm>{
          "tilt_key", &TiltTerm::tilt_key, {Dim::sequences, Dim::heads, Dim::keys}, &TiltTerm::tilt}};
  bool operator==(const TiltTerm&) const = default;
};

}  // namespace gnomon
#endif
