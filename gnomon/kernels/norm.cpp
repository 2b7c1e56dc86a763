#include "gnomon/kernels/norm.h"

#include <cmath>

#include "gnomon/core/array.h"
#include "gnomon/core/check.h"
#include "gnomon/core/error.h"
#include "gnomon/core/parallel.h"
#include "gnomon/core/text.h"
#include "gnomon/kernels/pointwise.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gnomon/kernels/norm.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h:
#include "gnomon/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gnomon::HWY_NAMESPACE {
// Σ_c term(c, count) over a row.
template <class Term>
HWY_INLINE float sum_row(std::int64_t C, const Term& term) {
  auto total = hn::Zero(F());
  for (std::int64_t c = 0; c < C; c += lanes()) total = hn::Add(total, first(term(c, C - c), C - c));
  return sum(total);
}

// Without a gain it is 1.
template <bool gains>
HWY_INLINE void normalise_row(const NormShape& s, const float* x, const float* gain, const float* bias,
                              float* y, float* statistics) {
  const std::int64_t C = s.C;
  const auto at = [&](std::int64_t c, std::int64_t n) HWY_ATTR { return load(x + c, n); };
  const float mean = s.kind == Norm::rms ? 0.0f : sum_row(C, at) / float(C);
  const auto centre = set(mean);
  const float squares = sum_row(C, [&](std::int64_t c, std::int64_t n) HWY_ATTR {
    const auto v = hn::Sub(load(x + c, n), centre);
    return hn::Mul(v, v);
  });
  // Of squares beyond float32 nothing is known: not a row of zeros.
  const float inverse = 1.0f / std::sqrt(no_infinity(squares) / float(C) + s.epsilon);
  statistics[0] = mean;
  statistics[1] = inverse;
  for (std::int64_t c = 0; c < C; c += lanes()) {
    auto v = hn::Mul(hn::Sub(load(x + c, C - c), centre), set(inverse));
    if constexpr (gains) v = hn::Mul(v, hn::Add(load(gain + c, C - c), set(s.gain_from)));
    store(bias ? hn::Add(v, load(bias + c, C - c)) : v, y + c, C - c);
  }
}
void NormaliseRow(const NormShape& s, const float* x, const float* gain, const float* bias, float* y,
                  float* statistics) {
  gain ? normalise_row<true>(s, x, gain, bias, y, statistics)
       : normalise_row<false>(s, x, gain, bias, y, statistics);
}

// With x̂ = (x − mean)·r and g = dy·gain: dx += r (g − mean(g) − x̂ mean(g x̂)); rms leaves mean(g) out.
template <bool gains>
HWY_INLINE void normalise_row_backward(const NormShape& s, const float* x, const float* gain,
                                       const float* statistics, const float* dy, const NormGrad& grad) {
  const std::int64_t C = s.C;
  const auto centre = set(statistics[0]), r = set(statistics[1]);
  const auto hat = [&](std::int64_t c, std::int64_t n)
                       HWY_ATTR { return hn::Mul(hn::Sub(load(x + c, n), centre), r); };
  const auto g = [&](std::int64_t c, std::int64_t n) HWY_ATTR {
    auto d = load(dy + c, n);
    if constexpr (gains) d = hn::Mul(d, hn::Add(load(gain + c, n), set(s.gain_from)));
    return d;
  };
  const auto gx = [&](std::int64_t c, std::int64_t n) HWY_ATTR { return hn::Mul(g(c, n), hat(c, n)); };
  const auto mean_g = set(s.kind == Norm::rms ? 0.0f : sum_row(C, g) / float(C)),
             mean_gx = set(sum_row(C, gx) / float(C));
  for (std::int64_t c = 0, n = C; c < C; c += lanes(), n -= lanes()) {
    const auto xh = hat(c, n), gy = load(dy + c, n);
    const auto inner = hn::NegMulAdd(xh, mean_gx, hn::Sub(g(c, n), mean_g));
    store(hn::MulAdd(r, inner, load(grad.dx + c, n)), grad.dx + c, n);
    if constexpr (gains) store(hn::MulAdd(gy, xh, load(grad.dgain + c, n)), grad.dgain + c, n);
    if (grad.dbias) store(hn::Add(gy, load(grad.dbias + c, n)), grad.dbias + c, n);
  }
}
void NormaliseRowBackward(const NormShape& s, const float* x, const float* gain, const float* statistics,
                          const float* dy, const NormGrad& grad) {
  gain ? normalise_row_backward<true>(s, x, gain, statistics, dy, grad)
       : normalise_row_backward<false>(s, x, gain, statistics, dy, grad);
}
}  // namespace gnomon::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gnomon {
HWY_EXPORT(NormaliseRow);
HWY_EXPORT(NormaliseRowBackward);

namespace {
constexpr std::int64_t kRows = 128;  // rows a task; the tasks' sums of gain and bias are added in order

std::int64_t step_of(const NormShape& s) { return s.step ? s.step : s.C; }

void check_arrays(std::string_view place, const NormShape& s, std::initializer_list<Pointer> rows,
                  std::initializer_list<Pointer> others) {
  check_extents(place, {{"N", s.N, 0, kMostNumbers}, {"C", s.C, 1, kMostNumbers}});
  for (const Pointer& p : rows) check_rows(place, {p.name, p.data, s.C, {{{s.N, step_of(s)}}}}, true);
  check_pointers(place, s.N, others);
}
}  // namespace

void normalise(const NormShape& s, const float* x, const float* gain, const float* bias, float* y,
               float* statistics) {
  if (!(s.epsilon > 0 && std::isfinite(s.epsilon)))
    throw Error(Fault::usage,
                text("normalise: epsilon is ", shortest(s.epsilon), "; allowed are finite numbers above 0"));
  check_arrays("normalise", s, {{"x", x}, {"y", y}}, {{"statistics", statistics}});
  const std::int64_t step = step_of(s);
  parallel_ranges(s.N, kRows, [&](auto begin, auto end) {
    for (auto n = begin; n < end; ++n) {
      HWY_DYNAMIC_DISPATCH(NormaliseRow)
      (s, x + n * step, gain, bias, y + n * step, statistics + 2 * n);
    }
  });
}

void normalise_backward(const NormShape& s, const float* x, const float* gain, const float* statistics,
                        const float* dy, const NormGrad& grad) {
  check_arrays("normalise_backward", s, {{"x", x}, {"dy", dy}, {"dx", grad.dx}},
               {{"statistics", statistics}});
  if (gain) check_pointers("normalise_backward", s.N, {{"dgain", grad.dgain}});
  const std::int64_t pieces = (s.N + kRows - 1) / kRows, C = s.C, step = step_of(s);
  Floats partial(pieces * 2 * C);  // (piece, gain then bias, C)
  parallel_ranges(s.N, kRows, [&](auto begin, auto end) {
    float* dgain = &partial[begin / kRows * 2 * C];
    for (auto n = begin; n < end; ++n) {
      HWY_DYNAMIC_DISPATCH(NormaliseRowBackward)
      (s, x + n * step, gain, statistics + 2 * n, dy + n * step,
       NormGrad{grad.dx + n * step, gain ? dgain : nullptr, grad.dbias ? dgain + C : nullptr});
    }
  });
  for (std::int64_t piece = 0; piece < pieces; ++piece) {
    const float* dgain = &partial[piece * 2 * C];
    if (gain) add(C, grad.dgain, dgain, grad.dgain);
    if (grad.dbias) add(C, grad.dbias, dgain + C, grad.dbias);
  }
}
}  // namespace gnomon
#endif
