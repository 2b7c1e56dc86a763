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

  static constexpr TermFacts kFacts{.name = "curve", .once = "add a curve over the distance"};
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
        throw Error(Fault::usage, text("attend: terms.curve_knots must not decrease; found ",
                                       curve_knots[n - 1], ", then ", curve_knots[n]));
    }
  }
  bool operator==(const CurveTerm&) const = default;
};

}  // namespace gnomon
#endif

#ifdef GNOMON_TERMS_AT_WORK  // attend_terms-inl.h
HWY_BEFORE_NAMESPACE();
namespace gnomon::HWY_NAMESPACE {

// f_h(x): linear between knots.
class Curve {
 public:
  Curve(const float* knots, const float* slope, const float* intercept, std::int64_t pieces)
      : knots_(knots), slope_(slope), intercept_(intercept), pieces_(pieces), sums_(2 * pieces) {}
  // s += f(x) of a row
  void add(const Seen& r, const float* x, float* s) const {
    along(r, x, [&](std::int64_t b, V slope, V intercept, std::int64_t) {
      hn::StoreU(hn::Add(hn::LoadU(F(), s + b), hn::MulAdd(slope, hn::LoadU(F(), x + b), intercept)), F(),
                 s + b);
    });
  }
  // dx = ds·f′(x); sums Σ ds and Σ ds·x of each piece.
  void backward(const Seen& r, const float* x, const float* ds, float* dx) {
    V sum = hn::Zero(F()), moment = sum;
    std::int64_t at = -1;
    const auto keep = [&] {
      if (at >= 0)
        sums_[at] += gnomon::HWY_NAMESPACE::sum(sum),
            sums_[pieces_ + at] += gnomon::HWY_NAMESPACE::sum(moment);
      sum = moment = hn::Zero(F());
    };
    along(r, x, [&](std::int64_t b, V slope, V, std::int64_t piece) {
      const V d = first(hn::LoadU(F(), ds + b), r.n - b);
      hn::StoreU(hn::Mul(d, slope), F(), dx + b);
      if (piece < 0) {
        for (std::int64_t c = b; c < std::min(b + lanes(), r.n); ++c) {
          const std::int64_t p = piece_of(x[c]);
          if (std::isnan(x[c]))
            std::fill(sums_.begin(), sums_.end(),
                      double(x[c]));  // any piece might be its own
          sums_[p] += double(ds[c]), sums_[pieces_ + p] += double(ds[c]) * double(x[c]);
        }
        return;
      }
      if (piece != at) keep(), at = piece;
      sum = hn::Add(sum, d), moment = hn::MulAdd(d, first(hn::LoadU(F(), x + b), r.n - b), moment);
    });
    keep();
  }
  void collect(float* dslope, float* dintercept) const {
    for (std::int64_t p = 0; p < pieces_; ++p) {
      if (dintercept) dintercept[p] += float(sums_[p]);
      if (dslope) dslope[p] += float(sums_[pieces_ + p]);
    }
  }

 private:
  std::int64_t piece_of(float x) const { return std::upper_bound(knots_, knots_ + pieces_ - 1, x) - knots_; }
  // f(column, slope, intercept, piece): piece is −1 where a vector holds numbers of several. Neighbours are mostly of one.
  template <class Body>
  void along(const Seen& r, const float* x, const Body& f) const {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    std::int64_t piece = 0;
    float low = kInfinity, high = -kInfinity;
    V slope = hn::Zero(F()), intercept = slope;
    HWY_ALIGN float slopes[16] = {}, intercepts[16] = {};
    r.each_vector([&](std::int64_t b) {
      const std::int64_t count = std::min(lanes(), r.n - b);
      const V v = hn::LoadU(F(), x + b);
      const auto outside = hn::Not(hn::And(hn::Ge(v, set(low)), hn::Lt(v, set(high))));
      if (hn::AllFalse(F(), hn::And(outside, hn::FirstN(F(), count)))) return f(b, slope, intercept, piece);
      piece = piece_of(x[b]);
      low = piece ? knots_[piece - 1] : -kInfinity, high = piece < pieces_ - 1 ? knots_[piece] : kInfinity;
      slope = set(slope_[piece]), intercept = set(intercept_[piece]);
      if (std::all_of(x + b, x + b + count, [=](float y) { return y >= low && y < high; }))
        return f(b, slope, intercept, piece);
      for (std::int64_t c = 0; c < count; ++c) {
        const std::int64_t p = piece_of(x[b + c]);
        slopes[c] = slope_[p], intercepts[c] = intercept_[p];
      }
      f(b, hn::Load(F(), slopes), hn::Load(F(), intercepts), -1);
    });
  }
  const float *knots_, *slope_, *intercept_;
  const std::int64_t pieces_;
  std::vector<double> sums_;
};

template <>
class AtWork<CurveTerm> : public TermAtWork {
 public:
  explicit AtWork(Distances& head)
      : TermAtWork(head),
        curve_(t_.given->curve_knots.data(), t_.terms.of<&CurveTerm::curve_slope>(),
               t_.terms.of<&CurveTerm::curve_intercept>(), t_.given->pieces()),
        warp_(head.make_warp(*t_.terms.of<&CurveTerm::curve_rate>())) {
    x_.resize(ld_), dx_.resize(ld_);
  }
  void add(const Tile& tile, const Seen& r, float* s) { curve_.add(r, x(tile, r), s); }

  // d ln(1 + rate·n)/d rate = n/(1 + rate·n)
  void backward(const Tile& tile, const Seen& r, const float* ds) {
    const std::int64_t token = tile.i0 + r.a + shift_;
    curve_.backward(r, x(tile, r), ds, dx_.data());
    const float *warped = head_.row(warp_, tile, r), *delta = head_.distances(tile, r);
    V of_factor = hn::Zero(F()), of_rate = of_factor;
    r.each_vector([&](std::int64_t b) {
      const V d = first(hn::LoadU(F(), &dx_[b]), r.n - b), n = hn::Abs(hn::LoadU(F(), delta + b));
      of_factor = hn::MulAdd(d, hn::LoadU(F(), warped + b), of_factor);
      of_rate = hn::MulAdd(d, hn::Div(n, hn::MulAdd(set(warp_.rate), n, set(1))), of_rate);
    });
    if (float* to = t_.dterms.of<&CurveTerm::curve_by_token>()) to[token] += sum(of_factor);
    drate_ += double(sum(of_rate)) * double(by_token_[token]);
  }
  void finish() {
    curve_.collect(t_.dterms.of<&CurveTerm::curve_slope>(), t_.dterms.of<&CurveTerm::curve_intercept>());
    if (float* to = t_.dterms.of<&CurveTerm::curve_rate>()) *to += float(drate_);
  }

 private:
  // x = ln(1 + rate·|δ|)·(number of the query)
  const float* x(const Tile& tile, const Seen& r) {
    const float* warped = head_.row(warp_, tile, r);
    const V factor = set(by_token_[tile.i0 + r.a + shift_]);
    r.each_vector(
        [&](std::int64_t b) { hn::StoreU(hn::Mul(factor, hn::LoadU(F(), warped + b)), F(), &x_[b]); });
    return x_.data();
  }
  Curve curve_;
  Distances::Warp warp_;
  const float* by_token_ = t_.terms.of<&CurveTerm::curve_by_token>();
  Scratch x_, dx_;
  double drate_ = 0;
};

}  // namespace gnomon::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
