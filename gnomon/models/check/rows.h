#pragma once
#include <optional>
#include <span>
#include <vector>

#include "gnomon/models/check/rotary_search.h"

namespace gnomon {

// Rows of q or k before and after, by token: (T, H, D), however they lie in the dump.
struct Rows {
  std::int64_t T, H, D;
  bool tokens_first;
  std::span<const float> before, after;
  double unit;
  Role role;
  double at(std::span<const float> rows, std::int64_t row, std::int64_t d) const {
    return rows[std::size_t((tokens_first ? row : row % H * T + row / H) * D + d)];
  }
  Complex pair(std::span<const float> rows, std::int64_t row, const RotaryWindow& w, std::int64_t n) const {
    return {at(rows, row, w.low(n)), at(rows, row, w.high(n))};
  }
  // Some of the tokens: so many that they have about this many numbers, 16 to `most`.
  std::vector<std::int64_t> tokens(std::int64_t numbers, std::int64_t most) const;
};
Rows rows_of(const DumpedArray& before, const DumpedArray& after, bool tokens_first);

// One way to read rows as pairs of a window, and what turned them.
struct Reading {
  Window window;
  std::vector<Complex> z;  // (tokens, pairs)
  double
      strain;  // how far the rows are from turning so: by what differs among heads, and by pairs that change their size
};
Reading read(const Rows& rows, const Window& window, const std::vector<std::int64_t>& tokens);
// The windows that hold every channel that changed.
std::vector<Window> windows(const Rows& rows);
// Those of the readings that strain the rows little more than the best does.
std::vector<Reading> readings(const Rows& rows, const std::vector<std::int64_t>& tokens);

// By how much the hypothesis misses the rows of these tokens; `positions` are those of all.
Misfit misfit_of_rows(const Rows& rows, const Hypothesis& hypothesis, const Positions& positions,
                      const std::vector<std::int64_t>& tokens);

// What rows may be that do not turn in pairs: tables for the other pairing, two rotations, a sine from another place; with the
// bases that models have and what `asked` was told. The other function: with the bases that fit the rows best.
std::vector<Hypothesis> hypotheses_of_strain(const Rows& rows, const Asked& asked);
std::vector<Hypothesis> hypotheses_of_sought_strain(const Rows& rows, const Positions& positions);

}  // namespace gnomon
