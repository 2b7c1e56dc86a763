#include "gnomon/files/byte_pairs.h"

#include <functional>
#include <queue>
#include <utility>

namespace gnomon {

// The finaliser of SplitMix64 (Steele, Lea, Flood 2014, "Fast splittable pseudorandom number generators", figure 16, variant
// 13): the plain number would be its own bucket, and pairs of a stranger's file would meet in one.
std::size_t MergeHash::operator()(const Merge& m) const {
  std::uint64_t x = std::uint64_t(m.left) << 32 | std::uint32_t(m.right);
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

bool Merges::add(Merge pair, std::int32_t symbol) {
  if (!ranks_.emplace(pair, std::int32_t(made_.size())).second) return false;
  made_.push_back(symbol);
  return true;
}

std::optional<std::int32_t> Merges::rank(Merge pair) const {
  const auto found = ranks_.find(pair);
  return found == ranks_.end() ? std::nullopt : std::optional(found->second);
}

void Merges::join(std::vector<std::int32_t>& symbols) const {
  if (symbols.size() < 2) return;
  constexpr std::int32_t kGone = -1;
  const auto n = std::int32_t(symbols.size());
  std::vector<std::int32_t> before(symbols.size()),
      after(symbols.size());  // neighbours; -1 and n at the ends
  for (std::int32_t p = 0; p < n; ++p) before[std::size_t(p)] = p - 1, after[std::size_t(p)] = p + 1;
  const auto rank_at = [&](std::int32_t p) -> std::optional<std::int32_t> {
    if (p < 0 || symbols[std::size_t(p)] == kGone || after[std::size_t(p)] >= n) return std::nullopt;
    return rank({symbols[std::size_t(p)], symbols[std::size_t(after[std::size_t(p)])]});
  };

  using Due = std::pair<std::int32_t, std::int32_t>;  // rank, place
  std::vector<Due> first;
  for (std::int32_t p = 0; p < n; ++p) {
    if (const auto r = rank_at(p)) first.emplace_back(*r, p);
  }
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due(std::greater<>(), std::move(first));
  const auto consider = [&](std::int32_t p) {
    if (const auto r = rank_at(p)) due.emplace(*r, p);
  };
  while (!due.empty()) {
    const auto [r, p] = due.top();
    due.pop();
    // The pair may have changed since. Another that makes the same symbol is joined in its turn, as in `tokenizers`
    // (models/bpe/word.rs, merge_all).
    const auto now = rank_at(p);
    if (!now || made_[std::size_t(*now)] != made_[std::size_t(r)]) continue;
    const std::int32_t right = after[std::size_t(p)], next = after[std::size_t(right)];
    symbols[std::size_t(p)] = made_[std::size_t(r)];
    symbols[std::size_t(right)] = kGone;
    after[std::size_t(p)] = next;
    if (next < n) before[std::size_t(next)] = p;
    consider(before[std::size_t(p)]);
    consider(p);
  }
  std::erase(symbols, kGone);
}

}  // namespace gnomon
