// What is added to a row of logits beside sums over arrays, forward and backward: included once per SIMD target.
//
// A sum along the keys of a row crosses its tiles. They come from the first key to the last, so each row first learns its
// total (learn), and then what is left of it is what the keys from here on hold. What crosses vectors is in double.
#if defined(GNOMON_KERNELS_ATTEND_RULES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GNOMON_KERNELS_ATTEND_RULES_INL_H_
#undef GNOMON_KERNELS_ATTEND_RULES_INL_H_
#else
#define GNOMON_KERNELS_ATTEND_RULES_INL_H_
#endif
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "gnomon/core/array.h"
#include "gnomon/kernels/extras-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gnomon::HWY_NAMESPACE {

// Columns from ≤ b < n of row a of a tile: those that it sees. Beyond n, arrays of a row hold one vector more.
struct Seen {
  std::int64_t a, from, n;
  template <class Body>
  HWY_INLINE void each_vector(const Body& f) const {
    for (std::int64_t b = from; b < n; b += lanes()) f(b);
  }
};

// ln(1 + e) for 0 ≤ e ≤ 1, within a unit in the last place: e + e²·p(e), p fitted for the least relative error (8e-10).
HWY_INLINE V log_one_plus(V e) {
  V p = set(0.0020729492f);
  for (const float c : {-0.013631488f, 0.041981377f, -0.083074085f, 0.12467124f, -0.16129336f, 0.19897932f,
                        -0.2498858f, 0.3333269f, -0.49999988f})
    p = hn::MulAdd(p, e, set(c));
  return hn::MulAdd(hn::Mul(e, e), p, e);
}
// ln(1 + e^z)
HWY_INLINE V softplus(V z) {
  return hn::Add(hn::Max(z, hn::Zero(F())), log_one_plus(exp(hn::Neg(hn::Abs(z)))));
}
HWY_INLINE V sigmoid(V z) {
  const V one = set(1), e = exp(hn::Neg(hn::Abs(z)));
  return hn::Div(hn::IfThenElse(hn::Ge(z, hn::Zero(F())), one, e), hn::Add(one, e));
}
// Of each lane: the sum of it and those after it. The first lane holds all, with the same bits wherever it is asked for.
template <int step = 1>
HWY_INLINE V sums_from(V x) {
  if constexpr (step < int(hn::MaxLanes(F()))) {
    const hn::RebindToSigned<F> whole;
    const auto last = hn::Set(whole, std::int32_t(lanes() - 1));
    const auto there = hn::IndicesFromVec(F(), hn::Min(hn::Iota(whole, step), last));
    const V other =
        hn::IfThenElseZero(hn::FirstN(F(), std::size_t(lanes() - step)), hn::TableLookupLanes(x, there));
    return sums_from<2 * step>(hn::Add(x, other));
  } else {
    return x;
  }
}
HWY_INLINE double first_lane(V x) { return double(hn::GetLane(x)); }
inline double sum_of(const float* x, const Seen& r) {
  const hn::ScalableTag<double> wide;
  const hn::Rebind<float, decltype(wide)> narrow;
  auto sums = hn::Zero(wide);
  std::int64_t b = r.from;
  for (const std::int64_t step = std::int64_t(hn::Lanes(wide)); b + step <= r.n; b += step)
    sums = hn::Add(sums, hn::PromoteTo(wide, hn::LoadU(narrow, x + b)));
  double sum = hn::GetLane(hn::SumOfLanes(wide, sums));
  for (; b < r.n; ++b) sum += double(x[b]);
  return sum;
}

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
            std::fill(sums_.begin(), sums_.end(), double(x[c]));  // any piece might be its own
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

// Of the rows of a tile: a sum along all keys, what is left of it, and the sum of gradients so far.
struct Along {
  std::vector<double> total, left, dsum;
  void start(std::int64_t rows) { total.assign(std::size_t(rows), 0), begin(); }
  void begin() { left = total, dsum.assign(total.size(), 0); }
};

// Σ_l ln σ(z_il) over the keys j ≤ l < i.
class Forget {
 public:
  // The gates of a row: of the keys that it sees before its own token, but for those that are hidden.
  struct Gates {
    Seen row;
    std::int64_t own;           // column of its token
    const std::uint8_t* hides;  // by column, or null
    HWY_INLINE Mask at(std::int64_t b) const {
      const Mask before =
          hn::FirstN(F(), std::size_t(std::clamp<std::int64_t>(std::min(own, row.n) - b, 0, lanes())));
      return hides ? hn::And(before, zero_bytes(hides + b, row.n - b)) : before;
    }
  };
  void resize(std::int64_t rows, std::int64_t step) { ld_ = step, z_.resize(rows * step); }
  void start(std::int64_t rows) { along_.start(rows); }
  void begin() { along_.begin(); }
  Scratch& z() { return z_; }
  void learn(const Gates& g) {
    const Seen& r = g.row;
    double& total = along_.total[r.a];
    for (std::int64_t b = r.from; b < r.n; b += lanes()) total += first_lane(sums(g, b));
  }
  void add(const Gates& g, float* s) {
    const Seen& r = g.row;
    double left = along_.left[r.a];
    for (std::int64_t b = r.from; b < r.n; b += lanes()) {
      const V here = sums(g, b);
      left -= first_lane(here);
      hn::StoreU(hn::Add(hn::LoadU(F(), s + b), hn::Add(set(float(left)), here)), F(), s + b);
    }
    along_.left[r.a] = left;
  }
  // A gate counts for every key at or before it: z becomes dz.
  void backward(const Gates& g, const float* ds) {
    const Seen& r = g.row;
    float* z = &z_[r.a * ld_];
    double before = along_.dsum[r.a];
    for (std::int64_t b = r.from; b < r.n; b += lanes()) {
      const V back = sums_from(hn::Reverse(F(), first(hn::LoadU(F(), ds + b), r.n - b)));
      const V up_to = hn::Add(set(float(before)), hn::Reverse(F(), back));
      const V closed = sigmoid(hn::Neg(hn::LoadU(F(), z + b)));
      hn::StoreU(hn::IfThenElseZero(g.at(b), hn::Mul(up_to, closed)), F(), z + b);
      before += first_lane(back);
    }
    along_.dsum[r.a] = before;
  }

 private:
  // Σ ln σ(z) from each lane on.
  HWY_INLINE V sums(const Gates& g, std::int64_t b) const {
    const V z = hn::LoadU(F(), &z_[g.row.a * ld_ + b]);
    return sums_from(hn::IfThenElseZero(g.at(b), hn::Neg(softplus(hn::Neg(z)))));
  }
  std::int64_t ld_ = 0;
  Scratch z_;
  Along along_;
};

// ln(σ(z_j)·Π_{u>j} (1 − σ(z_u))) = z_j − Σ_{u≥j} ln(1 + e^z_u): nothing follows that would divide by a sum. The z of a
// hidden key is −∞: it breaks nothing off.
class Stick {
 public:
  void resize(std::int64_t rows, std::int64_t step) { ld_ = step, z_.resize(rows * step); }
  void start(std::int64_t rows) { along_.start(rows); }
  void begin() { along_.begin(); }
  void learn(const Seen& r, const float* z) {
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
  void backward(const Seen& r, float* d) {
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
  std::int64_t ld_ = 0;
  Scratch z_;
  Along along_;
};

// The place P of a key is how many gates are open from it on; what the query reads at P is added. reads holds a row for
// each query, of what it reads at 0, 1, ...; from `most` on it reads what is there.
class Count {
 public:
  void resize(std::int64_t rows, std::int64_t step, std::int64_t most, std::int64_t reads_step) {
    ld_ = step, gates_.resize(rows * step), fraction_.resize(rows * step);
    low_.assign(std::size_t(rows * step), 0);
    most_ = most, ldr_ = reads_step;
    reads.resize(rows * ldr_), dreads.resize(rows * ldr_);
    beyond_.resize(std::size_t(rows));
  }
  void start(std::int64_t rows) { along_.start(rows), std::fill(dreads.begin(), dreads.end(), 0.0f); }
  void begin() { along_.begin(); }
  void gate(const Seen& r, const float* score, const std::uint8_t* padding) {
    float* g = &gates_[r.a * ld_];
    r.each_vector([&](std::int64_t b) { hn::StoreU(sigmoid(hn::LoadU(F(), score + b)), F(), g + b); });
    for (std::int64_t b = r.from; padding && b < r.n; ++b) {
      if (padding[b]) g[b] = 0;
    }
  }
  void learn(const Seen& r) { along_.total[r.a] += sum_of(&gates_[r.a * ld_], r); }
  void add(const Seen& r, float* s) {
    const float *g = &gates_[r.a * ld_], *read = &reads[r.a * ldr_];
    float* fraction = &fraction_[r.a * ld_];
    std::int32_t* low = &low_[std::size_t(r.a * ld_)];
    double left = along_.left[r.a];
    std::int64_t b = r.from;
    for (const double most = double(most_); b < r.n && left >= most; ++b) left -= double(g[b]);
    const Seen beyond{r.a, r.from, b}, within{r.a, b, r.n};
    for (; b < r.n; ++b) {
      const double place = std::max(0.0, std::min(left, double(most_)));
      low[b] = std::int32_t(place);
      fraction[b] = float(place - double(low[b]) + 0 * left);  // NaN: no place, and what is read there is NaN
      left -= double(g[b]);
    }
    along_.left[r.a] = left, beyond_[std::size_t(r.a)] = beyond.n;
    for (b = beyond.from; b < beyond.n; ++b) s[b] += read[most_];
    within.each_vector([&](std::int64_t c) {
      const auto at = hn::LoadU(I(), low + c);
      const V here = hn::GatherIndex(F(), read, at), next = hn::GatherIndex(F(), read, after(at)),
              f = hn::LoadU(F(), fraction + c);
      const V read_there = hn::MulAdd(f, next, hn::Mul(hn::Sub(set(1), f), here));
      hn::StoreU(hn::Add(hn::LoadU(F(), s + c), read_there), F(), s + c);
    });
  }
  // dscore gains what goes through the gates; dreads what goes to the readings.
  void backward(const Seen& r, const float* ds, float* dscore) {
    const float *g = &gates_[r.a * ld_], *read = &reads[r.a * ldr_];
    const float* fraction = &fraction_[r.a * ld_];
    const std::int32_t* low = &low_[std::size_t(r.a * ld_)];
    float* dread = &dreads[r.a * ldr_];
    const std::int64_t first = beyond_[std::size_t(r.a)];
    if (first > r.from) dread[most_] += float(sum_of(ds, {r.a, r.from, first}));
    double dsum = along_.dsum[r.a];  // a gate counts for every key before it
    for (std::int64_t b = first; b < r.n; ++b) {
      const std::int64_t at = low[b], next = std::min<std::int64_t>(at + 1, most_);
      const float f = fraction[b], d = ds[b];
      if (std::isnan(f)) std::fill_n(dread, ldr_, f);  // any of them might be the one
      dread[at] += (1 - f) * d, dread[next] += f * d;
      dsum += double(d * (read[next] - read[at]));
      dscore[b] += float(dsum) * g[b] * (1 - g[b]);
    }
    along_.dsum[r.a] = dsum;
  }
  Scratch reads, dreads;

 private:
  using I = hn::RebindToSigned<F>;
  hn::Vec<I> after(hn::Vec<I> at) const {
    return hn::Min(hn::Add(at, hn::Set(I(), 1)), hn::Set(I(), std::int32_t(most_)));
  }
  std::int64_t most_ = 0, ldr_ = 0, ld_ = 0;
  Scratch gates_, fraction_;  // of P
  Along along_;
  std::vector<std::int32_t> low_;     // whole part of P
  std::vector<std::int64_t> beyond_;  // the column of each row before which P is `most`
};

}  // namespace gnomon::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
