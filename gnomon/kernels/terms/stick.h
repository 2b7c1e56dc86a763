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
      .name = "stick", .once = "compute weights without a softmax", .reads = TermReads::logits};
  static constexpr std::array<ArrayOf<StickTerm>, 0> kArrays{};
  bool given() const { return weights != Weighting::softmax; }
  void check(const AttendShape& s) const {
    if (given() && !s.causal)
      throw Error(Fault::usage, "attend: stick-breaking weights need a causal mask; causal is false");
  }
  bool operator==(const StickTerm&) const = default;
};

}  // namespace gnomon
#endif

#ifdef GNOMON_TERMS_AT_WORK  // attend_terms-inl.h
HWY_BEFORE_NAMESPACE();
namespace gnomon::HWY_NAMESPACE {

// The head asks for its weights where it is a softmax that makes them otherwise: total() of each row, then rewrite().
// ln(σ(z_j)·Π_{u>j} (1 − σ(z_u))) = z_j − Σ_{u≥j} ln(1 + e^z_u): nothing follows that would divide by a sum. The z of a
// hidden key is −∞: it breaks nothing off.
template <>
class AtWork<StickTerm> : public TermAtWork {
 public:
  explicit AtWork(Distances& head) : TermAtWork(head) { z_.resize(bq_ * ld_); }
  void begin_rows(std::int64_t, std::int64_t) { along_.start(bq_); }
  void begin_sums() { along_.begin(); }
  void total(const Seen& r, const float* z) {
    double& total = along_.total[r.a];
    for (std::int64_t b = r.from; b < r.n; b += lanes())
      total += first_lane(broken(r, hn::LoadU(F(), z + b), b));
  }
  void rewrite(const Seen& r, float* z) {
    float* kept = &z_[r.a * ld_];
    double left = along_.left[r.a];
    for (std::int64_t b = r.from; b < r.n; b += lanes()) {
      const V own = hn::LoadU(F(), z + b), here = broken(r, own, b);
      left -= first_lane(here);
      hn::StoreU(own, F(), kept + b);
      hn::StoreU(hn::Sub(own, hn::Add(set(float(left)), here)), F(), z + b);
    }
    along_.left[r.a] = left;
  }
  // d ln w_j/dz_j = 1 − σ_j;  d ln w_l/dz_j = −σ_j for the keys l before j. Of a hidden key d may be no number, and
  // becomes 0.
  void unbreak(const Seen& r, float* d) {
    const float* kept = &z_[r.a * ld_];
    double before = along_.dsum[r.a];
    for (std::int64_t b = r.from; b < r.n; b += lanes()) {
      const V z = hn::LoadU(F(), kept + b);
      const Mask hides = hn::Eq(z, set(kMinusInfinity));
      const V own = hn::IfThenZeroElse(hides, first(hn::LoadU(F(), d + b), r.n - b)),
              back = sums_from(hn::Reverse(F(), own));
      const V up_to = hn::Add(set(float(before)), hn::Reverse(F(), back));
      const V of_z = hn::IfThenZeroElse(hides, hn::NegMulAdd(sigmoid(z), up_to, own));
      hn::StoreU(first(of_z, r.n - b), F(), d + b);
      before += first_lane(back);
    }
    along_.dsum[r.a] = before;
  }

 private:
  // Σ ln(1 + e^z) from each lane on.
  HWY_INLINE V broken(const Seen& r, V z, std::int64_t b) const {
    return sums_from(first(softplus(z), r.n - b));
  }
  Scratch z_;
  Along along_;
};

}  // namespace gnomon::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
