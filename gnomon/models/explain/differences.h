#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gnomon/models/explain/explain.h"

namespace gnomon {

// Frequencies and factors with a smaller ratio count as equal: GGUF stores them in float32 (2^−24 each, and a product of two).
inline constexpr double kSameRatio = 1 + 0x1p-20;

// What layers or models of two files may compute differently.
enum class Quantity {
  layers,
  component,
  position_vectors,
  context_length,
  heads,
  kv_heads,
  head_dim,
  mask,
  softmax_scale,
  window,
  rotation,
  rotated_channels,
  first_channel,
  pairing,
  frequencies,
  rotary_factor,
  softmax_factor,
  temperature,
  slopes,
  relative_position,
  tower
};
std::string_view quantity_name(Quantity quantity);  // "KV heads"
std::span<const std::string> quantity_words();      // in the same order, for a command line: "kv-heads"
Quantity quantity_named(std::string_view word);     // by such a word; throws Error(usage) with the nearest

// A quantity that layers of two files compute differently.
struct Difference {
  std::string component;             // a component of the model, if it has several; the object of a tower
  std::vector<std::int64_t> layers;  // empty: the whole model
  Quantity what;
  std::string a, b;                       // both values, as printed
  double ratio = 0;                       // the largest ratio, for frequencies; 0 for other quantities
  bool a_guess = false, b_guess = false;  // the value of a class that gnomon does not know (guesses.h)
};

struct Differences {
  std::vector<Difference> computed;  // empty: the two compute the same from positions
  std::vector<std::string> notes;    // settings that differ in the files but compute the same
  bool same() const { return computed.empty(); }
};

// Compares two models layer by layer, at the lengths of both. A GGUF file with adjacent pairs computes the same as a file with
// halves, because the converter permutes the rows of q and k (llama.cpp, conversion/llama.py, LlamaModel.permute). A note says
// so. Only the weights show whether it did. Towers for images and sound are compared object by object, but not with a GGUF file.
Differences differences(const Explanation& a, const Explanation& b);

// The same for two files that stand for each other, or work together: a model and its export, a target and its draft. The tokens
// that they promise count too, if both say how many. Quantities that are expected to differ are left out, and a note names them.
Differences differences_of_files(const Explanation& a, const Explanation& b,
                                 std::span<const Quantity> expected = {});

}  // namespace gnomon
