#pragma once
#include <cstdint>

#include "gnomon/core/standard.h"

// Rows of numbers that attention reads and writes, anywhere in memory.
namespace gnomon {

// The heads of a tensor: the row of (b,t,h) starts at data + b·batch + t·token + h·head.
template <class T>
struct Heads {
  T* data;
  std::int64_t batch, token, head;
  T* row(std::int64_t b, std::int64_t t, std::int64_t h) const {
    return data + b * batch + t * token + h * head;
  }
};

// The kind of rows: queries, keys, values or the output of attention. `out` rotates back, by −angle.
enum class Role : unsigned { q = 1, k = 2, v = 4, out = 8 };
constexpr unsigned operator|(Role a, Role b) { return unsigned(a) | unsigned(b); }

// One number for each pair of query and key: the row of (b,h,i) starts at data + b·batch + h·head + i·query, with one number per
// key. A step of 0 shares rows. Null: absent.
template <class T>
struct PairRows {
  T* data = nullptr;
  std::int64_t batch = 0, head = 0, query = 0;
  T* row(std::int64_t b, std::int64_t h, std::int64_t i) const {
    return data + b * batch + h * head + i * query;
  }
};

// What the caller changes in the logits, after the terms of the encodings, in this order.
struct Extras {
  float soft_cap = 0;               // s = soft_cap·tanh(s/soft_cap); 0 = none. Gemma 2, arXiv 2408.00118
  PairRows<const float> bias = {};  // s += bias; −∞ hides the key
  PairRows<const std::uint8_t> mask = {};  // 0 hides the key
  const float* sinks = nullptr;            // (H): one more logit, without a value. gpt-oss, arXiv 2508.10925
  // Output: receives the final logits, −∞ if the query does not see the key; with stick-breaking, ln w.
  PairRows<float> logits = {};
  // Input: replaces the final logits; −∞ hides a key. There is no backward pass through it.
  PairRows<const float> instead = {};
  bool of_weights = false;  // `instead` holds ln w: no normalisation and no sinks follow
  bool of_pairs() const { return soft_cap != 0 || bias.data || mask.data; }
};
// Gradients of the extras; each is added to, or null. A step of 0 in bias sums over the shared rows.
struct ExtrasGrad {
  PairRows<float> bias = {};
  float* sinks = nullptr;
};

// The query and key projections of a layer, from its input of C channels to H heads of D: weights (H·D,C), biases (H·D).
template <class T>
struct Projections {
  T *q, *k, *q_bias, *k_bias;
};

}  // namespace gnomon
