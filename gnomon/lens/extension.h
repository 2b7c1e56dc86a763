#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "gnomon/lens/stream.h"

namespace gnomon {

// A way to read windows longer than a model was trained for, without training: another spec on the same numbers.
struct WayOfReading {
  std::string name;
  Spec spec;
};

// For a model whose layers turn by rope (and windows and the like beside it), trained on `original` tokens, to read `factor`
// times as many: as trained; linear (position interpolation, Chen et al. 2023, arXiv 2306.15595); ntk (bloc97 2023); yarn (Peng
// et al. 2023, arXiv 2309.00071); rerope (Su 2023, https://kexue.fm/archives/9708), far from half of the trained length on;
// self_extend (Jin et al. 2024, arXiv 2401.01325), with the least groups that fit. Theta, pairing and window of the head stay.
// Throws Error(usage) where no layer turns by rope, for a factor of 1 or less and for fewer than 2 tokens.
std::vector<WayOfReading> extensions(const Spec& trained, double factor, std::int64_t original);

// The spec with nothing of position in one layer of `layers`: what acts there moves with no number. Throws Error(usage) for a
// layer that there is not.
Spec without_position(const Spec& spec, std::int64_t layers, std::int64_t layer);

// The model of these numbers with another spec. Throws Error(usage) where that takes other parameters.
Model with_spec(const Trained& m, const Spec& spec);

}  // namespace gnomon
