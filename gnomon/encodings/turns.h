#pragma once
#include <cstdint>
#include <vector>

#include "gnomon/encodings/positions.h"
#include "gnomon/kernels/steps.h"

namespace gnomon {

// A map of q and k as numbers, where it turns pairs of channels.

// The window of the head that turns, and which of its channels form a pair.
struct RotaryWindow {
  Pairing pairing;
  std::int64_t first, channels;
  std::int64_t pairs() const { return channels / 2; }
  std::int64_t low(std::int64_t n) const { return first + (pairing == Pairing::halves ? n : 2 * n); }
  std::int64_t high(std::int64_t n) const {
    return first + (pairing == Pairing::halves ? n + pairs() : 2 * n + 1);
  }
  bool holds(std::int64_t d) const { return d >= first && d < first + channels; }
  bool operator==(const RotaryWindow&) const = default;
  // A rotation of it with empty tables over so many heads and tokens.
  Rotate empty(std::int64_t heads, std::int64_t tokens) const;
};

// How the q and k of a context turn: pair n of the window by p·frequencies[n], times factor.
struct Turns {
  RotaryWindow window;
  std::vector<double> frequencies;  // radians a token
  double factor = 1;                // of every pair, in q and in k
  double softmax_factor = 1;        // of all channels, which stands in q

  // Whether a key is the same under both.
  bool keep_keys(const Turns& other) const {
    return frequencies == other.frequencies && factor == other.factor;
  }
};

// Cached keys, turned with `from`, become in place what `to` would have made of them: R(p·(θ' − θ))·k times the ratio
// of the factors. For a context whose frequencies changed (dynamic NTK, dynamic YaRN, the switch of LongRoPE). The
// angle is taken in double, so the error is one rounding. Throws Error(usage) for frequencies that do not fit the
// window, and for two windows.
//
// Exact for the rotation of the same keys. It is not a new prefill: from the second layer on, keys (and all values)
// were computed from attention under the old frequencies, and stay so.
void rerotate(const Turns& from, const Turns& to, const Positions& positions, const RowLayout& rows,
              float* keys);

}  // namespace gnomon
