#pragma once
#include <cmath>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "gnomon/claims/claim.h"

namespace gnomon::claims {

// A claim with what its measurement found, and what that makes of it.
struct Answered {
  const Claim* claim;
  Finding finding;
  Verdict verdict;
  double seconds;
  // Of a verdict by intervals (p_value), and the same after Holm 1979 over all such verdicts of the run; NaN for the others.
  double p = std::nan(""), p_holm = std::nan("");
  std::string answer = {};  // what was found, in a sentence or two; or why there is no answer
  // A regression check: the verdict is the one on record; a quick run of what needs seeds, and a text that lacks what is
  // needed, are not held against it.
  bool as_recorded() const {
    return verdict == claim->recorded || verdict == Verdict::no_inference || verdict == Verdict::unmeasurable;
  }
};

// p_holm of the answers that have a p: those are the family (study/statistics/comparisons.h).
void correct(std::vector<Answered>& answers);
// How many of these differ from 0 at 5 % after the same correction for all of them.
std::size_t surviving(std::span<const Estimate> differences);

// Finds the rates, trains what the claims need, then measures them in order. nullopt: stopped. Throws Error(bug) for a
// claim that cannot decide (require_decidable), before anything is trained.
struct MeasureHooks {
  TrainHooks train;
  std::function<void()> trained;  // all of them; what follows takes minutes at most and keeps nothing
  std::function<void(const Answered&)> measured;
};
std::optional<std::vector<Answered>> answer(Experiment& experiment, const std::vector<const Claim*>& claims,
                                            const MeasureHooks& hooks);

}  // namespace gnomon::claims
