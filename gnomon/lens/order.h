#pragma once
#include <cstdint>

#include "gnomon/lens/stream.h"

namespace gnomon {

// What a model makes of the order of its tokens. Each throws Error(usage) where nothing would be moved: then its number
// would say nothing of the model.

// |f(Px) − P f(x)|/|f(x)| over logits and random permutations P of a window: 0 for a model that treats tokens as a set.
double equivariance_error(const Trained& m, const Sample& sample, std::int64_t permutations,
                          std::uint64_t seed);
// How much the mean of a window's logits, which a classifier of the whole window reads, changes when the window is read
// backwards: |difference|/|mean|, the largest over windows. 0 for a model that treats tokens as a set.
double reversal_pooled(const Trained& m, const Sample& sample);
// The largest change of a logit of the last token, when two earlier tokens change places; over random pairs.
double swap_difference(const Trained& m, const Sample& sample, std::int64_t pairs, std::uint64_t seed);
// Mean loss of the last target when all tokens before the last `kept` are shuffled, less the loss intact.
double shuffle_cost(const Trained& m, const Sample& sample, std::int64_t kept, std::uint64_t seed);
// The same text with its positions 0..T−1 moved by `shift`: largest change of a logit, and of the mean loss.
struct ShiftEffect {
  double largest_logit, loss;
};
ShiftEffect shift_effect(const Trained& m, const Sample& sample, double shift);

}  // namespace gnomon
