#pragma once
#include <cstdint>

#include "gnomon/nn/model.h"

namespace gnomon {

// Windows of a pass: `training` ones also have a gradient.
struct PassSize {
  std::int64_t windows, tokens;
};

// Bytes that a Trainer of this model keeps when it has trained on batches of so many shards of the one size and evaluated
// batches of the other, on this many threads: parameters, gradients and moments, activations, scratch of the kernels.
// Computed, nothing is allocated. What the process needs besides is not in it.
std::int64_t trainer_bytes(const Architecture& architecture, const PassSize& training,
                           const PassSize& evaluation, int threads, std::int64_t shards = 1);

}  // namespace gnomon
