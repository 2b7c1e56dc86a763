#ifndef GNOMON_KERNELS_TERMS_FORGET_H_
#define GNOMON_KERNELS_TERMS_FORGET_H_
#include "gnomon/kernels/terms/kind.h"

namespace gnomon {

// s[h,i,j] += Σ_l ln σ(forget_query[h,i]·forget_key[h,l]) over the keys j ≤ l < i that i sees. Data-dependent ALiBi
struct ForgetTerm {
  std::int64_t forget_width = 0;
  Floats forget_query, forget_key;  // (B,H,tokens,width) both

  static constexpr TermFacts kFacts{.name = "forget", .once = "sum forget gates along the keys"};
  static constexpr WidthOf<ForgetTerm> kWidth{"forget_width", &ForgetTerm::forget_width};
  static constexpr std::array kArrays{ArrayOf<ForgetTerm>{"forget_query",
                                                          &ForgetTerm::forget_query,
                                                          {Dim::sequences, Dim::heads, Dim::tokens, Dim::own},
                                                          &ForgetTerm::forget_query},
                                      ArrayOf<ForgetTerm>{"forget_key",
                                                          &ForgetTerm::forget_key,
                                                          {Dim::sequences, Dim::heads, Dim::keys, Dim::own},
                                                          &ForgetTerm::forget_query}};
  std::int64_t own(const AttendShape&) const { return forget_width; }
  bool operator==(const ForgetTerm&) const = default;
};

}  // namespace gnomon
#endif
