#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gnomon/core/file.h"
#include "gnomon/nn/block.h"
#include "gnomon/nn/train.h"
#include "gnomon/study/settings/arm.h"
#include "gnomon/study/settings/fields.h"
#include "gnomon/study/settings/prediction.h"

namespace gnomon {

// The model of every arm. What is not set is as the block has it.
struct StudyModel : BlockSizes {
  std::string block = "gpt";  // make_block()
  std::int64_t vocabulary = 256;
  std::optional<bool> causal, tied;
  std::string norm = "block";  // block, layer, rms
  // Throws Error(usage) for words that are none, and sizes that do not fit; Architecture::check() says the rest.
  Architecture with(const Spec& position) const;
  bool is_causal() const { return with(Spec::parse("none")).causal; }
};

// How a model is trained and looked at, whatever its spec, its seed and its data.
struct RunSettings {
  StudyModel model;
  TrainConfig train;
  std::vector<double> lengths{1, 1.5, 2, 4};  // of the windows at evaluation, in training windows
  std::int64_t score = 32;                    // last positions that are scored at every length
  std::int64_t windows = 64;                  // held-out windows
  std::int64_t points = 10;                   // of the training curve

  std::int64_t tokens_at(double factor) const;  // of a window at this multiple
  std::int64_t longest() const;
};

Architecture model_of(const RunSettings& settings, const Spec& spec);
// The settings under which this arm is trained where the baseline has these. Throws Error(usage) where nothing differs or
// nothing matches.
RunSettings settings_of(const Arm& arm, const RunSettings& baseline_settings, const Spec& baseline);

// The learning rates of every arm: tried on seeds of their own, chosen on validation text. A budget of the study has the rate
// that was chosen at the nearest budget of the tuning.
struct Tuning {
  std::vector<double> rates;          // rising; extended where the best is at an edge (tuning.h)
  std::int64_t seeds = 1;             // 0: no tuning; all have train.learning_rate, or what is given
  std::vector<double> budgets{0.25};  // shares of train.steps, rising
  std::vector<double> given{};        // without tuning: of each arm, each at every budget of the study
};

// Everything that fixes a study: the values of study.toml. Sizes of the model and the training that are 0 follow from `minutes`
// by the rule of scale.h.
struct StudyConfig : RunSettings {
  StudyConfig();
  std::string text_path;       // of what is no task
  std::string data = "bytes";  // bytes or symbols of a text, ids16, ids32, lines, or the name of a task
  bool is_task() const;        // which makes its windows itself
  bool has_text() const;       // losses are by the byte
  bool has_answers() const;    // right or wrong, beside losses
  std::vector<Arm> arms{
      "none",  "sinusoidal", "concat(sinusoidal)", "project(sinusoidal)", "add(learned, scale=off)", "rope",
      "alibi", "t5",         "rope+alibi"};
  std::optional<Arm> baseline;  // one of the arms, of the width; none: settle() chooses
  const Spec& base() const;     // its spec; throws Error(bug) before settle()
  std::int64_t seeds = 5;
  double minutes = 9;                            // of two cores with AVX-512
  std::vector<double> budgets{0.0625, 0.25, 1};  // shares of train.steps
  double smallest_effect = 0.01;                 // nats a byte
  Tuning tuning;
  std::int64_t workers = 0;  // runs side by side; 0 = one a core
  std::int64_t threads = 1;  // of one run
  double checkpoint_seconds = 10;
  std::vector<Prediction> predictions;  // what is expected; no run depends on them
  std::vector<std::string> derived;     // what was not set, and what it follows from: settle() writes it
  // Every value, checked together: throws Error(usage) that names the key, what was found, what is allowed.
  void check() const;
  void check_settings() const;  // of it, what does not depend on the sizes of the model

 private:
  void check_arms() const;
};

std::vector<Field> fields(RunSettings& settings);  // what a run's result depends on
std::vector<Field> fields(StudyConfig& config);    // and what a study is beside that

void read_toml(StudyConfig& config, const Path& path);
void set(StudyConfig& config, std::string_view assignment);
std::string print_toml(StudyConfig config);
// Fills in what was left open: the scale, as many workers as cores hold, the baseline, the whole path of the text; leaves out
// standard arms that the model cannot take; then checks everything. Returns what is worth telling, a sentence each.
std::vector<std::string> settle(StudyConfig& config);

// What an arm costs in runs of its largest budget: all budgets and seeds, and the tuning where no rate beyond the given ones
// is tried.
double runs_an_arm(const StudyConfig& config);
// What the study learns from. Throws what its kind of data throws, and Error(usage) for an encoder that is to learn token ids,
// none of which can be a mask.
class Data;
std::unique_ptr<Data> open_data(const StudyConfig& config);

}  // namespace gnomon
