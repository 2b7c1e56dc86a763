#pragma once
#include <cstdint>

namespace gnomon {

// All throw Error(usage) for a negative number of numbers, rows nearer than they are wide, or null arrays.

// GELU in the tanh form: y = ½ x (1 + tanh(√(2/π) (x + 0.044715 x³))). Hendrycks, Gimpel 2016, arXiv
// 1606.08415, section 2. n numbers. Error of y against double: at most 4e-7·max(1,|x|) (kernels_test: Gelu).
void gelu(std::int64_t n, const float* x, float* y);
void gelu_backward(std::int64_t n, const float* x, const float* dy,
                   float* dx);  // dx = dy·gelu'(x); dx may be dy

void add(std::int64_t n, const float* a, const float* b, float* sum);  // sum = a + b; sum may be a or b
void scale(std::int64_t n, float factor, float* x);                    // x *= factor

// Rows of numbers, `step` apart (0 = dense).
struct RowsOf {
  std::int64_t N, C, step = 0;
};
// out[c] += Σ_n x[n,c], in an order that depends on N and C alone.
void add_column_sums(const RowsOf& rows, const float* x, float* out);

// Σ x², in double, in an order that depends on n alone.
double sum_of_squares(std::int64_t n, const float* x);
// No x is NaN or infinite.
bool all_finite(std::int64_t n, const float* x);

}  // namespace gnomon
