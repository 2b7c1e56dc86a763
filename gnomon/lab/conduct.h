#pragma once
#include <optional>
#include <string>
#include <vector>

#include "gnomon/lab/study.h"
#include "gnomon/lab/workers.h"

namespace gnomon {

// A study that is being done: while one lives, the folder is this process's alone.
class Conduct {
 public:
  // Takes the folder and writes study.toml into it. What the folder shows of another study stays, unless `replace`.
  // Throws Error(usage) for more memory than there is, and for a report that has runs which this plan lacks;
  // Error(busy) for a folder in use. config, plan and corpus outlive it.
  Conduct(const StudyConfig& config, const std::vector<RunPlan>& plan, const Corpus& corpus,
          const StudyFolder& folder, bool replace);

  const std::vector<RunPlan>& open() const { return open_; }            // without a result yet
  const std::optional<std::string>& redone() const { return redone_; }  // why finished runs are done again
  std::size_t workers() const;                                          // side by side

  // Does the open runs in processes, as perform_all(): each is `command` and which run it is. Returns how many crashed.
  std::size_t perform(const std::vector<std::string>& command, const WorkerHooks& hooks);
  // Of all runs that have a result; writes results.csv, results.json and the store, and tells note() what is not
  // worth stopping for.
  StudySummary summary(const std::function<void(const std::string&)>& note) const;

 private:
  void respect(bool replace);
  // In the order of the plan. Throws Error(input) for a result that is damaged or another's.
  std::vector<RunResult> results() const;

  const StudyConfig& config_;
  const std::vector<RunPlan>& plan_;
  const StudyFolder folder_;
  std::optional<FileLock> lock_;
  std::vector<RunPlan> open_;
  std::optional<std::string> redone_;
};

// A worker's side: does the run of the study in this folder that has this arm and seed. nullopt: stopped. Throws
// Error(input) where its key is not `key`, because a setting or the text has changed since the study began.
struct Wanted {
  std::string arm, key;
  std::int64_t seed;
};
std::optional<RunResult> perform_one(const StudyFolder& folder, const Wanted& run, const RunHooks& hooks);

}  // namespace gnomon
