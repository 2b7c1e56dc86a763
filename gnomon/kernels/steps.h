#pragma once
#include <cstdint>
#include <variant>
#include <vector>

#include "gnomon/core/array.h"
#include "gnomon/kernels/rotate.h"
#include "gnomon/kernels/rows.h"

namespace gnomon {

// What happens to the rows of q, k or v before attention, or to what it returns: steps, as plain data. Rows are
// those of B sequences × T tokens × H heads, D channels each and the additional channels of wide rows after them, which
// begin as 0. An array over tokens is of 1 (the same for all), one for each token of a sequence, or for each of all
// sequences; an array over heads of 1 or H.

// Pair n, the channels low(n) and low(n) + gap, is multiplied by cos + i·sin as a complex number: turned by an angle
// where cos² + sin² = 1.
struct Rotate {
  std::int64_t first, pairs, stride, gap;
  std::int64_t heads, tokens;  // of the tables
  Floats cos, sin;             // (heads, tokens, pairs)
  // Not empty: the pairs turn by these (radians), of which cos and sin are the roundings, and what is learned is the angle:
  // its gradient stands in cos, none in sin.
  std::vector<double> angles = {};
  std::int64_t low(std::int64_t n) const { return first + n * stride; }
  std::int64_t at(std::int64_t h, std::int64_t token) const { return (h * tokens + token) * pairs; }
  bool operator==(const Rotate&) const = default;
};
// Channels 0..width−1 times the factor of their token, or of their token in each head.
struct Scale {
  std::int64_t width;
  Floats factor;  // (heads, tokens)
  std::int64_t heads = 1;
  bool operator==(const Scale&) const = default;
};
// x → ln(1 + eˣ) in channels 0..width−1.
struct Softplus {
  std::int64_t width;
  bool operator==(const Softplus&) const = default;
};
// The plane of a and b in each head turns by place·s radians: x → exp(place·L)·x, L = a·bᵀ − b·aᵀ, and
// s = √(|a|²|b|² − (a·b)²).
struct TurnPlane {
  std::int64_t width;
  Floats a, b;                 // (H, width)
  std::vector<double> places;  // (tokens)
  bool operator==(const TurnPlane&) const = default;
};
// Channels 0..blocks·size−1 in blocks of neighbours: block x of a token becomes M·x, M its matrix. What attention returns is
// multiplied by Mᵀ, the inverse of a rotation.
struct MultiplyBlocks {
  std::int64_t size, blocks;
  std::int64_t heads, tokens;  // of the matrices
  Floats matrices;             // (heads, tokens, blocks, size, size), row by row
  std::int64_t width() const { return blocks * size; }
  std::int64_t at(std::int64_t h, std::int64_t token) const { return (h * tokens + token) * width() * size; }
  bool operator==(const MultiplyBlocks&) const = default;
};
// Channels first..first+width−1 are these, for each token and head.
struct Widen {
  std::int64_t first, width, heads;
  Floats columns;  // (tokens, heads, width)
  bool operator==(const Widen&) const = default;
};
// Channels 0..width−1 once more, from `to` on.
struct Repeat {
  std::int64_t to, width;
  bool operator==(const Repeat&) const = default;
};

struct Step {
  unsigned roles;  // Role | Role ...
  std::variant<Rotate, Scale, Softplus, TurnPlane, MultiplyBlocks, Widen, Repeat> what;
  bool learns = false;  // its arrays have gradients
  bool acts_on(Role role) const { return roles & unsigned(role); }
  // Whether its gradient needs the rows as they were before it.
  bool needs_input() const;
  std::size_t numbers() const;  // in its arrays
  Step zeros() const;           // of the same shapes: arrays of 0 where it learns, else none
  bool operator==(const Step&) const = default;
};

// Rows, and which tokens of the arrays they are: row t is token first + t of the `of` tokens of its sequence.
struct StepRows {
  RowLayout at;
  std::int64_t first, of;
  StepRows(const RowLayout& rows) : at(rows), first(0), of(rows.T) {}  // NOLINT: rows of all tokens
  StepRows(const RowLayout& rows, std::int64_t from, std::int64_t tokens)
      : at(rows), first(from), of(tokens) {}
};

// In place; x points at the row of (b, t, h) = (0, 0, 0). Throws Error(usage) for rows of a role that the step does not act
// on, and for arrays that do not fit the rows, such as one over more heads than the rows have.
void apply(const Step& step, Role role, const StepRows& rows, float* x);
// Rows that are stored in 16 bits, where they lie: if the step turns pairs of neighbours or halves, the same in all heads, it does
// so, or in `backward` takes their gradient back, and rounds once. false: it is another, and changes nothing.
enum class Direction { forward, backward };
template <class Stored>  // BFloat16, Float16
bool rotate_stored(const Step& step, Role role, const StepRows& rows, Direction direction, Stored* x);
// `before`: the rows as apply() found them, laid out as `rows`; null if needs_input() is false. dx comes in as the
// gradient of what apply() left and leaves as that of what it found. The arrays that `grad` has are added to.
void apply_backward(const Step& step, Role role, const StepRows& rows, const float* before, float* dx,
                    Step& grad);

// sum += part, of gradients of the same step.
void add(const Step& part, Step& sum);

}  // namespace gnomon
