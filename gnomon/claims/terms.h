#pragma once
#include <cstddef>
#include <vector>

#include "gnomon/lab/kept.h"

namespace gnomon::claims {

// The four terms of (x + e)'M(y + f), and where they stand among term_maps() of {word, position} and the biases.
inline constexpr const char* kTermNames[] = {"word asks word", "word asks position", "position asks word",
                                             "position asks position"};
inline constexpr std::size_t kTerms[] = {0, 1, 3, 4};

// Their shares of the variance within rows and that of what the biases ask for, in the first layer, mean over heads.
std::vector<double> four_shares(const Outcome& o, const Sample& sample);

}  // namespace gnomon::claims
