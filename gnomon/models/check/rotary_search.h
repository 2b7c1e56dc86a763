#pragma once
#include <memory>
#include <string>
#include <vector>

#include "gnomon/models/check/parts.h"
#include "gnomon/models/check/turned.h"

namespace gnomon {

// What the search among rotations shares, whether rows, tables or frequencies were dumped.

// Angles of float32: frequency, product and cosine have a relative error of a few 2^−24 of the angle.
inline constexpr double kAngle = 0x1p-21;

// How much a convention assumes that another thing in the dump follows.
inline constexpr double kTold = 0.1;

bool is_rotary(const Encoding& encoding);  // it turns pairs: a TurnPart
// The rotation for heads of this size; null: its window does not fit the head.
std::unique_ptr<Encoding> rotary_of(const Named& spec, std::int64_t head_dim);

// Whether its pairs turn by all coordinates of such positions: by the first alone is another convention.
inline bool takes(const Encoding& rotary, const Positions& positions) {
  return positions.axes == 1 || rotary.axes() == positions.axes;
}
// The positions of those tokens: (tokens, axes).
std::vector<double> places_of(const std::vector<std::int64_t>& tokens, const Positions& positions);

// How far each pair, of these frequencies, turns at a token, at most: radians. What rounding explains grows with it.
std::vector<double> angles_at(std::span<const double> frequencies, const Hypothesis& hypothesis,
                              const Positions& positions, std::int64_t token);

// The rules of a reading, as hypotheses that begin where the turns say. `again`: no, or alike for rows that turned twice.
std::vector<Hypothesis> rotary_hypotheses(const Window& window, const Turned& turned, const Asked& asked,
                                          SecondTurn again = SecondTurn::no);
// The same spec with one thing changed that programs confuse: pairing, base, window.
std::vector<Hypothesis> confused(const Hypothesis& best, std::int64_t head_dim);

// What the numbers of the answer say of how they came about: a factor that was dropped or applied twice, a base that is another
// one with another exponent.
void remark_on_numbers(std::int64_t head_dim, Checked& checked);
// How large the faults of `best`, the hypothesis of the answer, are: the phase at the last position, positions that coincide.
void tell_rounding(const Hypothesis& best, std::int64_t head_dim, const Positions& positions,
                   Checked& checked);

}  // namespace gnomon
