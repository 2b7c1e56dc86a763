#include "gnomon/nn/sample.h"

#include <algorithm>
#include <cmath>

#include "gnomon/core/check.h"
#include "gnomon/core/error.h"
#include "gnomon/core/random.h"
#include "gnomon/core/text.h"

namespace gnomon {
namespace {

std::int32_t likeliest(std::span<const float> logits) {
  return std::int32_t(std::max_element(logits.begin(), logits.end()) - logits.begin());
}
// The symbol at which the sum of the probabilities, in the order of the symbols, passes u in (0,1).
std::int32_t drawn(std::span<const float> logits, double temperature, double u) {
  const double most = double(*std::max_element(logits.begin(), logits.end()));
  std::vector<double> sums;
  double sum = 0;
  for (const float z : logits) sums.push_back(sum += std::exp((double(z) - most) / temperature));
  const auto at = std::upper_bound(sums.begin(), sums.end(), u * sum);
  return std::int32_t(std::min(at - sums.begin(), std::ptrdiff_t(sums.size()) - 1));
}

}  // namespace

std::vector<std::int32_t> sample(Session& session, std::span<const float> w, const Tokens& prompt,
                                 const Sampling& how) {
  check_extents("sample", {{"B", prompt.B, 1, kMostTokens},
                           {"the length of the prompt", prompt.T, 1, kMostTokens},
                           {"count", how.count, 0, kMostTokens}});
  if (!(how.temperature >= 0 && std::isfinite(how.temperature)))
    throw Error(Fault::usage, text("sample: temperature is ", shortest(how.temperature),
                                   "; allowed are finite numbers of 0 or more"));
  const std::int64_t B = prompt.B, V = session.architecture().vocabulary;
  const Random random(how.seed, "sample");
  Floats logits(std::size_t(B * V));
  std::vector<std::int32_t> written(std::size_t(B * how.count)), next(static_cast<std::size_t>(B));
  session.begin(B, prompt.T + how.count);
  Tokens first{B, prompt.T, prompt.inputs, {}};
  first.encoder = prompt.encoder;
  session.extend(first, w, logits);
  for (std::int64_t n = 0; n < how.count; ++n) {
    for (std::int64_t b = 0; b < B; ++b) {
      const auto row = std::span<const float>(logits).subspan(std::size_t(b * V), std::size_t(V));
      next[b] = how.temperature == 0 ? likeliest(row)
                                     : drawn(row, how.temperature, random.uniform(std::uint64_t(n * B + b)));
      written[b * how.count + n] = next[b];
    }
    if (n + 1 < how.count) session.extend({B, 1, next, {}}, w, logits);
  }
  return written;
}

}  // namespace gnomon
