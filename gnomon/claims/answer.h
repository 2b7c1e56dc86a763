#pragma once
#include <string>
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

// What was run, for the reader.
struct Circumstances {
  std::string command, machine, text, text_sha256, version;
  bool quick;
  std::int64_t seeds;
  double minutes;
  std::int64_t trained;               // models; the others were there
  std::vector<std::string> diverged;  // trainings that did, left out
};
std::string page(const std::vector<Answered>& answers, const Circumstances& how);
std::string markdown(const std::vector<Answered>& answers, const Circumstances& how);
std::string json(const std::vector<Answered>& answers, const Circumstances& how);

// The question's answer with the numbers that were found put in for {ID|KEY}; "…" for one that was not measured.
std::string answer_of(const Question& question, const std::vector<Answered>& answers);

}  // namespace gnomon::claims
