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

bool is_rotary(const Encoding& encoding);  // it turns pairs: a TurnPart
// The rotation for heads of this size; null: its window does not fit the head.
std::unique_ptr<Encoding> rotary_of(const Named& spec, std::int64_t head_dim);

// The rules of a reading, as hypotheses that begin where the turns say.
std::vector<Hypothesis> rotary_hypotheses(const Window& window, const Turned& turned, const Asked& asked);
// The same spec with one thing changed that programs confuse: pairing, base, window.
std::vector<Hypothesis> confused(const Hypothesis& best, std::int64_t head_dim);

// What the numbers of the answer say of how they came about: a factor that was dropped or applied twice, a base that is another
// one with another exponent.
void remark_on_numbers(std::int64_t head_dim, Checked& checked);

}  // namespace gnomon
