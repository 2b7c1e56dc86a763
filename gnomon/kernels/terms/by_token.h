#ifndef GNOMON_KERNELS_TERMS_BY_TOKEN_H_
#define GNOMON_KERNELS_TERMS_BY_TOKEN_H_
#include "gnomon/kernels/terms/kind.h"

namespace gnomon {

// s[h,i,j] += by_query[h,i] + by_key[h,j]. FoX, Transformer-XL's u·k
struct ByTokenTerm {
  Floats by_query, by_key;  // (B,H,queries), (B,H,tokens): each may be there alone

  static constexpr TermFacts kFacts{.name = "by_token", .cached = true};
  static constexpr std::array kArrays{
      ArrayOf<ByTokenTerm>{"by_query", &ByTokenTerm::by_query, {Dim::sequences, Dim::heads, Dim::queries}},
      ArrayOf<ByTokenTerm>{"by_key", &ByTokenTerm::by_key, {Dim::sequences, Dim::heads, Dim::keys}}};
  bool operator==(const ByTokenTerm&) const = default;
};

}  // namespace gnomon
#endif
