#pragma once
#include <cstdint>

namespace gnomon {

// LayerNorm over the last axis: y = (x − mean)/√(variance + ε)·gain + bias. Ba, Kiros, Hinton 2016, arXiv
// 1607.06450. RMSNorm: y = x/√(mean(x²) + ε)·gain, with no mean and no bias. Zhang, Sennrich 2019, arXiv
// 1910.07467.
enum class Norm { layer, rms };
inline constexpr float kNormEpsilon = 1e-5f;

// x, y (N,C); gain, bias (C); statistics (N,2): mean (0 for rms) and 1/√(…), for the backward pass. Throws Error(usage)
// for extents that cannot be, rows nearer than C, another epsilon, or null arrays; gain (then it is 1) and bias may be null.
struct NormShape {
  Norm kind;
  std::int64_t N, C;
  std::int64_t step = 0;         // between the rows of x and of y, 0 = dense
  float epsilon = kNormEpsilon;  // above 0; of normalise alone
  float gain_from = 0;           // added to every gain: 1 in Gemma, whose gains start at 0
};
void normalise(const NormShape& shape, const float* x, const float* gain, const float* bias, float* y,
               float* statistics);

// dx += …, dgain += … (null where gain is), dbias += … (null for rms)
struct NormGrad {
  float *dx, *dgain, *dbias;
};
void normalise_backward(const NormShape& shape, const float* x, const float* gain, const float* statistics,
                        const float* dy, const NormGrad& grad);

}  // namespace gnomon
