#include "gnomon/nn/numerics.h"

#include "gnomon/core/error.h"
#include "gnomon/kernels/matmul.h"
#include "gnomon/kernels/targets.h"

namespace gnomon {

std::string numerics(int threads, Precision precision) {
  return text("numerics ", kNumerics, ", ", simd_target(), ", ", product_library(precision), ", ", threads,
              threads == 1 ? " thread" : " threads");
}

}  // namespace gnomon
