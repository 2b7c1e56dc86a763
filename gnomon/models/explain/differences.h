#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "gnomon/models/explain/explain.h"

namespace gnomon {

// Frequencies and factors with a smaller ratio count as equal: GGUF stores them in float32 (2^−24 each, and a product of two).
inline constexpr double kSameRatio = 1 + 0x1p-20;

// A quantity that layers of two files compute differently.
struct Difference {
  std::string component;             // a component of the model, if it has several
  std::vector<std::int64_t> layers;  // empty: the whole model
  std::string what, a, b;            // the quantity ("frequencies") and both values, as printed
  double ratio = 0;                  // the largest ratio, for frequencies; 0 for other quantities
};

struct Differences {
  std::vector<Difference> computed;  // empty: the two compute the same from positions
  std::vector<std::string> notes;    // settings that differ in the files but compute the same
  bool same() const { return computed.empty(); }
};

// Compares two models layer by layer, at the lengths of both. A GGUF file with adjacent pairs computes the same as a file with
// halves, because the converter permutes the rows of q and k (llama.cpp, conversion/llama.py, LlamaModel.permute). A note says
// so. Only the weights show whether it did.
Differences differences(const Explanation& a, const Explanation& b);

}  // namespace gnomon
