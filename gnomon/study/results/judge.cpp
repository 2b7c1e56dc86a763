#include "gnomon/study/results/judge.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/encodings/definition.h"
#include "gnomon/study/data/task.h"
#include "gnomon/study/results/contrast.h"

namespace gnomon {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<std::string> arms_of(const Prediction& p) {
  std::vector<std::string> all{p.arm->print()};
  if (p.minus) all.push_back(p.minus->print());
  return all;
}

bool among(const std::vector<double>& all, double x) {
  return std::find(all.begin(), all.end(), x) != all.end();
}
std::size_t place_of(const std::vector<double>& all, double x) {
  return std::size_t(std::find(all.begin(), all.end(), x) - all.begin());
}

const LengthLoss* at_length(const RunResult& r, std::optional<double> length) {
  for (const LengthLoss& l : r.by_length) {
    if (!length || l.factor == *length) return &l;
  }
  return nullptr;
}

// The losses that the prediction is about, of one run.
Blocks losses_of(const Prediction& p) {
  if (!p.length) return losses;
  const auto at = [](std::optional<double> length) {
    return [length](const RunResult& r) {
      const LengthLoss* found = at_length(r, length);
      return found ? found->by_block : std::vector<double>{};
    };
  };
  if (!p.is_growth()) return at(p.length);
  return [there = at(p.length), here = at(1)](const RunResult& r) {
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

// Losses of the arm, or their difference to the other's.
Estimate of_losses(const Prediction& p, const std::vector<const AtBudget*>& runs) {
  const Blocks of = losses_of(p);
  return runs.size() == 1 ? interval(runs[0]->runs, of) : difference(runs[0]->runs, runs[1]->runs, of);
}

// Right answers of a run: of its largest budget.
std::optional<Tally> answers_of(const Prediction& p, const RunResult& r) {
  const LengthLoss* at = at_length(r, p.length);
  if (!at) return {};
  return p.measure == "symbols" ? at->symbols : at->right;
}

struct Shares {
  Estimate found = {0, std::nan(""), 0};
  std::optional<ShareInterval> share = {};
};
// Shares of the arm over all its seeds.
Shares shares_of(const Prediction& p, const AtBudget& at) {
  std::vector<std::int64_t> right;
  std::int64_t asked = 0, all = 0;
  for (const RunResult& r : at.runs) {
    const auto own = answers_of(p, r);
    if (!own) return {};
    right.push_back(own->right), asked = own->asked, all += own->right;
  }
  const int n = int(right.size());
  return {{double(all) / double(n * asked), std::nan(""), n}, share_interval(right, asked)};
}

// Its shares less the other's, of the seeds that both have.
Estimate difference_of_shares(const Prediction& p, const AtBudget& arm, const AtBudget& base) {
  std::vector<double> all;
  for (const RunResult& r : arm.runs) {
    for (const RunResult& other : base.runs) {
      if (other.plan.seed == r.plan.seed)
        all.push_back(answers_of(p, r)->share() - answers_of(p, other)->share());
    }
  }
  return all.empty() ? Shares().found : mean_interval(all);
}

bool every_run_has(const Prediction& p, const AtBudget& at) {
  return std::all_of(at.runs.begin(), at.runs.end(),
                     [&](const RunResult& r) { return answers_of(p, r)->share() == *p.exactly; });
}

// The most weight that a head puts on the token before, at the end of a training window, where queries and keys are 0.
// NaN: the encodings learn it, or read words.
double weight_on_previous(const Architecture& model) {
  const Shape shape = model.shape();
  const Scheme scheme = make_scheme(model.position, shape);
  std::vector<Defined> encodings;
  for (const std::size_t n : scheme.in_layer(0)) {
    const Encoding& e = *scheme.attention[n].encoding;
    if (e.param_count() > 0 || e.reads_content()) return std::nan("");
    encodings.push_back({&e, {}});
  }
  const std::int64_t T = shape.length, last = T - 1;
  const std::vector<double> silent(std::size_t(shape.H * T * shape.D), 0.0);
  const Placement place = Placement::consecutive(0, T);
  const Definition definition(shape, encodings, {place, silent, silent, {}});
  double most = 0;
  for (std::int64_t h = 0; h < shape.H; ++h) {
    double total = 0;
    const double before = definition.ln_weight(h, last, last - 1);
    for (std::int64_t j = 0; j < T; ++j) {
      if (definition.sees(last, j)) total += std::exp(definition.ln_weight(h, last, j) - before);
    }
    most = std::max(most, 1 / total);
  }
  return most;
}

// Of runs that are there; n = 0: it is not defined for one of the arms.
Shares measured(const Prediction& p, const std::vector<const AtBudget*>& runs) {
  Shares own;
  for (const AtBudget* at : runs) {
    own = p.is_share() ? shares_of(p, *at) : Shares{of_losses(p, {at}), {}};
    if (own.found.n == 0) return own;
  }
  if (runs.size() == 1) return own;
  return {p.is_share() ? difference_of_shares(p, *runs[0], *runs[1]) : of_losses(p, runs), {}};
}

Judgement outcome_of(const Prediction& p, const Judged& j) {
  const double low = j.share ? j.share->low : j.found.mean - j.found.half_width,
               high = j.share ? j.share->high : j.found.mean + j.found.half_width;
  if (std::isnan(low)) return Judgement::undecided;
  const double above = p.within ? -*p.within : p.above.value_or(-kInfinity),
               below = p.within ? *p.within : p.below.value_or(kInfinity);
  if (above < low && high < below) return Judgement::held;
  return high < above || below < low ? Judgement::not_held : Judgement::undecided;
}

Judged judged_weight(const Prediction& p, const StudyConfig& c) {
  const double most = weight_on_previous(model_of(c, p.arm->spec));
  Judged j{p, {most, 0, 1}, {}, Judgement::not_measurable, ""};
  if (std::isnan(most))
    j.found = Shares().found, j.why = "the encoding is learned, or depends on the words";
  else
    j.outcome = outcome_of(p, j);
  return j;
}

Judged judged(const Prediction& p, const StudySummary& s) {
  Judged j{p, Shares().found, {}, Judgement::not_measurable, unmeasurable(p, s.config)};
  if (!j.why.empty()) return j;
  if (p.is_weight()) return judged_weight(p, s.config);
  std::vector<const AtBudget*> runs;
  for (const std::string& arm : arms_of(p)) {
    runs.push_back(&runs_of(arm, p, s));
    if (runs.back()->runs.empty()) {
      j.why = without_runs(arm, *runs.back());
    } else if (measured(p, {runs.back()}).found.n == 0) {
      j.why = text("'", arm, "' is not defined in windows of ", shortest(p.length.value_or(1)),
                   p.is_share() ? " symbols" : " times the training length");
    }
    if (!j.why.empty()) return j;
  }
  const Shares all = measured(p, runs);
  j.found = all.found, j.share = all.share;
  if (j.found.n == 0)
    j.why = text("'", arms_of(p)[0], "' and '", arms_of(p)[1], "' have no finished seed in common");
  else
    j.outcome = !p.exactly                   ? outcome_of(p, j)
                : every_run_has(p, *runs[0]) ? Judgement::held
                                             : Judgement::not_held;
  return j;
}

}  // namespace

std::string_view name(Judgement outcome) {
  constexpr std::array<std::string_view, 4> kNames{"held", "not held", "undecided", "not measurable"};
  return kNames[std::size_t(outcome)];
}

std::string unmeasurable(const Prediction& p, const StudyConfig& c) {
  for (const std::string& arm : arms_of(p)) {
    if (std::none_of(c.arms.begin(), c.arms.end(), [&](const Arm& one) { return one.print() == arm; }))
      return text("'", arm, "' is not an arm of this study");
  }
  if (p.is_weight()) return p.length ? "this weight is measured only at the training length" : "";
  if (p.is_share() && !c.has_answers()) return "this data has no right answers, only losses";
  if (c.has_answers() && !p.is_share() && p.length)
    return "data with answers has no losses by length; use measure = right";
  if (c.is_task() && p.length) {
    const std::vector<std::int64_t>& tests = find_task(c.data).tests;
    return among({tests.begin(), tests.end()}, *p.length)
               ? ""
               : text("the task has no test of length ", shortest(*p.length));
  }
  if (c.data == "images" && p.length) return "";  // which sides there are, its file says
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
