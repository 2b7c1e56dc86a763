#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gnomon/lab/run.h"
#include "gnomon/lab/statistics.h"

namespace gnomon {

// A study in its folder: study.toml (resolved), study.sqlite, runs/KEY/…, results.csv, results.json,
// report.html.
struct StudyFolder {
  Path folder;
  Path config() const { return folder / "study.toml"; }
  Path store() const { return folder / "study.sqlite"; }
  Path lock() const { return folder / "lock"; }
  Path report() const { return folder / "report.html"; }
  Path csv() const { return folder / "results.csv"; }
  Path json() const { return folder / "results.json"; }
  Path runs() const { return folder / "runs"; }
  RunFolder run(const RunPlan& plan) const { return {runs() / plan.key}; }
};

// The runs of a study, all arms of a seed before the next seed, so that a part of them is balanced. Their keys are of
// the settings, the text and the numerics of this process.
std::vector<RunPlan> plan_runs(const StudyConfig& config, const Corpus& corpus);

// What a run of a study does; the corpus outlives it.
Job job_of(const StudyConfig& config, const Corpus& corpus, const Spec& arm, std::int64_t seed);

// What stands in a study's folder and is not of this plan.
struct Leftovers {
  std::size_t other_numerics = 0;  // finished runs of this study that were computed by other numerics
  std::string found;               // those numerics, of one of them
  std::vector<std::string>
      lost;  // "arm, seed": runs in results.json and so in the report that are not in this plan
};
Leftovers leftovers(const StudyFolder& folder, std::span<const RunPlan> plan);

// What a run will need, before it starts. All is computed but the speed, which is that of a small model of this arm
// (one layer, at most 128 channels and 128 tokens) on the threads of this process, scaled by FLOPs.
struct RunEstimate {
  std::int64_t parameters;
  double training_flops, seconds;
  std::int64_t memory_bytes, disk_bytes;
};
RunEstimate estimate(const StudyConfig& config, const RunPlan& plan, const Corpus& corpus);
// Bytes that the process of a run of this arm takes at its peak.
std::int64_t memory_of_a_run(const StudyConfig& config, const std::string& arm, const Corpus& corpus);
// Throws Error(usage) with the numbers where the runs that go side by side need more memory than there is.
void check_memory(const StudyConfig& config, std::span<const RunPlan> plan, const Corpus& corpus);

// One arm over its seeds.
struct ArmSummary {
  std::string arm;
  std::vector<RunResult> runs;  // that finished, by seed
  std::vector<RunResult> failed;
  Estimate nats, difference;  // of the held-out loss; to the baseline, paired by seed
  struct AtLength {
    double factor;
    std::int64_t tokens;
    std::optional<Estimate> nats, difference;  // nullopt: not defined there
  };
  std::vector<AtLength> by_length;
  double tokens_per_second = 0;        // median over seeds
  std::int64_t peak_memory_bytes = 0;  // largest
};
struct StudySummary {
  StudyConfig config;
  std::vector<ArmSummary> arms;  // best first; arms without a finished run last
  std::size_t baseline = 0;
  std::size_t finished = 0, failed = 0, planned = 0;
};
StudySummary summarise(const StudyConfig& config, const std::vector<RunPlan>& plan,
                       const std::vector<RunResult>& results);

std::string results_csv(const StudySummary& summary);
std::string results_json(const StudySummary& summary);

}  // namespace gnomon
