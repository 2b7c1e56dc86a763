#pragma once
#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

namespace gnomon {

// What the public calls ask of their arguments before they touch anything. Every one is O(1), and throws
// Error(usage) that names the place, what was found and what is allowed.

// Numbers in one array: far above what memory holds, so that no product of extents nears the end of std::int64_t.
inline constexpr std::int64_t kMostNumbers = std::int64_t{1} << 48;
inline constexpr std::int64_t kMostTokens = std::int64_t{1} << 30;  // of a sequence, and sequences of a batch
inline constexpr std::int64_t kMostHeads = 1 << 16;
inline constexpr std::int64_t kMostWidth = 1 << 16;  // of a head, and of a model

// A number of a call by its name, and the bounds that it must keep.
struct Extent {
  std::string_view name;
  std::int64_t found, least, most;
};
void check_extents(std::string_view place, std::initializer_list<Extent> extents);

// The product of extents that are not negative, at most kMostNumbers.
std::int64_t count_numbers(std::string_view place, std::span<const std::int64_t> extents);
inline std::int64_t count_numbers(std::string_view place, std::initializer_list<std::int64_t> extents) {
  return count_numbers(place, std::span(extents.begin(), extents.size()));
}

void check_size(std::string_view place, std::string_view name, std::size_t found, std::int64_t wanted);

// An array that may be null only where it has no numbers.
struct Pointer {
  std::string_view name;
  const void* data;
};
void check_pointers(std::string_view place, std::int64_t numbers, std::initializer_list<Pointer> pointers);

// Rows of `width` numbers along up to three axes: `extent` of them, `step` numbers apart.
struct Axis {
  std::int64_t extent = 1, step = 0;
};
struct RowsInMemory {
  std::string_view name;
  const void* data;
  std::int64_t width;
  std::array<Axis, 3> axes;
};
// Steps are not negative, the last number is within kMostNumbers, and no two rows overlap where `apart`.
void check_rows(std::string_view place, const RowsInMemory& rows, bool apart);

}  // namespace gnomon
