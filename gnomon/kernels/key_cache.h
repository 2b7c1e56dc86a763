#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "gnomon/core/array.h"
#include "gnomon/kernels/rotate.h"
#include "gnomon/kernels/rows.h"

namespace gnomon {

struct KeyCacheShape {
  std::int64_t B, heads;  // sequences, heads of k and v
  std::int64_t K, D;      // width of k, width of v
  std::int64_t capacity;  // tokens of a sequence
  // So many keys does a query see, its own among them; 0 = all. With a window the cache is a ring: when it is full, the
  // oldest keys are overwritten.
  std::int64_t window = 0;
};

// n tokens for every sequence.
struct NewKeys {
  std::int64_t n;
  Heads<const float> k, v;  // (B,heads,n,K) and (B,heads,n,D)
  std::span<const double> positions =
      {};  // (n) for all, or (B,n). Empty: each follows the one before by 1, from 0 on
  const std::uint8_t* padding = nullptr;  // (B,n): 1 = no token, which is not stored
  // (B): tokens of the context that all keys of a sequence are now made for, where what makes them follows it.
  std::span<const double> contexts = {};
};

// Some cached keys of one sequence, as rows.
struct CachedKeys {
  std::int64_t b;
  std::span<const double> positions;
  RowLayout rows;  // one sequence, tokens, heads
  float* keys;
};

// Keys and values of B sequences in the layout that attention reads, packed once when they are appended: O(K+D) a token.
// A sequence has as many tokens as it was given. All memory is taken at construction. float32. A call that throws leaves
// the cache as it was.
class KeyCache {
 public:
  // Throws Error(usage) for extents below 1 and a window beyond the capacity. `made_for` says whose keys these are; who appends
  // compares it with its own, since keys that one encoding has turned mean nothing to another.
  explicit KeyCache(const KeyCacheShape& shape, std::string made_for = "");

  // Throws Error(usage) for more tokens than there is room for (without a window: the capacity; with one: so many that each
  // of them still finds its window, capacity − window + 1), rows that do not fit, and positions that are not finite, beyond
  // ±2^53, or before the last cached one.
  void append(const NewKeys& tokens);
  void check(const NewKeys& tokens) const {
    check_rows_and_room(tokens), positions_of(tokens);
  }  // throws what append() would
  // keys() once n tokens of each sequence are appended, but for its padding (B,n).
  std::int64_t keys_with(std::int64_t n, const std::uint8_t* padding = nullptr) const;

  // f is given all cached keys, some tokens at a time, oldest first, and may change them: what it leaves is kept. For keys
  // whose rotation changes (rerotate, encodings/turns.h). What f throws leaves this function; the keys that f was given
  // before keep what it made of them.
  void rewrite_keys(const std::function<void(const CachedKeys&)>& f);

  // The stored tokens of sequence b as rows, oldest first: keys (heads,length,K), values (heads,length,D).
  void copy_rows(std::int64_t b, Floats& keys, Floats& values) const;

  const KeyCacheShape& shape() const { return shape_; }
  const std::string& made_for() const { return made_for_; }
  // Tokens of sequence b that are stored, and the most of any sequence. Key j of attention is the j-th oldest.
  std::int64_t length(std::int64_t b) const;
  std::int64_t keys() const;
  double position(std::int64_t b, std::int64_t j) const;
  double context(std::int64_t b) const;  // as the last append said; 0 before
  // Which key of its sequence the i-th token of the last append is; −1: it was padding.
  std::int64_t key_of(std::int64_t b, std::int64_t i) const;
  std::int64_t appended() const { return appended_; }  // n of the last append

 private:
  friend class CachedAttention;
  struct Sequence {
    std::int64_t total = 0,
                 stored = 0;  // tokens that ever came, and those that are still here: the last ones
    bool tame = true;         // every value is below 2^50
    bool whole = true;        // every position is a whole number
    double last = -1;         // position
    double context = 0;
  };
  void check_rows_and_room(const NewKeys& tokens) const;
  std::vector<double> positions_of(const NewKeys& tokens) const;  // (B,n); throws as append does
  void store(std::int64_t b, std::int64_t slot, const NewKeys& tokens, std::int64_t t);
  const Sequence& at(std::int64_t b) const;
  std::int64_t slot(std::int64_t index) const { return index % slots_; }
  // The block of keys with this slot, transposed: key `slot` is column slot % kBlock of (K,kBlock).
  std::int64_t key_block(std::int64_t b, std::int64_t h, std::int64_t slot) const;
  std::int64_t value_row(std::int64_t b, std::int64_t h, std::int64_t slot) const;

  const KeyCacheShape shape_;
  const std::string made_for_;
  const std::int64_t slots_, Dp_;  // capacity and D, rounded up to whole blocks and vectors
  Floats k_, v_;                   // (B,heads,slots/kBlock,K,kBlock) and (B,heads,slots,Dp)
  std::vector<double> positions_;  // (B,slots)
  std::vector<Sequence> sequences_;
  std::int64_t appended_ = 0;
  std::vector<std::int64_t> last_;  // (B,appended): which of its sequence's tokens each is, −1: padding
};

}  // namespace gnomon
