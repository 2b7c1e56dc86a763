#include "gnomon/lens/masked.h"

#include <algorithm>
#include <cmath>

#include "gnomon/core/error.h"
#include "gnomon/core/random.h"
#include "gnomon/kernels/loss.h"

namespace gnomon {

Sample masked(const Sample& sample, const Masking& rule) {
  sample.check();
  if (rule.mask < 0 || rule.mask >= rule.vocabulary)
    throw Error(Fault::usage, text("the mask token is ", rule.mask, "; the model has the tokens 0 to ",
                                   rule.vocabulary - 1));
  const Random order(rule.seed, "masked tokens"), fates(rule.seed, "fates of masked tokens"),
      words(rule.seed, "words for masked tokens");
  Sample out = sample;
  std::fill(out.targets.begin(), out.targets.end(), kUnscored);
  for (std::int64_t w = 0; w < sample.count(); ++w) {
    std::vector<std::int64_t> may;
    for (std::int64_t n = w * sample.T; n < (w + 1) * sample.T; ++n)
      if (sample.targets[std::size_t(n)] != kUnscored) may.push_back(n);
    if (may.empty()) throw Error(Fault::usage, text("window ", w, " has no token that may be masked"));
    // The first tokens of a shuffle.
    std::sort(may.begin(), may.end(), [&](std::int64_t a, std::int64_t b) {
      return order.bits(std::uint64_t(a)) < order.bits(std::uint64_t(b));
    });
    may.resize(std::size_t(std::max<double>(1, std::round(Masking::kScored * double(may.size())))));
    for (const std::int64_t n : may) {
      out.targets[std::size_t(n)] = sample.targets[std::size_t(n)];
      const double fate = fates.uniform(std::uint64_t(n));
      if (fate < Masking::kMask)
        out.inputs[std::size_t(n)] = std::int32_t(rule.mask);
      else if (fate < Masking::kMask + Masking::kRandom)
        out.inputs[std::size_t(n)] =
            std::int32_t(words.below(std::uint64_t(n), std::uint64_t(rule.vocabulary)));
    }
  }
  return out;
}

}  // namespace gnomon
