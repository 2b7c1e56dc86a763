#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "gnomon/models/explain/explain.h"

namespace gnomon {

// Frequencies and factors that differ by less are the same: GGUF keeps them in float32 (2^−24 each, and a product of two).
inline constexpr double kSameRatio = 1 + 0x1p-20;

// Something that layers of two files compute differently.
struct Difference {
  std::string component;             // of the model, if it has several
  std::vector<std::int64_t> layers;  // empty: the whole model
  std::string what, a, b;            // "frequencies", as printed
  double ratio = 0;                  // the largest, of frequencies; 0 of other things
};

struct Differences {
  std::vector<Difference> computed;  // empty: the two compute the same from positions
  std::vector<std::string> notes;    // what is written differently and computes the same
  bool same() const { return computed.empty(); }
};

// Layer by layer, at the lengths of both. A GGUF file whose pairs are adjacent, where the other has halves, computes the same:
// the converter permuted the rows of q and k (llama.cpp, conversion/llama.py, LlamaModel.permute); a note says so. Only a
// look at the weights can tell whether it did.
Differences differences(const Explanation& a, const Explanation& b);

}  // namespace gnomon
