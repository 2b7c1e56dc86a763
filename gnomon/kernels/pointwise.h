#pragma once
#include <cstdint>

namespace gnomon {

// All throw Error(usage) for a negative number of numbers, rows nearer than they are wide, or null arrays.

// Activations. gelu: x·Φ(x), Φ the normal distribution; gelu_tanh: ½ x (1 + tanh(√(2/π) (x + 0.044715 x³))). Hendrycks, Gimpel
// 2016, arXiv 1606.08415, section 2. silu: x·σ(x), its section 4. relu: max(x, 0), with the gradient 0 at 0. gelu_sigmoid:
// x·σ(1.702 x), section 2.
enum class Activation { gelu, gelu_tanh, silu, relu, gelu_sigmoid };

// y = f(x), n numbers. Error of y against double: at most 4e-7·max(1,|x|) (kernels_test: Activations).
void activate(Activation f, std::int64_t n, const float* x, float* y);
// dx = dy·f'(x); dx may be dy
void activate_backward(Activation f, std::int64_t n, const float* x, const float* dy, float* dx);

// Gated activation (Shazeer 2020, arXiv 2002.05202): y[n,c] = f(x[n,c])·x[n,C+c]. x (N,2C), y (N,C); rows x_step and y_step
// apart. With a limit: f(min(x[n,c], limit))·(clamp(x[n,C+c], −limit, limit) + 1), as in gpt-oss; what is cut has no gradient.
struct Gate {
  Activation f;
  std::int64_t N, C, x_step, y_step;
  float limit = 0;  // 0 = none
};
void gate(const Gate& shape, const float* x, float* y);
void gate_backward(const Gate& shape, const float* x, const float* dy, float* dx);  // dx is overwritten

// Soft-cap: x = cap·tanh(x/cap), in place. Gemma 2, arXiv 2408.00118, section 2. Backward from what it left: dy is overwritten by
// the gradient of what it found. cap is above 0.
void soft_cap(std::int64_t n, float cap, float* x);
void soft_cap_backward(std::int64_t n, float cap, const float* y, float* dy);

// x becomes ln(1 + eˣ). Backward from x as it was: dx becomes dx·σ(x).
void softplus(std::int64_t n, float* x);
void softplus_backward(std::int64_t n, const float* x, float* dx);
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
