#include "gnomon/study/settings/config.h"

#include <algorithm>
#include <cmath>
#include <thread>

#include "gnomon/core/error.h"
#include "gnomon/core/names.h"
#include "gnomon/core/text.h"
#include "gnomon/study/data/task.h"
#include "gnomon/study/settings/scale.h"

namespace gnomon {

constexpr std::int64_t kSymbols = 4096;  // that are learned, unless it is said

std::vector<Field> fields(RunSettings& c) {
  return {
      {"model.block",
       "gpt, llama (RMS norms, SwiGLU, no biases) or bert (an encoder with norms after the sum), with "
       "options as in llama(group=4); or the path of a model, whose block it is",
       &c.model.block},
      {"model.layers", "Transformer layers; 0 = by study.minutes", &c.model.layers},
      {"model.width", "channels; 0 = by study.minutes", &c.model.width},
      {"model.heads",
       "attention heads; they divide the width; 0 = one for 16 channels, at most 8, as divides it",
       &c.model.heads},
      {"model.kv_heads", "heads of keys and values, which the heads share; 0 = as the block has it",
       &c.model.kv_heads},
      {"model.feed_forward",
       "hidden width of the feed-forward part, in widths; of a gated one 2/3 of it; 4 of gpt, "
       "llama and bert",
       &c.model.feed_forward},
      {"model.vocabulary", "symbols that there are: 256 of bytes and tasks; of symbols, how many are learned",
       &c.model.vocabulary},
      {"model.length", "tokens (bytes) of a training window", &c.model.length},
      {"model.causal", "true: decoder that predicts the next byte; false: encoder that fills in masked bytes",
       &c.model.causal},
      {"model.tied", "the output head is the word table", &c.model.tied},
      {"model.norm", "layer, rms, or block: as the block has it", &c.model.norm},
      {"train.steps", "optimiser steps of the largest budget; 0 = by study.minutes", &c.train.steps},
      {"train.batch", "windows a step; 0 = by study.minutes", &c.train.batch},
      {"train.shards", "parts of a batch, summed in a fixed order; several ranks share them",
       &c.train.shards},
      {"train.learning_rate", "highest rate of AdamW, where it is not tuned (tune.seeds = 0)",
       &c.train.learning_rate},
      {"train.drop", "share of the steps after which encodings act no more; 1 = never", &c.train.drop},
      {"train.warmup", "share of the steps with rising rate", &c.train.warmup},
      {"train.final_rate", "rate at the end of the cosine, as a share of the highest", &c.train.final_rate},
      {"train.beta1", "AdamW", &c.train.beta1},
      {"train.beta2", "AdamW", &c.train.beta2},
      {"train.weight_decay", "AdamW, on matrices only", &c.train.weight_decay},
      {"train.clip", "largest norm of the gradient", &c.train.clip},
      {"evaluate.lengths", "window lengths at evaluation, in training windows", &c.lengths},
      {"evaluate.score",
       "last positions of a window that are scored, at every length; of shorter windows all", &c.score},
      {"evaluate.windows", "held-out windows, the same for every arm and length", &c.windows},
      {"evaluate.points", "points of the training curve", &c.points},
  };
}

std::vector<Field> fields(StudyConfig& c) {
  std::vector<Field> all{
      {"study.text", "path of the text, UTF-8; of ids: of the file", &c.text_path},
      {"study.data",
       "bytes or symbols (byte pairs) of a text, ids16 or ids32 of a file, lines (question, tab, answer), or "
       "a task",
       &c.data},
      {"study.arms",
       "the position encodings to compare, as specs; with | parameters or | flops: matched to the baseline",
       &c.arms},
      {"study.baseline", "the arm that the others are compared with; empty = sinusoidal, or the first arm",
       &c.baseline},
      {"study.seeds", "runs of each arm and budget; a seed fixes initial weights and data order", &c.seeds},
      {"study.minutes",
       "what the study may cost, in minutes of two cores with AVX-512; it fixes what is 0 below. Steps that "
       "are set change the time, not the sizes",
       &c.minutes},
      {"study.budgets", "shares of train.steps that every arm is trained with; the last is 1", &c.budgets},
      {"study.smallest_effect", "nats a byte below which a difference does not matter, declared beforehand",
       &c.smallest_effect},
      {"study.workers", "runs side by side, 0 = one a core", &c.workers},
      {"study.threads", "threads of one run", &c.threads},
      {"study.checkpoint_seconds", "time between checkpoints of a run", &c.checkpoint_seconds},
      {"study.derived", "what was not set, and what it follows from; written here, never read as a setting",
       &c.derived},
      {"tune.rates",
       "learning rates that every arm is tried with, rising; empty = three around what suits the width",
       &c.tuning.rates},
      {"tune.seeds", "runs for each rate, of seeds of their own; 0 = no tuning", &c.tuning.seeds},
      {"tune.share", "share of train.steps of a tuning run", &c.tuning.share},
  };
  for (Field& f : fields(static_cast<RunSettings&>(c))) all.push_back(f);
  all.push_back({"prediction", "what is expected, written before the run; of each, the keys that it needs:",
                 &c.predictions});
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

Architecture StudyModel::with(const Spec& position) const {
  Architecture a = make_block(block, *this, position);
  if (causal) a.causal = *causal;
  if (tied) a.head.tied = *tied;
  a.vocabulary = vocabulary;
  const std::vector<std::string_view> norms{"block", "layer", "rms"};
  if (std::find(norms.begin(), norms.end(), norm) == norms.end()) throw unknown("model.norm", norm, norms);
  if (norm != "block") a.norm.form = norm == "rms" ? NormForm::rms : NormForm::layer;
  return a;
}

Architecture model_of(const RunSettings& settings, const Spec& spec) { return settings.model.with(spec); }

std::int64_t RunSettings::tokens_at(double factor) const {
  return std::llround(factor * double(model.length));
}

std::int64_t RunSettings::longest() const {
  std::int64_t most = model.length;
  for (const double factor : lengths) most = std::max(most, tokens_at(factor));
  return most;
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
  return {
      text("study.baseline: ", missing, " is no arm, so the first is the baseline: ", c.baseline->print())};
}

}  // namespace

double runs_an_arm(const StudyConfig& c) {
  double shares = 0;
  for (const double share : c.budgets) shares += share;
  return double(c.seeds) * shares + double(c.tuning.seeds) * double(c.tuning.rates.size()) * c.tuning.share;
}

const Spec& StudyConfig::base() const {
  if (!baseline) throw Error(Fault::bug, "a study without a baseline");
  return baseline->spec;
}

bool StudyConfig::is_task() const {
  return !has_text() && data != "ids16" && data != "ids32" && data != "lines";
}
bool StudyConfig::has_text() const { return data == "bytes" || data == "symbols"; }
bool StudyConfig::has_answers() const { return is_task() || data == "lines"; }

std::vector<std::string> settle(StudyConfig& c) {
  if (c.is_task()) {
    c.text_path.clear();  // a task makes its windows itself
    c.model.length = find_task(c.data).tokens(find_task(c.data).trained.most);
  } else if (c.text_path.empty()) {
    throw Error(Fault::usage, "no text: give one with --text FILE, or as study.text in the configuration");
  } else {
    c.text_path = std::filesystem::absolute(c.text_path).lexically_normal().string();
  }
  if (c.has_answers()) c.score = c.model.length, c.lengths = {1};
  if (c.data == "symbols" && c.model.vocabulary == 256) c.model.vocabulary = kSymbols;
  c.check_settings();
  fill_in_scale(c);
  if (c.score == RunSettings().score && c.score > c.model.length) {
    c.score = c.model.length;
    c.derived.push_back(
        text("evaluate.score = ", c.score, ": a whole window, which is shorter than ", RunSettings().score));
  }
  std::vector<std::string> said = choose_arms(c);
  for (auto& sentence : choose_baseline(c)) said.push_back(std::move(sentence));
  c.check();
  if (!c.workers)
    c.workers = std::max<std::int64_t>(1, std::int64_t(std::thread::hardware_concurrency()) / c.threads);
  return said;
}

}  // namespace gnomon
