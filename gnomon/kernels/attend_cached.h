#pragma once
#include <cstdint>
#include <span>

#include "gnomon/kernels/attend.h"
#include "gnomon/kernels/key_cache.h"

namespace gnomon {

// Queries against a cache, and where what they see begins: (B,queries), key j counted from the oldest stored one, which do not
// fall with the query. Empty: nothing is hidden. Keys before it are not read.
struct CachedQueries {
  Heads<const float> rows;  // (B,H,queries,K)
  std::span<const std::int64_t> first_key = {};
};

// Attention of tokens that were just appended: query i of sequence b is token appended − queries + i of the last append, and
// sees the keys of its sequence: with `causal`, those up to its own. Of shape: B, kv_heads, K, D are the cache's, keys is
// cache.keys(), padding null, beside 0, first not given. Terms: arrays over distances of the positions (whole numbers),
// by_query, by_key; no first_key, end_key (the queries have theirs), places. Numbers over keys (by_key, bias, mask) count from the oldest
// that is stored. The other meanings, errors and NaN are attend()'s. Queries that are padding have rows of 0 and lse −∞.
// Each key is read once for all query heads of its group. Extra memory: O(B·H·queries·(K + D·keys/1024)).
void attend_cached(const AttendShape& shape, const CachedQueries& q, const KeyCache& cache,
                   const Terms& terms, const Extras& extras, Heads<float> out, float* lse);

}  // namespace gnomon
