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
  std::int64_t width = 0;      // width of the layer's input, for encodings that read it; 0 = heads·head_dim
  std::int64_t length = 2048;  // training length in tokens, which some encodings need
  bool causal = true;
  double scale = 0;    // factor on q·k; 0 = 1/√head_dim
  float soft_cap = 0;  // 0 = none
};

// The input of attention. B sequences; the keys are tokens, and the queries are some of these tokens.
struct AttentionInput {
  // (B,heads,queries,head_dim), (B,kv_heads,keys,head_dim), (B,kv_heads,keys,value_dim)
  ConstView q, k, v;
  const Placement* places = nullptr;  // positions of the keys: 1 or B rows. Null: 0, 1, 2 …
  // The index of query 0 among the keys. Not given: the queries are the last keys.
  std::optional<std::int64_t> first{};
  const std::int64_t* firsts = nullptr;   // (B): `first` of each sequence; not with rotations
  std::int64_t left = -1, right = -1;     // number of tokens that a query sees before and after it; −1: all
  std::span<const float> w = {};          // parameters, in the order of params()
  const std::uint8_t* padding = nullptr;  // (B,keys): 1 = no query sees this key
  PairRows<const float> bias = {};        // added to logits; −∞ hides a key
  PairRows<const std::uint8_t> mask = {};  // 0 hides a key
  const float* sinks = nullptr;            // (heads)
  // The layer's input (B,1,keys,width) and its query and key projections, for encodings that read them.
  ConstView x = {};
  const Projections<const float>* projections = nullptr;
};

// The arrays for gradients: dq, dk, dv and dx are overwritten, the others added to. A gradient that is not given is not computed.
struct AttentionGradients {
  View dq, dk, dv;
  std::span<float> dw = {};
  View dx = {};
  Projections<float>* projections = nullptr;
  ExtrasGrad extras = {};
};

// Attention with the encodings of a spec that act on q, k, v, the logits and the mask, such as "rope(pairing=adjacent)+alibi".
// Immutable; many threads may share one object. B, queries and keys may be 0. Every call throws Error(usage) for views and arrays
// that do not fit; the message says what was found and what is allowed.
class Attention {
 public:
  // Throws Error(usage) for text that is not a spec, parts that do not act inside attention (input encodings, samplers, layers),
  // and sizes that do not fit, such as heads that is not a multiple of kv_heads.
  Attention(std::string_view spec, const AttentionConfig& config);
  Attention(Attention&& other) noexcept;
  ~Attention();

  const AttentionConfig& config() const;
  std::string spec() const;
  // The parameters of its encodings, one after the other, with names such as "0.bias" (bias of encoding 0), and their initial
  // values.
  const std::vector<ParamSpec>& params() const;
  std::int64_t param_count() const;
  Floats initial(std::uint64_t seed) const;

  // The state that a forward pass keeps for the backward pass. It keeps pointers to the memory of the call's views.
  class Saved;
  // Writes out (B,heads,queries,value_dim), in any number type. Arithmetic is float32: 16-bit inputs are widened once, and
  // results are rounded once.
  std::shared_ptr<const Saved> forward(const AttentionInput& in, const View& out) const;
  void backward(const Saved& saved, const ConstView& dout, const AttentionGradients& to) const;

  // For callers that keep arrays, not objects (autograd of other libraries): the arrays of a forward pass that cannot be
  // recomputed from its input and output without attention. From them, the same input and the same output, resume() makes the
  // same state as forward(); O(tokens).
  struct Numbers {
    std::span<const float> lse;  // (B,heads,queries), natural logarithm
    std::span<const float>
        attended;  // (B,heads,queries,value_dim), dense: the output before its rotation; empty if it is not rotated
  };
  static Numbers numbers(const Saved& saved);
  std::shared_ptr<const Saved> resume(const AttentionInput& in, const View& out,
                                      const Numbers& numbers) const;

  // Creates a cache for `capacity` tokens of B sequences; with a window, a ring that keeps at least `window` tokens.
  KeyCache cache(std::int64_t B, std::int64_t capacity, std::int64_t window = 0) const;
  // Decodes n new tokens per sequence: q (B,heads,n,head_dim), k and v with n tokens too. They are appended to the cache, and
  // each sees itself and the cached tokens before it. in.places: positions of the new tokens; null: they follow the cached
  // ones. in.x: their inputs, for encodings that read them. Throws for encodings whose terms need data that no cache holds, and for a cache of another spec. A call that throws
  // leaves the cache unchanged.
  void decode(const AttentionInput& in, KeyCache& cache, const View& out) const;

  // Internal to this library (attention_inside.h): its encodings and their plan.
  struct Inside;
  const Inside& inside() const { return *inside_; }

 private:
  std::shared_ptr<Saved> saved(const AttentionInput& in, const View& out) const;

  std::unique_ptr<const Inside> inside_;
};

}  // namespace gnomon
