#include "cli/study_plan.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/table.h"
#include "cli/wrapped.h"
#include "gnomon/core/memory.h"
#include "gnomon/core/parallel.h"
#include "gnomon/core/readable.h"
#include "gnomon/core/text.h"
#include "gnomon/core/unprintable.h"
#include "gnomon/study/results/judge.h"
#include "gnomon/study/settings/scale.h"

namespace gnomon::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string duration(double seconds) {
  if (seconds < 90) return fmt::format("{:.0f} s", seconds);
  return seconds < 5400 ? fmt::format("{:.0f} min", seconds / 60) : fmt::format("{:.1f} h", seconds / 3600);
}

// How many predictions stand, and which of them these settings cannot measure.
void print_predicted(const StudyConfig& c) {
  const std::vector<Prediction>& predictions = c.predictions;
  if (predictions.empty()) return;
  fmt::print("{} (SHA-256 {})\n", counted(predictions.size(), "prediction"), fingerprint(predictions));
  for (const Prediction& p : predictions) {
    if (const std::string why = unmeasurable(p, c); !why.empty())
      fmt::print("{}\n", wrapped(text("not measurable: ", p.says, " (", why, ")")));
  }
}

Json json_of(const StudyPlan& p) {
  Json arms = Json::array();
  for (const auto& [arm, run] : p.arms)
    arms.push_back({{"arm", arm},
                    {"parameters", run.parameters},
                    {"flops", run.training_flops},
                    {"seconds", run.seconds},
                    {"memory_bytes", run.memory_bytes},
                    {"disk_bytes", run.disk_bytes}});
  const StudyConfig& c = p.config;
  return {{"name", p.name},
          {"folder", p.folder},
          {"model",
           {{"layers", c.model.layers},
            {"width", c.model.width},
            {"heads", c.model.heads},
            {"length", c.model.length}}},
          {"steps", c.train.steps},
          {"batch", c.train.batch},
          {"seeds", c.seeds},
          {"budgets", c.budgets},
          {"runs", p.runs},
          {"workers", c.workers},
          {"seconds", p.seconds / double(c.workers)},
          {"flops", p.flops},
          {"memory_bytes", p.memory_bytes},
          {"disk_bytes", p.disk_bytes},
          {"tokens_a_run", p.tokens},
          {"epochs_a_run", p.epochs > 0 ? Json(p.epochs) : Json()},
          {"expected_nats_per_byte", p.expected},
          {"data", p.data},
          {"derived", c.derived},
          {"predictions", c.predictions.size()},
          {"arms", arms}};
}

}  // namespace

StudyPlan plan_study(const std::string& name, const StudyConfig& c, const Data& data,
                     const StudyFolder& folder) {
  set_thread_count(int(c.threads));
  StudyPlan p{
      .name = name, .folder = folder.folder.string(), .config = c, .arms = {}, .data = data.describe()};
  double largest = 0;
  for (const Arm& arm : c.arms) {
    const RunEstimate run = estimate(c, arm, data);
    p.arms.push_back({arm.print(), run});
    p.seconds += run.seconds * runs_an_arm(c), p.flops += run.training_flops * runs_an_arm(c);
    p.memory_bytes = std::max(p.memory_bytes, double(run.memory_bytes) * double(c.workers));
    p.disk_bytes += double(run.disk_bytes) * double(c.seeds * std::int64_t(c.budgets.size()));
    largest = std::max(largest, double(run.parameters));
  }
  p.runs = plan_runs(c, data, {}).size() + to_come(c, data, {}).runs;
  p.tokens = double(c.train.steps * c.train.batch * c.model.length);
  if (data.training_tokens() > 0) p.epochs = p.tokens / data.training_tokens();
  p.expected = expected_loss(largest, p.tokens);
  return p;
}

void print(const StudyPlan& p) {
  const StudyConfig& c = p.config;
  const auto say = [](const std::string& sentence) { fmt::print("{}\n", wrapped(sentence)); };
  if (!p.name.empty()) say(p.name);
  say(fmt::format("model: {} of width {}, {}, windows of {} bytes; {} steps of {} ({:.1f} M bytes)",
                  counted(std::size_t(c.model.layers), "layer"), c.model.width,
                  counted(std::size_t(c.model.heads), "head"), c.model.length, c.train.steps,
                  counted(std::size_t(c.train.batch), "window"), p.tokens / 1e6));
  for (const std::string& sentence : c.derived) fmt::print("  {}\n", wrapped(sentence, 4));
  TextTable table({"arm", "parameters", "TFLOP per run", "time per run", "memory"});
  for (const auto& [arm, run] : p.arms)
    table.add({arm, grouped(double(run.parameters)), fixed(run.training_flops / 1e12, 2),
               duration(run.seconds), bytes_text(double(run.memory_bytes))});
  fmt::print("{}", table.print());
  say(text("expected loss at the largest budget: ", fixed(p.expected, 2),
           " nats per byte, for a text like the King James Bible (docs/scale.md)"));
  fmt::print("\n");
  say(fmt::format(
      "at least {}, {} side by side: about {} here ({:.0f} TFLOP), {} of memory, {} of disk in {}",
      counted(p.runs, "run"), c.workers, duration(p.seconds / double(c.workers)), p.flops / 1e12,
      bytes_text(p.memory_bytes), bytes_text(p.disk_bytes), p.folder));
  for (const std::string& sentence : p.data) say(sentence);
  if (p.epochs > 0) say(fmt::format("{} tokens per run are {:.2f} epochs", grouped(p.tokens), p.epochs));
  print_predicted(c);
}

std::string plans_json(const std::vector<StudyPlan>& plans) {
  if (plans.size() == 1 && plans.front().name.empty())
    return without_unprintables(json_of(plans.front()).dump(1)) + "\n";
  Json parts = Json::array();
  for (const StudyPlan& p : plans) parts.push_back(json_of(p));
  return without_unprintables(Json{{"parts", parts}}.dump(1)) + "\n";
}

}  // namespace gnomon::cli
