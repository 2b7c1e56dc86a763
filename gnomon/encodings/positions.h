#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "gnomon/encodings/options.h"

namespace gnomon {

// Where tokens stand, as encodings see it: `rows` sequences of T tokens with 1 to 4 coordinates each, one
// after the other, in double (whole numbers are exact up to 2^53). One row may serve every sequence of a
// batch. Token n counts through the rows: sequence n/T, token n%T.
struct Positions {
  std::span<const double> values;
  std::int64_t rows = 1, axes = 1;

  Positions(const std::vector<double>& one_row) : values(one_row) {}  // NOLINT: a row is a Positions
  template <std::size_t n>
  Positions(const double (&one_row)[n]) : values(one_row) {}  // NOLINT: likewise
  // Throws Error(usage) for numbers that are not `row_count` rows of tokens with 1 to 4 coordinates.
  Positions(std::span<const double> all, std::int64_t row_count, std::int64_t axis_count);
  std::int64_t size() const { return std::int64_t(values.size()) / axes; }
  std::int64_t T() const { return size() / rows; }
  double operator[](std::int64_t n) const { return values[n * axes]; }
  double at(std::int64_t n, std::int64_t axis) const { return values[n * axes + axis]; }
  Positions row(std::int64_t index)
      const;  // one sequence; throws Error(usage) beyond the rows, where there are several
};

// Coordinate `axis` of token n for an encoding of `wanted` axes. Tokens with that many coordinates have their
// own; tokens with one stand row by row on a grid of `columns` columns: the last coordinate is p mod columns,
// the one before it counts the rows, and so on. Throws Error(usage) for another number of axes.
struct Grid {
  std::int64_t axes, columns;
};
OptionSpec columns_option();  // of encodings that take positions on a grid
double coordinate(const Positions& positions, std::int64_t n, std::int64_t axis, const Grid& grid);

// The position of token n as a whole number in [0, end). Throws Error(usage) that names the value, its owner
// and what is allowed.
std::int64_t whole_position(std::string_view owner, double position, std::int64_t end);

// Positions with what a batch also needs to know: which tokens see each other. At most 2^27 tokens; every position
// is finite and within ±2^53. The factories throw Error(usage) for others.
struct Placement {
  std::vector<double> values;
  std::int64_t rows = 1, axes = 1;
  // (rows,T): tokens see only tokens of the same document; tokens of a document follow each other. Empty: one.
  std::vector<std::int32_t> document;
  std::vector<std::uint8_t> padding;  // (rows,T): 1 = no token. Empty: none

  operator Positions() const { return {values, rows, axes}; }
  std::int64_t T() const { return Positions(*this).T(); }
  void check()
      const;  // throws Error(usage) for arrays that do not fit and positions that are none; O(tokens)
  bool operator==(const Placement&) const = default;

  static Placement consecutive(double first, std::int64_t tokens);
  // Whole numbers (rows,T,axes). Throws Error(usage) for sizes that do not fit or beyond ±2^53.
  static Placement of(std::span<const std::int64_t> positions, std::int64_t rows = 1, std::int64_t axes = 1);
  static Placement of(std::vector<double> positions, std::int64_t rows = 1, std::int64_t axes = 1);
  // Every place of a grid of 1 to 4 extents, the last coordinate running fastest.
  static Placement grid(std::span<const std::int64_t> extents);
  // One sequence of several documents; positions begin at 0 in each.
  static Placement packed(std::span<const std::int64_t> lengths);
  // One row a length, padded on the right (ragged) or on the left to the longest. Positions begin at 0 with
  // the first token that is none of the padding.
  static Placement ragged(std::span<const std::int64_t> lengths);
  static Placement left_padded(std::span<const std::int64_t> lengths);
};

}  // namespace gnomon
