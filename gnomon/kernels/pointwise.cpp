#include "gnomon/kernels/pointwise.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <vector>

#include "gnomon/core/array.h"
#include "gnomon/core/check.h"
#include "gnomon/core/error.h"
#include "gnomon/core/parallel.h"
#include "gnomon/core/text.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gnomon/kernels/pointwise.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h:
#include "gnomon/kernels/softplus-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gnomon::HWY_NAMESPACE {

// f(vector index, count) over n numbers; the tail is one call with a smaller count.
template <class Body>
HWY_INLINE void each(std::int64_t n, const Body& body) {
  const std::int64_t N = lanes();
  std::int64_t i = 0;
  for (; i + N <= n; i += N) body(i, N);
  if (i < n) body(i, n - i);
}

// tanh(u) = 1 − 2/(1 + e^{2u}); u is clamped where float32 tanh is ±1, so that e^{2u} stays finite.
HWY_INLINE V tanh(V u) {
  const auto clamped = hn::Min(hn::Max(u, set(-10.0f)), set(10.0f));
  const auto e = exp_or_nothing(hn::Add(clamped, clamped));
  return hn::Sub(set(1.0f), hn::Div(set(2.0f), hn::Add(set(1.0f), e)));
}

// An activation and its slope.
struct GeluTanh {
  static constexpr float kRoot2OverPi = 0.7978845608028654f, kCubic = 0.044715f;
  static HWY_INLINE V value(V v) {
    const auto u = hn::Mul(hn::Mul(set(kRoot2OverPi), v), hn::MulAdd(hn::Mul(set(kCubic), v), v, set(1.0f)));
    const auto half = hn::Mul(set(0.5f), v);
    return hn::MulAdd(half, tanh(u), half);
  }
  static HWY_INLINE V slope(V v) {
    const auto one = set(1.0f), half = set(0.5f);
    const auto cubic = hn::Mul(hn::Mul(set(kCubic), v), v);
    const auto t = tanh(hn::Mul(hn::Mul(set(kRoot2OverPi), v), hn::Add(one, cubic)));
    // y = ½x(1+t): y' = ½(1+t) + ½x(1−t²)u', u' = √(2/π)(1 + 3·0.044715x²)
    const auto du = hn::Mul(set(kRoot2OverPi), hn::MulAdd(set(3.0f), cubic, one));
    return hn::MulAdd(hn::Mul(half, v), hn::Mul(hn::NegMulAdd(t, t, one), du), hn::MulAdd(half, t, half));
  }
};
// Φ(x) by erfc(z) = t·P(t)·exp(−z²), z = |x|/√2, t = 1/(1 + p·z), within 1.5e-7: Abramowitz, Stegun 1964, 7.1.26.
struct Gelu {
  static HWY_INLINE V bell(V v) { return exp(hn::Mul(hn::Mul(v, v), set(-0.5f))); }  // exp(−x²/2)
  static HWY_INLINE V normal(V v, V bell) {
    const auto t = hn::Div(set(1.0f), hn::MulAdd(hn::Abs(v), set(0.3275911f * 0.70710678f), set(1.0f)));
    auto p = hn::MulAdd(set(1.061405429f), t, set(-1.453152027f));
    p = hn::MulAdd(p, t, set(1.421413741f));
    p = hn::MulAdd(p, t, set(-0.284496736f));
    p = hn::MulAdd(p, t, set(0.254829592f));
    const auto tail = hn::Mul(hn::Mul(hn::Mul(set(0.5f), p), t), bell);  // Φ(−|x|)
    return hn::IfThenElse(hn::Lt(v, hn::Zero(F())), tail, hn::Sub(set(1.0f), tail));
  }
  static HWY_INLINE V value(V v) { return hn::Mul(v, normal(v, bell(v))); }
  static HWY_INLINE V slope(V v) {  // Φ(x) + x·φ(x)
    const auto b = bell(v);
    return hn::MulAdd(hn::Mul(v, set(0.39894228f)), b, normal(v, b));
  }
};
struct Silu {
  static HWY_INLINE V sigmoid(V v) {  // by exp(−|x|), which stays finite
    const auto e = exp(hn::Neg(hn::Abs(v))), whole = hn::Div(set(1.0f), hn::Add(set(1.0f), e));
    return hn::IfThenElse(hn::Lt(v, hn::Zero(F())), hn::Mul(e, whole), whole);
  }
  static HWY_INLINE V value(V v) { return hn::Mul(v, sigmoid(v)); }
  static HWY_INLINE V slope(V v) {  // σ + xσ(1−σ)
    const auto s = sigmoid(v);
    return hn::MulAdd(hn::Mul(v, s), hn::Sub(set(1.0f), s), s);
  }
};
struct Relu {  // NaN is not below 0, and stays
  static HWY_INLINE V value(V v) { return hn::IfThenElse(hn::Lt(v, hn::Zero(F())), hn::Zero(F()), v); }
  static HWY_INLINE V slope(V v) {
    return hn::IfThenElse(hn::IsNaN(v), v, hn::IfThenElseZero(hn::Gt(v, hn::Zero(F())), set(1.0f)));
  }
};
struct GeluSigmoid {
  static constexpr float kFactor = 1.702f;
  static HWY_INLINE V value(V v) { return hn::Mul(v, Silu::sigmoid(hn::Mul(set(kFactor), v))); }
  static HWY_INLINE V slope(V v) {  // σ + x·1.702·σ(1−σ)
    const auto u = hn::Mul(set(kFactor), v), s = Silu::sigmoid(u);
    return hn::MulAdd(hn::Mul(u, s), hn::Sub(set(1.0f), s), s);
  }
};
// body(activation) for the one that is meant.
template <class Body>
HWY_INLINE void with(Activation f, const Body& body) {
  switch (f) {
    case Activation::gelu:
      return body(Gelu());
    case Activation::gelu_tanh:
      return body(GeluTanh());
    case Activation::silu:
      return body(Silu());
    case Activation::relu:
      return body(Relu());
    case Activation::gelu_sigmoid:
      return body(GeluSigmoid());
  }
}

void Activate(Activation f, std::int64_t n, const float* x, float* y) {
  with(f, [&](auto a) HWY_ATTR {
    each(n, [&](std::int64_t i, std::int64_t count)
                HWY_ATTR { store(decltype(a)::value(load(x + i, count)), y + i, count); });
  });
}
void ActivateBackward(Activation f, std::int64_t n, const float* x, const float* dy, float* dx) {
  with(f, [&](auto a) HWY_ATTR {
    each(n, [&](std::int64_t i, std::int64_t count) HWY_ATTR {
      store(hn::Mul(load(dy + i, count), decltype(a)::slope(load(x + i, count))), dx + i, count);
    });
  });
}
void GateRow(Activation f, std::int64_t C, const float* x, float* y) {
  with(f, [&](auto a) HWY_ATTR {
    each(C, [&](std::int64_t i, std::int64_t count) HWY_ATTR {
      store(hn::Mul(decltype(a)::value(load(x + i, count)), load(x + C + i, count)), y + i, count);
    });
  });
}
void GateRowBackward(Activation f, std::int64_t C, const float* x, const float* dy, float* dx) {
  with(f, [&](auto a) HWY_ATTR {
    each(C, [&](std::int64_t i, std::int64_t count) HWY_ATTR {
      const auto v = load(x + i, count), up = load(x + C + i, count), g = load(dy + i, count);
      store(hn::Mul(hn::Mul(g, up), decltype(a)::slope(v)), dx + i, count);
      store(hn::Mul(g, decltype(a)::value(v)), dx + C + i, count);
    });
  });
}

// Comparisons with NaN are false: it stays.
HWY_INLINE V at_most(V v, float limit) { return hn::IfThenElse(hn::Gt(v, set(limit)), set(limit), v); }
HWY_INLINE V within(V v, float limit) {
  return hn::IfThenElse(hn::Lt(v, set(-limit)), set(-limit), at_most(v, limit));
}
void ClampedGateRow(Activation f, std::int64_t C, float limit, const float* x, float* y) {
  with(f, [&](auto a) HWY_ATTR {
    each(C, [&](std::int64_t i, std::int64_t count) HWY_ATTR {
      const auto up = hn::Add(within(load(x + C + i, count), limit), set(1.0f));
      store(hn::Mul(decltype(a)::value(at_most(load(x + i, count), limit)), up), y + i, count);
    });
  });
}
void ClampedGateRowBackward(Activation f, std::int64_t C, float limit, const float* x, const float* dy,
                            float* dx) {
  with(f, [&](auto a) HWY_ATTR {
    each(C, [&](std::int64_t i, std::int64_t count) HWY_ATTR {
      const auto v = load(x + i, count), up = load(x + C + i, count), g = load(dy + i, count);
      const auto cut = hn::Mul(hn::Mul(g, hn::Add(within(up, limit), set(1.0f))), decltype(a)::slope(v));
      // Whether NaN is cut is not known: 0·NaN keeps it.
      const auto of_up = hn::MulAdd(hn::Zero(F()), up, hn::Mul(g, decltype(a)::value(at_most(v, limit))));
      store(hn::IfThenElse(hn::Gt(v, set(limit)), hn::Zero(F()), cut), dx + i, count);
      store(hn::IfThenElse(hn::Gt(hn::Abs(up), set(limit)), hn::Zero(F()), of_up), dx + C + i, count);
    });
  });
}

void SoftCap(std::int64_t n, float cap, float* x) {
  each(n, [&](std::int64_t i, std::int64_t count) HWY_ATTR {
    const auto v = load(x + i, count);
    const auto capped = hn::Mul(set(cap), tanh(hn::Div(v, set(cap))));
    store(hn::IfThenElse(hn::IsNaN(v), v, capped), x + i, count);
  });
}
void SoftCapBackward(std::int64_t n, float cap, const float* y, float* dy) {
  each(n, [&](std::int64_t i, std::int64_t count) HWY_ATTR {
    const auto t = hn::Div(load(y + i, count), set(cap));
    store(hn::Mul(load(dy + i, count), hn::NegMulAdd(t, t, set(1.0f))), dy + i, count);
  });
}

void Softplus(std::int64_t n, float* x) {
  each(n, [&](std::int64_t i, std::int64_t count)
              HWY_ATTR { store(softplus(load(x + i, count)), x + i, count); });
}
void SoftplusBackward(std::int64_t n, const float* x, float* dx) {
  each(n, [&](std::int64_t i, std::int64_t count)
              HWY_ATTR { store(hn::Mul(load(dx + i, count), sigmoid(load(x + i, count))), dx + i, count); });
}

void Add(std::int64_t n, const float* a, const float* b, float* sum) {
  each(n, [&](std::int64_t i, std::int64_t count)
              HWY_ATTR { store(hn::Add(load(a + i, count), load(b + i, count)), sum + i, count); });
}

void Scale(std::int64_t n, float factor, float* x) {
  each(n, [&](std::int64_t i, std::int64_t count)
              HWY_ATTR { store(hn::Mul(load(x + i, count), set(factor)), x + i, count); });
}

double SumOfSquares(std::int64_t n, const float* x) {
  auto squares = hn::Zero(F());
  each(n, [&](std::int64_t i, std::int64_t count) HWY_ATTR {
    const auto v = load(x + i, count);
    squares = hn::MulAdd(v, v, squares);
  });
  return sum(squares);
}

// 0·x is 0 for what is finite, and NaN for the rest.
bool AllFinite(std::int64_t n, const float* x) {
  auto zeros = hn::Zero(F());
  each(n, [&](std::int64_t i, std::int64_t count)
              HWY_ATTR { zeros = hn::MulAdd(hn::Zero(F()), load(x + i, count), zeros); });
  return sum(zeros) == 0;
}
}  // namespace gnomon::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gnomon {
HWY_EXPORT(Activate);
HWY_EXPORT(ActivateBackward);
HWY_EXPORT(GateRow);
HWY_EXPORT(GateRowBackward);
HWY_EXPORT(ClampedGateRow);
HWY_EXPORT(ClampedGateRowBackward);
HWY_EXPORT(SoftCap);
HWY_EXPORT(SoftCapBackward);
HWY_EXPORT(Softplus);
HWY_EXPORT(SoftplusBackward);
HWY_EXPORT(Add);
HWY_EXPORT(Scale);
HWY_EXPORT(SumOfSquares);
HWY_EXPORT(AllFinite);

namespace {
constexpr std::int64_t kGrain = 1 << 14;  // numbers a task: about 10 µs

void check(std::string_view place, std::int64_t n, std::initializer_list<Pointer> arrays) {
  check_extents(place, {{"n", n, 0, kMostNumbers}});
  check_pointers(place, n, arrays);
}
void check_gate(std::string_view place, const Gate& s, std::initializer_list<Pointer> wide,
                std::initializer_list<Pointer> narrow) {
  check_extents(place, {{"N", s.N, 0, kMostNumbers}, {"C", s.C, 1, kMostNumbers}});
  for (const Pointer& p : wide) check_rows(place, {p.name, p.data, 2 * s.C, {{{s.N, s.x_step}}}}, true);
  for (const Pointer& p : narrow) check_rows(place, {p.name, p.data, s.C, {{{s.N, s.y_step}}}}, true);
  if (!(s.limit >= 0 && std::isfinite(s.limit)))
    throw Error(Fault::usage,
                text(place, ": limit is ", s.limit, "; allowed are finite numbers of 0 or more"));
}
void check_cap(float cap) {
  if (!(cap > 0 && std::isfinite(cap)))
    throw Error(Fault::usage, text("soft_cap: cap is ", cap, "; allowed are finite numbers above 0"));
}
}  // namespace

void activate(Activation f, std::int64_t n, const float* x, float* y) {
  check("activate", n, {{"x", x}, {"y", y}});
  parallel_ranges(n, kGrain, [&](auto a, auto b) { HWY_DYNAMIC_DISPATCH(Activate)(f, b - a, x + a, y + a); });
}
void activate_backward(Activation f, std::int64_t n, const float* x, const float* dy, float* dx) {
  check("activate_backward", n, {{"x", x}, {"dy", dy}, {"dx", dx}});
  parallel_ranges(n, kGrain, [&](auto a, auto b) {
    HWY_DYNAMIC_DISPATCH(ActivateBackward)(f, b - a, x + a, dy + a, dx + a);
  });
}

void gate(const Gate& s, const float* x, float* y) {
  check_gate("gate", s, {{"x", x}}, {{"y", y}});
  parallel_ranges(s.N, 16, [&](auto begin, auto end) {
    for (auto n = begin; n < end; ++n) {
      const float* from = x + n * s.x_step;
      float* to = y + n * s.y_step;
      s.limit > 0 ? HWY_DYNAMIC_DISPATCH(ClampedGateRow)(s.f, s.C, s.limit, from, to)
                  : HWY_DYNAMIC_DISPATCH(GateRow)(s.f, s.C, from, to);
    }
  });
}
void gate_backward(const Gate& s, const float* x, const float* dy, float* dx) {
  check_gate("gate_backward", s, {{"x", x}, {"dx", dx}}, {{"dy", dy}});
  parallel_ranges(s.N, 16, [&](auto begin, auto end) {
    for (auto n = begin; n < end; ++n) {
      const float *from = x + n * s.x_step, *d = dy + n * s.y_step;
      float* to = dx + n * s.x_step;
      s.limit > 0 ? HWY_DYNAMIC_DISPATCH(ClampedGateRowBackward)(s.f, s.C, s.limit, from, d, to)
                  : HWY_DYNAMIC_DISPATCH(GateRowBackward)(s.f, s.C, from, d, to);
    }
  });
}

void soft_cap(std::int64_t n, float cap, float* x) {
  check("soft_cap", n, {{"x", x}}), check_cap(cap);
  parallel_ranges(n, kGrain, [&](auto a, auto b) { HWY_DYNAMIC_DISPATCH(SoftCap)(b - a, cap, x + a); });
}
void soft_cap_backward(std::int64_t n, float cap, const float* y, float* dy) {
  check("soft_cap_backward", n, {{"y", y}, {"dy", dy}}), check_cap(cap);
  parallel_ranges(n, kGrain, [&](auto a, auto b) {
    HWY_DYNAMIC_DISPATCH(SoftCapBackward)(b - a, cap, y + a, dy + a);
  });
}

void softplus(std::int64_t n, float* x) {
  check("softplus", n, {{"x", x}});
  parallel_ranges(n, kGrain, [&](auto a, auto b) { HWY_DYNAMIC_DISPATCH(Softplus)(b - a, x + a); });
}
void softplus_backward(std::int64_t n, const float* x, float* dx) {
  check("softplus_backward", n, {{"x", x}, {"dx", dx}});
  parallel_ranges(n, kGrain, [&](auto a, auto b) {
    HWY_DYNAMIC_DISPATCH(SoftplusBackward)(b - a, x + a, dx + a);
  });
}

void add(std::int64_t n, const float* a, const float* b, float* sum) {
  check("add", n, {{"a", a}, {"b", b}, {"sum", sum}});
  parallel_ranges(n, kGrain, [&](auto i, auto end) {
    HWY_DYNAMIC_DISPATCH(Add)(end - i, a + i, b + i, sum + i);
  });
}
void scale(std::int64_t n, float factor, float* x) {
  check("scale", n, {{"x", x}});
  parallel_ranges(n, kGrain, [&](auto a, auto b) { HWY_DYNAMIC_DISPATCH(Scale)(b - a, factor, x + a); });
}

void add_column_sums(const RowsOf& rows, const float* x, float* out) {
  const std::int64_t N = rows.N, C = rows.C, step = rows.step ? rows.step : C;
  check_extents("add_column_sums", {{"N", N, 0, kMostNumbers}, {"C", C, 0, kMostNumbers}});
  check_rows("add_column_sums", {"x", x, C, {{{N, step}}}}, true);
  check_pointers("add_column_sums", C, {{"out", out}});
  constexpr std::int64_t kRows = 256;  // a piece of rows; the pieces are then added in order
  const std::int64_t pieces = (N + kRows - 1) / kRows;
  Floats partial(pieces * C);
  parallel_ranges(N, kRows, [&](auto begin, auto end) {
    float* sum = &partial[begin / kRows * C];
    for (auto n = begin; n < end; ++n) HWY_DYNAMIC_DISPATCH(Add)(C, sum, x + n * step, sum);
  });
  for (std::int64_t piece = 0; piece < pieces; ++piece) {
    HWY_DYNAMIC_DISPATCH(Add)(C, out, &partial[piece * C], out);
  }
}

double sum_of_squares(std::int64_t n, const float* x) {
  check("sum_of_squares", n, {{"x", x}});
  std::vector<double> partial((n + kGrain - 1) / kGrain);
  parallel_ranges(n, kGrain, [&](auto a, auto b) {
    partial[a / kGrain] = HWY_DYNAMIC_DISPATCH(SumOfSquares)(b - a, x + a);
  });
  double sum = 0;
  for (const double p : partial) sum += p;
  return sum;
}

bool all_finite(std::int64_t n, const float* x) {
  std::atomic<bool> finite = true;
  parallel_ranges(n, kGrain, [&](auto a, auto b) {
    if (!HWY_DYNAMIC_DISPATCH(AllFinite)(b - a, x + a)) finite = false;
  });
  return finite;
}
}  // namespace gnomon
#endif
