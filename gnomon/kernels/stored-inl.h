// Vectors of float from numbers as they are stored, in 32 or 16 bits, and back with one rounding: included once per SIMD target.
#if defined(GNOMON_KERNELS_STORED_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GNOMON_KERNELS_STORED_INL_H_
#undef GNOMON_KERNELS_STORED_INL_H_
#else
#define GNOMON_KERNELS_STORED_INL_H_
#endif
#include "gnomon/core/half.h"
#include "gnomon/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gnomon::HWY_NAMESPACE {

template <class D>
HWY_INLINE hn::Vec<D> load_stored(D d, const float* p) {
  return hn::LoadU(d, p);
}
template <class D>
HWY_INLINE void store_rounded(D d, hn::Vec<D> v, float* p) {
  hn::StoreU(v, d, p);
}
// Neighbours: a from the even places, b from the odd ones.
template <class D>
HWY_INLINE void load_pairs(D d, const float* p, hn::Vec<D>& a, hn::Vec<D>& b) {
  hn::LoadInterleaved2(d, p, a, b);
}
template <class D>
HWY_INLINE void store_pairs(D d, hn::Vec<D> a, hn::Vec<D> b, float* p) {
  hn::StoreInterleaved2(a, b, d, p);
}

#if HWY_TARGET <= HWY_AVX2 || HWY_ARCH_ARM_A64
template <class D>
using Bits32 = hn::Vec<hn::RebindToUnsigned<D>>;
template <class D>
using Tag16 = hn::Rebind<std::uint16_t, D>;

// Of 16 bits that stand low in 32: the number, and back.
template <class D>
HWY_INLINE hn::Vec<D> widened(D d, Bits32<D> bits, const BFloat16*) {
  return hn::BitCast(d, hn::ShiftLeft<16>(bits));
}
template <class D>
HWY_INLINE Bits32<D> rounded(D d, hn::Vec<D> v, const BFloat16*) {
  const hn::RebindToUnsigned<D> u;
  const auto bits = hn::BitCast(u, v);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(u, 1));
  const auto to_even = hn::ShiftRight<16>(hn::Add(bits, hn::Add(odd, hn::Set(u, 0x7FFF))));
  return hn::BitCast(
      u, hn::IfThenElse(hn::IsNaN(v), hn::BitCast(d, hn::Set(u, 0x7FC0)), hn::BitCast(d, to_even)));
}
template <class D>
HWY_INLINE hn::Vec<D> widened(D d, Bits32<D> bits, const Float16*) {
  const hn::Rebind<hwy::float16_t, D> half;
  return hn::PromoteTo(d, hn::BitCast(half, hn::TruncateTo(Tag16<D>(), bits)));
}
template <class D>
HWY_INLINE Bits32<D> rounded(D, hn::Vec<D> v, const Float16*) {
  const hn::Rebind<hwy::float16_t, D> half;
  return hn::PromoteTo(hn::RebindToUnsigned<D>(), hn::BitCast(Tag16<D>(), hn::DemoteTo(half, v)));
}

template <class D, class Stored>
HWY_INLINE hn::Vec<D> load_stored(D d, const Stored* p) {
  return widened(d, hn::PromoteTo(hn::RebindToUnsigned<D>(), hn::LoadU(Tag16<D>(), &p->bits)), p);
}
template <class D, class Stored>
HWY_INLINE void store_rounded(D d, hn::Vec<D> v, Stored* p) {
  hn::StoreU(hn::TruncateTo(Tag16<D>(), rounded(d, v, p)), Tag16<D>(), &p->bits);
}
template <class D, class Stored>
HWY_INLINE void load_pairs(D d, const Stored* p, hn::Vec<D>& a, hn::Vec<D>& b) {
  const hn::RebindToUnsigned<D> u;
  const auto both = hn::LoadU(u, reinterpret_cast<const std::uint32_t*>(p));
  a = widened(d, hn::And(both, hn::Set(u, 0xFFFF)), p), b = widened(d, hn::ShiftRight<16>(both), p);
}
template <class D, class Stored>
HWY_INLINE void store_pairs(D d, hn::Vec<D> a, hn::Vec<D> b, Stored* p) {
  const auto both = hn::Or(rounded(d, a, p), hn::ShiftLeft<16>(rounded(d, b, p)));
  hn::StoreU(both, hn::RebindToUnsigned<D>(), reinterpret_cast<std::uint32_t*>(p));
}
#else  // no conversions of halves: one by one
template <class D, class Stored>
HWY_INLINE hn::Vec<D> load_stored(D d, const Stored* p) {
  HWY_ALIGN float part[16];
  for (std::size_t i = 0; i < hn::Lanes(d); ++i) part[i] = float(p[i]);
  return hn::Load(d, part);
}
template <class D, class Stored>
HWY_INLINE void store_rounded(D d, hn::Vec<D> v, Stored* p) {
  HWY_ALIGN float part[16];
  hn::Store(v, d, part);
  for (std::size_t i = 0; i < hn::Lanes(d); ++i) p[i] = Stored(part[i]);
}
template <class D, class Stored>
HWY_INLINE void load_pairs(D d, const Stored* p, hn::Vec<D>& a, hn::Vec<D>& b) {
  HWY_ALIGN float even[16], odd[16];
  for (std::size_t i = 0; i < hn::Lanes(d); ++i) even[i] = float(p[2 * i]), odd[i] = float(p[2 * i + 1]);
  a = hn::Load(d, even), b = hn::Load(d, odd);
}
template <class D, class Stored>
HWY_INLINE void store_pairs(D d, hn::Vec<D> a, hn::Vec<D> b, Stored* p) {
  HWY_ALIGN float even[16], odd[16];
  hn::Store(a, d, even), hn::Store(b, d, odd);
  for (std::size_t i = 0; i < hn::Lanes(d); ++i) p[2 * i] = Stored(even[i]), p[2 * i + 1] = Stored(odd[i]);
}
#endif

}  // namespace gnomon::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
