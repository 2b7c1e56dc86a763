#include "cli/study_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "cli/table.h"
#include "cli/wrapped.h"
#include "gnomon/core/memory.h"
#include "gnomon/core/parallel.h"
#include "gnomon/core/readable.h"
#include "gnomon/core/text.h"
#include "gnomon/pages/study_predictions.h"
#include "gnomon/pages/study_words.h"
#include "gnomon/pages/suite.h"
#include "gnomon/study/plan/estimate.h"
#include "gnomon/study/results/judge.h"
#include "gnomon/study/results/versus.h"
#include "gnomon/study/settings/scale.h"

namespace gnomon::cli {
namespace {

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

std::string rate_text(const AtBudget& b) { return b.rate ? shortest(*b.rate) + (b.at_edge ? "*" : "") : "?"; }

std::string score_text(const pages::Score& score) {
  return text(score.length.empty() ? "" : "at " + score.length + " ", score.value,
              score.seeds.empty() ? "" : " (" + score.seeds + ")");
}

TextTable losses(const StudySummary& s) {
  TextTable table({"arm", "nats", "rate", "to baseline", "verdict"});
  table.words(4);
  for (std::size_t i = 0; i < s.arms.size(); ++i) {
    const ArmSummary& a = s.arms[i];
    const AtBudget& at = a.largest();
    const std::string failed = at.failed.empty() ? "" : text("(", at.failed.size(), " failed)");
    if (at.runs.empty()) {
      table.add({a.arm, "", "", "", at.failed.empty() ? "not run" : "failed: " + at.failed.front().failure});
      continue;
    }
    const bool inference = at.comparison && !std::isnan(at.difference.half_width);
    const std::string verdict = inference ? std::string(name(at.comparison->decision)) : "";
    table.add({a.arm, fixed(at.nats.mean, pages::kLossDigits), rate_text(at),
               i == s.baseline ? "baseline" : difference_text(at.difference),
               verdict + (verdict.empty() || failed.empty() ? "" : "  ") + failed});
  }
  return table;
}

TextTable lengths(const StudySummary& s) {
  std::vector<std::string> head{"arm"};
  for (const auto& l : s.arms.front().by_length)
    head.push_back("at " + shortest(l.factor) + (s.metric ? "" : "x"));
  head.insert(head.end(), {"parameters", "tokens/s"});
  TextTable table(head);
  for (const ArmSummary& a : s.arms) {
    if (a.largest().runs.empty()) continue;
    std::vector<std::string> row{a.arm};
    for (const auto& l : a.by_length)
      row.push_back(s.metric ? (l.share ? fixed(l.share->share, 3) : "n/d")
                             : (l.nats ? fixed(l.nats->mean, pages::kLossDigits) : "n/d"));
    row.push_back(grouped(double(a.largest().runs.front().parameters)));
    row.push_back(grouped(a.tokens_per_second));
    table.add(std::move(row));
  }
  return table;
}

}  // namespace

void print_table(const StudySummary& s) {
  for (const std::string& sentence : pages::study_answers(s)) fmt::print("{}\n", wrapped(sentence));
  fmt::print("\n");
  const StudyConfig& c = s.config;
  fmt::print("{}\n{}", losses(s).print(), lengths(s).print());
  const auto say = [](const std::string& sentence) { fmt::print("{}\n", wrapped(sentence)); };
  fmt::print("\n");
  say(text("nats: held-out loss, ", s.unit, ", over whole windows of ", c.model.length, " tokens, mean of ",
           counted(std::size_t(c.seeds), "seed"), ", ", c.train.steps, " steps."));
  say(text("rate: learning rate",
           c.tuning.seeds           ? ", chosen for each arm on validation text"
           : c.tuning.given.empty() ? ", the same for every arm"
                                    : ", given",
           "; *: the best rate was the last one tried."));
  say(text("to baseline: difference in nats to ", s.arms[s.baseline].arm,
           c.seeds > 1 ? ", ± 95 % interval over seeds and text for each by itself."
                       : "; one seed: no inference."));
  if (c.seeds > 1)
    say(text("verdict: corrected together (Holm, 5 %) for ", counted(pages::family_size(s), "comparison"),
             pages::where_compared(s), "."));
  if (s.metric)
    say(text("at N: ", name(*s.metric),
             " for a payload of N symbols, mean over seeds on the scale of logits; n/d: not defined there."));
  else
    say(text("at Nx: loss of the last ", c.score,
             " tokens in windows N times as long, on the same target bytes; n/d: not defined there."));
  print_predictions({{"", &s}});
}

void print_suite(const std::vector<Told>& studies) {
  for (const std::string& sentence : pages::suite_answers(studies)) fmt::print("{}\n", wrapped(sentence));
  for (const auto& [name, s] : studies) {
    fmt::print("\n{}\n", name);
    TextTable table({"", "", ""}, 2);  // within the lengths of training, and beyond
    table.words(1).words(2);
    for (const ArmSummary& a : s->arms) {
      const pages::SuiteScores scores = pages::scores_of(*s, a);
      table.add({a.arm, scores.within ? score_text(*scores.within) : "no result",
                 scores.beyond ? score_text(*scores.beyond) : ""});
    }
    fmt::print("{}", table.print());
  }
  fmt::print("\nfor tasks: the mean share of right answers, and how many seeds reach {:.0f} %.\n",
             100 * kSolved);
  print_predictions(studies);
}

void print_status(const StudySummary& s) {
  std::vector<std::string> head{"arm", "tuned", "rate"};
  for (const double share : s.config.budgets) head.push_back("budget " + shortest(share));
  TextTable table(head);
  for (const ArmSummary& a : s.arms) {
    std::vector<std::string> row{a.arm, text(a.tuning.size()), rate_text(a.largest())};
    for (const AtBudget& b : a.budgets)
      row.push_back(b.runs.empty()
                        ? text("0 of ", s.config.seeds)
                        : text(b.runs.size(), " of ", s.config.seeds, ", ", fixed(b.nats.mean, 3)));
    table.add(std::move(row));
  }
  fmt::print("{}", table.print());
  fmt::print("\n{} of {} runs finished, {} failed; {:.1f} of {:.1f} TFLOP were for tuning\n", s.finished,
             s.planned, s.failed, s.tuning_flops / 1e12, s.flops / 1e12);
}

void print_comparison(const StudySummary& a, const StudySummary& b) {
  for (const Changed& c : changed(a.config, b.config)) {
    const auto value = [](const std::string& v) { return v.empty() ? "not set" : v; };
    fmt::print("{}\n", wrapped(text(c.key, ": ", value(c.a), " in A, ", value(c.b), " in B")));
  }
  TextTable table({"arm", "A", "B", "B - A", "B is"});
  table.words(4);
  for (const Versus& v : versus(a, b)) {
    const auto loss = [](const ArmSummary& arm) {
      return fixed(arm.largest().nats.mean, pages::kLossDigits);
    };
    table.add({v.arm, loss(*v.a), loss(*v.b), difference_text(v.difference),
               std::isnan(v.difference.half_width) ? "" : std::string(name(v.comparison.decision))});
  }
  fmt::print("\n{}", table.print());
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
                          " at the largest budget of each study. ± is a 95 % interval over seeds, which are "
                          "not paired (Welch). The verdicts are corrected together (Holm, 5 %) for these "
                          "arms; equivalent: within ±",
                          shortest(a.config.smallest_effect), ".")));
}

}  // namespace gnomon::cli
