#pragma once
#include <array>
#include <cstdint>
#include <string_view>

#include "gnomon/core/array.h"

namespace gnomon {

enum class Number : std::uint8_t { float32, bfloat16, float16 };

// An array of B sequences × heads × tokens × channels, anywhere in memory: number (b,h,t,c) is steps·(b,h,t,c) numbers
// after the first.
template <class Data>
struct ViewOf {
  Data* data = nullptr;
  Number number = Number::float32;
  std::array<std::int64_t, 4> extents{}, steps{};

  std::int64_t sequences() const { return extents[0]; }
  std::int64_t heads() const { return extents[1]; }
  std::int64_t tokens() const { return extents[2]; }
  std::int64_t channels() const { return extents[3]; }
  // float32 with contiguous channels: gnomon reads it in place.
  bool plain() const { return number == Number::float32 && (steps[3] == 1 || extents[3] <= 1); }
};
using View = ViewOf<void>;
using ConstView = ViewOf<const void>;
inline ConstView read_only(const View& x) { return {x.data, x.number, x.extents, x.steps}; }

// Views of dense arrays: (B,heads,tokens,channels), and (B,tokens,heads,channels), the layout of a projection's output.
template <class Data>
ViewOf<Data> heads_first(Data* data, Number number, std::array<std::int64_t, 4> extents) {
  const auto [B, H, T, D] = extents;
  return {data, number, extents, {H * T * D, T * D, D, 1}};
}
template <class Data>
ViewOf<Data> tokens_first(Data* data, Number number, std::array<std::int64_t, 4> extents) {
  const auto [B, H, T, D] = extents;
  return {data, number, extents, {T * H * D, D, H * D, 1}};
}

// Throws Error(usage) that names `name`, for: a shape other than `extents`, an unknown number type, null data with extents above
// 0, negative steps, and, if `apart`, numbers that overlap in memory.
void check_view(std::string_view name, const ConstView& x, const std::array<std::int64_t, 4>& extents,
                bool apart);

// An array that a call reads or writes, with its name in messages: number (b,h,t,c) is steps·(b,h,t,c) numbers of `bytes` bytes
// after `data`.
struct Occupied {
  std::string_view name;
  const void* data = nullptr;
  std::int64_t bytes = 4;
  std::array<std::int64_t, 4> extents{}, steps{};
};
Occupied occupied(std::string_view name, const ConstView& x);
// Throws Error(usage) that names both, if they share a byte. Rows of one between rows of the other do not overlap. O(1) if one
// ends before the other begins.
void check_apart(const Occupied& written, const Occupied& other);

// widen() copies the numbers to float, dense in the order (B,heads,tokens,channels). narrow() copies them back and rounds each
// number once.
void widen(const ConstView& from, Floats& to);
void narrow(const Floats& from, const View& to);

}  // namespace gnomon
