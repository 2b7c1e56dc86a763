#ifndef GNOMON_KERNELS_TERMS_COUNTED_H_
#define GNOMON_KERNELS_TERMS_COUNTED_H_
#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/kernels/terms/kind.h"

namespace gnomon {

// s[h,i,j] += q[h,i]·counted[P], interpolated between rows, where P = min(Σ_{u≥j} σ(score[h,i,u]), count − 1) over the keys
// u that i sees. Of q the first D channels. CoPE
struct CountedTerm {
  Floats counted;  // (count,D)

  static constexpr TermFacts kFacts{
      .name = "counted", .once = "count keys by gates", .reads = TermReads::scores, .divides_by_scale = true};
  static constexpr std::array kArrays{
      ArrayOf<CountedTerm>{"counted", &CountedTerm::counted, {Dim::own, Dim::D}}};
  std::int64_t own(const AttendShape& s) const { return std::int64_t(counted.size()) / s.D; }
  void check(const AttendShape& s) const {
    const auto size = std::int64_t(counted.size());
    if (size != 0 && (size % s.D || size < 2 * s.D || s.D > s.K))
      throw Error(Fault::usage,
                  text("attend: terms.counted has ", size,
                       " numbers; allowed are 2 rows or more of D = ", s.D, ", no wider than K = ", s.K));
  }
  bool operator==(const CountedTerm&) const = default;
};

}  // namespace gnomon
#endif
