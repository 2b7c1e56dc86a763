#pragma once
#include "gnomon/study/plan/study.h"

namespace gnomon {

// A study as jobs of Slurm (slurm.schedmd.com: sbatch, job_array; 22.05 or later): an array of tasks that tune, one of tasks for
// the runs that follow, and the report. A task is Share{1, false} of conduct.h, so none waits for another; which run it does is
// decided when it starts, by the lock of the run's folder. docs/cluster.md says what happens when one is lost.
struct SlurmJobs {
  std::string program;                 // of this study, as the nodes reach it
  std::int64_t threads, memory_bytes;  // of a run
  std::size_t tuning, following;       // runs at the given rates, and those of all budgets and seeds
};
SlurmJobs slurm_jobs(const StudyConfig& config, const Data& data, const std::string& program);

std::string slurm_task(const SlurmJobs& jobs);    // the text of study.sbatch: what each of the jobs does
std::string slurm_submit(const SlurmJobs& jobs);  // the text of submit.sh, which submits them

}  // namespace gnomon
