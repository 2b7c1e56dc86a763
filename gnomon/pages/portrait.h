#pragma once
#include <string>

#include "gnomon/lens/portrait.h"

namespace gnomon::pages {

// What is looked at: so many positions and distances, from the first.
struct Looked {
  std::int64_t length, first = 0;
  // Above position 0, of a rotation: the radians a token by which pairs turned in training, for so many tokens.
  std::vector<double> trained = {};
  std::int64_t trained_length = 0;
};
Looked looked_at(const Standing& standing, std::int64_t length, std::int64_t first);

// Figures of one encoding, as its sites ask for them: position vectors as a heat map, what channels contribute and the
// bias against the distance, the mask, drawn positions, clocks, wavelengths, and angles that training has not seen. Computed
// from the definition.
std::string pictures(const ShownEncoding& shown, const Looked& looked);

}  // namespace gnomon::pages
