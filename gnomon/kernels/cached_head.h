#pragma once
#include "gnomon/kernels/attend.h"

namespace gnomon {

inline constexpr std::int64_t kBlock = 32;  // keys that are transposed together: two of the widest vectors
inline constexpr std::int64_t kWidest =
    16;  // numbers in the widest vector: what cached rows are rounded up to
inline constexpr std::int64_t kPiece = 1024;  // slots of the cache that go to one task

// Of the terms of a call, what there is to do.
struct CachedStages {
  bool over_distances = false, late = false, products = false, values = false;
};

// One head of the cache with the queries of its group, as the kernel sees it. Row r of rows, and of what is returned, is
// query r / group with head first_head + r % group. A token of the sequence has an index that counts from its first one;
// it lies in slot index % slots.
struct CachedTask {
  AttendShape shape;
  std::int64_t b, first_head, group;
  Heads<const float> q;
  const float *k, *v;       // blocks of keys, rows of values, of this head
  const double* positions;  // by slot
  std::int64_t slots, Dp;
  std::int64_t begin, end;     // the slots of this task
  std::int64_t total, oldest;  // tokens that ever came; index of the first that is stored
  std::int64_t window;
  bool tame;                      // no value can make another one's sum NaN
  const std::int64_t* queries;    // index of each query, −1: it is padding
  const std::int64_t* first_key;  // of each query, counted from the oldest; null: nothing is hidden
  const Terms* terms;
  CachedStages given;
  const Extras* extras;
  // What these slots give: the largest logit and Σ exp(logit − largest) of each row, and its sum of values (rows,Dp).
  float *most, *sum, *out;

  std::int64_t rows() const { return shape.queries * group; }
  // The indices that query i sees.
  std::int64_t first_of(std::int64_t i) const {
    const std::int64_t in_ring = window ? std::max(oldest, queries[i] - window + 1) : oldest;
    return first_key ? std::max(in_ring, oldest + first_key[i]) : in_ring;
  }
  std::int64_t end_of(std::int64_t i) const {
    if (queries[i] < 0) return oldest;
    return shape.causal ? queries[i] + 1 : total;
  }
};

}  // namespace gnomon
