#ifndef GNOMON_KERNELS_TERMS_STICK_H_
#define GNOMON_KERNELS_TERMS_STICK_H_
#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/kernels/terms/kind.h"

namespace gnomon {

// How the logits of a row become weights. Stick-breaking: w_ij = σ(s_ij)·Π_{u>j} (1 − σ(s_iu)) over the keys that i
// sees, among which it is itself only with stick_current; no sum of weights is divided by, so no sink can stand in it, and
// lse is 0. A hidden key breaks nothing off.
enum class Weighting { softmax, stick, stick_current };

struct StickTerm {
  Weighting weights = Weighting::softmax;

  static constexpr TermFacts kFacts{
      .name = "stick", .once = "make weights without a softmax", .reads = TermReads::logits};
  static constexpr std::array<ArrayOf<StickTerm>, 0> kArrays{};
  bool given() const { return weights != Weighting::softmax; }
  void check(const AttendShape& s) const {
    if (given() && !s.causal)
      throw Error(Fault::usage,
                  "attend: terms.weights break a stick; allowed is that with a causal mask only");
  }
  bool operator==(const StickTerm&) const = default;
};

}  // namespace gnomon
#endif
