#pragma once
#include <cstdint>
#include <vector>

#include "gnomon/claims/measures/measures.h"
#include "gnomon/lens/subspace.h"

// How words and positions are linked, in Q'K and in what layers write, and what chance makes of it.
namespace gnomon::claims {

// Shares of the variance of (x + e)'M(y + f) of random M, words of root mean square `word` and a code of `amplitude`: as they
// are; with every row of the logits less its mean; with the mean of the code taken from the code.
enum class Less { nothing, row_mean, code_mean };

struct Start {
  const char* name;
  double word, amplitude;
  bool random_code;
};
std::vector<double> random_shares(const Start& start, std::int64_t d, std::int64_t draws, Less less);

// How strongly Q'K of a head links the top directions of word and position, over how strongly it links each with itself:
// √(|W'MP|²·|P'MW|²) / √(|W'MW|²·|P'MP|²), a geometric mean in numerator, denominator and over heads. 1 if it makes no
// difference which of the two subspaces a direction is from. `turn`: of both subspaces turned together at random, so that
// they lie to each other as they did.
double block_energy(const Outcome& o, const Sample& sample, const Matrix* turn);
// Both subspaces turned at random, one turn a draw: the middle of the draws on the scale of logarithms.
double block_energy_by_chance(const Outcome& o, const Sample& sample, std::int64_t draws);

// Overlap of what varies with the position and what varies with the token, in rows of a sample; and what subspaces with the
// covariance of these rows have by chance, so that strong directions which everything shares are no finding.
struct Linked {
  double overlap, chance;
};
Linked linked(const Matrix& rows, const Sample& sample, std::int64_t r, std::int64_t draws);

// Overlap of the first r principal directions of words and positions of a model.
Overlap model_overlap(const Outcome& o, const Sample& sample, std::int64_t r);

// Plug-in mutual information of letter and position in windows of 16 bytes, in nats, and that of copies with shuffled positions;
// for windows that begin with a line, and for windows from anywhere. Throws NotMeasurable for a text of less than 100 lines.
struct Information {
  double found, null, null_sd;
};
struct LettersAtPlaces {
  Information line_starts, anywhere;
};
LettersAtPlaces letters_at_places(const Experiment& experiment);

}  // namespace gnomon::claims
