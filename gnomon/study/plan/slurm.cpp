#include "gnomon/study/plan/slurm.h"

#include <algorithm>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/study/plan/estimate.h"

namespace gnomon {
namespace {

constexpr double kMoreMemory = 1.25;  // than the sum of the arrays: Slurm ends a task that exceeds it

constexpr char kDirectives[] = R"sh(#SBATCH --job-name=gnomon
#SBATCH --ntasks=1
#SBATCH --output=slurm/%A-%a.txt
#SBATCH --open-mode=append
#SBATCH --requeue
#SBATCH --signal=TERM@60
)sh";

constexpr char kTask[] = R"sh(
# A task of a study, in its folder: one open run, or the report. Written by `gnomon study export --slurm`, submitted by submit.sh.
part() { srun --ntasks=1 --cpus-per-task="$threads" "$program" study "$@" .; }
if [ "${1:-}" = report ]; then
  part report
  exit
fi
part work --task
code=$?
# It was asked to stop, as before the end of its time, and has left a checkpoint: the next attempt continues.
if [ $code -eq 143 ]; then scontrol requeue "$SLURM_JOB_ID"; fi
exit $code
)sh";

constexpr char kSubmit[] = R"sh(
# Submits this study to Slurm: runs that tune, runs that follow, the report, each after the ones before. Words after it go to
# sbatch, such as --partition=long --time=60. Again: does what is missing; a task that finds nothing to do ends.
set -eu
CDPATH= cd -- "$(dirname -- "$0")/."
after=
phase() {  # TASKS [word...]: in arrays of at most 1000, as Slurm's MaxArraySize has it
  left=$1 jobs=
  shift
  while [ "$left" -gt 0 ]; do
    tasks=$((left < 1000 ? left : 1000))
    left=$((left - tasks))
    job=$(sbatch --parsable --chdir="$PWD" $after --array=1-$tasks "$@" study.sbatch) || exit 1
    jobs=$jobs:${job%%;*}
  done
  [ -z "$jobs" ] || after=--dependency=afterany$jobs
}
phase $tuning "$@"
phase $following "$@"
sbatch --chdir="$PWD" $after --output=slurm/report-%j.txt "$@" study.sbatch report
)sh";

std::int64_t mebibytes(double bytes) { return std::int64_t(bytes / double(1 << 20)) + 1; }

}  // namespace

SlurmJobs slurm_jobs(const StudyConfig& c, const Data& data, const std::string& program) {
  const auto first = plan_runs(c, data, {});
  const auto tuning = std::size_t(std::count_if(first.begin(), first.end(), tunes));
  const std::size_t following = first.size() - tuning + to_come(c, data, {}).runs;
  return {program, c.threads, largest_run(c, data).bytes, tuning, following};
}

std::string slurm_task(const SlurmJobs& j) {
  return text("#!/bin/sh\n", kDirectives, "#SBATCH --cpus-per-task=", j.threads,
              "\n#SBATCH --mem=", mebibytes(kMoreMemory * double(j.memory_bytes)),
              "M\n\nprogram=", shell_word(j.program), "\nthreads=", j.threads, kTask);
}

std::string slurm_submit(const SlurmJobs& j) {
  return text("#!/bin/sh\ntuning=", j.tuning, " following=", j.following, kSubmit);
}

}  // namespace gnomon
