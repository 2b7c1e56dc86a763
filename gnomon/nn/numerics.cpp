#include "gnomon/nn/numerics.h"

#include "gnomon/core/error.h"
#include "gnomon/kernels/matmul.h"
#include "gnomon/kernels/targets.h"

namespace gnomon {

std::string numerics(int threads) {
  return text("numerics ", kNumerics, ", ", simd_target(), ", ", product_library(), ", ", threads,
              threads == 1 ? " thread" : " threads");
}

}  // namespace gnomon
