#ifndef GNOMON_KERNELS_TERMS_QUERY_CROSS_H_
#define GNOMON_KERNELS_TERMS_QUERY_CROSS_H_
#include "gnomon/kernels/terms/kind.h"

namespace gnomon {

// s[h,i,j] += q[h,i]·query_cross[h,δ]. Shaw, Transformer-XL, DeBERTa
struct QueryCrossTerm {
  Floats query_cross;  // (H,R,K)

  static constexpr TermFacts kFacts{
      .name = "query_cross", .reads = TermReads::rows, .cached = true, .divides_by_scale = true};
  static constexpr std::array kArrays{ArrayOf<QueryCrossTerm>{
      "query_cross", &QueryCrossTerm::query_cross, {Dim::heads, Dim::distances, Dim::K}}};
  bool operator==(const QueryCrossTerm&) const = default;
};

}  // namespace gnomon
#endif
