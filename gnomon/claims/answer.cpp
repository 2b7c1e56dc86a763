#include "gnomon/claims/answer.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "gnomon/core/error.h"
#include "gnomon/study/statistics/comparisons.h"

namespace gnomon::claims {
namespace {

// What an earlier claim of this run rests on, too, is measured once: a page has one number of it.
Finding found(const Claim& c, const std::vector<Answered>& before, Experiment& experiment) {
  for (const Answered& a : before) {
    if (a.claim->measure == c.measure && a.verdict != Verdict::unmeasurable) return a.finding;
  }
  return c.measure(experiment);
}

Answered answered(const Claim& c, const std::vector<Answered>& before, Experiment& experiment) {
  const auto start = std::chrono::steady_clock::now();
  Answered a{&c, {}, Verdict::unmeasurable, 0};
  try {
    a.finding = found(c, before, experiment);
    a.verdict = judge(c, a.finding, experiment.quick);
    a.answer = answer_of(c, a.finding);
    if (needs_seeds(c.verdicts) && !experiment.quick && a.verdict != Verdict::differs)
      a.p = p_value(c.verdicts, a.finding.numbers);
  } catch (const NotMeasurable& missing) {
    a.answer = missing.what();
  } catch (const Error& refused) {  // a lens that was given what this text makes of it: no rows, no variance
    if (refused.fault() != Fault::usage) throw;
    a.answer = text("The text gives too little to measure: ", refused.what(), ".");
  }
  a.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return a;
}

std::vector<Recipe> needed(const Experiment& experiment, const std::vector<const Claim*>& claims) {
  std::vector<Recipe> out;
  for (const Claim* c : claims) {
    if (!c->recipes) continue;
    for (Recipe& r : c->recipes(experiment)) out.push_back(std::move(r));
  }
  return out;
}

}  // namespace

void correct(std::vector<Answered>& answers) {
  std::vector<Answered*> family;
  std::vector<double> p;
  for (Answered& a : answers) {
    if (!std::isnan(a.p)) family.push_back(&a), p.push_back(a.p);
  }
  const std::vector<double> corrected = holm(p);
  for (std::size_t n = 0; n < family.size(); ++n) family[n]->p_holm = corrected[n];
}

std::size_t surviving(std::span<const Estimate> differences) {
  std::vector<double> p;
  for (const Estimate& e : differences) p.push_back(p_value(e));
  const std::vector<double> corrected = holm(p);
  return std::size_t(std::count_if(corrected.begin(), corrected.end(), [](double q) { return q <= .05; }));
}

std::optional<std::vector<Answered>> answer(Experiment& experiment, const std::vector<const Claim*>& claims,
                                            const MeasureHooks& hooks) {
  for (const Claim* c : claims) require_decidable(*c);
  if (!experiment.tune(needed(experiment, claims), hooks.train)) return std::nullopt;
  if (!experiment.train(needed(experiment, claims), hooks.train)) return std::nullopt;
  hooks.trained();
  std::vector<Answered> out;
  for (const Claim* c : claims) {
    out.push_back(answered(*c, out, experiment));
    hooks.measured(out.back());
  }
  correct(out);
  return out;
}

}  // namespace gnomon::claims
