// What is added to a row of logits beside sums over arrays, forward and backward: included once per SIMD target.
//
// A sum along the keys of a row crosses its tiles. They come from the first key to the last, so each row first learns its
// total (learn), and then what is left of it is what the keys from here on hold. Sums are in double.
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
#include "gnomon/kernels/simd-inl.h"

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

struct SoftSign {
  V plus, sigmoid;  // ln(1 + e^z), 1/(1 + e^−z)
};
HWY_INLINE SoftSign soft_sign(V z) {
  const V one = set(1), e = exp(hn::Neg(hn::Abs(z))), y = hn::Add(one, e), over = hn::Div(one, y);
  // ln(1 + e) = ln y + (what y lost of e)/y
  const V log = hn::MulAdd(hn::Sub(e, hn::Sub(y, one)), over, hn::Log(F(), y));
  return {hn::Add(hn::Max(z, hn::Zero(F())), hn::IfThenElse(hn::IsNaN(z), z, log)),
          hn::IfThenElse(hn::Ge(z, hn::Zero(F())), over, hn::Mul(e, over))};
}
HWY_INLINE V sigmoid(V z) {
  const V one = set(1), e = exp(hn::Neg(hn::Abs(z)));
  return hn::Div(hn::IfThenElse(hn::Ge(z, hn::Zero(F())), one, e), hn::Add(one, e));
}
// f(b, the sum of the columns before b) for each column, in order; returns the sum of all. By fours: one addition waits for
// the last.
template <class Body>
HWY_INLINE double each_sum(const float* x, const Seen& r, const Body& f) {
  double sum = 0;
  std::int64_t b = r.from;
  for (; b + 4 <= r.n; b += 4) {
    const double one = double(x[b]), two = one + double(x[b + 1]), three = two + double(x[b + 2]),
                 four = three + double(x[b + 3]);
    f(b, sum), f(b + 1, sum + one), f(b + 2, sum + two), f(b + 3, sum + three);
    sum += four;
  }
  for (; b < r.n; ++b) {
    const double own = double(x[b]);  // f may write where x is
    f(b, sum), sum += own;
  }
  return sum;
}
inline double sum_of(const float* x, const Seen& r) {
  return each_sum(x, r, [](std::int64_t, double) {});
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

// Gates of a tile that are summed, and what their gradient needs.
struct Gates {
  std::int64_t ld = 0;
  Scratch value, slope;
  void resize(std::int64_t rows, std::int64_t step) { ld = step, value.resize(rows * step), slope = value; }
};

// Σ_l ln σ(z_il) over the keys j ≤ l < i.
class Forget {
 public:
  void resize(std::int64_t rows, std::int64_t step) { gates_.resize(rows, step); }
  void start(std::int64_t rows) { along_.start(rows); }
  void begin() { along_.begin(); }
  Scratch& z() { return gates_.value; }
  // z of a row becomes ln σ(z); 0 at the token itself, after it and where a key is padding.
  void gate(const Seen& r, std::int64_t own, const std::uint8_t* padding) {
    float *z = &gates_.value[r.a * gates_.ld], *closed = &gates_.slope[r.a * gates_.ld];
    r.each_vector([&](std::int64_t b) {
      const SoftSign s = soft_sign(hn::Neg(hn::LoadU(F(), z + b)));
      hn::StoreU(hn::Neg(s.plus), F(), z + b), hn::StoreU(s.sigmoid, F(), closed + b);
    });
    for (std::int64_t b = r.from; b < r.n; ++b) {
      if (b >= own || (padding && padding[b])) z[b] = closed[b] = 0;
    }
  }
  void learn(const Seen& r) { along_.total[r.a] += sum_of(&gates_.value[r.a * gates_.ld], r); }
  void add(const Seen& r, float* s) {
    const float* log = &gates_.value[r.a * gates_.ld];
    const double left = along_.left[r.a];
    along_.left[r.a] -=
        each_sum(log, r, [&](std::int64_t b, double sum) { s[b] = float(double(s[b]) + (left - sum)); });
  }
  // A gate counts for every key at or before it: z becomes dz.
  void backward(const Seen& r, const float* ds) {
    float *dz = &gates_.value[r.a * gates_.ld], *closed = &gates_.slope[r.a * gates_.ld];
    const double so_far = along_.dsum[r.a];
    along_.dsum[r.a] += each_sum(ds, r, [&](std::int64_t b, double sum) {
      dz[b] = float((so_far + sum + double(ds[b])) * double(closed[b]));
    });
  }

 private:
  Gates gates_;
  Along along_;
};

// ln(σ(z_j)·Π_{u>j} (1 − σ(z_u))) = z_j − Σ_{u≥j} ln(1 + e^z_u): nothing follows that would divide by a sum.
class Stick {
 public:
  void resize(std::int64_t rows, std::int64_t step) { gates_.resize(rows, step); }
  void start(std::int64_t rows) { along_.start(rows); }
  void begin() { along_.begin(); }
  void learn(const Seen& r, const float* z) {
    gate(r, z);
    along_.total[r.a] += sum_of(&gates_.value[r.a * gates_.ld], r);
  }
  void rewrite(const Seen& r, float* z) {
    gate(r, z);
    const float* broken = &gates_.value[r.a * gates_.ld];
    const double left = along_.left[r.a];
    along_.left[r.a] -=
        each_sum(broken, r, [&](std::int64_t b, double sum) { z[b] = float(double(z[b]) - (left - sum)); });
  }
  // d ln w_j/dz_j = 1 − σ_j;  d ln w_l/dz_j = −σ_j for the keys l before j
  void backward(const Seen& r, float* d) {
    const float* share = &gates_.slope[r.a * gates_.ld];
    const double so_far = along_.dsum[r.a];
    along_.dsum[r.a] += each_sum(d, r, [&](std::int64_t b, double sum) {
      const double own = double(d[b]), beta = double(share[b]);
      d[b] = float(own * (1 - beta) - beta * (so_far + sum));
    });
  }

 private:
  void gate(const Seen& r, const float* z) {
    float *broken = &gates_.value[r.a * gates_.ld], *share = &gates_.slope[r.a * gates_.ld];
    r.each_vector([&](std::int64_t b) {
      const SoftSign s = soft_sign(hn::LoadU(F(), z + b));
      hn::StoreU(s.plus, F(), broken + b), hn::StoreU(s.sigmoid, F(), share + b);
    });
  }
  Gates gates_;
  Along along_;
};

// The place P of a key is how many gates are open from it on; what the query reads at P is added. reads holds a row for
// each query, of what it reads at 0, 1, ...; from `most` on it reads what is there.
class Count {
 public:
  void resize(std::int64_t rows, std::int64_t step, std::int64_t most, std::int64_t reads_step) {
    gates_.resize(rows, step);
    low_.assign(std::size_t(rows * step), 0);
    most_ = most, ldr_ = reads_step;
    reads.resize(rows * ldr_), dreads.resize(rows * ldr_);
    beyond_.resize(std::size_t(rows));
  }
  void start(std::int64_t rows) { along_.start(rows), std::fill(dreads.begin(), dreads.end(), 0.0f); }
  void begin() { along_.begin(); }
  void gate(const Seen& r, const float* score, const std::uint8_t* padding) {
    float* g = &gates_.value[r.a * gates_.ld];
    r.each_vector([&](std::int64_t b) { hn::StoreU(sigmoid(hn::LoadU(F(), score + b)), F(), g + b); });
    for (std::int64_t b = r.from; padding && b < r.n; ++b) {
      if (padding[b]) g[b] = 0;
    }
  }
  void learn(const Seen& r) { along_.total[r.a] += sum_of(&gates_.value[r.a * gates_.ld], r); }
  void add(const Seen& r, float* s) {
    const float *g = &gates_.value[r.a * gates_.ld], *read = &reads[r.a * ldr_];
    float* fraction = &gates_.slope[r.a * gates_.ld];
    std::int32_t* low = &low_[std::size_t(r.a * gates_.ld)];
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
    const float *g = &gates_.value[r.a * gates_.ld], *read = &reads[r.a * ldr_];
    const float* fraction = &gates_.slope[r.a * gates_.ld];
    const std::int32_t* low = &low_[std::size_t(r.a * gates_.ld)];
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
  std::int64_t most_ = 0, ldr_ = 0;
  Gates gates_;  // the slope is the fraction of P
  Along along_;
  std::vector<std::int32_t> low_;     // whole part of P
  std::vector<std::int64_t> beyond_;  // the column of each row before which P is `most`
};

}  // namespace gnomon::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
