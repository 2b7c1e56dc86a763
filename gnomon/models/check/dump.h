#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gnomon/core/array.h"
#include "gnomon/core/file.h"

namespace gnomon {

// An array that another program wrote down. Extents of 1 at its front (a batch) are taken off.
struct DumpedArray {
  std::string name;
  std::vector<std::int64_t> shape;  // row-major
  Floats values;
  double unit = 0x1p-24;  // relative error of one rounding to the type it is stored in: 2^−24, 2^−8, 2^−11
  std::int64_t extent(std::size_t axis) const { return shape[axis]; }
};

// What an engine made of positions, by the names below; other tensors are passed over.
//
//   q_before, q_after, k_before, k_after   (tokens, heads, D) or (heads, tokens, D): before and after the rotation
//   cos, sin                               (tokens, R/2) or (tokens, R)
//   inv_freq                               (R/2)
//   bias                                   (heads, T, T) or (heads, 1, T), added to the logits; (heads, R) by distance
//   slopes                                 (heads)
//   table                                  (tokens, C): sinusoids beside the words
//   positions                              (tokens)
struct Dump {
  std::vector<DumpedArray> arrays;
  std::vector<std::string> passed_over;
  const DumpedArray* find(std::string_view name) const;  // null: there is none
};

// A .safetensors file of float32, bfloat16 or float16. Throws Error(input) for a malformed file, for one that has none of
// these names, and for extents that the names do not have; Error(resource).
Dump read_dump(const Path& path);
// Of arrays in memory. Throws as read_dump() does, naming `where` for the file.
Dump dump_of(std::vector<DumpedArray> arrays, const std::string& where);

}  // namespace gnomon
