#ifndef GNOMON_KERNELS_TERMS_CURVE_H_
#define GNOMON_KERNELS_TERMS_CURVE_H_
#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/kernels/terms/kind.h"

namespace gnomon {

// s[h,i,j] += f_h(x), x = ln(1 + rate·|δ|)·by_token[i]. f_h is continuous, and linear between curve_knots (N − 1), which
// rise: slope·x + intercept of piece n of N. rate and x are not below 0. FIRE
struct CurveTerm {
  Floats curve_rate, curve_by_token;    // (1), (tokens) or (B,tokens)
  Floats curve_knots;                   // (N − 1), without a gradient
  Floats curve_slope, curve_intercept;  // (H,N)

  static constexpr TermFacts kFacts{.name = "curve", .once = "add a curve of the distance"};
  static constexpr std::array kArrays{
      ArrayOf<CurveTerm>{"curve_rate", &CurveTerm::curve_rate, {}, &CurveTerm::curve_rate},
      ArrayOf<CurveTerm>{
          "curve_by_token", &CurveTerm::curve_by_token, {Dim::rows, Dim::tokens}, &CurveTerm::curve_rate},
      ArrayOf<CurveTerm>{
          "curve_slope", &CurveTerm::curve_slope, {Dim::heads, Dim::own}, &CurveTerm::curve_rate},
      ArrayOf<CurveTerm>{
          "curve_intercept", &CurveTerm::curve_intercept, {Dim::heads, Dim::own}, &CurveTerm::curve_rate}};
  static constexpr std::array kFixed{ArrayOf<CurveTerm>{"curve_knots", &CurveTerm::curve_knots}};
  std::int64_t pieces() const { return std::int64_t(curve_knots.size()) + 1; }
  std::int64_t own(const AttendShape&) const { return pieces(); }
  void check(const AttendShape&) const {
    // NaN comes from parameters, and is for who reads the result.
    for (std::size_t n = 1; n < curve_knots.size() && !curve_rate.empty(); ++n) {
      if (curve_knots[n] < curve_knots[n - 1])
        throw Error(Fault::usage,
                    text("attend: terms.curve_knots fall from ", curve_knots[n - 1], " to ", curve_knots[n]));
    }
  }
  bool operator==(const CurveTerm&) const = default;
};

}  // namespace gnomon
#endif
