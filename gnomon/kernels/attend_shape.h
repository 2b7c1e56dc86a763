#pragma once
#include <cstdint>
#include <optional>

#include "gnomon/core/precision.h"

namespace gnomon {

// Extents of attention, and which keys a query may see, whatever the encoding.
struct AttendShape {
  std::int64_t B, H;                      // sequences, heads
  std::int64_t queries, keys;             // tokens
  std::int64_t K, D;                      // width of q and k, width of v
  float scale;                            // of q·k; the terms are not scaled
  bool causal;                            // query at i sees keys j ≤ i
  const std::uint8_t* padding = nullptr;  // (B,keys): 1 = nobody sees this key
  std::int64_t beside = 0;                // channels of q and k after the K of the product, terms.far_from
  std::int64_t query_tile = 0,
               key_tile = 0;  // 0 = chosen for the machine; the result does not depend on them
  std::int64_t kv_heads = 0;  // heads of k and v, 0 = H; query head h reads head h / (H/kv_heads)
  // The place of query 0 among the keys. Not given: keys − queries, the last ones. 0: masks are aligned top-left; query
  // places may lie before the keys or beyond them, and queries may be more than keys.
  std::optional<std::int64_t> first = {};
  const std::int64_t* firsts = nullptr;  // (B): the same for each sequence, instead of `first`
  // A query at p sees keys p − left ≤ j ≤ p + right, counted in tokens; −1: without end.
  std::int64_t left = -1, right = -1;
  // Of the products with rows of q, k, v and their gradients, where multiplies_in(precision). Logits, weights and sums are
  // float32, and so are all products of a head that meets a number of 2^50 or more.
  Precision precision = Precision::float32;

  std::int64_t place(std::int64_t i) const { return first.value_or(keys - queries) + i; }  // of query i
  std::int64_t key_head(std::int64_t h) const { return kv_heads ? h / (H / kv_heads) : h; }
  AttendShape of_keys() const {  // whose H counts the heads of k and v
    AttendShape s = *this;
    if (kv_heads) s.H = kv_heads;
    return s;
  }
};

}  // namespace gnomon
