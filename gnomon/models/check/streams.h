#pragma once
#include <vector>

#include "gnomon/models/check/rotary_search.h"

namespace gnomon {

// What a program multiplied pair n of token t by, z (T, N), where a token has several coordinates.
struct TurnedByStreams {
  std::int64_t T, N;
  std::vector<Complex> z;
  Positions positions;
};

// Rotations whose pairs turn by one of the coordinates each: M-RoPE in its orders and axial rotations, with the sections that
// come nearest for each base that models have (and asked.theta), and with usual ones.
std::vector<Hypothesis> stream_hypotheses(const Window& window, const TurnedByStreams& turned,
                                          const Asked& asked);
// The same with the base, of all numbers, that fits the turns best.
std::vector<Hypothesis> stream_hypotheses_of_sought_base(const Window& window, const TurnedByStreams& turned);
// An axis after the other on channels of its own, adjacent pairs: right, and with tables that are laid out for halves (V-JEPA 2).
std::vector<Hypothesis> axes_on_blocks(std::int64_t head_dim, std::int64_t streams, const Asked& asked);

}  // namespace gnomon
