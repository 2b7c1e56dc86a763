// Tables that the tests of the analyses share.
#pragma once
#include "gnomon/lens/table.h"

namespace gnomon {

inline Shape wide(std::int64_t d, std::int64_t T = 128) { return {d, 1, d, T, true}; }
inline Matrix sinusoid(std::int64_t d, std::int64_t T) { return position_table("sinusoidal", wide(d), T); }
inline Matrix noise(std::int64_t rows, std::int64_t columns, std::uint64_t seed) {
  return gaussian(Random(seed, "noise"), rows, columns);
}

}  // namespace gnomon
