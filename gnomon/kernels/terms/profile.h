#ifndef GNOMON_KERNELS_TERMS_PROFILE_H_
#define GNOMON_KERNELS_TERMS_PROFILE_H_
#include "gnomon/kernels/terms/kind.h"

namespace gnomon {

// s[h,i,j] += profile_query[h,i]·profile[h,δ]. Inkling
struct ProfileTerm {
  std::int64_t profile_width = 0;
  Floats profile_query, profile;  // (B,H,tokens,width), (H,R,width)

  static constexpr TermFacts kFacts{.name = "profile", .once = "mix profiles of the distance"};
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
