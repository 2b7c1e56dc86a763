#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "gnomon/core/file.h"

namespace gnomon {

// A tensor of the model's weights, as far as rules look at it.
struct LintTensor {
  std::string name;
  std::vector<std::int64_t> shape;
  std::vector<float> values;  // of those whose name ends in inv_freq; else empty
  std::string stored = {};    // how a number is stored: "F32", "BF16" ...
};

// Those of a folder with model.safetensors or its index, of a .safetensors or a .gguf file; none of a folder without them.
// Throws Error(input) and Error(resource) as Weights::open() does.
std::vector<LintTensor> lint_tensors(const Path& path);

}  // namespace gnomon
