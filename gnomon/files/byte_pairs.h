#pragma once
#include <compare>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

namespace gnomon {

// Two symbols that stand side by side and become one.
struct Merge {
  std::int32_t left, right;
  auto operator<=>(const Merge&) const = default;
};
struct MergeHash {
  std::size_t operator()(const Merge& m) const;
};

// The merges of byte-pair encoding, in their order (Sennrich, Haddow, Birch 2016, arXiv 1508.07909, Algorithm 1).
class Merges {
 public:
  std::size_t size() const { return made_.size(); }
  // One more, after all others. False, and nothing is added, where the pair is there already.
  bool add(Merge pair, std::int32_t symbol);

  // Joins what stands side by side in `symbols`: of all pairs that are there the earliest merge, of its places the leftmost,
  // until none is left. O(n log n) in their number.
  void join(std::vector<std::int32_t>& symbols) const;

 private:
  std::optional<std::int32_t> rank(Merge pair) const;

  std::unordered_map<Merge, std::int32_t, MergeHash> ranks_;
  std::vector<std::int32_t> made_;  // by rank: the symbol
};

}  // namespace gnomon
