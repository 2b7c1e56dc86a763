#pragma once
#include <atomic>
#include <cstdint>
#include <vector>

namespace gnomon {

// The numbers 0..n, for so many workers: each has a share of neighbours, and helps the next when it has taken all of its own. So
// from loop to loop over the same rows a worker meets those that its cache still holds.
class Shares {
 public:
  Shares(std::int64_t n, std::int64_t workers) : shares_(std::size_t(workers)) {
    for (std::int64_t w = 0; w < workers; ++w) {
      shares_[std::size_t(w)].next = n * w / workers;
      shares_[std::size_t(w)].end = n * (w + 1) / workers;
    }
  }
  // What worker w is to do next; −1: nothing is left.
  std::int64_t next(std::int64_t w) {
    for (std::size_t n = 0; n < shares_.size(); ++n) {
      Share& share = shares_[(std::size_t(w) + n) % shares_.size()];
      if (share.next.load(std::memory_order_relaxed) >= share.end) continue;
      if (const auto i = share.next.fetch_add(1, std::memory_order_relaxed); i < share.end) return i;
    }
    return -1;
  }

 private:
  struct alignas(64) Share {  // a cache line: no two workers write into one
    std::atomic<std::int64_t> next = 0;
    std::int64_t end = 0;
  };
  std::vector<Share> shares_;
};

}  // namespace gnomon
