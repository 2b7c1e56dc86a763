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

// T5's: keys `first` to `last` tokens before the query share a bucket; last −1: all further ones do.
struct SharedBucket {
  std::int64_t bucket, first, last;
};

// What a group of layers computes in a context of `length` tokens, the query at its end.
struct AtLength {
  std::int64_t length;
  Numbers numbers;
  double temperature = 1;  // factor of that query beside numbers' (log-n, Llama 4)
  // Pairs without a full turn over the distances of the trained length that now turn further than they did there, before any
  // extension.
  std::int64_t beyond_training = 0;
  double last_bucket = 0;  // share of a causal window's pairs of tokens that are in T5's last bucket
};

// Layers that do the same with position, under one name.
struct LayerGroup {
  std::vector<std::int64_t> layers;  // from 0; of `component`, where the model has several
  LayerPosition position;
  std::string kind;                    // "rotary", "temperature", "bias", "relative", several with +; "none"
  std::optional<double> theta;         // of the rotation
  std::optional<std::int64_t> window;  // a query sees keys nearer than this, or of its chunk of so many
  std::vector<SharedBucket> buckets;   // of T5, of keys before the query
  std::vector<AtLength> at;            // for each of Explanation::lengths
  // Tokens that a query and its keys span in a context of `length`: no more than the window.
  std::int64_t span(std::int64_t length) const { return window ? std::min(*window, length) : length; }
  const Numbers& numbers() const { return at.front().numbers; }  // at the reference length
};

// Keys and values that generation keeps, two bytes a number (bfloat16, float16), of one sequence.
struct KeyCacheSize {
  std::int64_t per_token = 0;       // of all layers, while no window is full
  std::int64_t beyond_windows = 0;  // of those that still grow when every window is full
  std::vector<std::int64_t>
      at;  // bytes for each of Explanation::lengths; a window keeps no more than its size
};

// A model's file explained: all that `gnomon explain` tells is made of this.
struct Explanation {
  std::string where;  // the file
  bool gguf = false;
  Resolved model;
  // Tokens: 1, 2 and 4 times the trained length, and what the file promises where it is none of these. Where no length is
  // said, the first is kNoLength.
  std::vector<std::int64_t> lengths;
  std::optional<std::int64_t> positions_end;  // of what joins the words: a table has so many rows
  std::vector<LayerGroup> groups;             // in the order of their first layers
  std::optional<KeyCacheSize> cache;          // none of an encoder
  std::int64_t trained() const { return lengths.front(); }
};
inline constexpr std::int64_t kNoLength = 2048;

// θ^(−2i/rotary_dim), what the pairs would turn by without any extension; empty without a theta.
std::vector<double> plain_frequencies(const LayerGroup& group);
// Pairs that the trained length showed a part of their circle only, and that `now`, the group in a context of `length`
// tokens, turns further than that. What they were trained with has theta alone: no extension.
std::int64_t pairs_beyond_training(const LayerGroup& group, const Numbers& now, std::int64_t trained,
                                   std::int64_t length);
// How much longer the query at the last of `length` positions becomes, by what is no rotation.
double temperature_at(const LayerPosition& layer, std::int64_t length);

// Of that name (reader_names()); without a name what the file is for: transformers 5, of a GGUF file llama.cpp. Throws
// Error(usage).
Reader reader_named(std::string_view name, const Config& config);

// Throws what resolve() throws, and Error(input) for a layer that no spec can be (65 channels of 64).
Explanation explain(const Config& config, Reader reader);
Explanation explain(Resolved model, const std::string& where, bool gguf = false);

}  // namespace gnomon
