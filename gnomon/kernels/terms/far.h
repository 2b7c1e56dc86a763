#ifndef GNOMON_KERNELS_TERMS_FAR_H_
#define GNOMON_KERNELS_TERMS_FAR_H_
#include <cmath>
#include <limits>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/kernels/terms/kind.h"

namespace gnomon {

// From this distance on the score is another product: the channels `beside` of q and k stand in the place of their first.
// ReRoPE, Self-Extend
struct FarTerm {
  double far_from = std::numeric_limits<double>::infinity();

  static constexpr TermFacts kFacts{
      .name = "far", .once = "have another product for far keys", .reads = TermReads::other_channels};
  static constexpr std::array<ArrayOf<FarTerm>, 0> kArrays{};
  bool given() const { return std::isfinite(far_from); }
  void check(const AttendShape& s) const {
    if (std::isnan(far_from) || (given() && (s.beside < 1 || s.beside > s.K)))
      throw Error(Fault::usage,
                  text("attend: beside is ", s.beside, " and terms.far_from is ", shortest(far_from),
                       "; allowed are 1 to K = ", s.K, " channels with a distance, or infinity"));
  }
  bool operator==(const FarTerm&) const = default;
};

}  // namespace gnomon
#endif
