// What the caller asks of the logits of a row (Extras): included once per SIMD target.
#if defined(GNOMON_KERNELS_EXTRAS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GNOMON_KERNELS_EXTRAS_INL_H_
#undef GNOMON_KERNELS_EXTRAS_INL_H_
#else
#define GNOMON_KERNELS_EXTRAS_INL_H_
#endif
#include <limits>

#include "gnomon/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gnomon::HWY_NAMESPACE {

inline constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

// Where the first `count` bytes at p are 0; the other lanes may be anything.
HWY_INLINE Mask zero_bytes(const std::uint8_t* p, std::int64_t count) {
  const hn::Rebind<std::uint8_t, F> bytes;
  const hn::RebindToSigned<F> whole;
  HWY_ALIGN std::uint8_t part[16] = {};
  std::memcpy(part, p, std::size_t(count < lanes() ? count : lanes()));
  return hn::RebindMask(F(), hn::Eq(hn::PromoteTo(whole, hn::Load(bytes, part)), hn::Zero(whole)));
}

// The extras of one row; bias and mask begin at its column 0, or are null.
struct RowExtras {
  float soft_cap;
  const float* bias;
  const std::uint8_t* mask;

  bool hides(std::int64_t b) const { return (mask && !mask[b]) || (bias && bias[b] == kMinusInfinity); }
  // f(begin, end) for every run of columns from..n that are not hidden.
  template <class Body>
  void each_run(std::int64_t from, std::int64_t n, const Body& f) const {
    for (std::int64_t begin = from, end; begin < n; begin = end) {
      end = begin + 1;
      if (hides(begin)) continue;
      while (end < n && !hides(end)) ++end;
      f(begin, end);
    }
  }
};

// Columns from..n of a row of logits.
struct LogitRow {
  float* s;
  std::int64_t from, n;
};

// Finishes a row: s becomes cap(s + terms) + bias, −∞ where a key is hidden. Whether all others are numbers: +∞ and what
// overflowed are none. `slope`, where it is not null, gets the derivative of the cap. Columns before `from` in the first
// vector are left as anything.
template <class AddTerms>
bool apply_extras(const RowExtras& x, const AddTerms& terms, const LogitRow& row, float* slope) {
  const F d;
  const V lowest = set(kMinusInfinity), one = set(1.0f), cap = set(x.soft_cap), inverse = set(1 / x.soft_cap);
  auto defined = all_lanes();
  for (std::int64_t b = row.from / lanes() * lanes(); b < row.n; b += lanes()) {
    const std::int64_t count = row.n - b;
    V v = terms(no_infinity(hn::LoadU(d, row.s + b)), b);
    auto hides = hn::Eq(v, lowest);
    const auto number = hn::Lt(v, set(-kMinusInfinity));
    if (x.soft_cap != 0) {
      const V t = hn::Tanh(d, hn::Mul(v, inverse));
      v = hn::Mul(cap, t);
      if (slope) hn::StoreU(hn::NegMulAdd(t, t, one), d, slope + b);
    }
    v = hn::IfThenElse(number, v, set(std::numeric_limits<float>::quiet_NaN()));
    if (x.bias) {
      const V bias = load(x.bias + b, count);
      hides = hn::Or(hides, hn::Eq(bias, lowest));
      v = hn::Add(v, bias);
    }
    if (x.mask) hides = hn::Or(hides, zero_bytes(x.mask + b, count));
    v = hn::IfThenElse(hides, lowest, v);
    hn::StoreU(v, d, row.s + b);
    if (b < row.from) v = hn::IfThenZeroElse(hn::FirstN(d, row.from - b), v);
    defined = hn::And(defined, hn::Lt(first(v, count), set(-kMinusInfinity)));
  }
  return hn::AllTrue(d, defined);
}

}  // namespace gnomon::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
