#pragma once
#include <cstdint>
#include <span>
#include <vector>

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

// What is left of the meaning of some words, asked of what became of them, among many words (V,d). Everything is by cosine,
// so that the length of a sum, and a norm that only scales it, make no difference.
class Neighbourhood {
 public:
  // `asked` are rows of words; 1 <= k < V. Throws Error(usage) for other rows, and for a word of length 0.
  Neighbourhood(Matrix words, std::vector<std::int64_t> asked, std::int64_t k);

  struct Kept {
    double identity;  // the nearest word is the own one
    double
        neighbours;  // the share of the word's own k nearest that are among the k nearest now, itself apart
  };
  // y (n,d): row r became of word asked[r mod asked]. Looked for outside the columns of `basis` (d,r), orthonormal: in the
  // words and in y; the neighbours that count are those of the words as they are. No columns: as they are.
  Kept kept(const Matrix& y, const Matrix& basis) const;

 private:
  Matrix words_;
  std::vector<std::int64_t> asked_;
  std::vector<std::vector<std::int64_t>> nearest_;  // of each word asked, sorted
  std::int64_t k_;
};

}  // namespace gnomon
