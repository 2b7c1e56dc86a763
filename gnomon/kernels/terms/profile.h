#ifndef GNOMON_KERNELS_TERMS_PROFILE_H_
#define GNOMON_KERNELS_TERMS_PROFILE_H_
#include "gnomon/kernels/terms/kind.h"

namespace gnomon {

// s[h,i,j] += profile_query[h,i]·profile[h,δ]. Inkling
struct ProfileTerm {
  std::int64_t profile_width = 0;
  Floats profile_query, profile;  // (B,H,tokens,width), (H,R,width)

  static constexpr TermFacts kFacts{.name = "profile", .once = "mix profiles over the distance"};
  static constexpr WidthOf<ProfileTerm> kWidth{"profile_width", &ProfileTerm::profile_width};
  static constexpr std::array kArrays{
      ArrayOf<ProfileTerm>{"profile_query",
                           &ProfileTerm::profile_query,
                           {Dim::sequences, Dim::heads, Dim::tokens, Dim::own},
                           &ProfileTerm::profile},
      ArrayOf<ProfileTerm>{
          "profile", &ProfileTerm::profile, {Dim::heads, Dim::distances, Dim::own}, &ProfileTerm::profile}};
  std::int64_t own(const AttendShape&) const { return profile_width; }
  bool operator==(const ProfileTerm&) const = default;
};

}  // namespace gnomon
#endif

#ifdef GNOMON_TERMS_AT_WORK  // attend_terms-inl.h
HWY_BEFORE_NAMESPACE();
namespace gnomon::HWY_NAMESPACE {

template <>
class AtWork<ProfileTerm> : public TermAtWork {
 public:
  explicit AtWork(Distances& head)
      : TermAtWork(head), rows_(head, t_.terms.of<&ProfileTerm::profile>(), width_, 1) {}
  void begin_rows(std::int64_t i0, std::int64_t ni) {
    float* queries = t_.terms.of<&ProfileTerm::profile_query>() + (i0 + shift_) * width_;
    head_.pack_rows({queries, width_}, {ni, width_, rows_.padded()}, 1, nullptr, queries_);
  }
  void by_query(const Tile& tile) { rows_.spread(tile, queries_.data(), head_.logits_); }

  void start_gradients() {
    if (gradient()) rows_.start_gradients();
  }
  void begin_gradients() { dqueries_.assign(bq_ * rows_.padded(), 0.0f); }
  void backward(const Tile& tile) {
    rows_.gather(tile, head_.dp_, dqueries_.data());
    if (gradient()) rows_.collect(tile, head_.dp_, queries_.data());
  }
  void end_rows(std::int64_t i0, std::int64_t ni) {
    head_.collect_queries(t_.dterms.of<&ProfileTerm::profile_query>(), dqueries_, {width_, rows_.padded()},
                          {i0, ni});
  }
  void finish() { rows_.finish(gradient()); }

 private:
  float* gradient() const { return t_.dterms.of<&ProfileTerm::profile>(); }
  const std::int64_t width_ = t_.given->profile_width;
  RowsByDistance rows_;
  Scratch queries_, dqueries_;
};

}  // namespace gnomon::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
