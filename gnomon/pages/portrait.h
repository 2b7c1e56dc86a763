#pragma once
#include <string>

#include "gnomon/lens/portrait.h"

namespace gnomon::pages {

// Figures of one encoding, as its sites ask for them: position vectors as a heat map, what channels contribute and the
// bias against the distance, the mask, drawn positions, clocks and wavelengths. Computed from the definition.
std::string pictures(const ShownEncoding& shown, std::int64_t length);

}  // namespace gnomon::pages
