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
  std::int64_t capacity;  // tokens per sequence
  // Number of keys that a query sees, including its own; 0 = all. With a window the cache is a ring: once full, it overwrites
  // the oldest keys.
  std::int64_t window = 0;
};

// n new tokens for every sequence.
struct NewKeys {
  std::int64_t n;
  Heads<const float> k, v;  // (B,heads,n,K) and (B,heads,n,D)
  std::span<const double> positions =
      {};  // (n) for all sequences, or (B,n). Empty: each is the previous position + 1, starting at 0
  const std::uint8_t* padding = nullptr;  // (B,n): 1 = padding, which is not stored
  // (B): the context length, in tokens, for which all keys of a sequence are now made, if the encoding depends on it.
  std::span<const double> contexts = {};
};

// Some cached keys of one sequence, as rows.
struct CachedKeys {
  std::int64_t b;
  std::span<const double> positions;
  RowLayout rows;  // one sequence, tokens, heads
  float* keys;
};

// Keys and values of B sequences, float32, in the layout that attention reads. append() packs each token once: O(K+D) per token.
// Sequences may have different lengths. All memory is allocated at construction. A call that throws leaves the cache unchanged.
class KeyCache {
 public:
  // `made_for` names the attention that makes the keys. Compare it before you append: keys that one encoding has rotated mean
  // nothing to another. Throws Error(usage) for extents below 1 and a window beyond the capacity.
  explicit KeyCache(const KeyCacheShape& shape, std::string made_for = "");

  // Appends tokens. The room for them: without a window, the capacity; with one, capacity − window + 1 tokens per call, so that
  // each finds its whole window. Throws Error(usage) for: more tokens than that, rows that do not fit, and positions that are not
  // finite, beyond ±2^53, or before the last cached one.
  void append(const NewKeys& tokens);
  void check(const NewKeys& tokens) const {
    check_rows_and_room(tokens), positions_of(tokens);
  }  // throws what append() would
  // The value of keys() after n more tokens per sequence, without their padding (B,n).
  std::int64_t keys_with(std::int64_t n, const std::uint8_t* padding = nullptr) const;

  // Calls f with all cached keys, some tokens at a time, oldest first; f may change them in place. Use it for keys whose rotation
  // changes (rerotate, encodings/turns.h). If f throws, the exception leaves this function, and the keys of earlier calls of f
  // stay changed.
  void rewrite_keys(const std::function<void(const CachedKeys&)>& f);

  // Copies the stored tokens of sequence b, oldest first: keys (heads,length,K), values (heads,length,D).
  void copy_rows(std::int64_t b, Floats& keys, Floats& values) const;

  const KeyCacheShape& shape() const { return shape_; }
  const std::string& made_for() const { return made_for_; }
  // The number of stored tokens of sequence b, and the largest number of any sequence. Key j of attention is the j-th oldest.
  std::int64_t length(std::int64_t b) const;
  std::int64_t keys() const;
  double position(std::int64_t b, std::int64_t j) const;
  double context(std::int64_t b) const;  // from the last append(); 0 before the first
  // The index, in its sequence, of the key of the i-th token of the last append(); −1: padding.
  std::int64_t key_of(std::int64_t b, std::int64_t i) const;
  std::int64_t appended() const { return appended_; }  // n of the last append()

 private:
  friend class CachedAttention;
  struct Sequence {
    std::int64_t total = 0,
                 stored = 0;  // tokens appended so far, and how many of the last ones are stored
    bool tame = true;         // every value is below 2^50
    bool whole = true;        // every position is a whole number
    double last = -1;         // position
    double context = 0;
  };
  void check_rows_and_room(const NewKeys& tokens) const;
  std::vector<double> positions_of(const NewKeys& tokens) const;  // (B,n); throws as append() does
  void store(std::int64_t b, std::int64_t slot, const NewKeys& tokens, std::int64_t t);
  const Sequence& at(std::int64_t b) const;
  std::int64_t slot(std::int64_t index) const { return index % slots_; }
  // The transposed block of keys that contains this slot: key `slot` is column slot % kBlock of (K,kBlock).
  std::int64_t key_block(std::int64_t b, std::int64_t h, std::int64_t slot) const;
  std::int64_t value_row(std::int64_t b, std::int64_t h, std::int64_t slot) const;

  const KeyCacheShape shape_;
  const std::string made_for_;
  const std::int64_t slots_, Dp_;  // capacity and D, rounded up to whole blocks and vectors
  Floats k_, v_;                   // (B,heads,slots/kBlock,K,kBlock) and (B,heads,slots,Dp)
  std::vector<double> positions_;  // (B,slots)
  std::vector<Sequence> sequences_;
  std::int64_t appended_ = 0;
  std::vector<std::int64_t> last_;  // (B,appended): the token's index in its sequence; −1: padding
};

}  // namespace gnomon
