#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "gnomon/kernels/rotate.h"
#include "gnomon/models/resolve/resolved.h"

namespace gnomon {

// The numbers of a layer, derived only from the encodings of its spec.
struct Numbers {
  // Frequency of each pair in radians per token; empty without a rotation.
  std::vector<double> inv_freq;
  double attention_factor = 1;             // factor on q and on k
  double softmax_factor = 1;               // factor on all of q·k
  std::int64_t rotary_dim = 0, first = 0;  // number of rotated channels of the head, and the first one
  Pairing pairing = Pairing::halves;
  bool backward = false;       // pairs turn by minus the angle
  std::vector<double> slopes;  // slopes of a linear bias by distance, one for each head
};

// The numbers in a context of `length` tokens, on which dynamic NTK and LongRoPE depend. Throws Error(usage) for a spec that is
// impossible for these heads.
Numbers numbers_of(const LayerPosition& layer, double length);

// Two channels of a head that turn together, by one coordinate of the token.
struct TurnedPair {
  std::int64_t low, high;
  std::int64_t
      axis;  // of the encoding's coordinates: rows and columns of rope_axial, time, rows and columns of mrope
  double frequency;  // radians for a coordinate of 1
};
// Those of all rotations of a layer, in the order of its spec. Throws as numbers_of().
std::vector<TurnedPair> pairs_of(const LayerPosition& layer);

}  // namespace gnomon
