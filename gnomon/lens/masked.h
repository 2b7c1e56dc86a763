#pragma once
#include <cstdint>

#include "gnomon/nn/trained.h"

namespace gnomon {

// What an encoder is asked to fill in, by BERT's rule (Devlin et al. 2019, arXiv 1810.04805, section 3.1 and appendix A.1). Of
// every window 15 % of the tokens are scored, to the nearest whole number and at least one. Of these 80 % become the mask
// token, 10 % a random token, and 10 % stay as they are.
struct Masking {
  static constexpr double kScored = 0.15, kMask = 0.8, kRandom = 0.1;
  std::int64_t mask = 0;        // the token
  std::int64_t vocabulary = 0;  // random tokens are below it
  std::uint64_t seed = 1;
};

// The sample with tokens masked. Its own targets say which may be: kUnscored is never chosen, others are what is to be
// predicted. What is chosen depends on the seed, the window and the place alone. Throws Error(usage) for a window in which
// no token may be chosen, and a mask outside the vocabulary.
Sample masked(const Sample& sample, const Masking& rule);

}  // namespace gnomon
