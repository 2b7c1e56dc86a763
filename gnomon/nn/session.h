#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "gnomon/core/precision.h"
#include "gnomon/nn/model.h"
#include "gnomon/nn/taps.h"

namespace gnomon {

// The rows that an encoder left, which a decoder with cross attention reads: the same number for each sequence.
struct EncoderRows {
  std::int64_t T = 0;                     // 0: none
  std::span<const float> rows = {};       // (B·T, width), dense
  const std::uint8_t* padding = nullptr;  // (B·T): 1 = no key to anyone
};

// Tokens of a batch, sequences of equal length one after the other, and what is to be predicted.
struct Tokens {
  std::int64_t B, T;
  std::span<const std::int32_t> inputs;   // (B·T) in [0, vocabulary); B and T are 1 or more
  std::span<const std::int32_t> targets;  // (B·T) likewise, or kUnscored
  const std::uint8_t* padding = nullptr;  // (B·T): 1 = no key to anyone
  // Where the tokens stand; its rows are 1 or B. Null: 0..T−1, through the samplers of the spec.
  const Placement* placement = nullptr;
  // The random choices of samplers are functions of these.
  std::uint64_t seed = 0, draw = 0;
  bool drop_positions = false;  // as if the spec had no encoding in it (DroPE)
  // Asked before every layer, forward and backward; true: the pass throws Stopped.
  const std::function<bool()>* stop = nullptr;
  std::span<const std::int32_t> types = {};  // (B·T) in [0, token_types); empty: all 0
  const Taps* taps = nullptr;                // values that are read or rewritten on their way
  // Scored targets that a loss is the mean over, where these tokens are a part of a batch; 0: those of these tokens.
  std::int64_t scored = 0;
  EncoderRows encoder = {};  // of an architecture with cross attention
  // Of the products of queries, keys, values, the output of attention, feed-forward parts without experts, and logits, and of
  // those inside attention between rows of queries, keys and values (AttendShape::precision);
  // all others are float32's.
  Precision precision = Precision::float32;
};
struct Stopped {};  // a pass was given up; nothing but scratch has changed

// A model at work: the memory of a pass, which the next pass uses again (as large as the largest batch), and a key cache if it
// generates. For one thread at a time; see core/parallel.h for processes that fork. Calls throw Error(usage), before
// anything is computed, for arrays of other sizes than these, for tokens, types and targets that are none, for a length
// without positions, for encoder rows of an architecture without cross attention and for none of one with it, for logits of a
// model that has no head, for taps of values that the model does not have, and for taps
// where a gradient is asked for. A tap of what a pass does not compute is not called.
class Session {
 public:
  explicit Session(const Model& model);
  const Architecture& architecture() const;
  ~Session();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;

  // Mean loss over the scored targets (of a part of a batch, its share of that mean), in nats. losses (B·T), 0 where unscored. With a gradient (the size of
  // the parameters) it adds d(mean loss)/d(parameter); to dencoder (the size of encoder.rows), if it is given, d(mean loss)/d(row).
  double loss(const Tokens& tokens, std::span<const float> w, std::span<float> losses,
              std::span<float> gradient = {}, std::span<float> dencoder = {});
  // logits (B·T, vocabulary), dense. Targets are not looked at.
  void logits(const Tokens& tokens, std::span<const float> w, std::span<float> logits);
  // The last rows (B·T, width), dense, after the last norm where there is one: what the head reads.
  void hidden(const Tokens& tokens, std::span<const float> w, std::span<float> rows);
  // Adds the gradient of Σ rows·drows; drows (B·T, width). Runs the forward pass itself.
  void hidden_backward(const Tokens& tokens, std::span<const float> w, std::span<const float> drows,
                       std::span<float> gradient);

  // Generation. begin() makes an empty key cache for `capacity` tokens of B sequences; extend() appends n tokens of each
  // (inputs B·n), and gives the logits (B, vocabulary) of the last ones: those of the whole pass to rounding. begin()
  // throws Error(usage) for an encoder, for samplers, and for encodings without a key cache; extend() without begin(),
  // for padding, a placement, encoder rows after the first tokens (those of the first are kept), taps of the rows, logits and weights inside attention, and more tokens than there is room for.
  // Every other pass ends it, and so does one that was given up.
  void begin(std::int64_t B, std::int64_t capacity);
  void extend(const Tokens& tokens, std::span<const float> w, std::span<float> logits);
  std::int64_t length() const;  // tokens that were appended to each sequence

 private:
  struct Work;
  std::unique_ptr<Work> work_;
};

}  // namespace gnomon
