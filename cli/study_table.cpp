#include "cli/study_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "cli/wrapped.h"
#include "gnomon/core/memory.h"
#include "gnomon/core/parallel.h"
#include "gnomon/core/readable.h"
#include "gnomon/core/text.h"
#include "gnomon/lab/estimate.h"
#include "gnomon/lab/judge.h"
#include "gnomon/lab/scale.h"
#include "gnomon/lab/versus.h"
#include "gnomon/pages/study_predictions.h"
#include "gnomon/pages/study_words.h"
#include "gnomon/pages/suite.h"

namespace gnomon::cli {
namespace {

std::string duration(double seconds) {
  if (seconds < 90) return fmt::format("{:.0f} s", seconds);
  return seconds < 5400 ? fmt::format("{:.0f} min", seconds / 60) : fmt::format("{:.1f} h", seconds / 3600);
}

// The first column is as wide as its longest arm.
std::size_t arm_width(const StudyConfig& config) {
  std::size_t width = 3;
  for (const auto& arm : config.arms) width = std::max(width, Arm::parse(arm).print().size());
  return width;
}

std::string difference_text(const Estimate& e) {
  if (e.n == 0) return "-";
  return std::isnan(e.half_width)
             ? fmt::format("{:+.{}f}", e.mean, pages::kLossDigits)
             : fmt::format("{:+.{}f} ±{:.{}f}", e.mean, pages::kLossDigits, e.half_width, pages::kLossDigits);
}

// A line for each prediction: what became of it, the number, what was said.
void print_predictions(const std::vector<Told>& told) {
  bool first = true;
  for (const auto& [name, summary] : told) {
    for (const Judged& j : judge(*summary)) {
      if (first)
        fmt::print("\npredicted                      found{}\n",
                   name.empty() ? text("  (SHA-256 ", fingerprint(summary->config.predictions), ")") : "");
      first = false;
      const std::string where = name.empty() ? "" : name + ": ",
                        why = j.why.empty() ? "" : text(" (", j.why, ")");
      fmt::print("{:<14}  {:>20}  {}\n", gnomon::name(j.outcome), pages::found_text(j, pages::kLossDigits),
                 wrapped(text(where, j.prediction.says, why), 38));
    }
  }
}

std::string rate_text(const Tuned& rate) {
  return rate.chosen ? shortest(*rate.chosen) + (rate.at_edge ? "*" : "") : "?";
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

}  // namespace

void print_cost(const StudyConfig& c, const Data& data, const StudyFolder& folder) {
  set_thread_count(int(c.threads));
  const std::size_t width = arm_width(c);
  const double tokens = double(c.train.steps * c.train.batch * c.model.length);
  fmt::print(
      "model: {} layers of width {}, {} heads, windows of {} bytes; {} steps of {} windows ({:.1f} M "
      "bytes)\n",
      c.model.layers, c.model.width, c.model.heads, c.model.length, c.train.steps, c.train.batch,
      tokens / 1e6);
  fmt::print("{:<{}}  {:>10}  {:>12}  {:>8}  {:>8}\n", "arm", width, "parameters", "TFLOP a run", "a run",
             "memory");
  double seconds = 0, memory = 0, disk = 0, flops = 0, parameters = 0;
  for (const auto& words : c.arms) {
    const Arm arm = Arm::parse(words);
    const RunEstimate e = estimate(c, arm, data);
    fmt::print("{:<{}}  {:>10}  {:>12.2f}  {:>8}  {:>8}\n", arm.print(), width, grouped(double(e.parameters)),
               e.training_flops / 1e12, duration(e.seconds), bytes_text(double(e.memory_bytes)));
    seconds += e.seconds * runs_an_arm(c), flops += e.training_flops * runs_an_arm(c);
    memory = std::max(memory, double(e.memory_bytes)),
    parameters = std::max(parameters, double(e.parameters));
    disk += double(e.disk_bytes) * double(c.seeds * std::int64_t(c.budgets.size()));
  }
  fmt::print(
      "expected loss at the largest budget: {:.2f} nats a byte, were the text like the King James Bible "
      "(docs/scale.md)\n",
      expected_loss(parameters, tokens));
  const std::size_t runs = plan_runs(c, data, {}).size() + to_come(c, data, {}).runs;
  fmt::print(
      "\n{} runs or more, {} side by side: about {} here ({:.0f} TFLOP), {} of memory, {} of disk in {}\n",
      runs, c.workers, duration(seconds / double(c.workers)), flops / 1e12,
      bytes_text(memory * double(c.workers)), bytes_text(disk), folder.folder.string());
  for (const std::string& sentence : data.describe()) fmt::print("{}\n", wrapped(sentence));
  if (data.training_tokens() > 0)
    fmt::print("{} tokens a run are {:.2f} epochs\n", grouped(tokens), tokens / data.training_tokens());
  print_predicted(c);
}

void print_table(const StudySummary& s) {
  for (const std::string& sentence : pages::study_answers(s)) fmt::print("{}\n", wrapped(sentence));
  fmt::print("\n");
  const std::size_t width = arm_width(s.config);
  const StudyConfig& c = s.config;
  fmt::print("{:<{}}  {:>6}  {:>6}  {:>15}  {}\n", "arm", width, "nats", "rate", "to baseline", "verdict");
  for (std::size_t i = 0; i < s.arms.size(); ++i) {
    const ArmSummary& a = s.arms[i];
    const AtBudget& at = a.largest();
    if (at.runs.empty()) {
      fmt::print("{:<{}}  {}\n", a.arm, width,
                 at.failed.empty() ? "not run" : "failed: " + at.failed.front().failure);
      continue;
    }
    const bool inference = at.comparison && !std::isnan(at.difference.half_width);
    fmt::print("{:<{}}  {:>6}  {:>6}  {:>15}  {}{}\n", a.arm, width, fixed(at.nats.mean, pages::kLossDigits),
               rate_text(a.rate), i == s.baseline ? "baseline" : difference_text(at.difference),
               inference ? name(at.comparison->decision) : "",
               at.failed.empty() ? "" : text("  (", at.failed.size(), " failed)"));
  }
  std::string head = fmt::format("\n{:<{}}", "arm", width);
  for (const auto& l : s.arms.front().by_length)
    head += fmt::format("  {:>8}", s.metric ? "at " + shortest(l.factor) : "at " + shortest(l.factor) + "x");
  fmt::print("{}  {:>10}  {:>8}\n", head, "parameters", "tokens/s");
  for (const ArmSummary& a : s.arms) {
    if (a.largest().runs.empty()) continue;
    std::string row = fmt::format("{:<{}}", a.arm, width);
    for (const auto& l : a.by_length)
      row += fmt::format("  {:>8}", s.metric ? (l.share ? fmt::format("{:.3f}", l.share->share) : "n/d")
                                             : (l.nats ? fixed(l.nats->mean, pages::kLossDigits) : "n/d"));
    fmt::print("{}  {:>10}  {:>8}\n", row, grouped(double(a.largest().runs.front().parameters)),
               grouped(a.tokens_per_second));
  }
  fmt::print("\nnats: held-out loss, {}, over whole windows of {} tokens,\nmean of {}, {} steps.\n", s.unit,
             c.model.length, counted(std::size_t(c.seeds), "seed"), c.train.steps);
  fmt::print("rate: learning rate{}; * the best one tried was the last.\n",
             c.tuning.seeds ? ", chosen for each arm on validation text" : ", the same for every arm");
  fmt::print("to baseline: difference in nats to {}{}.\n", s.arms[s.baseline].arm,
             c.seeds > 1 ? ", ± 95 % interval over seeds and\ntext; verdict: by Holm at 5 %, over all arms, "
                           "here and at twice the length"
                         : "; one seed: no inference");
  if (s.metric) {
    fmt::print("at N: {} for a payload of N symbols, of the middle seed; n/d: not defined there.\n",
               name(*s.metric));
    print_predictions({{"", &s}});
    return;
  }
  fmt::print(
      "at Nx: loss of the last {} tokens of windows N times as long, the same target\nbytes; n/d: not "
      "defined there.\n",
      c.score);
  print_predictions({{"", &s}});
}

void print_suite(const std::vector<Told>& studies) {
  for (const std::string& sentence : pages::suite_answers(studies)) fmt::print("{}\n", wrapped(sentence));
  for (const auto& [name, s] : studies) {
    const std::size_t width = arm_width(s->config);
    fmt::print("\n{}\n", name);
    for (const ArmSummary& a : s->arms) {
      const pages::Scores scores = pages::scores_of(*s, a);
      std::string row;
      for (const auto& score : {scores.within, scores.beyond}) {
        row.resize(row.empty() ? 0 : std::max<std::size_t>(row.size(), 22), ' ');  // in columns
        if (score)
          row +=
              fmt::format("  {}", text(score->length.empty() ? "" : "at " + score->length + " ", score->value,
                                       score->seeds.empty() ? "" : " (" + score->seeds + ")"));
      }
      fmt::print("  {:<{}}{}\n", a.arm, width, row.empty() ? "  no result" : row);
    }
  }
  fmt::print("\nof tasks: the mean share of right answers, and how many seeds have {:.0f} %.\n",
             100 * kSolved);
  print_predictions(studies);
}

void print_status(const StudySummary& s) {
  const std::size_t width = arm_width(s.config);
  std::string head = fmt::format("{:<{}}  {:>6}  {:>6}", "arm", width, "tuned", "rate");
  for (const double share : s.config.budgets) head += fmt::format("  {:>16}", "budget " + shortest(share));
  fmt::print("{}\n", head);
  for (const ArmSummary& a : s.arms) {
    std::string row = fmt::format("{:<{}}  {:>6}  {:>6}", a.arm, width, a.tuning.size(), rate_text(a.rate));
    for (const AtBudget& b : a.budgets)
      row += fmt::format("  {:>16}", b.runs.empty() ? text("0 of ", s.config.seeds)
                                                    : fmt::format("{} of {}, {:.3f}", b.runs.size(),
                                                                  s.config.seeds, b.nats.mean));
    fmt::print("{}\n", row);
  }
  fmt::print("\n{} of {} runs finished, {} failed; {:.1f} of {:.1f} TFLOP were tuning\n", s.finished,
             s.planned, s.failed, s.tuning_flops / 1e12, s.flops / 1e12);
}

void print_comparison(const StudySummary& a, const StudySummary& b) {
  for (const Changed& c : changed(a.config, b.config)) {
    const auto value = [](const std::string& v) { return v.empty() ? "not set" : v; };
    fmt::print("{}\n", wrapped(text(c.key, ": ", value(c.a), " in A, ", value(c.b), " in B")));
  }
  const std::size_t width = arm_width(a.config);
  fmt::print("\n{:<{}}  {:>6}  {:>6}  {:>15}  {}\n", "arm", width, "A", "B", "B - A", "B is");
  for (const Versus& v : versus(a, b)) {
    const auto loss = [](const ArmSummary& arm) {
      return fixed(arm.largest().nats.mean, pages::kLossDigits);
    };
    fmt::print("{:<{}}  {:>6}  {:>6}  {:>15}  {}\n", v.arm, width, loss(*v.a), loss(*v.b),
               difference_text(v.difference),
               std::isnan(v.difference.half_width) ? "" : name(v.comparison.decision));
  }
  for (const auto& [own, other, where] : {std::tuple(&a, &b, "A"), std::tuple(&b, &a, "B")}) {
    std::string alone;
    for (const ArmSummary& arm : own->arms) {
      const bool both = std::any_of(other->arms.begin(), other->arms.end(),
                                    [&](const ArmSummary& x) { return x.arm == arm.arm; });
      if (!both) alone += (alone.empty() ? "" : ", ") + arm.arm;
    }
    if (!alone.empty()) fmt::print("{}\n", wrapped(text("only in ", where, ": ", alone)));
  }
  fmt::print("\n{}\n",
             wrapped(text(a.unit,
                          " at the largest budget of each; ± 95 % interval over seeds, which are not paired "
                          "(Welch); verdict by Holm over these arms at 5 %, equivalent: within ±",
                          shortest(a.config.smallest_effect), ".")));
}

}  // namespace gnomon::cli
