#include "gnomon/kernels/adamw.h"

#include <cmath>

#include "gnomon/core/check.h"
#include "gnomon/core/error.h"
#include "gnomon/core/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gnomon/kernels/adamw.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h:
#include "gnomon/kernels/simd-inl.h"

// The constants of a step come folded, so that the loop has one square root and one division:
//   m/c₁ / (√(v/c₂) + ε) = (√c₂/c₁)·m / (√v + ε√c₂)
HWY_BEFORE_NAMESPACE();
namespace gnomon::HWY_NAMESPACE {
void AdamWRange(const float* constants, std::int64_t count, const float* g, float* w, float* m, float* v) {
  const V gradient = set(constants[0]), beta1 = set(constants[1]), one_beta1 = set(1 - constants[1]),
          beta2 = set(constants[2]), one_beta2 = set(1 - constants[2]), rate = set(constants[3]),
          epsilon = set(constants[4]), keep = set(constants[5]);
  for (std::int64_t i = 0, n = count; i < count; i += lanes(), n -= lanes()) {
    const auto gi = hn::Mul(gradient, load(g + i, n));
    const auto mi = hn::MulAdd(beta1, load(m + i, n), hn::Mul(one_beta1, gi));
    const auto vi = hn::MulAdd(beta2, load(v + i, n), hn::Mul(hn::Mul(one_beta2, gi), gi));
    const auto step = hn::Div(mi, hn::Add(hn::Sqrt(vi), epsilon));
    store(mi, m + i, n);
    store(vi, v + i, n);
    store(hn::NegMulAdd(rate, step, hn::Mul(keep, load(w + i, n))), w + i, n);
  }
}
}  // namespace gnomon::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gnomon {
HWY_EXPORT(AdamWRange);

namespace {
void check(const AdamW& s) {
  const auto within = [](std::string_view name, double x, bool ok, std::string_view allowed) {
    if (ok && std::isfinite(x)) return;
    throw Error(Fault::usage, text("adamw: ", name, " is ", x, "; allowed ", allowed));
  };
  within("rate", s.rate, true, "is a finite number");
  within("beta1", s.beta1, s.beta1 >= 0 && s.beta1 < 1, "are numbers from 0 to below 1");
  within("beta2", s.beta2, s.beta2 >= 0 && s.beta2 < 1, "are numbers from 0 to below 1");
  within("epsilon", s.epsilon, s.epsilon >= 0, "is a finite number of 0 or more");
  within("decay", s.decay, true, "is a finite number");
  within("gradient", s.gradient, true, "is a finite number");
}
}  // namespace

void adamw(const AdamW& s, std::int64_t n, const float* g, float* w, float* m, float* v) {
  check_extents("adamw", {{"n", n, 0, kMostNumbers}, {"t", s.t, 1, kMostNumbers}});
  check_pointers("adamw", n, {{"g", g}, {"w", w}, {"m", m}, {"v", v}});
  check(s);
  const double c1 = 1 - std::pow(s.beta1, double(s.t)), c2 = 1 - std::pow(s.beta2, double(s.t));
  const float constants[] = {float(s.gradient),
                             float(s.beta1),
                             float(s.beta2),
                             float(s.rate * std::sqrt(c2) / c1),
                             float(s.epsilon * std::sqrt(c2)),
                             float(1 - s.rate * s.decay)};
  parallel_ranges(n, 1 << 14, [&](auto a, auto b) {
    HWY_DYNAMIC_DISPATCH(AdamWRange)(constants, b - a, g + a, w + a, m + a, v + a);
  });
}
}  // namespace gnomon
#endif
