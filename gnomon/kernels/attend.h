#pragma once
#include <cstdint>

#include "gnomon/core/array.h"

namespace gnomon {

// Everything that position adds to attention, as plain arrays. An empty array is absent. B sequences, H
// heads, query i, key j, distance δ = i − j of their positions in the sequence; column r of an array over
// distances is δ = first_distance + r. A gradient of Terms is a Terms of the same shapes.
struct Terms {
  std::int64_t first_distance = 0;
  std::int64_t distances = 0;  // R
  // (H,R): s[h,i,j] += by_distance[h,δ]. ALiBi, T5, KERPLE, Sandwich
  Floats by_distance;
  // (B,H,tokens): s[h,i,j] += by_query[h,i] + by_key[h,j]. FoX, Transformer-XL's u·k
  Floats by_query, by_key;
  // (H,R,K): s[h,i,j] += q[h,i]·query_cross[h,δ] + k[h,j]·key_cross[h,δ]. Shaw, Transformer-XL, DeBERTa c→p; p→c
  Floats query_cross, key_cross;
  // (H,R,D): o[h,i] += Σ_j p[h,i,j] value[h,δ]. Shaw
  Floats value;

  Terms zeros() const;  // the same shapes, filled with 0
};

struct AttendShape {
  std::int64_t B, H;           // sequences, heads
  std::int64_t queries, keys;  // tokens; query i stands at position i + keys − queries: the last ones
  std::int64_t K, D;           // width of q and k, width of v
  float scale;                 // of q·k; the terms are not scaled
  bool causal;                 // query at i sees keys j ≤ i
  const std::uint8_t* padding = nullptr;  // (B,keys): 1 = nobody sees this key
  std::int64_t query_tile = 0,
               key_tile = 0;  // 0 = chosen for the machine; the result does not depend on them
};

// Heads of a tensor: the row of (b, token, h) starts at data + b·batch + token·token_step + h·head.
template <class T>
struct Heads {
  T* data;
  std::int64_t batch, token, head;
  T* row(std::int64_t b, std::int64_t t, std::int64_t h) const {
    return data + b * batch + t * token + h * head;
  }
};

// out = softmax(scale·q·kᵀ + terms)·(v + value term). q (B,H,queries,K), k (B,H,keys,K), v (B,H,keys,D),
// out (B,H,queries,D). lse (B,H,queries): natural log of Σ exp(logit), −∞ for a query that sees no key, whose
// row of out is 0. Online softmax over tiles (Milakov, Gimelshein 2018, arXiv 1805.02867; Dao 2022, arXiv
// 2205.14135): no (queries, keys) matrix in memory. Extra memory a thread: O((queries+keys)·(K+D)). Throws
// Error(bug) for terms whose shapes do not fit.
void attend(const AttendShape& shape, Heads<const float> q, Heads<const float> k, Heads<const float> v,
            const Terms& terms, Heads<float> out, float* lse);

// What attend was given and returned, and the gradient of its output.
struct AttendResult {
  Heads<const float> q, k, v, out;
  const float* lse;
  Heads<const float> dout;
};
// dq, dk, dv are overwritten; the arrays that dterms has are added to.
struct AttendGrad {
  Heads<float> dq, dk, dv;
  Terms* dterms;
};
void attend_backward(const AttendShape& shape, const AttendResult& forward, const Terms& terms,
                     const AttendGrad& grad);

}  // namespace gnomon
