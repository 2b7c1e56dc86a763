#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gnomon/core/array.h"
#include "gnomon/core/file.h"

namespace gnomon {

// An array from another program. Leading extents (a batch) are removed.
struct DumpedArray {
  std::string name;
  std::vector<std::int64_t> shape;  // row-major
  Floats values;
  double unit = 0x1p-24;  // relative error of one rounding to the stored type: 2^−24, 2^−8, 2^−11
  std::int64_t extent(std::size_t axis) const { return shape[axis]; }
};

// The position numbers of an engine, under the names below; other tensors are ignored.
//
//   q_before, q_after, k_before, k_after   (tokens, heads, D) or (heads, tokens, D): before and after the rotation
//   cos, sin                               (tokens, R/2) or (tokens, R)
//   inv_freq                               (R/2)
//   bias                                   (heads, T, T) or (heads, 1, T), added to the logits; (heads, R) by distance
//   slopes                                 (heads)
//   table                                  (tokens, C): sinusoids for the input
//   mask                                   (queries, keys) or (heads, queries, keys): what the query's own key has is seen
//   weights                                (heads, queries, keys): after the softmax
//   positions                              (tokens), (streams, tokens) or (streams, batch, tokens), up to four streams
//   documents                              (tokens): a number for each document of a packed row
//
// Of a batch the first sequence is read.
struct Dump {
  std::vector<DumpedArray> arrays;
  std::vector<std::string> passed_over;
  const DumpedArray* find(std::string_view name) const;  // null: no such array
};

// Reads a .safetensors file of float32, bfloat16 or float16. Throws Error(input) for a malformed file, a file without any of
// these names, and wrong extents; Error(resource).
Dump read_dump(const Path& path);
// Makes a dump from arrays in memory. Throws as read_dump() does, with `where` in place of the file name.
Dump dump_of(std::vector<DumpedArray> arrays, const std::string& where);

}  // namespace gnomon
