#pragma once
#include <functional>
#include <vector>

#include "gnomon/study/run/job.h"

namespace gnomon {

// Mean losses of held-out windows, in nats a byte.
struct Losses {
  double mean = 0;                            // NaN: nothing was scored
  std::vector<double> by_position, by_block;  // NaN where nothing was scored
};
// Of the last `score` positions of these windows, by the parameters that the trainer of the job has now. `stop` is asked before
// every layer: Stopped is thrown.
Losses losses_over(const Job& job, Trainer& trainer, const Sample& windows, std::int64_t score,
                   const std::function<bool()>& stop);

Sample curve_windows(const Job& job);  // behind a point of the curve

}  // namespace gnomon
