#pragma once
#include <functional>
#include <vector>

#include "gnomon/study/run/run.h"
#include "gnomon/study/statistics/statistics.h"

namespace gnomon {

// What is measured of a run, in nats a byte in blocks of the held-out text, the same blocks for all runs. Empty: not defined.
using Blocks = std::function<std::vector<double>(const RunResult&)>;

std::vector<double> losses(const RunResult& run);  // over whole windows of the training length
// Of the last positions of windows of the length that stands at this place of evaluate.lengths; empty where the run was
// not evaluated so.
Blocks losses_at(std::size_t length);

// The mean over runs and text, as a statement about other seeds and other text (crossed_interval). n = 0 and NaN: of no runs,
// or of what is not defined.
Estimate interval(const std::vector<RunResult>& runs, const Blocks& of);
// Of arm − base, run by run: of the seeds that both have. n = 0: there is none, or one of them is not defined.
Estimate difference(const std::vector<RunResult>& arm, const std::vector<RunResult>& base, const Blocks& of);

}  // namespace gnomon
