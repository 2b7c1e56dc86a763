#pragma once
#include <cstdint>

#include "gnomon/lens/matrix.h"

namespace gnomon {

// Can the parts of a sum be told apart? Every word of x (V,d) at every position of e (T,d), and the nearest word to
// x_w + e_p by Euclidean distance, with what is known of positions taken away first. All of these throw Error(usage) for
// no words, no positions, or widths that differ.
struct WordDecoding {
  double naive;         // ignoring positions
  double mean_removed;  // less the mean position vector
  double projected;     // both outside the principal components that hold 99.9 % of the variance of positions
};
WordDecoding decode_words(const Matrix& x, const Matrix& e);
// The nearest position vector to x_w + e_p, ignoring the word.
double decode_positions(const Matrix& x, const Matrix& e);
// The share of the k nearest neighbours (by cosine, of x alone) that are also among the k nearest of x_w + e_p to the
// words, mean over words and some positions. 1 <= k < V; a word of length 0 has no cosine and is refused.
double neighbour_recall(const Matrix& x, const Matrix& e, std::int64_t k);

}  // namespace gnomon
