#pragma once
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gnomon/claims/models/recipe.h"

namespace gnomon {

// A trained model, and what was seen on the way.
struct Outcome {
  std::shared_ptr<Model> model;
  Floats w;
  std::int64_t seed = 0;
  double nats = 0;                               // held out: a byte of text, or an answer of the task
  std::vector<std::pair<double, double>> curve;  // tokens of the steps so far, held-out nats
  std::vector<std::pair<std::int64_t, Floats>> snapshots;  // steps done, parameters
  double tokens_per_second = 0;
  std::string failure;  // why training ended early: then there are no parameters; empty: it did not
  bool found = false;   // read back, not trained now
  Trained look() const { return {*model, w}; }
};

struct TrainHooks {
  std::function<bool()> stop;
  std::function<void(std::size_t done, std::size_t all, const std::string& recipe)> progress;
  std::function<void(const std::string&)> note = {};  // a sentence worth a line
};

// The model of one seed from its run folder in `folder`, named by the job's key; trained first, or to the end, if it is not
// there, not finished or damaged. nullptr model: stopped. `text` is as for Recipe::job. Asks hooks.stop, tells hooks.note.
Outcome train_or_load(const Recipe& recipe, std::int64_t seed, const Data* text, const Path& folder,
                      const TrainHooks& hooks);

}  // namespace gnomon
