// Loads and stores with a count, for the tails of loops: included once per SIMD target.
#if defined(GNOMON_KERNELS_SIMD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GNOMON_KERNELS_SIMD_INL_H_
#undef GNOMON_KERNELS_SIMD_INL_H_
#else
#define GNOMON_KERNELS_SIMD_INL_H_
#endif
#include <hwy/cache_control.h>
#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include <cstdint>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace gnomon::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using F = hn::ScalableTag<float>;
using V = hn::Vec<F>;

// Loops over an array of vectors have to vanish: one that is indexed at run time lives in memory.
#ifndef GNOMON_UNROLL
#if defined(__clang__)
#define GNOMON_UNROLL _Pragma("unroll")
#else
#define GNOMON_UNROLL _Pragma("GCC unroll 16")
#endif
#endif

static_assert(HWY_MAX_BYTES <= 64, "the parts below hold one vector");
HWY_INLINE std::int64_t lanes() { return std::int64_t(hn::Lanes(F())); }

// The first `count` numbers at p, the other lanes 0; count ≥ 1, any count above the lanes means a full
// vector. Nothing past p[count] is touched: Highway's masked loads may, on targets without masks in memory.
HWY_INLINE V load(const float* p, std::int64_t count) {
  const F d;
  if (HWY_LIKELY(count >= lanes())) return hn::LoadU(d, p);
  HWY_ALIGN float part[16] = {};
  std::memcpy(part, p, std::size_t(count) * sizeof(float));
  return hn::Load(d, part);
}

HWY_INLINE void store(V v, float* p, std::int64_t count) {
  const F d;
  if (HWY_LIKELY(count >= lanes())) return hn::StoreU(v, d, p);
  HWY_ALIGN float part[16];
  hn::Store(v, d, part);
  std::memcpy(p, part, std::size_t(count) * sizeof(float));
}

HWY_INLINE V set(float x) { return hn::Set(F(), x); }

// The lanes below `count` of v, the others 0.
HWY_INLINE V first(V v, std::int64_t count) {
  if (HWY_LIKELY(count >= lanes())) return v;
  return hn::IfThenElseZero(hn::FirstN(F(), count), v);
}
// e^x where NaN stays NaN: hn::Exp makes 0 of it.
HWY_INLINE V exp(V x) { return hn::IfThenElse(hn::IsNaN(x), x, hn::Exp(F(), x)); }

// hn::Exp to the bit where −69.3 ≤ x < 88.7, in fewer instructions; 0 below 2^−100 (that is −69.3), and of NaN.
inline constexpr float kNothing = -69.314718f;
HWY_INLINE V exp_or_nothing(V x) {
  const F d;
  const hn::RebindToSigned<F> whole;
  // x = q·ln 2 + r, q rounded to the nearest: what is added last writes q into the lowest bits of a float.
  const V half = hn::OrAnd(set(0.5f), x, set(-0.0f));
  const V q = hn::Trunc(hn::MulAdd(x, set(1.442695040888963407f), half));
  const V r = hn::MulAdd(q, set(-1.428606765330187045e-6f), hn::MulAdd(q, set(-0.693145751953125f), x));
  const auto exponent = hn::ShiftLeft<23>(hn::BitCast(whole, hn::Add(q, set(0x1.8p23f))));
  const V r2 = hn::Mul(r, r), r4 = hn::Mul(r2, r2);
  const V p01 = hn::MulAdd(set(0.166666671633720397949219f), r, set(0.5f));
  const V p23 = hn::MulAdd(set(0.00833336077630519866943359f), r, set(0.0416664853692054748535156f));
  const V p45 = hn::MulAdd(set(0.000198527617612853646278381f), r, set(0.00139304355252534151077271f));
  const V poly = hn::MulAdd(hn::MulAdd(r4, p45, hn::MulAdd(r2, p23, p01)), r2, r);
  const V y = hn::BitCast(d, hn::Add(hn::BitCast(whole, hn::Add(poly, set(1.0f))), exponent));
  return hn::IfThenElseZero(hn::Ge(x, set(kNothing)), y);
}

using Mask = hn::Mask<F>;
HWY_INLINE Mask all_lanes() { return hn::Eq(hn::Zero(F()), hn::Zero(F())); }
// Where |x| < 2^50: a sum of 2^20 products of two such numbers is within float32 (2^128). NaN is not tame.
HWY_INLINE Mask is_tame(V x) { return hn::Lt(hn::Abs(x), set(0x1p50f)); }

// x, or NaN for what is infinite: a sum that overflowed is not the −∞ of a hidden key.
HWY_INLINE V no_infinity(V x) { return hn::MulAdd(x, hn::Zero(F()), x); }
HWY_INLINE float no_infinity(float x) { return x + 0 * x; }

HWY_INLINE float sum(V v) { return hn::GetLane(hn::SumOfLanes(F(), v)); }

}  // namespace gnomon::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
