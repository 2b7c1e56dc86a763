#pragma once
#include "gnomon/study/run/run.h"

namespace gnomon {

// Does a run on several ranks, as perform() (run.h) does it in one process, and to the same bits: job.train.shards says how the
// work is cut, the ranks only share it. Every rank calls it with the same job and plan; rank 0 alone touches the folder and
// tells its progress. A rank that is asked to stop stops all of them at the same step. Returns whether the run has its
// result; false: stopped, to be continued by any number of ranks. Throws Error(usage) where the ranks have other jobs,
// texts or numerics, or are more than the shards; Error(lost) when a rank is lost, after rank 0 has written a checkpoint;
// Error(resource) on the others when rank 0 has failed; and what perform() throws.
bool perform_together(const Job& job, const RunPlan& plan, const RunFolder& folder, const RunHooks& hooks,
                      Ranks& ranks);

}  // namespace gnomon
