#include "gnomon/nn/shards.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "gnomon/kernels/pointwise.h"

namespace gnomon {
namespace {

// Whether these neighbours are the two halves of a node: of 2ⁿ shards from a multiple of 2ⁿ on, or of as many as there are.
bool are_halves(const IndexRange& left, const IndexRange& right, std::int64_t shards) {
  const std::int64_t half = left.size(), node = 2 * half;
  return std::has_single_bit(std::uint64_t(half)) && left.first % node == 0 &&
         right.last == std::min(left.first + node, shards);
}

// The numbers of an array that a rank adds up.
template <class T>
std::span<T> slice(std::span<T> all, int rank, int ranks) {
  const IndexRange share = share_of_rank(std::int64_t(all.size()), rank, ranks);
  return all.subspan(std::size_t(share.first), std::size_t(share.size()));
}

}  // namespace

IndexRange share_of_rank(std::int64_t n, int rank, int ranks) {
  return {n * rank / ranks, n * (rank + 1) / ranks};
}

void ShardTree::clear() {
  for (ShardSum& sum : sums_) give_back(std::move(sum.gradient));
  sums_.clear();
}

void ShardTree::add(ShardSum next) {
  while (!sums_.empty() && are_halves(sums_.back().shards, next.shards, shards_)) {
    ShardSum left = std::move(sums_.back());
    sums_.pop_back();
    left.shards.last = next.shards.last;
    left.loss += next.loss;
    gnomon::add(std::int64_t(left.gradient.size()), left.gradient.data(), next.gradient.data(),
                left.gradient.data());
    give_back(std::exchange(next, std::move(left)).gradient);
  }
  sums_.push_back(std::move(next));
}

ShardSum ShardTree::take() {
  ShardSum all = std::move(sums_.front());
  sums_.clear();
  return all;
}

Floats ShardTree::array(std::size_t size) {
  Floats found;
  if (!spare_.empty()) found = std::move(spare_.back()), spare_.pop_back();
  found.resize(size);
  return found;
}
void ShardTree::give_back(Floats array) { spare_.push_back(std::move(array)); }

AllReduce::AllReduce(Ranks& ranks, std::int64_t shards) : ranks_(ranks), slices_(shards) {
  for (int r = 0; r < ranks.size(); ++r) {
    ShardTree tree(shards);
    const IndexRange share = share_of_rank(shards, r, ranks.size());
    for (std::int64_t s = share.first; s < share.last; ++s) tree.add({{s, s + 1}, 0, {}});
    for (const ShardSum& sum : tree.sums()) held_.push_back({r, sum.shards});
  }
}

double AllReduce::operator()(std::span<const ShardSum> own, std::span<float> gradient) {
  ShardSum all = collect(own);
  std::copy(all.gradient.begin(), all.gradient.end(), slice(gradient, ranks_.rank(), ranks_.size()).begin());
  slices_.give_back(std::move(all.gradient));
  distribute(gradient);
  return all.loss;
}

std::vector<Outgoing> AllReduce::slices_for_others(std::span<const ShardSum> own) const {
  std::vector<Outgoing> out;
  for (const ShardSum& sum : own) {
    for (int r = 0; r < ranks_.size(); ++r) {
      if (r == ranks_.rank()) continue;
      out.push_back({r, std::as_bytes(std::span(&sum.loss, 1))});
      out.push_back({r, std::as_bytes(slice(std::span(sum.gradient), r, ranks_.size()))});
    }
  }
  return out;
}

// This rank's slice of what all ranks have, added up.
ShardSum AllReduce::collect(std::span<const ShardSum> own) {
  const auto mine = [&](const ShardSum& sum) {
    return slice(std::span(sum.gradient), ranks_.rank(), ranks_.size());
  };
  std::vector<ShardSum> found;
  for (const Held& held : held_) found.push_back({held.shards, 0, slices_.array(mine(own.front()).size())});
  std::vector<Incoming> in;
  for (std::size_t n = 0, next = 0; n < held_.size(); ++n) {
    ShardSum& sum = found[n];
    if (held_[n].rank == ranks_.rank()) {
      const auto numbers = mine(own[next]);
      std::copy(numbers.begin(), numbers.end(), sum.gradient.begin());
      sum.loss = own[next++].loss;
    } else {
      in.push_back({held_[n].rank, std::as_writable_bytes(std::span(&sum.loss, 1))});
      in.push_back({held_[n].rank, std::as_writable_bytes(std::span(sum.gradient))});
    }
  }
  ranks_.exchange(slices_for_others(own), in);
  for (ShardSum& sum : found) slices_.add(std::move(sum));
  return slices_.take();
}

// Everyone's slice for everyone.
void AllReduce::distribute(std::span<float> gradient) {
  std::vector<Outgoing> out;
  std::vector<Incoming> in;
  for (int r = 0; r < ranks_.size(); ++r) {
    if (r == ranks_.rank()) continue;
    out.push_back({r, std::as_bytes(slice(gradient, ranks_.rank(), ranks_.size()))});
    in.push_back({r, std::as_writable_bytes(slice(gradient, r, ranks_.size()))});
  }
  ranks_.exchange(out, in);
}

}  // namespace gnomon
