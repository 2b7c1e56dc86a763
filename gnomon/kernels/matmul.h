#pragma once
#include <cstdint>

namespace gnomon {

enum class Op : bool { plain, transposed };

// c (M,N) = op(a) op(b) [+ bias] [+ c], all row-major float32. op(a) is (M,K), op(b) is (K,N); ld* is the
// distance between the stored rows in numbers, 0 = dense. Runs on all threads of the pool outside a parallel
// loop, on one inside. Equal inputs, machine and thread count give equal bits. Throws Error(usage) for extents below 0,
// rows nearer than they are wide, or null arrays.
struct Matmul {
  std::int64_t M, N, K;
  Op a_op = Op::plain, b_op = Op::plain;
  bool accumulate = false;  // add to what c holds
  std::int64_t lda = 0, ldb = 0, ldc = 0;
};
void matmul(const Matmul& shape, const float* a, const float* b, float* c, const float* bias = nullptr);

// A dense layer: x (N,in), weight (out,in), bias (out), y (N,out); *_step is the distance between rows, 0 =
// dense.
struct Linear {
  std::int64_t N, in, out;
  std::int64_t x_step = 0, y_step = 0;
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
