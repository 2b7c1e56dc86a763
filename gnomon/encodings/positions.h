#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "gnomon/encodings/options.h"

namespace gnomon {

// The positions of tokens, as encodings see them: `rows` sequences of T tokens with 1 to 4 coordinates each, one after the
// other, in double (whole numbers are exact up to 2^53). One row may serve all sequences of a batch. Token n is token n%T of
// sequence n/T.
struct Positions {
  std::span<const double> values;
  std::int64_t rows = 1, axes = 1;

  Positions(const std::vector<double>& one_row) : values(one_row) {}  // NOLINT: a row is a Positions
  template <std::size_t n>
  Positions(const double (&one_row)[n]) : values(one_row) {}  // NOLINT: likewise
  // Throws Error(usage) unless the numbers are `row_count` rows of tokens with 1 to 4 coordinates.
  Positions(std::span<const double> all, std::int64_t row_count, std::int64_t axis_count);
  std::int64_t size() const { return std::int64_t(values.size()) / axes; }
  std::int64_t T() const { return size() / rows; }
  double operator[](std::int64_t n) const { return values[n * axes]; }
  double at(std::int64_t n, std::int64_t axis) const { return values[n * axes + axis]; }
  Positions row(std::int64_t index)
      const;  // one sequence; throws Error(usage) for an index beyond the rows, if there are several
};

// Coordinate `axis` of token n, for an encoding with grid.axes axes. A token with that many coordinates has its own. A token
// with one coordinate p stands on a grid with grid.columns columns, row by row: the last coordinate is p mod columns, the one
// before it counts the rows, and so on. Throws Error(usage) for another number of axes.
struct Grid {
  std::int64_t axes, columns;
};
OptionSpec columns_option();  // for encodings that take positions on a grid
double coordinate(const Positions& positions, std::int64_t n, std::int64_t axis, const Grid& grid);

// `position` as a whole number in [0, end). Throws Error(usage) that names the owner, the value and what is allowed.
std::int64_t whole_position(std::string_view owner, double position, std::int64_t end);

// The positions of a batch, and which tokens see each other. At most 2^27 tokens; every position is finite and within ±2^53.
// Otherwise the factories throw Error(usage).
struct Placement {
  std::vector<double> values;
  std::int64_t rows = 1, axes = 1;
  // (rows,T): a token sees only its own document; the tokens of a document are consecutive. Empty: one document.
  std::vector<std::int32_t> document;
  std::vector<std::uint8_t> padding;  // (rows,T): 1 = padding. Empty: no padding

  operator Positions() const { return {values, rows, axes}; }
  std::int64_t T() const { return Positions(*this).T(); }
  Placement repeated(std::int64_t count) const;  // one row, once for each of `count` sequences
  void check() const;  // throws Error(usage) for arrays that do not fit and for invalid positions; O(tokens)
  bool operator==(const Placement&) const = default;

  static Placement consecutive(double first, std::int64_t tokens);
  // Positions (rows,T,axes). Throws Error(usage) for sizes that do not fit and positions beyond ±2^53.
  static Placement of(std::span<const std::int64_t> positions, std::int64_t rows = 1, std::int64_t axes = 1);
  static Placement of(std::vector<double> positions, std::int64_t rows = 1, std::int64_t axes = 1);
  // All places of a grid with 1 to 4 axes; the last coordinate runs fastest.
  static Placement grid(std::span<const std::int64_t> extents);
  // One sequence of several documents; positions begin at 0 in each.
  static Placement packed(std::span<const std::int64_t> lengths);
  // One row per length, padded to the longest: on the right (ragged) or on the left (left_padded). Positions begin at 0 at the
  // first token that is not padding.
  static Placement ragged(std::span<const std::int64_t> lengths);
  static Placement left_padded(std::span<const std::int64_t> lengths);
};

}  // namespace gnomon
