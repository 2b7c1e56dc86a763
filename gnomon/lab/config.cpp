#include "gnomon/lab/config.h"

#include <toml++/toml.h>

#include <algorithm>
#include <cmath>
#include <thread>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"

namespace gnomon {

std::vector<Field> fields(StudyConfig& c) {
  return {
      {"study.text", "path of the text, UTF-8", &c.text_path},
      {"study.arms", "the position encodings to compare, as specs", &c.arms},
      {"study.baseline", "the arm that the others are compared with", &c.baseline},
      {"study.seeds", "runs of each arm; a seed fixes initial weights and data order", &c.seeds},
      {"study.workers", "runs side by side, 0 = one a core", &c.workers},
      {"study.threads", "threads of one run", &c.threads},
      {"model.block",
       "gpt, llama (RMS norms, SwiGLU, no biases) or bert (an encoder with norms after the sum)",
       &c.model.block},
      {"model.layers", "Transformer layers", &c.model.layers},
      {"model.width", "channels", &c.model.width},
      {"model.heads", "attention heads; they divide the width", &c.model.heads},
      {"model.kv_heads", "heads of keys and values, which the heads share; 0 = as many", &c.model.kv_heads},
      {"model.feed_forward", "hidden width of the feed-forward part, in widths; of a gated one 2/3 of it",
       &c.model.feed_forward},
      {"model.length", "tokens (bytes) of a training window", &c.model.length},
      {"model.causal", "true: decoder that predicts the next byte; false: encoder that fills in masked bytes",
       &c.model.causal},
      {"model.tied", "the output head is the word table", &c.model.tied},
      {"model.norm", "layer, rms, or block: as the block has it", &c.model.norm},
      {"train.steps", "optimiser steps", &c.train.steps},
      {"train.batch", "windows a step", &c.train.batch},
      {"train.shards", "parts of a batch, summed in a fixed order; several ranks share them",
       &c.train.shards},
      {"train.learning_rate", "highest rate of AdamW, the same for every arm", &c.train.learning_rate},
      {"train.drop", "share of the steps after which encodings act no more; 1 = never", &c.train.drop},
      {"train.warmup", "share of the steps with rising rate", &c.train.warmup},
      {"train.final_rate", "rate at the end of the cosine, as a share of the highest", &c.train.final_rate},
      {"train.beta1", "AdamW", &c.train.beta1},
      {"train.beta2", "AdamW", &c.train.beta2},
      {"train.weight_decay", "AdamW, on matrices only", &c.train.weight_decay},
      {"train.clip", "largest norm of the gradient", &c.train.clip},
      {"train.checkpoint_seconds", "time between checkpoints of a run", &c.checkpoint_seconds},
      {"evaluate.lengths", "window lengths at evaluation, in training windows", &c.lengths},
      {"evaluate.score", "last positions of a window that are scored, at every length", &c.score},
      {"evaluate.windows", "held-out windows, the same for every arm and length", &c.windows},
      {"evaluate.points", "points of the training curve", &c.points},
  };
}

namespace {

Field field_of(StudyConfig& config, std::string_view key) {
  std::vector<std::string_view> keys;
  for (const Field& f : fields(config)) {
    if (f.key == key) return f;
    keys.push_back(f.key);
  }
  throw Error(Fault::usage, unknown("key", key, keys));
}

// Items of "a, b(c, d)": commas inside brackets do not separate.
std::vector<std::string> items(std::string_view list) {
  std::vector<std::string> found;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= list.size(); ++i) {
    if (i < list.size()) depth += (list[i] == '(' || list[i] == '[') - (list[i] == ')' || list[i] == ']');
    if (i < list.size() && (list[i] != ',' || depth > 0)) continue;
    const auto item = trim(list.substr(begin, i - begin));
    if (!item.empty()) found.emplace_back(item);
    begin = i + 1;
  }
  return found;
}

struct FromText {
  std::string_view key, word;
  void operator()(std::int64_t* x) const { *x = integer(word, key); }
  void operator()(double* x) const { *x = number(word, key); }
  void operator()(std::string* x) const { *x = word; }
  void operator()(std::optional<bool>* x) const {
    if (word != "true" && word != "false")
      throw Error(Fault::usage, text(key, ": found '", word, "', allowed are true and false"));
    *x = word == "true";
  }
  void operator()(std::vector<std::string>* x) const { *x = items(word); }
  void operator()(std::vector<double>* x) const {
    x->clear();
    for (const auto& item : items(word)) x->push_back(number(item, key));
  }
};

struct FromToml {
  std::string_view where, key;
  const toml::node& node;
  [[noreturn]] void wrong(std::string_view allowed) const {
    throw Error(Fault::usage,
                text(where, ", line ", node.source().begin.line, ": ", key, " must be ", allowed));
  }
  void operator()(std::int64_t* x) const {
    node.is_integer() ? void(*x = node.as_integer()->get()) : wrong("a whole number");
  }
  void operator()(double* x) const {
    if (!node.is_number()) wrong("a number");
    *x = node.is_integer() ? double(node.as_integer()->get()) : node.as_floating_point()->get();
  }
  void operator()(std::string* x) const {
    node.is_string() ? void(*x = node.as_string()->get()) : wrong("a string");
  }
  void operator()(std::optional<bool>* x) const {
    node.is_boolean() ? void(*x = node.as_boolean()->get()) : wrong("true or false");
  }
  void operator()(std::vector<std::string>* x) const { list(x, "a list of strings"); }
  void operator()(std::vector<double>* x) const { list(x, "a list of numbers"); }
  template <class T>
  void list(std::vector<T>* x, std::string_view allowed) const {
    if (!node.is_array()) wrong(allowed);
    x->clear();
    for (const auto& item : *node.as_array()) {
      const auto value = item.template value<T>();
      value ? x->push_back(*value) : wrong(allowed);
    }
  }
};

std::string quoted(const std::string& s) {
  std::string out = "\"";
  for (const char c : s) out += c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c};
  return out + "\"";
}

struct ToToml {
  std::string operator()(const std::int64_t* x) const { return text(*x); }
  std::string operator()(const double* x) const { return shortest(*x); }
  std::string operator()(const std::string* x) const { return quoted(*x); }
  // Empty: not set, and there is no word for that in TOML.
  std::string operator()(const std::optional<bool>* x) const { return !*x ? "" : **x ? "true" : "false"; }
  std::string operator()(const std::vector<std::string>* x) const {
    return list(*x, [](const std::string& s) { return quoted(s); });
  }
  std::string operator()(const std::vector<double>* x) const { return list(*x, shortest); }
  template <class T, class Print>
  static std::string list(const std::vector<T>& all, const Print& print) {
    std::string out;
    for (const auto& item : all) out += (out.empty() ? "" : ", ") + print(item);
    return "[" + out + "]";
  }
};

}  // namespace

void set(StudyConfig& config, std::string_view assignment) {
  const auto equals = assignment.find('=');
  if (equals == std::string_view::npos)
    throw Error(Fault::usage, text("--set ", assignment, ": expected key=value, as in train.steps=100"));
  const auto key = trim(assignment.substr(0, equals));
  std::visit(FromText{key, trim(assignment.substr(equals + 1))}, field_of(config, key).value);
}

void read_toml(StudyConfig& config, const Path& path) {
  const std::string content = read_file(path);
  try {
    const toml::table table = toml::parse(content, path.string());
    for (const auto& [section, node] : table) {
      const std::string name(section.str());
      if (!node.is_table())
        throw Error(Fault::usage,
                    text(path.string(), ", line ", node.source().begin.line, ": ",
                         unknown("section", name,
                                 std::vector<std::string_view>{"study", "model", "train", "evaluate"})));
      for (const auto& [key, value] : *node.as_table()) {
        const std::string full = name + "." + std::string(key.str());
        try {
          const Field field = field_of(config, full);
          std::visit(FromToml{path.string(), field.key, value}, field.value);
        } catch (const Error& e) {
          if (std::string_view(e.what()).find("unknown") != 0) throw;
          throw Error(Fault::usage,
                      text(path.string(), ", line ", value.source().begin.line, ": ", e.what()));
        }
      }
    }
  } catch (const toml::parse_error& e) {
    throw Error(Fault::usage, text(path.string(), ", line ", e.source().begin.line, ", column ",
                                   e.source().begin.column, ": ", e.description()));
  }
}

std::string print_toml(StudyConfig config) {
  std::string out, section;
  for (const Field& f : fields(config)) {
    const auto dot = f.key.find('.');
    if (f.key.substr(0, dot) != section) {
      section = f.key.substr(0, dot);
      out += (out.empty() ? "[" : "\n[") + section + "]\n";
    }
    const std::string_view name = f.key.substr(dot + 1);
    const std::string value = std::visit(ToToml{}, f.value);
    out += value.empty() ? text("# ", name, ": as the block has it") : text(name, " = ", value);
    out += text("  # ", f.help, "\n");
  }
  return out;
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
  train.check();
  if (arms.empty()) throw Error(Fault::usage, "study.arms: found none, a study needs at least one");
  std::vector<std::string> printed;
  for (const auto& arm : arms) {
    const Spec position = Spec::parse(arm);
    printed.push_back(position.print());
    if (std::count(printed.begin(), printed.end(), printed.back()) > 1)
      throw Error(Fault::usage, text("study.arms: '", printed.back(), "' is there twice"));
    try {
      model.with(position).check();
    } catch (const Error& e) {
      throw Error(e.fault(), text("arm '", arm, "': ", e.what()));
    }
  }
  const std::string base = Spec::parse(baseline).print();
  if (std::find(printed.begin(), printed.end(), base) == printed.end()) {
    throw Error(Fault::usage, unknown("study.baseline", base,
                                      std::vector<std::string_view>(printed.begin(), printed.end())));
  }
}

std::vector<std::string> choose_arms(StudyConfig& c) {
  std::vector<std::string> taken, why;
  if (c.arms != StudyConfig().arms) return why;
  StudyModel plain = c.model;
  plain.tied = false;
  plain.with(Spec::parse("none")).check();  // a model that takes no arm has other faults than its arms
  for (const auto& arm : c.arms) {
    try {
      c.model.with(Spec::parse(arm)).check();
      taken.push_back(arm);
    } catch (const Error& e) {
      why.push_back(text("study.arms: ", arm, " is left out: ", e.what()));
    }
  }
  c.arms = taken;
  return why;
}

bool choose_baseline(StudyConfig& c) {
  c.baseline = StudyConfig().baseline;
  const std::string standard = Spec::parse(c.baseline).print();
  for (const auto& arm : c.arms) {
    if (Spec::parse(arm).print() == standard) return true;
  }
  if (!c.arms.empty()) c.baseline = c.arms.front();
  return false;
}

void settle(StudyConfig& c) {
  if (c.text_path.empty())
    throw Error(Fault::usage, "no text: give one with --text FILE, or as study.text in the configuration");
  c.text_path = std::filesystem::absolute(c.text_path).lexically_normal().string();
  c.check();
  if (!c.workers)
    c.workers = std::max<std::int64_t>(1, std::int64_t(std::thread::hardware_concurrency()) / c.threads);
}

void make_quick(StudyConfig& c) {
  c.seeds = 1;
  c.train.steps = std::max<std::int64_t>(1, c.train.steps / 3);
}

}  // namespace gnomon
