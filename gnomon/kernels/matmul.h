#pragma once
#include <cstdint>
#include <string>

#include "gnomon/core/precision.h"

namespace gnomon {

enum class Op : bool { plain, transposed };

// Whether a product is computed so here: in bfloat16 if gnomon was built with oneDNN and the processor multiplies such numbers
// (AVX512_BF16). Elsewhere products in bfloat16 are computed in float32.
bool multiplies_in(Precision precision);

// c (M,N) = op(a) op(b) [+ bias] [+ c], all row-major float32. op(a) is (M,K), op(b) is (K,N); ld* is the
// distance between the stored rows in numbers, 0 = dense. Runs on thread_count() threads. Equal inputs, machine and thread
// count give equal bits. Throws Error(usage) for extents below 0, rows nearer than they are wide, or null arrays.
//
// Computed by oneDNN, or by gnomon itself where it was built without: product_library() says by whom. By oneDNN, the first
// product of a precision on a number of threads compares one with exact sums and throws Error(resource) if they differ.
//
// For hosts: while a product runs, oneDNN's generated code points the stack register into the heap
// (github.com/oneapi-src/oneDNN/issues/4845). A signal handler that runs on such a thread writes its frame there and
// corrupts the heap. Block signals in threads that call gnomon, before OpenMP makes its own from them, or give every
// thread an alternate stack (sigaltstack) and every handler SA_ONSTACK.
struct Matmul {
  std::int64_t M, N, K;
  Op a_op = Op::plain, b_op = Op::plain;
  bool accumulate = false;  // add to what c holds
  std::int64_t lda = 0, ldb = 0, ldc = 0;
  Precision precision = Precision::float32;
  // op(a) has the numbers of the product before, on this thread, or those of its transpose, and they are not rounded again.
  bool same_a = false;
};
void matmul(const Matmul& shape, const float* a, const float* b, float* c, const float* bias = nullptr);

// What computes products, and with which instructions: "oneDNN 2.6.3 avx512_core", "Highway 1.0.3 AVX2". In bfloat16:
// "oneDNN 2.6.3 avx512_core_amx in bfloat16", or "Highway 1.0.3 AVX2 in float32 for bfloat16" where it is not multiplied.
std::string product_library(Precision precision = Precision::float32);

// A dense layer: x (N,in), weight (out,in), bias (out), y (N,out); *_step is the distance between rows, 0 =
// dense.
struct Linear {
  std::int64_t N, in, out;
  std::int64_t x_step = 0, y_step = 0;
  Precision precision = Precision::float32;  // of the product, and of those of its gradients
};
// y = x weightᵀ + bias; bias may be null.
void linear(const Linear& shape, const float* x, const float* weight, const float* bias, float* y);
// dx = dy weight, dweight += dyᵀ x, dbias += Σ_n dy; a null gradient is left out.
struct LinearGrad {
  float *dx, *dweight, *dbias;
};
void linear_backward(const Linear& shape, const float* x, const float* weight, const float* dy,
                     const LinearGrad& grad);

}  // namespace gnomon
