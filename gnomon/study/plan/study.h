#pragma once
#include <map>
#include <string>
#include <vector>

#include "gnomon/study/plan/tuning.h"
#include "gnomon/study/run/run.h"
#include "gnomon/study/settings/arm.h"

namespace gnomon {

// A study in its folder: study.toml (resolved), study.sqlite, runs/KEY/…, results.csv, results.json,
// report.html; study.sbatch, submit.sh and slurm/… where it is done by a cluster.
struct StudyFolder {
  Path folder;
  Path config() const { return folder / "study.toml"; }
  Path store() const { return folder / "study.sqlite"; }
  Path lock() const { return folder / "lock"; }
  Path report() const { return folder / "report.html"; }
  Path sbatch() const { return folder / "study.sbatch"; }
  Path submit() const { return folder / "submit.sh"; }
  Path logs() const { return folder / "slurm"; }
  Path csv() const { return folder / "results.csv"; }
  Path json() const { return folder / "results.json"; }
  Path runs() const { return folder / "runs"; }
  RunFolder run(const RunPlan& plan) const { return {runs() / plan.key}; }
};

// Tunes at a rate that is none of tune.rates: the best of those was at an edge.
bool extends(const StudyConfig& config, const Trial& trial);

// What a run of a study does; the data outlives it. A tuning run is evaluated on validation text; the others on the test,
// those of the largest budget at every length.
Job job_of(const StudyConfig& config, const Data& data, const Trial& trial);
RunPlan plan_of(const StudyConfig& config, const Data& data, const Trial& trial);
// Steps of an arm at this share of its own steps, which differ where FLOPs are matched.
std::int64_t steps_at(const StudyConfig& config, const Arm& arm, double share);
// The n-th training that tries a rate at this share of the steps.
Trial tuning_trial(const StudyConfig& config, const Arm& arm, double share, double rate, std::int64_t n);

using Found = std::map<std::string, RunResult>;  // by key

// The rates of an arm, one for each of tune.budgets, as far as they are known from what was found.
std::vector<Tuned> tuned(const StudyConfig& config, const Data& data, const Arm& arm, const Found& found);

// The runs of a study that follow from what was found, done or not: tuning runs of every arm, and all seeds of the
// budgets whose rate is chosen. Rates beyond the given ones come first, because an arm waits for them; then all arms of a seed
// before the next seed, the largest budget first, so that a part of them is balanced. A function of its arguments alone, and of the numerics of this process, which the keys name.
std::vector<RunPlan> plan_runs(const StudyConfig& config, const Data& data, const Found& found);
// How much follows later, if no rate beyond the given ones is tried.
struct Work {
  std::size_t runs = 0;
  double steps = 0;
};
Work to_come(const StudyConfig& config, const Data& data, const Found& found);

// What stands in a study's folder and is not of this one.
struct Leftovers {
  std::size_t other_numerics = 0;  // finished runs of this study that were computed by other numerics
  std::string found;               // those numerics, of one of them
  std::vector<std::string>
      lost;  // "arm, seed": runs in results.json and so in the report that are not of this study
  // That the folder shows those, in a sentence that says what to do; empty: there are none.
  std::string in_the_way(const StudyFolder& folder) const;
};
Leftovers leftovers(const StudyConfig& config, const Data& data, const StudyFolder& folder);

}  // namespace gnomon
