#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "gnomon/lens/attention.h"

namespace gnomon {

// How many rotary pairs have seen what of their circle in T tokens: a full turn (λ <= T), part of one (T < λ <= 4T),
// nearly nothing. λ = 2π/w tokens.
struct TurnsSeen {
  std::int64_t full, partial, constant;
};
TurnsSeen turns_within(std::span<const double> frequencies, std::int64_t T);

// The frequencies of the pairs of a layer, radians a token. Refuses what pair_logits does.
std::vector<double> pair_frequencies(const Trained& m, std::int64_t layer);

// The logits of one head of a rotary model as a sum over its pairs, for one window: h (T,C) enters the layer. Throws
// Error(usage) for encodings that do not rotate whole heads by frequencies() alone: where the pairs do not add up to
// the logits of the definition.
std::vector<Matrix> pair_logits(const Trained& m, std::int64_t layer, const Matrix& h, std::int64_t head);

// What each pair of a head does, means over windows. After Barbero et al. 2024 (https://arxiv.org/abs/2410.06205): |q|·|k|
// bounds a pair's part of the logit; the share is what it really has in the row-centred logits (Cov/Var, sums to 1); the
// concentration |mean exp(i(φ_q − φ_k))| is 1 where the angle between query and key is fixed, so that the pair reads
// position, and 0 where it depends on what the tokens are. Refuses what pair_logits does, and windows of one token.
struct PairUse {
  double bound, share, concentration;
};
// use[head][pair]
std::vector<std::vector<PairUse>> rotary_use(const Trained& m, std::int64_t layer, const Matrix& stream,
                                             std::int64_t T);

}  // namespace gnomon
