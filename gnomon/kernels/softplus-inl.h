// ln(1 + eˣ) and its slope: included once per SIMD target.
#if defined(GNOMON_KERNELS_SOFTPLUS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GNOMON_KERNELS_SOFTPLUS_INL_H_
#undef GNOMON_KERNELS_SOFTPLUS_INL_H_
#else
#define GNOMON_KERNELS_SOFTPLUS_INL_H_
#endif
#include "gnomon/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gnomon::HWY_NAMESPACE {

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
}  // namespace gnomon::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
