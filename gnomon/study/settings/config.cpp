#include "gnomon/study/settings/config.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <thread>

#include "gnomon/core/error.h"
#include "gnomon/core/names.h"
#include "gnomon/core/text.h"
#include "gnomon/study/data/image_data.h"
#include "gnomon/study/data/task.h"
#include "gnomon/study/settings/scale.h"

namespace gnomon {

constexpr std::int64_t kSymbols = 4096;  // that are learned, unless it is said

std::vector<Field> fields(RunSettings& c) {
  return {
      {"model.block",
       "gpt, llama (RMS norms, SwiGLU, no biases) or bert (an encoder with norms after the residual sum); "
       "options as in llama(group=4); or the path of a model, to take its block",
       &c.model.block},
      {"model.layers", "Transformer layers; 0 = chosen from study.minutes", &c.model.layers},
      {"model.width", "channels of the residual stream; 0 = chosen from study.minutes", &c.model.width},
      {"model.heads",
       "attention heads, a divisor of the width; 0 = one per 16 channels, at most 8, fewer if they do not "
       "divide the width",
       &c.model.heads},
      {"model.kv_heads", "heads of keys and values, shared by the heads of queries; 0 = as in the block",
       &c.model.kv_heads},
      {"model.feed_forward",
       "hidden width of the feed-forward part, as a multiple of model.width; a gated one has 2/3 of this; "
       "gpt, llama and bert have 4",
       &c.model.feed_forward},
      {"model.vocabulary",
       "number of symbols: 256 for bytes and tasks, 257 for images; for data = symbols, how many to learn",
       &c.model.vocabulary},
      {"model.length", "tokens (bytes) in a training window", &c.model.length},
      {"model.causal", "true: decoder that predicts the next byte; false: encoder that fills in masked bytes",
       &c.model.causal},
      {"model.tied", "true: the output head uses the word table", &c.model.tied},
      {"model.norm", "layer, rms, or block (the norm of the block)", &c.model.norm},
      {"train.steps", "optimiser steps of the largest budget; 0 = chosen from study.minutes", &c.train.steps},
      {"train.batch", "windows per step; 0 = chosen from study.minutes", &c.train.batch},
      {"train.shards", "parts of a batch, summed in a fixed order; several ranks share them",
       &c.train.shards},
      {"train.precision",
       "float32, or bfloat16: most products of a step round their factors to it and add up in float32; "
       "evaluation is in float32",
       &c.train.precision},
      {"train.learning_rate", "peak learning rate of AdamW if it is not tuned (tune.seeds = 0)",
       &c.train.learning_rate},
      {"train.drop", "share of the steps after which the encodings are switched off; 1 = never",
       &c.train.drop},
      {"train.warmup", "share of the steps in which the learning rate rises", &c.train.warmup},
      {"train.final_rate", "learning rate at the end of the cosine, as a share of the peak",
       &c.train.final_rate},
      {"train.beta1", "AdamW", &c.train.beta1},
      {"train.beta2", "AdamW", &c.train.beta2},
      {"train.weight_decay", "AdamW, on matrices only", &c.train.weight_decay},
      {"train.clip", "largest norm of the gradient", &c.train.clip},
      {"evaluate.lengths", "window lengths in evaluation, as multiples of model.length", &c.lengths},
      {"evaluate.score",
       "how many of the last positions of a window are scored, at every length; all, if windows are shorter",
       &c.score},
      {"evaluate.windows", "held-out windows, the same for every arm and length", &c.windows},
      {"evaluate.points", "points of the training curve", &c.points},
  };
}

std::vector<Field> fields(StudyConfig& c) {
  std::vector<Field> all{
      {"study.text", "path of the text in UTF-8, or of the file of token ids", &c.text_path},
      {"study.data",
       "bytes or symbols (byte pairs) of a text, ids16 or ids32 of a file, lines (question, tab, answer), "
       "images (pixels and class, with commas), or the name of a task",
       &c.data},
      {"study.arms",
       "position encodings to compare, as specs; | parameters or | flops after a spec matches it to the "
       "baseline",
       &c.arms},
      {"study.baseline", "the arm to compare the others with; empty = sinusoidal, or else the first arm",
       &c.baseline},
      {"study.seeds", "runs of each arm and budget; a seed fixes initial weights and data order", &c.seeds},
      {"study.minutes",
       "cost of the study, in minutes of two cores with AVX-512; it fixes the settings below that are 0. If "
       "you set train.steps, the time changes and the sizes do not",
       &c.minutes},
      {"study.budgets", "shares of train.steps; every arm is trained with each of them; the last is 1",
       &c.budgets},
      {"study.smallest_effect", "smallest difference that matters, in nats per byte, declared before the run",
       &c.smallest_effect},
      {"study.workers", "runs side by side; 0 = one per core", &c.workers},
      {"study.threads", "threads per run", &c.threads},
      {"study.checkpoint_seconds", "seconds between two checkpoints of a run", &c.checkpoint_seconds},
      {"study.derived", "settings that gnomon chose, and why; gnomon writes this and never reads it",
       &c.derived},
      {"tune.rates",
       "learning rates to try with every arm, rising; empty = three around the rate that suits the width",
       &c.tuning.rates},
      {"tune.seeds", "runs for each rate, with seeds used for nothing else; 0 = no tuning", &c.tuning.seeds},
      {"tune.budgets",
       "shares of train.steps at which rates are tried; a budget of the study has the rate of the nearest "
       "one",
       &c.tuning.budgets},
      {"tune.given",
       "with tune.seeds = 0: the rates of each arm in turn, one for each of study.budgets; empty = all have "
       "train.learning_rate",
       &c.tuning.given},
  };
  for (Field& f : fields(static_cast<RunSettings&>(c))) all.push_back(f);
  all.push_back({"prediction",
                 "an expected result, written before the run; set the keys that it needs:", &c.predictions});
  return all;
}

void read_toml(StudyConfig& config, const Path& path) { read_toml(fields(config), toml_in(path)); }
void set(StudyConfig& config, std::string_view assignment) { set(fields(config), assignment); }
std::string print_toml(StudyConfig config) { return print_toml(fields(config)); }

StudyConfig::StudyConfig() {
  model.layers = model.width = model.heads = 0;
  train.steps = train.batch = 0;
  windows = 512;
}

namespace {

// Leaves out those of the standard arms that the model cannot take, and says why, a sentence for each. Arms that were asked for
// stay: check() refuses them.
std::vector<std::string> choose_arms(StudyConfig& c) {
  std::vector<Arm> taken;
  std::vector<std::string> why;
  if (c.arms != StudyConfig().arms) return why;
  StudyModel plain = c.model;
  plain.tied = false;
  plain.with(Spec::parse("none")).check();  // a model that takes no arm has other faults than its arms
  for (const auto& arm : c.arms) {
    try {
      c.model.with(arm.spec).check();
      taken.push_back(arm);
    } catch (const Error& e) {
      why.push_back(text("study.arms: ", arm.written, " is left out: ", e.what()));
    }
  }
  c.arms = taken;
  return why;
}

// The standard baseline if it is an arm, otherwise the first arm, and a sentence that says so.
std::vector<std::string> choose_baseline(StudyConfig& c) {
  if (c.baseline || c.arms.empty()) return {};
  c.baseline = "sinusoidal";
  if (std::find(c.arms.begin(), c.arms.end(), *c.baseline) != c.arms.end()) return {};
  const std::string missing = c.baseline->print();
  c.baseline = Arm(c.arms.front().spec);
  return {text("study.baseline: ", missing,
               " is not an arm, so the first arm is the baseline: ", c.baseline->print())};
}

}  // namespace

double runs_an_arm(const StudyConfig& c) {
  const auto sum = [](const std::vector<double>& shares) {
    return std::accumulate(shares.begin(), shares.end(), 0.0);
  };
  return double(c.seeds) * sum(c.budgets) +
         double(c.tuning.seeds) * double(c.tuning.rates.size()) * sum(c.tuning.budgets);
}

const Spec& StudyConfig::base() const {
  if (!baseline) throw Error(Fault::bug, "a study without a baseline");
  return baseline->spec;
}

bool StudyConfig::is_task() const {
  return !has_text() && data != "ids16" && data != "ids32" && data != "lines" && data != "images";
}
bool StudyConfig::has_text() const { return data == "bytes" || data == "symbols"; }
bool StudyConfig::has_answers() const { return is_task() || data == "lines" || data == "images"; }

std::vector<std::string> settle(StudyConfig& c) {
  if (c.is_task()) {
    c.text_path.clear();  // a task makes its windows itself
    c.model.length = find_task(c.data).tokens(find_task(c.data).trained.most);
  } else if (c.text_path.empty()) {
    throw Error(Fault::usage, "no text: give one with --text FILE, or as study.text in the configuration");
  } else {
    c.text_path = std::filesystem::absolute(c.text_path).lexically_normal().string();
  }
  if (c.data == "images") {
    c.model.length = ImageData(c.text_path).window_tokens();
    c.model.vocabulary = ImageData::kSymbols;
  }
  if (c.has_answers()) c.score = c.model.length, c.lengths = {1};
  if (c.data == "symbols" && c.model.vocabulary == 256) c.model.vocabulary = kSymbols;
  c.check_settings();
  fill_in_scale(c);
  if (c.score == RunSettings().score && c.score > c.model.length) {
    c.score = c.model.length;
    c.derived.push_back(text("evaluate.score = ", c.score, ": whole windows, because they are shorter than ",
                             RunSettings().score));
  }
  std::vector<std::string> said = choose_arms(c);
  for (auto& sentence : choose_baseline(c)) said.push_back(std::move(sentence));
  c.check();
  if (!c.workers)
    c.workers = std::max<std::int64_t>(1, std::int64_t(std::thread::hardware_concurrency()) / c.threads);
  return said;
}

}  // namespace gnomon
