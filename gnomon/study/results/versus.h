#pragma once
#include <optional>
#include <string>
#include <vector>

#include "gnomon/study/results/summary.h"

namespace gnomon {

// An arm in two studies of the same data, at the largest budget of each.
struct Versus {
  std::string arm;
  const ArmSummary *a, *b;
  // B − A of the held-out loss: as a statement about other seeds on this text. Training differs in more than a seed, so the
  // seeds are not paired (welch_interval). n = 0: one of them has no finished run.
  Estimate difference;
  Comparison comparison;  // of the family of all arms that both have, by A's smallest effect that matters
};
// Of the arms that both have, in the order of A.
std::vector<Versus> versus(const StudySummary& a, const StudySummary& b);

// A key of study.toml with another value in B.
struct Changed {
  std::string key, a, b;  // as TOML has them; empty: not set
};
std::vector<Changed> changed(StudyConfig a, StudyConfig b);

struct Compared {
  std::string name;  // empty: it is the only study
  StudySummary a, b;
};
std::string versus_json(const std::vector<Compared>& studies);  // a list of them where they have names

}  // namespace gnomon
