#ifndef GNOMON_KERNELS_TERMS_BY_DISTANCE_H_
#define GNOMON_KERNELS_TERMS_BY_DISTANCE_H_
#include "gnomon/kernels/terms/kind.h"

namespace gnomon {

// s[h,i,j] += by_distance[h,δ]. ALiBi, T5, KERPLE, Sandwich
struct ByDistanceTerm {
  Floats by_distance;  // (H,R)

  static constexpr TermFacts kFacts{.name = "by_distance", .cached = true};
  static constexpr std::array kArrays{
      ArrayOf<ByDistanceTerm>{"by_distance", &ByDistanceTerm::by_distance, {Dim::heads, Dim::distances}}};
  bool operator==(const ByDistanceTerm&) const = default;
};

}  // namespace gnomon
#endif
