#pragma once
#include <cstdint>
#include <vector>

#include "gnomon/lens/matrix.h"

namespace gnomon::claims {

// Recurrent networks with random weights, one draw for each seed, after they have read the rows of x (T,d) in this order: (1,d).
// Elman 1990: h = tanh(W·h + x).
Matrix elman_state(const Matrix& x, const std::vector<std::int64_t>& order, std::uint64_t seed);
// Hochreiter, Schmidhuber 1997, with the forget gate of Gers et al. 2000: c = σ(f)·c + σ(i)·tanh(g), h = σ(o)·tanh(c).
Matrix lstm_state(const Matrix& x, const std::vector<std::int64_t>& order, std::uint64_t seed);

}  // namespace gnomon::claims
