#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "gnomon/claims/claim.h"

namespace gnomon::claims {

// A claim with what its measurement found, and what that makes of it.
struct Answered {
  const Claim* claim;
  Finding finding;
  Verdict verdict;
  double seconds;
  // The verdict is the recorded one; a quick run of what needs seeds, and a text that lacks what is needed, are not
  // held against it.
  bool as_expected() const {
    return verdict == claim->recorded || verdict == Verdict::no_inference || verdict == Verdict::unmeasurable;
  }
};

// Trains what the claims need, then measures them in order. nullopt: stopped. Throws Error(bug) for a claim that cannot
// decide (require_decidable), before anything is trained.
struct MeasureHooks {
  TrainHooks train;
  std::function<void()> trained;  // all of them; what follows takes minutes at most and keeps nothing
  std::function<void(const Answered&)> measured;
};
std::optional<std::vector<Answered>> answer(Desk& desk, const std::vector<const Claim*>& claims,
                                            const MeasureHooks& hooks);

}  // namespace gnomon::claims
