#pragma once
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "gnomon/claims/models/kept.h"
#include "gnomon/study/data/corpus.h"
#include "gnomon/study/statistics/statistics.h"

namespace gnomon {

// Thrown by a measurement that needs more of the text than there is; says what. It is a verdict, not a fault.
struct NotMeasurable : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Where measurements are made: the text, the size of the run, and the trained models.
class Experiment {
 public:
  // text may be null: then only what needs none can be measured.
  Experiment(const Corpus* text, bool quick, Path models);

  const bool quick;
  std::int64_t seeds() const { return quick ? 1 : 5; }
  std::int64_t draws(std::int64_t full) const { return quick ? full / 4 : full; }

  // A language model under this spec at the size of this run, at the rate that tune() found for the spec and the depth.
  Recipe language(std::string_view spec, std::int64_t layers = 2) const;
  // The same in windows of 512 tokens, as many tokens a step.
  Recipe long_language(std::string_view spec, std::int64_t layers) const;
  // As language(), bidirectional: masked tokens are predicted.
  Recipe encoder(std::string_view spec, std::int64_t layers = 2) const;
  // A language model of kPieces byte-pair symbols that are learned on the text: many more words than channels.
  Recipe pieces(std::string_view spec, std::int64_t width = 64) const;
  static constexpr std::int64_t kPieces = 8000, kLong = 512;
  // A model on a task, at the rate that was found for this spec, task and depth.
  Recipe task(std::string_view data, std::string_view spec, std::int64_t layers = 2,
              bool causal = true) const;

  // Finds the learning rate of every spec that these recipes give a text or a task, at every depth: of the grid the one whose
  // trial has the lowest loss on validation windows; where that is at an edge, the next beyond it is tried, kWidenings times.
  // On the text it is that of the model which language() or encoder() gives. A quick run keeps the first rate of a text, and a
  // recipe's of a task. false = stopped.
  bool tune(const std::vector<Recipe>& recipes, const TrainHooks& hooks);
  static constexpr double kRates[] = {4e-3, 8e-3, 16e-3}, kEncoderRates[] = {1e-3, 2e-3, 4e-3},
                          kTaskRates[] = {1.5e-3, 3e-3, 6e-3};
  static constexpr int kWidenings = 2;
  // The rates found, by spec: "sinusoidal", "sinusoidal, 8 layers, encoder", "rope on order, 1 layer".
  const std::map<std::string, double>& rates() const { return rates_; }

  // Trains what is not there yet, several at a time. stop() is asked between steps; false = stopped.
  bool train(const std::vector<Recipe>& recipes, const TrainHooks& hooks);
  // The recipe's models, in order of seed; without those whose training diverged, which diverged() names. Throws
  // NotMeasurable for models of a text that repeats one byte, or has too few byte pairs.
  const std::vector<Outcome>& models(const Recipe& recipe);
  const std::vector<std::string>& diverged() const { return diverged_; }
  std::int64_t trained() const { return trained_; }  // models, not found
  const Corpus& text() const;                        // throws Error(usage) where there is none

  // Held-out windows of the text for models of this recipe; examples of a task.
  Sample held_out(const Recipe& recipe, std::int64_t windows) const;

 private:
  Recipe on_text(std::string_view spec, std::int64_t layers, bool causal) const;
  Recipe as_given(const Recipe& recipe) const;
  double rate_of(const Recipe& recipe, double otherwise) const;
  void cut_pieces(const std::vector<Recipe>& recipes);  // where one of them needs them
  std::string lacking(const Recipe& recipe) const;      // what the text has too little of; empty: nothing
  const Data* data_of(const Recipe& recipe) const;

  const Corpus* text_;
  std::unique_ptr<Data> pieces_;
  std::string no_pieces_;  // why there are none
  const bool one_byte_;    // the text is one byte again and again: no model learns anything from it
  const Path folder_;
  std::map<std::string, std::vector<Outcome>> kept_;
  std::map<std::string, double> rates_;
  std::vector<std::string> diverged_;
  std::int64_t trained_ = 0;
};

// The held-out losses of the recipe's models, by seed; their mean; the paired difference of two.
std::vector<double> losses(Experiment& experiment, const Recipe& recipe);
Estimate loss(Experiment& experiment, const Recipe& recipe);
Estimate loss_difference(Experiment& experiment, const Recipe& a, const Recipe& b);
// f(model) for every seed.
template <class F>
std::vector<double> each(Experiment& experiment, const Recipe& recipe, F&& f) {
  std::vector<double> out;
  for (const Outcome& o : experiment.models(recipe)) out.push_back(f(o));
  return out;
}

}  // namespace gnomon
