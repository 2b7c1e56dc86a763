#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "gnomon/nn/session.h"

namespace gnomon {

struct Sampling {
  std::int64_t count;  // new tokens of each sequence
  double temperature =
      0;  // 0: the likeliest symbol, the first of equal ones; else softmax(logits/temperature)
  std::uint64_t seed =
      0;  // of what is drawn: the n-th symbol of sequence b depends on (seed, n, b) and the logits
};

// What a decoder writes after a prompt (inputs B·T and encoder rows, nothing else of Tokens): (B,count), through the key cache of the
// session, which ends what it generated before. Throws Error(usage) as Session::begin() and extend() do, for an empty prompt, a
// count below 0, and a temperature that is below 0 or not finite.
std::vector<std::int32_t> sample(Session& session, std::span<const float> w, const Tokens& prompt,
                                 const Sampling& how);

}  // namespace gnomon
