#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gnomon/core/view.h"
#include "gnomon/encodings/params.h"
#include "gnomon/encodings/positions.h"
#include "gnomon/kernels/key_cache.h"
#include "gnomon/kernels/rows.h"

namespace gnomon {

struct AttentionConfig {
  std::int64_t heads;
  std::int64_t kv_heads = 0;   // 0 = heads; query head h reads head h / (heads/kv_heads)
  std::int64_t head_dim;       // channels of q and k
  std::int64_t value_dim = 0;  // channels of v; 0 = head_dim
  std::int64_t width = 0;      // of the layer's input, for encodings that read it; 0 = heads·head_dim
  std::int64_t length = 2048;  // tokens of a training window, which some encodings are made for
  bool causal = true;
  double scale = 0;    // of q·k; 0 = 1/√head_dim
  float soft_cap = 0;  // 0 = none
};

// What attention is asked. B sequences; keys are tokens, and queries are tokens among them.
struct AttentionInput {
  // (B,heads,queries,head_dim), (B,kv_heads,keys,head_dim), (B,kv_heads,keys,value_dim)
  ConstView q, k, v;
  const Placement* places = nullptr;  // where the keys stand: 1 or B rows. Null: 0, 1, 2 …
  // The place of query 0 among the keys. Not given: the queries are the last ones.
  std::optional<std::int64_t> first{};
  const std::int64_t* firsts = nullptr;    // (B): the same for each sequence; not with rotations
  std::int64_t left = -1, right = -1;      // a query sees so many tokens before and after it; −1: all
  std::span<const float> w = {};           // parameters, in the order of params()
  const std::uint8_t* padding = nullptr;   // (B,keys): 1 = nobody sees this key
  PairRows<const float> bias = {};         // added to logits; −∞ hides a key
  PairRows<const std::uint8_t> mask = {};  // 0 hides a key
  const float* sinks = nullptr;            // (heads)
  // The layer's input (B,1,keys,width) and what q and k were projected with, for encodings that read them.
  ConstView x = {};
  const Projections<const float>* projections = nullptr;
};

// Where gradients go: dq, dk, dv and dx are overwritten, the others added to. What is not given is not computed.
struct AttentionGradients {
  View dq, dk, dv;
  std::span<float> dw = {};
  View dx = {};
  Projections<float>* projections = nullptr;
  ExtrasGrad extras = {};
};

// Attention with the encodings of a spec, such as "rope(pairing=adjacent)+alibi": what acts on q, k, v, the logits and the
// mask. Immutable; one object serves many threads. Every call throws Error(usage) for views and arrays that do not fit,
// naming what was found and what is allowed; B, queries and keys may be 0.
class Attention {
 public:
  // Throws for text that is no spec, parts that do not act inside attention (input encodings, samplers, layers), and
  // sizes that do not fit, such as heads that are no multiple of kv_heads.
  Attention(std::string_view spec, const AttentionConfig& config);
  Attention(Attention&& other) noexcept;
  ~Attention();

  const AttentionConfig& config() const;
  std::string spec() const;
  // The parameters of its encodings, one after the other, named "0.bias" by the part they belong to, and how they start.
  const std::vector<ParamSpec>& params() const;
  std::int64_t param_count() const;
  Floats initial(std::uint64_t seed) const;

  // What a forward pass keeps for the backward pass. It refers to the memory of the views of its call.
  class Saved;
  // out (B,heads,queries,value_dim), of any number type. Arithmetic is float32; rows in sixteen bits are widened once, and
  // results rounded once.
  std::shared_ptr<const Saved> forward(const AttentionInput& in, const View& out) const;
  void backward(const Saved& saved, const ConstView& dout, const AttentionGradients& to) const;

  // For callers that keep arrays, not objects (autograd of other libraries): what of a forward pass cannot be had again from
  // its arguments and its output without attending. resume() makes of it, of the same input and the same output what
  // forward() returned; O(tokens).
  struct Numbers {
    std::span<const float> lse;  // (B,heads,queries), natural logarithm
    std::span<const float>
        attended;  // (B,heads,queries,value_dim), dense, before steps of the output; empty: none
  };
  static Numbers numbers(const Saved& saved);
  std::shared_ptr<const Saved> resume(const AttentionInput& in, const View& out,
                                      const Numbers& numbers) const;

  // A cache for `capacity` tokens of B sequences; with a window, a ring that keeps at least so many tokens.
  KeyCache cache(std::int64_t B, std::int64_t capacity, std::int64_t window = 0) const;
  // New tokens, B × n: q (B,heads,n,head_dim), k and v of as many. They are appended, and each sees what is cached before
  // it and itself. in.places are theirs; null: they follow. Throws for encodings whose terms need what no cache holds, and for
  // a cache that another spec made; what throws leaves the cache as it was.
  void decode(const AttentionInput& in, KeyCache& cache, const View& out) const;

  // What it is made of, for the rest of this library (attention_inside.h): its encodings, and their plan.
  struct Inside;
  const Inside& inside() const { return *inside_; }

 private:
  std::shared_ptr<Saved> saved(const AttentionInput& in, const View& out) const;

  std::unique_ptr<const Inside> inside_;
};

}  // namespace gnomon
