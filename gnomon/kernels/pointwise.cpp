#include "gnomon/kernels/pointwise.h"

#include <algorithm>
#include <atomic>
#include <vector>

#include "gnomon/core/array.h"
#include "gnomon/core/check.h"
#include "gnomon/core/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gnomon/kernels/pointwise.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h:
#include "gnomon/kernels/simd-inl.h"

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
  const F d;
  const auto clamped = hn::Min(hn::Max(u, set(-10.0f)), set(10.0f));
  const auto e = hn::Exp(d, hn::Add(clamped, clamped));
  return hn::Sub(set(1.0f), hn::Div(set(2.0f), hn::Add(set(1.0f), e)));
}
constexpr float kRoot2OverPi = 0.7978845608028654f, kCubic = 0.044715f;

void Gelu(std::int64_t n, const float* x, float* y) {
  each(n, [&](std::int64_t i, std::int64_t count) HWY_ATTR {
    const auto v = load(x + i, count);
    const auto u = hn::Mul(hn::Mul(set(kRoot2OverPi), v), hn::MulAdd(hn::Mul(set(kCubic), v), v, set(1.0f)));
    const auto half = hn::Mul(set(0.5f), v);
    store(hn::MulAdd(half, tanh(u), half), y + i, count);
  });
}

void GeluBackward(std::int64_t n, const float* x, const float* dy, float* dx) {
  each(n, [&](std::int64_t i, std::int64_t count) HWY_ATTR {
    const auto v = load(x + i, count), one = set(1.0f), half = set(0.5f);
    const auto cubic = hn::Mul(hn::Mul(set(kCubic), v), v);
    const auto t = tanh(hn::Mul(hn::Mul(set(kRoot2OverPi), v), hn::Add(one, cubic)));
    // y = ½x(1+t): y' = ½(1+t) + ½x(1−t²)u', u' = √(2/π)(1 + 3·0.044715x²)
    const auto du = hn::Mul(set(kRoot2OverPi), hn::MulAdd(set(3.0f), cubic, one));
    const auto slope =
        hn::MulAdd(hn::Mul(half, v), hn::Mul(hn::NegMulAdd(t, t, one), du), hn::MulAdd(half, t, half));
    store(hn::Mul(load(dy + i, count), slope), dx + i, count);
  });
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
HWY_EXPORT(Gelu);
HWY_EXPORT(GeluBackward);
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
}  // namespace

void gelu(std::int64_t n, const float* x, float* y) {
  check("gelu", n, {{"x", x}, {"y", y}});
  parallel_ranges(n, kGrain, [&](auto a, auto b) { HWY_DYNAMIC_DISPATCH(Gelu)(b - a, x + a, y + a); });
}
void gelu_backward(std::int64_t n, const float* x, const float* dy, float* dx) {
  check("gelu_backward", n, {{"x", x}, {"dy", dy}, {"dx", dx}});
  parallel_ranges(n, kGrain, [&](auto a, auto b) {
    HWY_DYNAMIC_DISPATCH(GeluBackward)(b - a, x + a, dy + a, dx + a);
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
