#pragma once
#include <string>

#include "gnomon/kernels/matmul.h"

namespace gnomon {

// One product by each of those who can. matmul() has looked at the arguments: M, N, K are at least 1 and no step is left
// open. It takes oneDNN's where gnomon was built with it, and ours where not; tests and benchmarks compare the two.
namespace onednn {
void multiply(const Matmul& shape, const float* a, const float* b, float* c, const float* bias);
bool multiplies_bfloat16();
std::string name();  // "oneDNN 2.6.3 avx512_core"
}  // namespace onednn

namespace portable {
inline bool multiplies_bfloat16() { return false; }
// The bits do not depend on the number of threads.
void multiply(const Matmul& shape, const float* a, const float* b, float* c, const float* bias);
std::string name();  // "Highway 1.0.3 AVX2"
}  // namespace portable

}  // namespace gnomon
