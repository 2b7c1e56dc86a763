#include "gnomon/lab/conduct.h"

#include <algorithm>

#include "gnomon/core/error.h"
#include "gnomon/core/parallel.h"
#include "gnomon/lab/store.h"

namespace gnomon {

Conduct::Conduct(const StudyConfig& config, const std::vector<RunPlan>& plan, const Corpus& corpus,
                 const StudyFolder& folder, bool replace)
    : config_(config), plan_(plan), folder_(folder) {
  check_memory(config, plan, corpus);
  make_folders(folder.folder);
  lock_.emplace(folder.lock(), "the study");
  respect(replace);
  write_file(folder.config(), print_toml(config));
  for (const auto& run : plan) {
    if (std::filesystem::exists(folder.run(run).result())) {
      folder.run(run).forget_checkpoints();  // what a failure after the result left
    } else {
      open_.push_back(run);
    }
  }
}

// What a folder holds of another study stays, unless that was asked for; what other numerics computed is done again.
void Conduct::respect(bool replace) {
  const Leftovers left = leftovers(folder_, plan_);
  if (!left.lost.empty() && !replace) {
    throw Error(
        Fault::usage,
        text(folder_.report().string(), " shows ", left.lost.size(),
             " runs that this command does not have (", left.lost.front(),
             left.lost.size() > 1 ? ", ..." : "",
             "): give another folder with --out, the same settings with more arms or seeds, or --replace"));
  }
  if (left.other_numerics) {
    redone_ = text(left.other_numerics, " finished runs of this study in ", folder_.runs().string(),
                   " were computed by '", left.found, "'; here it is '", plan_.front().numerics,
                   "', whose bits differ: they are done again");
  }
}

std::size_t Conduct::workers() const {
  return std::min<std::size_t>(std::size_t(config_.workers), std::max<std::size_t>(open_.size(), 1));
}

std::vector<RunResult> Conduct::results() const {
  std::vector<RunResult> all;
  for (const auto& run : plan_) {
    if (std::filesystem::exists(folder_.run(run).result())) all.push_back(result_of(run, folder_.run(run)));
  }
  return all;
}

std::size_t Conduct::perform(const std::vector<std::string>& command, const WorkerHooks& hooks) {
  const auto note = [&](const std::optional<std::string>& sentence) {
    if (sentence) hooks.note(*sentence);
  };
  note(write_store(folder_.store(), results()));
  WorkerHooks keeping = hooks;
  keeping.finished = [&](std::size_t slot, const RunPlan& run) {
    const RunResult result = result_of(run, folder_.run(run));
    note(put_in_store(folder_.store(), result));
    if (!result.failure.empty()) hooks.note(text(run.arm, ", seed ", run.seed, " failed: ", result.failure));
    hooks.finished(slot, run);
  };
  return perform_all(open_, workers(), command, keeping);
}

StudySummary Conduct::summary(const std::function<void(const std::string&)>& note) const {
  const std::vector<RunResult> found = results();
  if (const auto problem = write_store(folder_.store(), found)) note(*problem);
  const StudySummary s = summarise(config_, plan_, found);
  write_file(folder_.csv(), results_csv(s));
  write_file(folder_.json(), results_json(s));
  return s;
}

std::optional<RunResult> perform_one(const StudyFolder& folder, const Wanted& run, const RunHooks& hooks) {
  StudyConfig config;
  read_toml(config, folder.config());
  set_thread_count(int(config.threads));
  const Corpus corpus(config.text_path, config.longest() + 1);
  const Job job = job_of(config, corpus, Spec::parse(run.arm), run.seed);
  const RunPlan plan = plan_of(job, threads_granted(int(config.threads)));
  if (plan.key != run.key)
    throw Error(Fault::input, text("the study has no run ", run.key, "; did ", config.text_path, " change?"));
  RunHooks timed = hooks;
  timed.checkpoint_seconds = config.checkpoint_seconds;
  return perform(job, plan, folder.run(plan), timed);
}

}  // namespace gnomon
