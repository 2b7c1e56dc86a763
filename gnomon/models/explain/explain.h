#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gnomon/models/resolve/numbers.h"
#include "gnomon/models/resolve/resolved.h"

namespace gnomon {

// A bucket of T5: keys `first` to `last` tokens before the query share it; last −1: all further keys too.
struct SharedBucket {
  std::int64_t bucket, first, last;
};

// What a group of layers computes for the last query in a context of `length` tokens.
struct AtLength {
  std::int64_t length;
  Numbers numbers;
  double temperature = 1;  // factor on that query besides those in `numbers` (log-n, Llama 4)
  // Number of pairs that made no full turn within the trained length (before any extension) and now turn further than there.
  std::int64_t beyond_training = 0;
  double last_bucket = 0;  // share of the query-key pairs of a causal window that fall into T5's last bucket
};

// Layers that do the same with position, under one name.
struct LayerGroup {
  std::vector<std::int64_t> layers;  // from 0; within `component`, if the model has several
  LayerPosition position;
  std::string kind;             // "rotary", "temperature", "bias", "relative", or several joined by +; "none"
  std::optional<double> theta;  // base of the rotation
  std::optional<std::int64_t> window;  // a query sees keys nearer than this, or its chunk of this many tokens
  std::vector<SharedBucket> buckets;   // of T5, for keys before the query
  std::vector<AtLength> at;            // one for each of Explanation::lengths
  // Tokens from the first visible key to the query in a context of `length`: at most the window.
  std::int64_t span(std::int64_t length) const { return window ? std::min(*window, length) : length; }
  const Numbers& numbers() const { return at.front().numbers; }  // at the reference length
};

// Bytes of keys and values that generation keeps for one sequence, at two bytes per number (bfloat16, float16).
struct KeyCacheSize {
  std::int64_t per_token = 0;       // per token in all layers, while no window is full
  std::int64_t beyond_windows = 0;  // per token in the layers that still grow when every window is full
  std::vector<std::int64_t> at;     // total for each of Explanation::lengths; a window keeps at most its size
};

// The explanation of a model's file; `gnomon explain` prints it.
struct Explanation {
  std::string where;  // the file
  bool gguf = false;
  Resolved model;
  // In tokens: 1, 2 and 4 times the trained length, and the length that the file promises, if it is another one. If the file
  // gives no length, the first is kNoLength.
  std::vector<std::int64_t> lengths;
  std::optional<std::int64_t> positions_end;  // number of rows, if the input encoding is a table
  std::vector<LayerGroup> groups;             // in the order of their first layers
  std::optional<KeyCacheSize> cache;          // nullopt for an encoder
  std::int64_t trained() const { return lengths.front(); }
};
inline constexpr std::int64_t kNoLength = 2048;

// θ^(−2i/rotary_dim): the frequencies of the pairs without any extension; empty without a theta.
std::vector<double> plain_frequencies(const LayerGroup& group);
// Number of pairs that made less than a full turn within the trained length (with theta alone, without any extension) and that
// `now`, the group in a context of `length` tokens, turns further: length times frequency is above that of training.
std::int64_t pairs_beyond_training(const LayerGroup& group, const Numbers& now, std::int64_t trained,
                                   std::int64_t length);
// The factor on the query at the last of `length` positions, apart from rotations.
double temperature_at(const LayerPosition& layer, std::int64_t length);

// The reader of that name (reader_names()). Without a name: llama.cpp for a GGUF file, otherwise transformers 5. Throws
// Error(usage) for an unknown name.
Reader reader_named(std::string_view name, const Config& config);

// Throws as resolve() does, and Error(input) for a layer that no spec can express (65 channels of 64).
Explanation explain(const Config& config, Reader reader);
Explanation explain(Resolved model, const std::string& where, bool gguf = false);

}  // namespace gnomon
