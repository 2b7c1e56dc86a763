#pragma once
#include <cstdint>
#include <vector>

#include "gnomon/claims/measures/measures.h"

// What is done to the four terms of a first layer's logits.
namespace gnomon::claims {

// What the loss becomes without each of the four terms, less the loss intact: what a share of variance cannot say.
std::vector<double> ablations(const Outcome& o, const Sample& sample);
// dLoss/d(scale of each term) at the trained model, by central differences: what each of the four would like.
std::vector<double> pulls(const Outcome& o, const Sample& sample);
// Correlation of a first layer's logits, averaged over windows of letters in random order, with the terms of position: the
// least of the heads.
double least_correlation(const Outcome& o, const Sample& sample);
// The share of the variance of e'Mf that the offset explains, by head: M = Q'K of the first layer with the norm's gain, and M
// turned at random on both sides, which keeps its singular values; mean over draws.
struct OffsetShares {
  std::vector<double> found, by_chance;
};
OffsetShares offset_shares(const Outcome& o, const Sample& sample, std::int64_t draws);

}  // namespace gnomon::claims
