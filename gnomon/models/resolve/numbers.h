#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "gnomon/kernels/rotate.h"
#include "gnomon/models/resolve/resolved.h"

namespace gnomon {

// What a layer computes with, as numbers: derived from the encodings of its spec and nothing else.
struct Numbers {
  // Of the rotation; empty without one. Radians a token of each pair.
  std::vector<double> inv_freq;
  double attention_factor = 1;             // q and k are both multiplied by it
  double softmax_factor = 1;               // all of q·k is
  std::int64_t rotary_dim = 0, first = 0;  // channels of the head that turn, from which one on
  Pairing pairing = Pairing::halves;
  std::vector<double> slopes;  // of a linear bias by distance, one for each head
};

// For a context of `length` tokens, by which dynamic NTK and LongRoPE choose. Throws Error(usage) for a spec that cannot be for
// these heads.
Numbers numbers_of(const LayerPosition& layer, double length);

}  // namespace gnomon
