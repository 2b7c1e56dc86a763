#pragma once
#include <cmath>
#include <vector>

#include "gnomon/claims/measures/measures.h"

// What is measured on positions that are numbers along a direction, and on logits that are linear in them.
namespace gnomon::claims {

// A row less its mean, over its length.
void normalise(std::span<double> row);
// Recognising x_w from LN(x_w + p·u): the share of words whose nearest normalised word is the right one.
double word_after_norm(const Matrix& x, const Matrix& u, double p);

// What is left of the words at kPlaces positions from `first` on, in a trained model of an index: their length over that of
// the sum, and the letters that a linear probe reads from the sum after a norm.
inline constexpr std::int64_t kPlaces = 8;
struct Places {
  double part, letters;
};
Places look_at_places(const Outcome& o, const Sample& sample, std::int64_t first);

// The values of the encoding `normalised` in a text of L tokens, from its definition.
std::vector<double> normalised_positions(std::int64_t L);

// The weight that the last of T tokens puts on the one `back` before it, by the softmax of these logits.
template <class F>
double weight_before(std::int64_t T, std::int64_t back, F&& logit) {
  double total = 0;
  for (std::int64_t j = 0; j < T; ++j) total += std::exp(logit(j) - logit(T - 1));
  return std::exp(logit(T - 1 - back) - logit(T - 1)) / total;
}
// The most that logits linear in the position of the key can put on the token before, of T keys.
double most_before(std::int64_t T);
// The largest error of (p, 1)·[[0, 1], [−1, 0]]·(q, 1)' as p − q.
double error_of_difference(std::int64_t T);
// The share of the products e'Mf of a sinusoid that the offset alone explains, for random M.
double random_offset_share(std::int64_t d, std::int64_t draws);

}  // namespace gnomon::claims
