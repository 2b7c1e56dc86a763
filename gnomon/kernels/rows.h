#pragma once
#include <cstdint>

#include "gnomon/core/standard.h"

// Rows of numbers that attention reads and writes, wherever they lie.
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

// Whose rows. A rotation of `out` turns back: −angle.
enum class Role : unsigned { q = 1, k = 2, v = 4, out = 8 };
constexpr unsigned operator|(Role a, Role b) { return unsigned(a) | unsigned(b); }

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
  // What becomes weights, to be looked at: receives the logits after all of this, −∞ where a query sees no key; of a broken
  // stick, ln w.
  PairRows<float> logits = {};
  // These take their place; −∞ hides a key. There is no way back from them.
  PairRows<const float> instead = {};
  bool of_weights = false;  // `instead` are ln w: no sum divides them, and no sink is beside them
  bool of_pairs() const { return soft_cap != 0 || bias.data || mask.data; }
};
// Each may be absent, and is added to. A step of 0 in bias sums over what it shares.
struct ExtrasGrad {
  PairRows<float> bias = {};
  float* sinks = nullptr;
};

// The projections of a layer that give q and k from its input x of C channels, for H heads of D: (H·D,C) and (H·D).
template <class T>
struct Projections {
  T *q, *k, *q_bias, *k_bias;
};

}  // namespace gnomon
