#pragma once
#include <cstdint>

#include "gnomon/lens/stream.h"

namespace gnomon {

// Which directions hold the position, to take them out of the stream (Erasure, stream.h) and see what that costs: a probe
// says what can be read, an erasure what is used. After Ravfogel et al. 2020 (https://arxiv.org/abs/2004.07667).

// An orthonormal basis (C,r) of the fewest directions with this share of the variance of the position's means over windows,
// at most `most` of them. Throws Error(usage) where these do not vary.
Matrix position_directions(const Matrix& rows, const Sample& sample, double share, std::int64_t most);

// As many directions as `basis` has, orthogonal to it, drawn at random and so that they hold as large a share of the variance
// of `rows`: towards the strong directions of the rows, or away from them, as far as that takes. Where no others hold as
// much, or as little, those that come nearest. Throws Error(usage) where fewer are left.
Matrix matched_directions(const Matrix& rows, const Matrix& basis, std::uint64_t draw);

// What is left of rows (N,C).
Matrix erased(const Matrix& rows, const Matrix& basis);

}  // namespace gnomon
