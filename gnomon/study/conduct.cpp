#include "gnomon/study/conduct.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "gnomon/core/error.h"
#include "gnomon/core/parallel.h"
#include "gnomon/core/text.h"
#include "gnomon/kernels/matmul.h"
#include "gnomon/study/plan/estimate.h"
#include "gnomon/study/results/results.h"
#include "gnomon/study/results/store.h"

namespace gnomon {
namespace {

std::vector<RunResult> all_of(const Found& found) {
  std::vector<RunResult> all;
  for (const auto& [key, result] : found) all.push_back(result);
  return all;
}

// What other numerics than those of a run here have computed.
std::string told(const Leftovers& left, const RunPlan& here, const StudyFolder& folder) {
  return text(folder.runs().string(), ": ", counted(left.other_numerics, "finished run"),
              " of this study used '", left.found, "'; gnomon uses '", here.numerics,
              "' here, which gives other bits, and ");
}

// And the threads that it says.
StudyConfig config_in(const StudyFolder& folder) {
  if (!std::filesystem::exists(folder.config()))
    throw Error(Fault::usage,
                text(folder.config().string(), ": found no study; begin one with `gnomon study`"));
  StudyConfig config;
  read_toml(config, folder.config());
  set_thread_count(int(config.threads));
  return config;
}

}  // namespace

StudyConduct::StudyConduct(const StudyConfig& config, const Data& data, const StudyFolder& folder,
                           bool replace)
    : config_(config), data_(data), folder_(folder) {
  check_memory(config, data);
  make_folders(folder.folder);
  lock_.emplace(folder.lock(), "the study");
  respect_runs(replace);
  agenda_.emplace(config_, data, folder);
  respect_predictions(replace);
  if (!multiplies_in(config_.train.precision))
    said_.push_back(text("train.precision = ", name_of(config_.train.precision),
                         ": this machine has no products of such numbers, so they are float32's"));
  write_file(folder.config(), print_toml(config_));
  for (const auto& [key, result] : agenda_->found())
    folder.run(result.plan).forget_checkpoints();  // what a failure after the result left
}

// What a folder holds of another study stays, unless that was asked for; what other numerics computed is done again.
void StudyConduct::respect_runs(bool replace) {
  const Leftovers left = leftovers(config_, data_, folder_);
  if (!left.lost.empty() && !replace) throw Error(Fault::usage, left.in_the_way(folder_));
  if (left.other_numerics)
    said_.push_back(told(left, plan_runs(config_, data_, {}).front(), folder_) + "repeats such runs");
}

namespace {

// Those that stand in a folder's study.toml. One that cannot be read may be a newer program's: it stays, unless `replace`.
std::vector<Prediction> predictions_in(const StudyFolder& folder, bool replace) {
  if (!std::filesystem::exists(folder.config())) return {};
  try {
    StudyConfig before;
    read_toml(before, folder.config());
    return before.predictions;
  } catch (const Error& e) {
    if (replace) return {};
    throw Error(Fault::usage, text(e.what(),
                                   "; the study in this folder is damaged or from a newer version of gnomon; "
                                   "give another folder with --out, or use --replace"));
  }
}

const Prediction* find(const std::vector<Prediction>& all, const Prediction& p) {
  const auto at = std::find_if(all.begin(), all.end(), [&](const Prediction& x) { return x.same(p); });
  return at == all.end() ? nullptr : &*at;
}

}  // namespace

// A prediction is one that stood there before the runs: what is written later says so, and none goes away unseen.
void StudyConduct::respect_predictions(bool replace) {
  const std::vector<Prediction> standing = predictions_in(folder_, replace);
  const std::size_t runs = agenda_->done().runs;
  std::size_t added = 0;
  for (Prediction& p : config_.predictions) {
    const Prediction* before = find(standing, p);
    p.after = before ? before->after : std::nullopt;
    if (!before && runs) p.after = std::int64_t(runs), ++added;
  }
  const auto lost = std::find_if(standing.begin(), standing.end(),
                                 [&](const Prediction& p) { return !find(config_.predictions, p); });
  if (lost != standing.end()) {
    const std::string what =
        text(folder_.config().string(), " holds predictions (SHA-256 ", fingerprint(standing),
             ") that this command lacks (\"", lost->says, "\", ...)");
    if (runs && !replace)
      throw Error(Fault::usage, text(what, ", and ", counted(runs, "run"), runs == 1 ? " has" : " have",
                                     " finished; give another folder with --out, keep these predictions (you "
                                     "may add others), or use --replace"));
    said_.push_back(what + ": they are replaced");
  }
  if (added)
    said_.push_back(text(folder_.config().string(), ": ", counted(added, "prediction"),
                         added == 1 ? " was" : " were", " added after ", counted(runs, "run"),
                         " had finished; the page says so"));
}

std::size_t StudyConduct::perform(const std::vector<std::string>& command, const WorkerHooks& hooks) {
  const auto note = [&](const std::optional<std::string>& sentence) {
    if (sentence) hooks.note(*sentence);
  };
  note(write_store(folder_.store(), all_of(agenda_->found())));
  WorkerHooks keeping = hooks;
  keeping.finished = [&](std::size_t slot, const RunResult& result) {
    note(put_in_store(folder_.store(), result));
    if (!result.failure.empty())
      hooks.note(text(result.plan.arm, ", seed ", result.plan.seed, " failed: ", result.failure));
    hooks.finished(slot, result);
  };
  return perform_all(*agenda_, folder_, std::size_t(config_.workers), command, keeping);
}

namespace {
StudySummary written(const StudyConfig& config, const Data& data, const Found& found,
                     const StudyFolder& folder, const std::function<void(const std::string&)>& note) {
  if (const auto problem = write_store(folder.store(), all_of(found))) note(*problem);
  const StudySummary s = summarise(config, data, found);
  write_file(folder.csv(), results_csv(s));
  write_file(folder.json(), results_json(s));
  return s;
}
}  // namespace

StudySummary StudyConduct::summary(const std::function<void(const std::string&)>& note) const {
  return written(config_, data_, agenda_->found(), folder_, note);
}

StudySummary write_results(const Opened& o, const StudyFolder& folder,
                           const std::function<void(const std::string&)>& note) {
  if (const Leftovers left = leftovers(o.config, *o.data, folder); left.other_numerics)
    note(told(left, plan_runs(o.config, *o.data, {}).front(), folder) + "leaves such runs out");
  return written(o.config, *o.data, o.found, folder, note);
}

Opened open_study(const StudyFolder& folder) {
  Opened o{config_in(folder), nullptr, {}, {}};
  o.data = open_data(o.config);
  const Agenda agenda(o.config, *o.data, folder);
  o.found = agenda.found(), o.planned = agenda.planned();
  return o;
}

std::optional<RunResult> perform_one(const StudyFolder& folder, const Trial& trial, const std::string& key,
                                     const RunHooks& hooks) {
  const StudyConfig config = config_in(folder);
  const auto data = open_data(config);
  const RunPlan plan = plan_of(config, *data, trial);
  if (plan.key != key)
    throw Error(Fault::input, text("the study has no run ", key, "; did ", config.text_path, " change?"));
  RunHooks timed = hooks;
  timed.checkpoint_seconds = config.checkpoint_seconds;
  return perform(job_of(config, *data, trial), plan, folder.run(plan), timed);
}

std::size_t join(const StudyFolder& folder, const Share& share, const RunHooks& hooks,
                 const std::function<void(const RunResult&)>& finished) {
  const StudyConfig config = config_in(folder);
  const auto data = open_data(config);
  Agenda agenda(config, *data, folder);
  RunHooks timed = hooks;
  timed.checkpoint_seconds = config.checkpoint_seconds;
  timed.patience_ms = 0;  // there are others
  std::size_t done = 0, counted = 0;
  while (!hooks.stop()) {
    const bool enough = counted >= share.most;
    const Agenda::Next next = agenda.next(enough ? Agenda::Which::extending : Agenda::Which::all);
    if (!next.run && (enough || !next.wait || !share.waits)) break;
    if (!next.run) {
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      continue;
    }
    try {
      const auto result = perform(job_of(config, *data, *next.run), *next.run, folder.run(*next.run), timed);
      if (!result) break;
      finished(*result);
      ++done, counted += !extends(config, *next.run);
    } catch (const Error& e) {
      if (e.fault() != Fault::busy) throw;
      agenda.give_back(*next.run);  // somebody was faster
    }
  }
  return done;
}

}  // namespace gnomon
