#pragma once
#include <cstdint>
#include <optional>

#include "gnomon/kernels/norm.h"

// How many functions a small Transformer can be: whether a way to join word and position can do more than another.
namespace gnomon::claims {

// What is added to the words: the sinusoid; the sinusoid after a trained matrix, which is what a projected concatenation
// adds (W[x; e] = W₁x + W₂e, and W₁ moves into the word table); or a trained table.
enum class Joined { sum, projection, table };

// A decoder in double: `width` channels, `length` tokens of five letters, one head, a feed-forward part (tanh) of one and a
// half widths, norms without gains before each part and before the head.
struct SmallDecoder {
  std::optional<Norm> norm;
  Joined joined;
  std::int64_t width = 4, length = 8;
};

// The dimension of the functions that its weights can reach, near Gaussian weights: the rank of the Jacobian of all logits
// in the weights, over 48 random windows. Functions of a family of lower dimension are a null set in
// one of higher dimension: nearly all of the latter are out of reach of the former.
struct FamilySize {
  std::int64_t weights, dimension;
  double kept,
      dropped;  // singular values over the largest: the least that counts, and the largest that does not
};
FamilySize family_size(const SmallDecoder& decoder, std::uint64_t seed = 1);

}  // namespace gnomon::claims
