#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gnomon/study/data/answers.h"

namespace gnomon {

// Which of what training never sees: those windows that rates are chosen by, those that results are told of, or both.
enum class Held { all, validation, test };

// Windows that training never shows, evenly spread over what is held out.
struct Windows {
  std::int64_t tokens, count;
  Held held = Held::all;
  bool causal = true;
  std::uint64_t draw = 0;  // numbers the masks of an encoder, or the examples of a task
  std::int64_t reach =
      0;  // they end where windows of so many tokens have room, so that every length has the same ends; 0: of these
};

// The windows of one step of a training.
struct StepBatch {
  std::uint64_t seed;
  std::int64_t step;             // from 0
  std::int64_t tokens, windows;  // of a window; how many
  bool causal = true;
};

// What the test text costs whom little of it is known, in nats a byte: a yardstick for what a model has learned.
struct ReferenceLosses {
  double letters;  // who knows how often each byte comes
  double pairs;  // who knows the byte before as well: where a decoder stands before it learns to look further
};

// Bytes as symbols, and back.
std::vector<std::int32_t> symbols_of(std::string_view bytes);
std::string bytes_of(std::span<const std::int32_t> symbols);

// What a model learns from and is held to. Windows are functions of the arguments, to the bit. A decoder (causal) says the
// next symbol; for an encoder, symbols are replaced by 0 and are the targets.
class Data {
 public:
  virtual ~Data() = default;
  virtual std::string print() const = 0;  // one line, equal for equal data: a part of the key of a run
  virtual std::int64_t vocabulary() const { return 256; }
  virtual Sample training(const StepBatch& batch) const = 0;
  virtual Sample held_out(const Windows& windows) const = 0;
  virtual double bytes(std::int32_t symbol) const;  // that a target stands for: losses are told by the byte
  // Symbols of what somebody writes, and what they stand for; unless said otherwise they are bytes. Throws Error(usage) for data of
  // which that is not known.
  virtual std::vector<std::int32_t> encode(std::string_view words) const { return symbols_of(words); }
  virtual std::string decode(std::span<const std::int32_t> symbols) const { return bytes_of(symbols); }

  virtual std::string unit() const { return "nats per byte"; }   // of losses
  virtual std::vector<std::string> describe() const = 0;         // sentences for a page
  virtual std::vector<std::string> notes() const { return {}; }  // sentences worth telling beforehand
  virtual std::int64_t memory_bytes() const { return 0; }
  virtual double training_tokens() const { return 0; }  // 0: endless
  virtual std::optional<ReferenceLosses> reference() const { return {}; }

  // Of a task: what answers are held to, and at which lengths. nullopt: there are no answers, only losses.
  virtual std::optional<Metric> metric() const { return {}; }
  virtual double chance() const { return 0; }  // of the metric, by answering blindly
  virtual std::vector<std::int64_t> payloads() const { return {}; }
  // The largest payload of training; of a text, 1 stands for its window.
  virtual double trained() const { return 1; }
  virtual Examples examples(std::int64_t payload,
                            const Windows& windows) const;  // throws Error(bug) where there are none
};

}  // namespace gnomon
