#pragma once
#include <optional>
#include <string>
#include <vector>

#include "gnomon/study/results/summary.h"
#include "gnomon/study/statistics/scaling_law.h"

namespace gnomon {

// What the law of the smaller sizes says of the largest, and what was found there.
struct Foretold {
  double tokens;
  Estimate expected;
  std::optional<Estimate> found;  // nullopt: not trained yet
  bool held() const;              // the mean that was found lies in the interval that was expected
};

// One arm through all sizes.
struct ScaledArm {
  std::string arm;
  std::vector<Reached> reached;  // by size, then by budget; where some seed has finished
  std::optional<ScalingLaw> law;
  // To the baseline, at the same places; empty of the baseline itself. In `differences` parameters are the baseline's.
  std::vector<Reached> differences;
  std::vector<Estimate> intervals;  // of the differences, by seeds and text
  std::optional<Slopes> slopes;
  std::vector<Foretold> losses, leads;  // of the largest size: of the loss, of the difference
};

// One model of several sizes, on one text, with the same baseline.
struct Scaling {
  std::string baseline, largest;  // which arm; the name of the largest study
  std::vector<ScaledArm> arms;    // as the first study has them
  struct Count {
    std::size_t held = 0, of = 0;
  };
  Count losses() const, leads() const;  // of what was foretold and has been found
};

// nullopt where the studies are not of at least three sizes of one kind of model on one text.
std::optional<Scaling> scaling_of(const std::vector<Told>& studies);

}  // namespace gnomon
