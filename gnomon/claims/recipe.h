#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gnomon/core/file.h"
#include "gnomon/lab/corpus.h"
#include "gnomon/lens/stream.h"
#include "gnomon/nn/train.h"

namespace gnomon::claims {

// How a model is trained: everything that its parameters depend on, but the seed.
struct Recipe {
  std::string data;  // "text", or the name of a task (task.h)
  std::string spec;  // how position enters
  std::int64_t layers = 2, width = 96, heads = 4, length = 64;
  bool causal = true;
  std::int64_t steps = 800, batch = 16;
  double learning_rate = 3e-3;
  std::int64_t seeds = 5;
  bool frozen_words = false;  // the word table stays as it started
  bool snapshots = false;     // keep the parameters on the way

  Recipe deep(std::int64_t n) const;  // of n layers, with three seeds
  std::string print() const;          // one line, equal for equal recipes
  Architecture model() const;
  TrainConfig train() const;
};

// A trained model, and what was seen on the way.
struct Outcome {
  std::shared_ptr<Model> model;
  Floats w;
  std::int64_t seed = 0;
  double nats = 0;                               // held out: a byte of text, or an answer of the task
  std::vector<std::pair<double, double>> curve;  // tokens seen, held-out nats
  std::vector<std::pair<std::int64_t, Floats>> snapshots;  // steps done, parameters
  double tokens_per_second = 0;
  bool found = false;  // read back, not trained now
  Trained look() const { return {*model, w}; }
};

struct TrainHooks {
  std::function<bool()> stop;
  std::function<void(std::size_t done, std::size_t all, const std::string& recipe)> progress;
  std::function<void(const std::string&)> note = {};  // a sentence worth a line
};

// The model of one seed from its file in `folder`, trained first if it is not there or damaged. nullptr model: stopped.
// `text` is needed for data = "text". A file is named by the hash of the recipe, the seed, the text, the
// numerics and the format. Asks hooks.stop, tells hooks.note.
Outcome train_or_load(const Recipe& recipe, std::int64_t seed, const Corpus* text, const Path& folder,
                      const TrainHooks& hooks);

// `count` windows of T tokens that training never shows, of the text or of a task; `draw` numbers the batch.
Sample test_windows(const Recipe& recipe, const Corpus* text, std::int64_t T, std::int64_t count,
                    std::uint64_t draw);

}  // namespace gnomon::claims
