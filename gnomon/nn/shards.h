#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "gnomon/core/array.h"
#include "gnomon/nn/ranks.h"

namespace gnomon {

// A batch is cut into shards, whose losses and gradients are computed one by one and added up as a binary tree of neighbours,
// ((0 + 1) + (2 + 3)) + (4 + 5) for six. The tree depends on the number of shards alone, so the sum has the same bits
// whoever has computed which of them.

// From first to last − 1.
struct IndexRange {
  std::int64_t first, last;
  std::int64_t size() const { return last - first; }
};
// What each rank has of n things: neighbours, as many as the others or one more.
IndexRange share_of_rank(std::int64_t n, int rank, int ranks);

// What some shards come to.
struct ShardSum {
  IndexRange shards;
  double loss;
  Floats gradient;
};

// Sums over shards, added up as far as the tree allows: each is a node of it whose neighbour is not there yet.
class ShardTree {
 public:
  explicit ShardTree(std::int64_t shards) : shards_(shards) {}
  void clear();
  // The sum over the shards that follow those that were added before.
  void add(ShardSum next);
  const std::vector<ShardSum>& sums() const { return sums_; }
  ShardSum take();  // the sum over all shards, once they are there
  // An array of this size with anything in it, and where it goes when nobody needs it any more.
  Floats array(std::size_t size);
  void give_back(Floats array);

 private:
  std::int64_t shards_;
  std::vector<ShardSum> sums_;
  std::vector<Floats> spare_;
};

// Sums over all shards, on every rank, of the sums over its own: each rank adds up a slice of the gradient, by the same tree,
// and sends it to the others. So a rank sends and receives less than twice the gradient, where its shards are one node.
class AllReduce {
 public:
  AllReduce(Ranks& ranks, std::int64_t shards);
  // The sum of the losses; `gradient` becomes that of the gradients, which are as long. Throws what exchange() throws.
  double operator()(std::span<const ShardSum> own, std::span<float> gradient);

 private:
  struct Held {
    int rank;
    IndexRange shards;
  };
  std::vector<Outgoing> slices_for_others(std::span<const ShardSum> own) const;
  ShardSum collect(std::span<const ShardSum> own);
  void distribute(std::span<float> gradient);

  Ranks& ranks_;
  std::vector<Held> held_;  // the sums that there are on all ranks, in the order of the shards
  ShardTree slices_;
};

}  // namespace gnomon
