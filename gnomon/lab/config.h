#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "gnomon/core/file.h"
#include "gnomon/nn/train.h"

namespace gnomon {

// The model of every arm. What is not set is as the block has it.
struct StudyModel : BlockSizes {
  std::string block = "gpt";  // a name of block_names()
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

// Everything that fixes a study: the values of study.toml.
struct StudyConfig : RunSettings {
  std::string text_path;
  std::vector<std::string> arms{
      "none", "sinusoidal", "concat(sinusoidal)", "project(sinusoidal)", "learned", "rope", "alibi", "t5"};
  std::string baseline = "sinusoidal";
  std::int64_t seeds = 3;
  std::int64_t workers = 0;  // runs side by side; 0 = one a core
  std::int64_t threads = 1;  // of one run
  double checkpoint_seconds = 10;
  // Every value, checked together: throws Error(usage) that names the key, what was found, what is allowed.
  void check() const;
};

// One value of a StudyConfig, by its key in study.toml. The list is the only place that names the keys.
struct Field {
  std::string_view key, help;
  std::variant<std::int64_t*, double*, std::string*, std::optional<bool>*, std::vector<std::string>*,
               std::vector<double>*>
      value;
};
std::vector<Field> fields(StudyConfig& config);

void read_toml(StudyConfig& config, const Path& path);       // throws Error(usage) with line and column
void set(StudyConfig& config, std::string_view assignment);  // "train.steps=100"; throws Error(usage)
std::string print_toml(StudyConfig config);                  // every key, with its help; reads back equal
// Leaves out those of the standard arms that the model cannot take, and says why, a sentence for each. Arms that were asked for
// stay: check() refuses them.
std::vector<std::string> choose_arms(StudyConfig& config);
// Without a baseline (""): the standard one if it is an arm, otherwise the first arm. true: the standard one.
bool choose_baseline(StudyConfig& config);
// Checks everything and fills in what was left open: the whole path of the text, as many workers as cores hold.
void settle(StudyConfig& config);
void make_quick(StudyConfig& config);  // the smaller study of --quick

}  // namespace gnomon
