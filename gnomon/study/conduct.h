#pragma once
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "gnomon/study/plan/agenda.h"
#include "gnomon/study/plan/workers.h"
#include "gnomon/study/results/summary.h"

namespace gnomon {

// A study that is being done: while one lives, the folder is this process's to conduct; others may join its runs.
class StudyConduct {
 public:
  // Takes the folder and writes study.toml into it. What the folder shows of another study stays, unless `replace`.
  // Throws Error(usage) for a report that has runs which this study lacks, for a study.toml that cannot be read, and for
  // predictions in it that this study lacks and of which runs have been seen; Error(resource) for more memory than there is;
  // Error(busy) for a folder in use. The data outlive it.
  StudyConduct(const StudyConfig& config, const Data& data, const StudyFolder& folder, bool replace);
  StudyConduct(const StudyConduct&) = delete;  // its agenda knows where its configuration stands

  // What is worth telling before it begins: why finished runs are done again, what became of predictions.
  const std::vector<std::string>& said() const { return said_; }
  Work done() const { return agenda_->done(); }
  Work planned() const { return agenda_->planned(); }

  // Does the open runs in processes, as perform_all(): each is `command` and which run it is. Returns how many crashed.
  std::size_t perform(const std::vector<std::string>& command, const WorkerHooks& hooks);
  // Of all runs that have a result; writes results.csv, results.json and the store, and tells note() what is not
  // worth stopping for.
  StudySummary summary(const std::function<void(const std::string&)>& note) const;

 private:
  void respect_runs(bool replace);
  void respect_predictions(bool replace);

  StudyConfig config_;
  const Data& data_;
  const StudyFolder folder_;
  std::optional<FileLock> lock_;
  std::optional<Agenda> agenda_;
  std::vector<std::string> said_;
};

// A study as its folder shows it. Throws Error(usage) where there is none, Error(input) where its text is another or a result
// is damaged.
struct Opened {
  StudyConfig config;
  std::unique_ptr<Data> data;
  Found found;
  Work planned;
};
Opened open_study(const StudyFolder& folder);
// Writes results.csv, results.json and the store; tells note() what is not worth stopping for, and which runs are left out
// because a machine of another kind did them.
StudySummary write_results(const Opened& study, const StudyFolder& folder,
                           const std::function<void(const std::string&)>& note);

// A worker's side: does this trial of the study in this folder. nullopt: stopped. Throws Error(input) where its key is not
// `key`, because a setting or the text has changed since the study began.
std::optional<RunResult> perform_one(const StudyFolder& folder, const Trial& trial, const std::string& key,
                                     const RunHooks& hooks);

// How much of a study is done by a process that joins it.
struct Share {
  // Runs, not counting those at rates beyond the given ones: nobody knows of them beforehand, so who sees one does it as well.
  std::size_t most = std::numeric_limits<std::size_t>::max();
  bool waits = true;  // for others' runs: more may follow from them, or they may be left
};
// Joins a study whose study.toml stands in the folder: does its open runs, one after the other, on the threads that the study
// says, beside whoever else works on it. Returns how many it did. Throws Error(usage) where there is no study.
std::size_t join(const StudyFolder& folder, const Share& share, const RunHooks& hooks,
                 const std::function<void(const RunResult&)>& finished);

}  // namespace gnomon
