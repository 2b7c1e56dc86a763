#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gnomon/combine/spec.h"
#include "gnomon/kernels/norm.h"

namespace gnomon {

// A pre-LN Transformer (Xiong et al. 2020, arXiv 2002.04745) over bytes:
//
//   h = combination(word[bytes], position)
//   h += W_o·attend(W_qkv·norm(h) + b) + b,   h += W_2·gelu(W_1·norm(h) + b) + b      for each layer
//   logits = W_head·norm(h)
struct ModelConfig {
  std::int64_t layers = 4, width = 128, heads = 4;
  std::int64_t feed_forward = 4;  // hidden width of the feed-forward part, in multiples of width
  std::int64_t length = 128;      // tokens of a training window
  bool causal = true;             // decoder; false = encoder
  bool tied = false;              // the head is the word table
  Norm norm = Norm::layer;
  Spec position;

  std::int64_t head_size() const { return width / heads; }
  void check() const;  // throws Error(usage): what was found, what is allowed
};
inline constexpr std::int64_t kVocabulary = 256;  // bytes

// Where a parameter lies in the one flat array of a model.
struct Param {
  ParamSpec spec;
  std::int64_t offset;
};

// Tokens of a batch, sequences of equal length one after the other, and what is to be predicted.
struct Tokens {
  std::int64_t B, T;
  std::span<const std::int32_t> inputs;   // (B·T) in [0, kVocabulary); B and T are 1 or more
  std::span<const std::int32_t> targets;  // (B·T) likewise, or kUnscored
  const std::uint8_t* padding = nullptr;  // (B·T): 1 = no key to anyone
  // Where the tokens stand; its rows are 1 or B. Null: 0..T−1, through the samplers of the spec.
  const Placement* placement = nullptr;
  // The random choices of samplers are functions of these.
  std::uint64_t seed = 0, draw = 0;
  bool drop_positions = false;  // as if the spec had no encoding in it (DroPE)
  // Asked before every layer, forward and backward; true: the pass throws Stopped.
  const std::function<bool()>* stop = nullptr;
};
struct Stopped {};  // a pass was given up; nothing but scratch has changed

// The residual stream around one layer while the forward pass is there: rows (B·T, width), row_step(width) apart.
struct LayerView {
  std::int64_t layer;
  const float *before, *middle;  // before the layer; after its attention
  float* after;                  // after its feed-forward part; what is written here goes on
};
using LayerHook = std::function<void(const LayerView&)>;

// The model as a function of its parameters: it holds none. Every array is flat, in the order of params(). One object
// serves one thread at a time; see core/parallel.h for processes that fork.
class Model {
 public:
  explicit Model(const ModelConfig& config);
  ~Model();
  Model(Model&&) noexcept;

  const ModelConfig& config() const;
  std::span<const Param> params() const;
  std::int64_t param_count() const;
  const Param& param(std::string_view name) const;  // throws Error(bug)
  // The window lengths it is defined for end here; nullopt = any length.
  std::optional<std::int64_t> positions_end() const;

  // Parameters as they start. A tensor's numbers depend on (seed, its name, its index) alone: models that
  // share a tensor of the same shape and deviation start it equal.
  Floats initial(std::uint64_t seed) const;

  // Mean loss over the scored targets, in nats. losses (B·T), 0 where unscored. With a gradient (the size of
  // the parameters) it adds d(mean loss)/d(parameter). Throws Error(usage) for a length without positions, and, as
  // observe() and logits() do, for arrays of other sizes than these and for bytes and targets that are none.
  double loss(const Tokens& tokens, std::span<const float> w, std::span<float> losses,
              std::span<float> gradient = {});
  // The mean loss, without a gradient, showing every layer to `hook`, which may rewrite what the layer left.
  double observe(const Tokens& tokens, std::span<const float> w, std::span<float> losses,
                 const LayerHook& hook);
  // logits (B·T, kVocabulary), dense. Targets are not looked at.
  void logits(const Tokens& tokens, std::span<const float> w, std::span<float> logits);

  // Multiply-adds ×2 for one token at window length T, forward and backward (three times the forward), matrix
  // products and attention only; attention counts the pairs that the mask leaves.
  double training_flops_per_token(std::int64_t T) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace gnomon
