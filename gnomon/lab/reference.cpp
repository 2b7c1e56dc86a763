#include "gnomon/lab/reference.h"

#include <array>
#include <cmath>
#include <memory>

namespace gnomon {

ReferenceLosses reference_losses(const Corpus& corpus) {
  constexpr std::size_t kSymbols = 256;
  using Counts = std::array<double, kSymbols>;
  const std::string_view bytes = corpus.bytes();
  const auto symbol = [&](std::int64_t at) { return std::size_t((unsigned char)bytes[std::size_t(at)]); };
  Counts single{};
  const auto pairs = std::make_unique<std::array<Counts, kSymbols>>();
  double all = 0;
  for (const auto& [begin, end] : corpus.training()) {
    for (std::int64_t at = begin; at < end; ++at) {
      single[symbol(at)] += 1, all += 1;
      if (at > begin) (*pairs)[symbol(at - 1)][symbol(at)] += 1;
    }
  }
  Counts before{};  // how often a byte is followed by another
  for (std::size_t a = 0; a < kSymbols; ++a) {
    for (const double count : (*pairs)[a]) before[a] += count;
  }
  ReferenceLosses sum{0, 0};
  double scored = 0;
  for (const auto& [begin, end] : corpus.held_out(Held::test)) {
    for (std::int64_t at = begin + 1; at < end; ++at) {
      const std::size_t a = symbol(at - 1), b = symbol(at);
      const double letter = (single[b] + 1) / (all + kSymbols),
                   pair = ((*pairs)[a][b] + letter) / (before[a] + 1);
      sum.letters -= std::log(letter), sum.pairs -= std::log(pair), scored += 1;
    }
  }
  return {sum.letters / scored, sum.pairs / scored};
}

}  // namespace gnomon
