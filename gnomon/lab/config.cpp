#include "gnomon/lab/config.h"

#include <algorithm>
#include <cmath>
#include <thread>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/lab/arm.h"
#include "gnomon/lab/scale.h"

namespace gnomon {

std::vector<Field> fields(RunSettings& c) {
  return {
      {"model.block",
       "gpt, llama (RMS norms, SwiGLU, no biases) or bert (an encoder with norms after the sum)",
       &c.model.block},
      {"model.layers", "Transformer layers; 0 = by study.minutes", &c.model.layers},
      {"model.width", "channels; 0 = by study.minutes", &c.model.width},
      {"model.heads", "attention heads; they divide the width; 0 = one for 16 channels, at most 8",
       &c.model.heads},
      {"model.kv_heads", "heads of keys and values, which the heads share; 0 = as many", &c.model.kv_heads},
      {"model.feed_forward", "hidden width of the feed-forward part, in widths; of a gated one 2/3 of it",
       &c.model.feed_forward},
      {"model.length", "tokens (bytes) of a training window", &c.model.length},
      {"model.causal", "true: decoder that predicts the next byte; false: encoder that fills in masked bytes",
       &c.model.causal},
      {"model.tied", "the output head is the word table", &c.model.tied},
      {"model.norm", "layer, rms, or block: as the block has it", &c.model.norm},
      {"train.steps", "optimiser steps of the largest budget; 0 = by study.minutes", &c.train.steps},
      {"train.batch", "windows a step; 0 = by study.minutes", &c.train.batch},
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
      {"evaluate.score", "last positions of a window that are scored, at every length", &c.score},
      {"evaluate.windows", "held-out windows, the same for every arm and length", &c.windows},
      {"evaluate.points", "points of the training curve", &c.points},
  };
}

std::vector<Field> fields(StudyConfig& c) {
  std::vector<Field> all{
      {"study.text", "path of the text, UTF-8", &c.text_path},
      {"study.arms",
       "the position encodings to compare, as specs; with | parameters or | flops: matched to the baseline",
       &c.arms},
      {"study.baseline", "the arm that the others are compared with; empty = sinusoidal, or the first arm",
       &c.baseline},
      {"study.seeds", "runs of each arm and budget; a seed fixes initial weights and data order", &c.seeds},
      {"study.minutes",
       "what the study may cost, in minutes of two cores with AVX-512; it fixes what is 0 below", &c.minutes},
      {"study.budgets", "shares of train.steps that every arm is trained with; the last is 1", &c.budgets},
      {"study.smallest_effect", "nats a byte below which a difference does not matter, declared beforehand",
       &c.smallest_effect},
      {"study.workers", "runs side by side, 0 = one a core", &c.workers},
      {"study.threads", "threads of one run", &c.threads},
      {"study.checkpoint_seconds", "time between checkpoints of a run", &c.checkpoint_seconds},
      {"tune.rates",
       "learning rates that every arm is tried with, rising; empty = three around what suits the width",
       &c.tuning.rates},
      {"tune.seeds", "runs for each rate, of seeds of their own; 0 = no tuning", &c.tuning.seeds},
      {"tune.share", "share of train.steps of a tuning run", &c.tuning.share},
  };
  for (Field& f : fields(static_cast<RunSettings&>(c))) all.push_back(f);
  return all;
}

void read_toml(StudyConfig& config, const Path& path) { read_toml(fields(config), path); }
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
  const std::vector<std::string_view> norms{"block", "layer", "rms"};
  if (std::find(norms.begin(), norms.end(), norm) == norms.end())
    throw Error(Fault::usage, unknown("model.norm", norm, norms));
  if (norm != "block") a.norm.form = norm == "rms" ? NormForm::rms : NormForm::layer;
  return a;
}

std::int64_t RunSettings::tokens_at(double factor) const {
  return std::llround(factor * double(model.length));
}

std::int64_t RunSettings::longest() const {
  std::int64_t most = model.length;
  for (const double factor : lengths) most = std::max(most, tokens_at(factor));
  return most;
}

void StudyConfig::check() const {
  const auto within = [](const char* key, double x, double least, double most) {
    if (x >= least && x <= most) return;  // NaN is not
    throw Error(Fault::usage, text(key, ": found ", shortest(x), ", allowed are ", shortest(least), " to ",
                                   shortest(most)));
  };
  const auto rising = [&](const char* key, const std::vector<double>& all, double above, double most) {
    if (all.empty()) throw Error(Fault::usage, text(key, ": found none, allowed is a rising list"));
    for (std::size_t i = 0; i < all.size(); ++i) {
      within(key, all[i], above, most);
      if (all[i] <= (i ? all[i - 1] : above))
        throw Error(Fault::usage, text(key, ": found ", shortest(all[i]), " after ",
                                       shortest(i ? all[i - 1] : above), ", the list has to rise"));
    }
  };
  // study.toml, from which workers read the path, can hold neither.
  const bool control = std::any_of(text_path.begin(), text_path.end(),
                                   [](char c) { return (c >= 0 && c < 0x20) || c == 0x7F; });
  if (control || first_invalid_utf8(text_path) != std::string::npos)
    throw Error(Fault::usage,
                text("study.text: found ", excerpt(text_path),
                     ", allowed are paths of UTF-8 without line ends and other control characters; "
                     "rename the file or its folder"));
  StudyModel frame = model;
  if (frame.tied) frame.tied = false;  // which needs to know the arm
  frame.with(Spec::parse("none")).check();
  within("study.seeds", double(seeds), 1, 1000);
  within("study.workers", double(workers), 0, 1024);
  within("study.threads", double(threads), 1, 1024);
  within("train.checkpoint_seconds", checkpoint_seconds, 0, 1e9);
  within("evaluate.windows", double(windows), 1, 1e6);
  within("evaluate.points", double(points), 1, 1e5);
  within("evaluate.score", double(score), 1, double(model.length));
  for (const double factor : lengths)
    within("evaluate.lengths", factor, double(score) / double(model.length), 64);
  if (std::find(lengths.begin(), lengths.end(), 1.0) == lengths.end())
    throw Error(Fault::usage, "evaluate.lengths: 1, the training length, has to be one of them");
  within("study.minutes", minutes, 0.01, 1e5);
  within("study.smallest_effect", smallest_effect, 0, 10);
  rising("study.budgets", budgets, 0, 1);
  if (budgets.back() != 1)
    throw Error(Fault::usage,
                text("study.budgets: found ", shortest(budgets.back()), " as the last, which has to be 1"));
  within("tune.seeds", double(tuning.seeds), 0, 1000);
  within("tune.share", tuning.share, 1e-6, 1);
  if (tuning.seeds) {
    if (tuning.rates.size() < 2)
      throw Error(Fault::usage,
                  text("tune.rates: found ", tuning.rates.size(), ", tuning needs at least two"));
    rising("tune.rates", tuning.rates, 0, 100);
  }
  train.check();
  check_arms();
}

void StudyConfig::check_arms() const {
  if (arms.empty()) throw Error(Fault::usage, "study.arms: found none, a study needs at least one");
  const Spec base = Spec::parse(baseline);
  std::vector<std::string> printed;
  for (const auto& words : arms) {
    const Arm arm = Arm::parse(words);
    printed.push_back(arm.print());
    if (std::count(printed.begin(), printed.end(), printed.back()) > 1)
      throw Error(Fault::usage, text("study.arms: '", printed.back(), "' is there twice"));
    try {
      model.with(arm.spec).check();
    } catch (const Error& e) {
      throw Error(e.fault(), text("arm '", words, "': ", e.what()));
    }
  }
  if (std::find(printed.begin(), printed.end(), base.print()) == printed.end()) {
    throw Error(Fault::usage, unknown("study.baseline", base.print(),
                                      std::vector<std::string_view>(printed.begin(), printed.end())));
  }
  for (const auto& words : arms) settings_of(Arm::parse(words), *this, base);
}

namespace {

// Leaves out those of the standard arms that the model cannot take, and says why, a sentence for each. Arms that were asked for
// stay: check() refuses them.
std::vector<std::string> choose_arms(StudyConfig& c) {
  std::vector<std::string> taken, why;
  if (c.arms != StudyConfig().arms) return why;
  StudyModel plain = c.model;
  plain.tied = false;
  plain.with(Spec::parse("none")).check();  // a model that takes no arm has other faults than its arms
  for (const auto& arm : c.arms) {
    try {
      c.model.with(Arm::parse(arm).spec).check();
      taken.push_back(arm);
    } catch (const Error& e) {
      why.push_back(text("study.arms: ", arm, " is left out: ", e.what()));
    }
  }
  c.arms = taken;
  return why;
}

// The standard baseline if it is an arm, otherwise the first arm, and a sentence that says so.
std::vector<std::string> choose_baseline(StudyConfig& c) {
  if (!c.baseline.empty() || c.arms.empty()) return {};
  c.baseline = "sinusoidal";
  const std::string standard = Spec::parse(c.baseline).print();
  for (const auto& arm : c.arms) {
    if (Arm::parse(arm).print() == standard) return {};
  }
  const std::string missing = c.baseline;
  c.baseline = Arm::parse(c.arms.front()).spec.print();
  return {text("study.baseline: ", missing, " is no arm, so the first is the baseline: ", c.baseline)};
}

}  // namespace

std::vector<std::string> settle(StudyConfig& c) {
  if (c.text_path.empty())
    throw Error(Fault::usage, "no text: give one with --text FILE, or as study.text in the configuration");
  c.text_path = std::filesystem::absolute(c.text_path).lexically_normal().string();
  fill_in_scale(c);
  std::vector<std::string> said = choose_arms(c);
  for (auto& sentence : choose_baseline(c)) said.push_back(std::move(sentence));
  c.check();
  if (!c.workers)
    c.workers = std::max<std::int64_t>(1, std::int64_t(std::thread::hardware_concurrency()) / c.threads);
  return said;
}

}  // namespace gnomon
