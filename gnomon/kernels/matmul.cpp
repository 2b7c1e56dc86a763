#include "gnomon/kernels/matmul.h"

#include <algorithm>

#include "gnomon/core/array.h"
#include "gnomon/core/check.h"
#include "gnomon/core/text.h"
#include "gnomon/kernels/multiply.h"
#include "gnomon/kernels/pointwise.h"
#include "gnomon/kernels/transpose.h"

namespace gnomon {
namespace {

#ifdef GNOMON_ONEDNN
namespace by = onednn;
constexpr bool kByOneDnn = true;
#else
namespace by = portable;
constexpr bool kByOneDnn = false;
#endif

// What a caller leaves to us is filled in.
Matmul with_steps(Matmul s) {
  if (!s.lda) s.lda = s.a_op == Op::transposed ? s.M : s.K;
  if (!s.ldb) s.ldb = s.b_op == Op::transposed ? s.K : s.N;
  if (!s.ldc) s.ldc = s.N;
  return s;
}

// K = 0, where oneDNN may divide by K: an empty sum is 0.
void no_products(const Matmul& s, float* c, const float* bias) {
  for (std::int64_t m = 0; m < s.M; ++m) {
    float* row = c + m * s.ldc;
    if (!s.accumulate) std::fill_n(row, s.N, 0.0f);
    for (std::int64_t n = 0; bias && n < s.N; ++n) row[n] += bias[n];
  }
}

// oneDNN's float32 products take a b that is not transposed faster, to the same bits: 1.1 times at 512 rows of 64 to 256 channels,
// 1.3 times at 512 and 1024 channels (gnomon bench product.y). That pays where enough rows share b.
bool faster_turned(const Matmul& s) {
  constexpr std::int64_t kFewestRows = 128;
  return kByOneDnn && s.precision == Precision::float32 && s.b_op == Op::transposed && s.M >= kFewestRows;
}

}  // namespace

bool multiplies_in(Precision precision) {
  return precision == Precision::float32 || by::multiplies_bfloat16();
}

std::string product_library(Precision precision) {
  if (precision == Precision::float32) return by::name();
  return text(by::name(), multiplies_in(precision) ? " in bfloat16" : " in float32 for bfloat16");
}

void matmul(const Matmul& shape, const float* a, const float* b, float* c, const float* bias) {
  Matmul s = with_steps(shape);
  if (!multiplies_in(s.precision)) s.precision = Precision::float32;
  const bool ta = s.a_op == Op::transposed, tb = s.b_op == Op::transposed;
  check_extents("matmul",
                {{"M", s.M, 0, kMostNumbers}, {"N", s.N, 0, kMostNumbers}, {"K", s.K, 0, kMostNumbers}});
  check_rows("matmul", {"a", a, ta ? s.M : s.K, {{{ta ? s.K : s.M, s.lda}}}}, true);
  check_rows("matmul", {"b", b, tb ? s.K : s.N, {{{tb ? s.N : s.K, s.ldb}}}}, true);
  check_rows("matmul", {"c", c, s.N, {{{s.M, s.ldc}}}}, true);
  if (s.M == 0 || s.N == 0) return;
  if (s.K == 0) return no_products(s, c, bias);
  if (!faster_turned(s)) return by::multiply(s, a, b, c, bias);
  thread_local Scratch turned;  // as large as this thread's largest b wants
  if (turned.size() < std::size_t(s.K * s.N)) turned.resize(std::size_t(s.K * s.N));
  transpose(s.N, s.K, b, s.ldb, turned.data());
  s.b_op = Op::plain, s.ldb = s.N;
  by::multiply(s, a, turned.data(), c, bias);
}

void linear(const Linear& s, const float* x, const float* weight, const float* bias, float* y) {
  matmul({.M = s.N,
          .N = s.out,
          .K = s.in,
          .b_op = Op::transposed,
          .lda = s.x_step,
          .ldc = s.y_step,
          .precision = s.precision},
         x, weight, y, bias);
}

void linear_backward(const Linear& s, const float* x, const float* weight, const float* dy,
                     const LinearGrad& grad) {
  if (grad.dx)
    matmul({.M = s.N, .N = s.in, .K = s.out, .lda = s.y_step, .ldc = s.x_step, .precision = s.precision}, dy,
           weight, grad.dx);
  if (grad.dweight) {
    matmul({.M = s.out,
            .N = s.in,
            .K = s.N,
            .a_op = Op::transposed,
            .accumulate = true,
            .lda = s.y_step,
            .ldb = s.x_step,
            .precision = s.precision,
            .same_a = grad.dx != nullptr},
           dy, x, grad.dweight);
  }
  if (grad.dbias) add_column_sums({s.N, s.out, s.y_step}, dy, grad.dbias);
}

}  // namespace gnomon
