#pragma once
#include <span>
#include <vector>

#include "gnomon/models/check/hypothesis.h"

namespace gnomon {

// What a program multiplied pair n of token t by: z (T, N), at these positions.
struct Turned {
  std::int64_t T, N;
  std::vector<Complex> z;
  std::span<const double> positions;
  double noise;  // relative error of a number
};

// What turns look like, whatever rule they follow.
struct Measured {
  std::vector<double> frequencies;  // (N) radians a position, not negative; empty: one token tells none
  double resolution = 0;            // of a frequency
  double factor = 1;                // the size of z: the middle one
  double shift = 0;                 // the angle at position p is (p + shift)·frequency
  bool backwards = false;
};
// `farthest`: shifts from −16 up to this are looked for.
Measured measure(const Turned& turned, double farthest);

}  // namespace gnomon
