#pragma once
#include <cstdint>
#include <string_view>

#include "gnomon/core/standard.h"

namespace gnomon {

struct BFloat16;
struct Float16;

// Which two of the rotated channels form a pair: neighbours [cscs], or one of each half [ccss]. Mixing them up gives plausible
// but wrong results, so there is no default.
enum class Pairing { adjacent, halves };

// A rotation of rows: pair i of token t rotates by angle(t,i). cos and sin of the angles (T,pairs) are rounded once from double.
// The first 2·pairs numbers of a row rotate; the others stay as they are.
struct Rotation {
  Pairing pairing;
  std::int64_t pairs;
  const float *cos, *sin;
  bool per_sequence = false;  // cos and sin are (B·T,pairs): every sequence has its own angles
};

// Rows of B sequences × T tokens × H heads: the row of (b,t,h) starts at x + b·batch + t·token + h·head.
struct RowLayout {
  std::int64_t B, T, H;
  std::int64_t batch, token, head;  // distances in numbers
};
// Rotates the rows in place. `sign` +1 rotates by the angle, −1 by its negative: the transpose, and so the gradient. cos and sin
// of a token are loaded once for all its heads. Numbers of 16 bits are turned as float and rounded once, to nearest even. Throws
// Error(usage) for extents below 0, rows that overlap, another sign, or null arrays.
void rotate(const Rotation& rotation, const RowLayout& rows, int sign, float* x);
void rotate(const Rotation& rotation, const RowLayout& rows, int sign, BFloat16* x);
void rotate(const Rotation& rotation, const RowLayout& rows, int sign, Float16* x);
// The same for one row, of pairs `gap` apart: channels n and gap + n for n below `pairs`.
struct RowRotation {
  std::int64_t pairs, gap;
  const float *cos, *sin;  // (pairs)
};
void rotate_row(const RowRotation& rotation, int sign, float* x);
// Of y = z·x, in one row of pairs `gap` apart: dz (pairs) += dy·conj(x), or its conjugate for a sign of −1.
struct RowGradient {
  std::int64_t pairs, gap;
  float *dcos, *dsin;  // (pairs)
};
void rotate_row_backward(const RowGradient& gradient, int sign, const float* x, const float* dy);
// The number of numbers in these rows of `width` each. Throws Error(usage) for a null x and for rows that overlap.
std::int64_t check_layout(std::string_view place, const RowLayout& rows, std::int64_t width, const void* x);

}  // namespace gnomon
