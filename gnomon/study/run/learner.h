#pragma once
#include <functional>
#include <vector>

#include "gnomon/study/run/job.h"

namespace gnomon {

// The training of a job, step by step, without files. The job outlives it.
class Learner {
 public:
  explicit Learner(const Job& job, Ranks* ranks = nullptr);  // throws what Trainer does
  // The next step, as Trainer::train(); `stop` is asked before every layer.
  double step(const std::function<bool()>& stop);
  Trainer trainer;

 private:
  const Job& job_;
  void restore();

  struct Kept {
    std::int64_t offset;
    std::vector<float> values;
  };
  std::vector<Kept> kept_;  // parameters that stay, and as what
};

}  // namespace gnomon
