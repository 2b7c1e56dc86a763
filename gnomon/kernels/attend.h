#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "gnomon/core/array.h"

namespace gnomon {

// Heads of a tensor: the row of (b, token, h) starts at data + b·batch + token·token_step + h·head.
template <class T>
struct Heads {
  T* data;
  std::int64_t batch, token, head;
  T* row(std::int64_t b, std::int64_t t, std::int64_t h) const {
    return data + b * batch + t * token + h * head;
  }
};

class RowRule;

// Everything that position adds to attention, as plain arrays. An empty array is absent. B sequences, H
// heads, query i, key j, distance δ = p_i − p_j of their places; column r of an array over distances is
// δ = first_distance + r. A gradient of Terms is a Terms of the same shapes.
struct Terms {
  std::int64_t first_distance = 0;
  std::int64_t distances = 0;  // R
  // (H,R): s[h,i,j] += by_distance[h,δ]. ALiBi, T5, KERPLE, Sandwich
  Floats by_distance;
  // (B,H,tokens): s[h,i,j] += by_query[h,i] + by_key[h,j]. FoX, Transformer-XL's u·k
  Floats by_query, by_key;
  // (H,R,K): s[h,i,j] += q[h,i]·query_cross[h,δ] + k[h,j]·key_cross[h,δ]. Shaw, Transformer-XL, DeBERTa
  Floats query_cross, key_cross;
  // (H,R,D): o[h,i] += Σ_j p[h,i,j] value[h,δ]. Shaw
  Floats value;
  // Factor of scale·q·k, before anything is added. DeBERTa, TUPE
  float content_scale = 1;
  // (B,tokens), or (1,tokens) for all: query i sees the keys first_key[i] ≤ j < end_key[i] and no others.
  // Both do not fall with i (where they do, what is seen is not defined). Packed documents, windows, chunks
  std::vector<std::int32_t> first_key, end_key;
  // (B,tokens), or (1,tokens): the places p of the tokens. Empty: they follow each other by 1.
  std::vector<std::int64_t> places;
  // What rewrites whole rows of logits, one after the other. CoPE, FIRE, stick-breaking
  std::vector<std::shared_ptr<const RowRule>> rules;

  bool over_distances() const;
  Terms zeros() const;  // the arrays of numbers, of the same shapes, filled with 0; no masks, places or rules
};

struct AttendShape {
  std::int64_t B, H;                      // sequences, heads
  std::int64_t queries, keys;             // tokens
  std::int64_t K, D;                      // width of q and k, width of v
  float scale;                            // of q·k; the terms are not scaled
  bool causal;                            // query at i sees keys j ≤ i
  const std::uint8_t* padding = nullptr;  // (B,keys): 1 = nobody sees this key
  std::int64_t beside = 0;                // channels of q and k after the K of the product, for rules to read
  std::int64_t query_tile = 0,
               key_tile = 0;  // 0 = chosen for the machine; the result does not depend on them
  std::int64_t kv_heads = 0;  // heads of k and v, 0 = H; query head h reads head h / (H/kv_heads)
  // The place of query 0 among the keys. Not given: keys − queries, the last ones. 0: masks are aligned top-left; query
  // places may lie before the keys or beyond them, and queries may be more than keys.
  std::optional<std::int64_t> first = {};

  std::int64_t place(std::int64_t i) const { return first.value_or(keys - queries) + i; }  // of query i
  std::int64_t key_head(std::int64_t h) const { return kv_heads ? h / (H / kv_heads) : h; }
  AttendShape of_keys() const {  // whose H counts the heads of k and v
    AttendShape s = *this;
    if (kv_heads) s.H = kv_heads;
    return s;
  }
};

// Numbers of pairs of query and key: those of (b,h,i) start at data + b·batch + h·head + i·query, one for each key. A
// step of 0 shares them. Null: absent.
template <class T>
struct PairRows {
  T* data = nullptr;
  std::int64_t batch = 0, head = 0, query = 0;
  T* row(std::int64_t b, std::int64_t h, std::int64_t i) const {
    return data + b * batch + h * head + i * query;
  }
};

// What the caller asks of logits, whatever the encoding: of their sum with the terms, in this order.
struct Extras {
  float soft_cap = 0;               // s = soft_cap·tanh(s/soft_cap); 0 = none. Gemma 2, arXiv 2408.00118
  PairRows<const float> bias = {};  // s += bias; −∞ hides the key
  PairRows<const std::uint8_t> mask = {};  // 0 hides the key
  const float* sinks = nullptr;  // (H): softmax over one more logit, of no value. gpt-oss, arXiv 2508.10925
  bool of_pairs() const { return soft_cap != 0 || bias.data || mask.data; }
};
// Each may be absent, and is added to. A step of 0 in bias sums over what it shares.
struct ExtrasGrad {
  PairRows<float> bias = {};
  float* sinks = nullptr;
};

// One query of one sequence, with all its heads. Token `at` is its place among the keys; it sees the keys
// first ≤ j < end. q and k are the rows that attention got, with every channel they have.
struct QueryRow {
  std::int64_t b, at, first, end, H;
  Heads<const float> q, k;
  std::int64_t query;  // its row in q
  const float* query_head(std::int64_t h) const { return q.row(b, query, h); }
  const float* key_head(std::int64_t h, std::int64_t j) const { return k.row(b, j, h); }
};
// The logits of a query: head h at data + h·step, indexed by key.
struct LogitRows {
  float* data;
  std::int64_t step;
  float* head(std::int64_t h) const { return data + h * step; }
};
// Where a rule adds gradients: dq and dk have the channels of q and k, without scale; dw is the rule's own.
struct RuleGrad {
  Strided<float> dq;              // row h: head h of this query
  float* dk;                      // (H, keys, width)
  std::int64_t dk_head, dk_step;  // distances in dk
  float* dw;
  float* key_head(std::int64_t h, std::int64_t j) const { return dk + h * dk_head + j * dk_step; }
};

// Rewrites the logits of one query at a time: for what no sum of terms can say. Must not depend on the order
// in which queries come.
class RowRule {
 public:
  virtual ~RowRule() = default;
  virtual std::int64_t param_count() const { return 0; }
  // s[first..end) of every head, in place. Keys that are padding hold −∞, before and after.
  virtual void forward(const QueryRow& query, LogitRows s) const = 0;
  // ds in place, from the gradient of what forward left to that of what it found, `before`.
  virtual void backward(const QueryRow& query, LogitRows before, LogitRows ds,
                        const RuleGrad& grad) const = 0;
  // false: what forward leaves are logarithms of weights already; no softmax follows.
  virtual bool softmax() const { return true; }
};

// out = softmax(scale·q·kᵀ + terms, then extras)·(v + value term). q (B,H,queries,K), k (B,kv_heads,keys,K), v
// (B,kv_heads,keys,D), out (B,H,queries,D). lse (B,H,queries): natural log of Σ exp(logit), with the sink; −∞ for a query
// that sees no key and has no sink. The row of out of a query that sees no key is 0. Online softmax over tiles (Milakov, Gimelshein 2018, arXiv 1805.02867; Dao 2022, arXiv
// 2205.14135): no (queries, keys) matrix in memory. Extra memory a thread: O((queries+keys)·(K+D)). With rules
// or places that do not follow each other by 1 it goes by rows (attend_rows.cpp): O(keys·H·(K+D)); there kv_heads, first
// and extras are an error. Throws
// Error(usage) for extents, steps and terms that do not fit each other (attend_check.h). That q, k, v, out, lse and
// padding are as large as the shape says is the caller's duty: they are pointers.
// NaN in, NaN out: where a logit that a query sees is NaN, +∞ or a product beyond float32, its lse, its row of out and
// all gradients that depend on them are NaN. −∞ in by_distance, by_query or by_key only hides a key. What a query
// does not see changes no bit of its row: the future, another document, a key that padding, mask or a bias of −∞ hides
// (rules are shown padded rows as they are).
void attend(const AttendShape& shape, Heads<const float> q, Heads<const float> k, Heads<const float> v,
            const Terms& terms, Heads<float> out, float* lse, const Extras& extras = {});

// What attend was given and returned, and the gradient of its output.
struct AttendResult {
  Heads<const float> q, k, v, out;
  const float* lse;
  Heads<const float> dout;
  Extras extras = {};
};
// dq, dk, dv are overwritten; the arrays that dterms has, of the shapes of the terms, are added to. With kv_heads, dk and
// dv sum over the query heads of a group, in their order: that takes O(B·H·keys·(K+D)) more memory. Throws as attend().
struct AttendGrad {
  Heads<float> dq, dk, dv;
  Terms* dterms;
  std::vector<Floats>* drules = nullptr;  // a row for each rule: the gradient of its parameters, added to
  ExtrasGrad dextras = {};
};
void attend_backward(const AttendShape& shape, const AttendResult& forward, const Terms& terms,
                     const AttendGrad& grad);

}  // namespace gnomon
