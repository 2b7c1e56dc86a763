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
      .name = "far", .once = "use a second product for far keys", .reads = TermReads::other_channels};
  static constexpr std::array<ArrayOf<FarTerm>, 0> kArrays{};
  bool given() const { return std::isfinite(far_from); }
  void check(const AttendShape& s) const {
    if (std::isnan(far_from) || (given() && (s.beside < 1 || s.beside > s.K)))
      throw Error(Fault::usage, text("attend: beside is ", s.beside, " and terms.far_from is ",
                                     shortest(far_from), "; allowed are beside from 1 to K = ", s.K,
                                     " with a finite far_from, or an infinite far_from"));
  }
  bool operator==(const FarTerm&) const = default;
};

}  // namespace gnomon
#endif

#ifdef GNOMON_TERMS_AT_WORK  // attend_terms-inl.h
HWY_BEFORE_NAMESPACE();
namespace gnomon::HWY_NAMESPACE {

// The head asks for its product where it asks for its own; it begins and ends as a term does.
template <>
class AtWork<FarTerm> : public TermAtWork {
 public:
  explicit AtWork(Distances& head) : TermAtWork(head) {
    head_.pack_transposed(rows(t_.k, s_.keys), s_.keys, s_.K, k_t_);
    scores_.resize(bq_ * ld_);
  }
  void begin_rows(std::int64_t i0, std::int64_t ni) {
    head_.pack_rows(rows({t_.q.row(i0), t_.q.step}, ni), {ni, s_.K, Kp_}, s_.scale, nullptr, q_);
  }
  // Which keys of a tile are far.
  enum class Reach { near, both, far };
  Reach reach_of(const Tile& tile) const {
    if (t_.places) return Reach::both;
    const std::int64_t i = tile.i0 + shift_;
    if (double(i + tile.ni - 1 - tile.j0) < from_) return Reach::near;
    return double(i - (tile.j0 + tile.nj - 1)) >= from_ ? Reach::far : Reach::both;
  }
  // Writes the scores of far keys over those that the head has of a tile, which may be none where all are far.
  void score(const Tile& tile) {
    const Reach reach = reach_of(tile);
    if (reach == Reach::near) return;
    head_.times_columns(tile, {q_.data(), Kp_, 1}, k_t_, s_.K,
                        reach == Reach::far ? head_.logits_.data() : scores_.data());
    if (reach == Reach::far) return;
    head_.each_row(tile, [&](const Seen& r) {
      float *s = head_.logits(r.a), *other = &scores_[r.a * ld_];
      const float* delta = head_.distances(tile, r);
      r.each_vector([&](std::int64_t b) {
        const auto is_far = hn::Ge(hn::LoadU(F(), delta + b), set(float(from_)));
        hn::StoreU(hn::IfThenElse(is_far, hn::LoadU(F(), other + b), hn::LoadU(F(), s + b)), F(), s + b);
      });
    });
  }

  void start_gradients() {
    head_.pack_rows(rows(t_.k, s_.keys), {s_.keys, s_.K, Kp_}, 1, t_.padding, k_);
    dk_.assign(s_.keys * Kp_, 0.0f);
  }
  void begin_gradients() { dq_.assign(bq_ * Kp_, 0.0f); }
  // Takes from dscore_ what belongs to far keys, and gives it to their product.
  void score_backward(const Tile& tile) {
    const Reach reach = reach_of(tile);
    if (reach == Reach::near) return;
    if (reach == Reach::both) split(tile);
    const float* ds = reach == Reach::far ? head_.dscore_.data() : scores_.data();
    head_.columns_times(tile, ds, q_.data(), Kp_, &dk_[tile.j0 * Kp_]);
    head_.rows_times(tile, ds, &k_[tile.j0 * Kp_], Kp_, dq_.data());
  }
  // Into rows of dq and dk.
  void write_query(std::int64_t a, float* to) const { write(&dq_[a * Kp_], s_.scale, to); }
  void write_key(std::int64_t j, float* to) const { write(&dk_[j * Kp_], 1, to); }

 private:
  // The rows of q or k that far keys take: the channels beside, then those of the product that none of them replaces.
  Strided<float> rows(const Strided<float>& x, std::int64_t n) {
    rows_.resize(n * s_.K);
    for (std::int64_t t = 0; t < n; ++t) {
      std::copy_n(x.row(t) + s_.K, s_.beside, &rows_[t * s_.K]);
      std::copy_n(x.row(t) + s_.beside, s_.K - s_.beside, &rows_[t * s_.K + s_.beside]);
    }
    return {rows_.data(), s_.K};
  }
  void split(const Tile& tile) {
    std::fill_n(scores_.begin(), tile.ni * ld_, 0.0f);
    head_.each_row(tile, [&](const Seen& r) {
      float *near = &head_.dscore_[r.a * ld_], *other = &scores_[r.a * ld_];
      const float* delta = head_.distances(tile, r);
      r.each_vector([&](std::int64_t b) {
        const V d = first(hn::LoadU(F(), near + b), r.n - b);
        const auto is_far = hn::Ge(hn::LoadU(F(), delta + b), set(float(from_)));
        hn::StoreU(hn::IfThenElseZero(is_far, d), F(), other + b);
        hn::StoreU(hn::IfThenZeroElse(is_far, d), F(), near + b);
      });
    });
  }
  // Beside what the near keys gave.
  void write(const float* row, float factor, float* to) const {
    for (std::int64_t c = 0; c < s_.K; ++c) {
      if (c < s_.beside) to[s_.K + c] = factor * row[c];
      if (c >= s_.beside) to[c] += factor * row[c];
    }
  }
  const double from_ = t_.given->far_from;
  Scratch rows_, q_, k_, k_t_, scores_, dq_, dk_;
};

}  // namespace gnomon::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
