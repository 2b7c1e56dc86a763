#pragma once
#include <cstdint>
#include <string_view>

#include "gnomon/core/standard.h"

namespace gnomon {

// Which two numbers of a rotated window form a pair: neighbours [cscs], or the two halves [ccss]. Mixing them
// up gives plausible nonsense, so there is no default.
enum class Pairing { adjacent, halves };

// The angles of a rotation of rows: pair i of token t turns by `angle(t,i)`. cos and sin (T,pairs), rounded
// once from double. The rotated window is the first 2·pairs numbers of a row; the others pass through.
struct Rotation {
  Pairing pairing;
  std::int64_t pairs;
  const float *cos, *sin;
  bool per_sequence = false;  // cos and sin are (B·T,pairs): every sequence has its own angles
};

// Rows of B sequences × T tokens × H heads, in place: the row of (b,t,h) starts at
// x + b·batch + t·token + h·head. `sign` +1 turns by the angle, −1 by its negative: the transpose, hence the
// gradient. cos and sin of a token are loaded once for all its heads. Throws Error(usage) for extents below 0, rows
// that overlap, another sign, or null arrays.
struct RowLayout {
  std::int64_t B, T, H;
  std::int64_t batch, token, head;  // distances in numbers
};
void rotate(const Rotation& rotation, const RowLayout& rows, int sign, float* x);
// How many numbers these rows have, of `width` each. Throws Error(usage) unless x may hold them, none over another.
std::int64_t check_layout(std::string_view place, const RowLayout& rows, std::int64_t width, const void* x);

}  // namespace gnomon
