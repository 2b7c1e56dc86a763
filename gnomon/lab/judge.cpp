#include "gnomon/lab/judge.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/lab/contrast.h"

namespace gnomon {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<std::string> arms_of(const Prediction& p) {
  std::vector<std::string> all{Arm::parse(p.arm).print()};
  if (!p.minus.empty()) all.push_back(Arm::parse(p.minus).print());
  return all;
}

bool among(const std::vector<double>& all, double x) {
  return std::find(all.begin(), all.end(), x) != all.end();
}
std::size_t place_of(const std::vector<double>& all, double x) {
  return std::size_t(std::find(all.begin(), all.end(), x) - all.begin());
}

// What the prediction is about, of one run.
Blocks measured_of(const Prediction& p, const StudyConfig& c) {
  if (!p.length) return losses;
  const Blocks there = losses_at(place_of(c.lengths, *p.length));
  if (!p.is_growth()) return there;
  return [there, here = losses_at(place_of(c.lengths, 1))](const RunResult& r) {
    std::vector<double> growth = there(r);
    const std::vector<double> own = here(r);
    for (std::size_t b = 0; b < growth.size(); ++b) growth[b] -= own[b];
    return growth;
  };
}

// The runs of an arm that the prediction is about.
const AtBudget& runs_of(const std::string& arm, const Prediction& p, const StudySummary& s) {
  const auto own =
      std::find_if(s.arms.begin(), s.arms.end(), [&](const ArmSummary& a) { return a.arm == arm; });
  return own->budgets[place_of(s.config.budgets, p.budget.value_or(1))];
}

std::string without_runs(const std::string& arm, const AtBudget& at) {
  return text("no run of '", arm, "' has finished",
              at.failed.empty() ? "" : text(": ", at.failed.front().failure));
}

Judged judged(const Prediction& p, const StudySummary& s) {
  Judged j{p, {0, std::nan(""), 0}, Outcome::not_measurable, unmeasurable(p, s.config)};
  if (!j.why.empty()) return j;
  const Blocks of = measured_of(p, s.config);
  std::vector<const AtBudget*> runs;
  for (const std::string& arm : arms_of(p)) {
    const AtBudget& at = runs_of(arm, p, s);
    if (at.runs.empty()) {
      j.why = without_runs(arm, at);
    } else if (interval(at.runs, of).n == 0) {
      j.why = text("'", arm, "' is not defined in windows of ", shortest(*p.length),
                   " times the training length");
    }
    if (!j.why.empty()) return j;
    runs.push_back(&at);
  }
  j.found = p.minus.empty() ? interval(runs[0]->runs, of) : difference(runs[0]->runs, runs[1]->runs, of);
  if (j.found.n == 0) {
    j.why = text("no seed of '", arms_of(p)[0], "' has finished that of '", arms_of(p)[1], "' has, too");
  } else {
    j.outcome = outcome_of(p, j.found);
  }
  return j;
}

}  // namespace

std::string_view name(Outcome outcome) {
  constexpr std::array<std::string_view, 4> kNames{"held", "not held", "undecided", "not measurable"};
  return kNames[std::size_t(outcome)];
}

Outcome outcome_of(const Prediction& p, const Estimate& found) {
  if (std::isnan(found.half_width)) return Outcome::undecided;
  const double low = found.mean - found.half_width, high = found.mean + found.half_width;
  const double above = p.within ? -*p.within : p.above.value_or(-kInfinity),
               below = p.within ? *p.within : p.below.value_or(kInfinity);
  if (above < low && high < below) return Outcome::held;
  return high < above || below < low ? Outcome::not_held : Outcome::undecided;
}

std::string unmeasurable(const Prediction& p, const StudyConfig& c) {
  for (const std::string& arm : arms_of(p)) {
    if (std::none_of(c.arms.begin(), c.arms.end(),
                     [&](const std::string& words) { return Arm::parse(words).print() == arm; }))
      return text("'", arm, "' is no arm of this study");
  }
  if (p.length && !among(c.lengths, *p.length)) return text("evaluate.lengths has no ", shortest(*p.length));
  if (p.budget && !among(c.budgets, *p.budget)) return text("study.budgets has no ", shortest(*p.budget));
  return "";
}

std::vector<Judged> judge(const StudySummary& s) {
  std::vector<Judged> all;
  for (const Prediction& p : s.config.predictions) all.push_back(judged(p, s));
  return all;
}

}  // namespace gnomon
