#pragma once
#include <array>
#include <cstdint>
#include <string_view>

#include "gnomon/core/array.h"

namespace gnomon {

enum class Number : std::uint8_t { float32, bfloat16, float16 };

// Numbers of B sequences × heads × tokens × channels, anywhere in memory: number (b,h,t,c) is steps·(b,h,t,c) numbers
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
  // float32 with channels side by side: read in place.
  bool plain() const { return number == Number::float32 && (steps[3] == 1 || extents[3] <= 1); }
};
using View = ViewOf<void>;
using ConstView = ViewOf<const void>;
inline ConstView read_only(const View& x) { return {x.data, x.number, x.extents, x.steps}; }

// Dense arrays: (B,heads,tokens,channels), and (B,tokens,heads,channels), the order of a projection's output.
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

// Throws Error(usage), naming `name`, for another shape than `extents`, a number type that is none, null data where there
// are numbers, negative steps, and, where `apart`, numbers that share a place.
void check_view(std::string_view name, const ConstView& x, const std::array<std::int64_t, 4>& extents,
                bool apart);

// Numbers that a call reads or writes, by the name that messages give them: number (b,h,t,c) is steps·(b,h,t,c) numbers of
// `bytes` bytes after `data`.
struct Occupied {
  std::string_view name;
  const void* data = nullptr;
  std::int64_t bytes = 4;
  std::array<std::int64_t, 4> extents{}, steps{};
};
Occupied occupied(std::string_view name, const ConstView& x);
// Throws Error(usage), naming both, where a byte of `written` is one of `other`. Rows that lie between those of the other are
// apart from it. O(1) where one ends before the other begins.
void check_apart(const Occupied& written, const Occupied& other);

// The numbers as float, dense in the order (B,heads,tokens,channels); and back, each rounded once.
void widen(const ConstView& from, Floats& to);
void narrow(const Floats& from, const View& to);

}  // namespace gnomon
