#include "gnomon/pages/study.h"

#include <fmt/core.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <thread>

#include "cli/commands.h"
#include "cli/machine.h"
#include "cli/progress.h"
#include "cli/signals.h"
#include "cli/study_table.h"
#include "gnomon/core/error.h"
#include "gnomon/core/memory.h"
#include "gnomon/core/parallel.h"
#include "gnomon/core/text.h"
#include "gnomon/lab/conduct.h"
#include "gnomon/lab/estimate.h"
#include "gnomon/lab/presets.h"
#include "gnomon/lab/results.h"
#include "gnomon/lab/scale.h"
#include "gnomon/lab/slurm.h"

namespace gnomon::cli {
namespace {

// The configuration from the preset, then the file, then the flags, then --set: the later wins.
StudyConfig configure(const StudyOptions& o) {
  StudyConfig config;
  if (!o.preset.empty()) read_preset(config, o.preset);
  if (!o.config.empty()) read_toml(config, o.config);
  if (!o.text.empty()) config.text_path = o.text;
  if (o.minutes) config.minutes = *o.minutes;
  for (const auto& assignment : o.set) set(config, assignment);
  for (const std::string& sentence : settle(config)) tell(sentence);
  return config;
}

// Does what is not done yet; returns the number of runs that crashed.
std::size_t perform(const StudyOptions& o, Conduct& conduct, const StudyConfig& config,
                    const StudyFolder& folder) {
  const Patient until_workers_have_ended;
  Progress progress(o.quiet, config, conduct);
  const std::vector<std::string> command{o.program,  "worker",      "--study", folder.folder.string(),
                                         "--parent", text(getpid())};
  return conduct.perform(
      command,
      {.interruptions = interruptions,
       .progress = [&](std::size_t slot, const RunPlan& run,
                       const RunProgress& p) { progress.update(slot, run, p); },
       .finished = [&](std::size_t slot, const RunResult& result) { progress.finished(slot, result); },
       .note = [&](const std::string& sentence) { progress.note(sentence); }});
}

// Prints what was found and writes the page; the exit code.
int show(const StudySummary& summary, const Data& data, const StudyFolder& folder, const std::string& command,
         bool json) {
  write_file(folder.report(), pages::study_page(summary, data, folder, {command, machine()}));
  if (json) {
    fmt::print("{}", results_json(summary));
  } else {
    print_table(summary);
    fmt::print("\nreport: {}\n", std::filesystem::absolute(folder.report()).lexically_normal().string());
  }
  return summary.failed ? 1 : 0;
}

}  // namespace

int study(const StudyOptions& o) {
  const StudyConfig config = configure(o);
  const StudyFolder folder{o.out};
  const auto data = open_data(config);
  for (const auto& note : data->notes()) tell(note);
  if (o.dry_run) {
    print_cost(config, *data, folder);
    return 0;
  }
  Conduct conduct(config, *data, folder, o.replace);
  for (const std::string& sentence : conduct.said()) tell(sentence);
  const std::size_t crashed = perform(o, conduct, config, folder);
  if (interruptions()) {
    tell("interrupted; the same command continues where it stopped");
    return 128 + last_signal();
  }
  const int code = show(conduct.summary(tell), *data, folder, o.command, o.json);
  return crashed ? 1 : code;
}

int study_export(const StudyOptions& o) {
  if (!o.slurm) throw Error(Fault::usage, "export: to what? There is --slurm");
  StudyConfig config = configure(o);
  config.workers = 1;  // side by side are tasks
  const StudyFolder folder{o.out};
  const auto data = open_data(config);
  for (const auto& note : data->notes()) tell(note);
  const Conduct conduct(config, *data, folder, o.replace);
  const SlurmJobs jobs = slurm_jobs(config, *data, o.program);
  make_folders(folder.logs());
  write_file(folder.sbatch(), slurm_task(jobs));
  write_file(folder.submit(), slurm_submit(jobs));
  fmt::print("runs: {} that tune, {} that follow, {} of memory each; {} are finished\nsubmit with: sh {}\n",
             jobs.tuning, jobs.following, bytes_text(double(jobs.memory_bytes)), conduct.done().runs,
             shell_word(std::filesystem::absolute(folder.submit()).lexically_normal().string()));
  return 0;
}

int study_status(const StudyFolderOptions& o) {
  const Opened study = open_study({o.out});
  const StudySummary summary = summarise(study.config, *study.data, study.found);
  o.json ? fmt::print("{}", results_json(summary)) : print_status(summary);
  return 0;
}

int study_report(const StudyFolderOptions& o) {
  const StudyFolder folder{o.out};
  const Opened study = open_study(folder);
  const FileLock lock(folder.lock(), "the study");
  return show(write_results(study, folder, tell), *study.data, folder, o.command, o.json);
}

int study_compare(const StudyFolderOptions& o) {
  const Opened a = open_study({o.out}), b = open_study({o.other});
  print_comparison(summarise(a.config, *a.data, a.found), summarise(b.config, *b.data, b.found), o.json);
  return 0;
}

int study_work(const StudyFolderOptions& o) {
  const Patient until_it_is_saved;
  const std::size_t done =
      join({o.out}, {o.task ? 1 : std::size_t(o.most), !o.task},
           {.stop = [] { return interruptions() > 0; }, .progress = [](const RunProgress&) {}, .note = tell},
           [&](const RunResult& r) {
             if (!o.quiet)
               tell(text(r.plan.arm, ", seed ", r.plan.seed, ", ", r.plan.steps, " steps at rate ",
                         shortest(r.plan.learning_rate), ": ",
                         r.failure.empty() ? fixed(r.nats, 4) + " nats a byte" : r.failure));
           });
  if (!o.quiet) tell(counted(done, "run") + " done");
  return interruptions() ? 128 + last_signal() : 0;
}

int worker(const WorkerOptions& o) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // no orphans: a killed study continues from its checkpoints
  if (getppid() != pid_t(o.parent)) return 1;
  const auto say = [](const std::string& line) {
    std::fputs(line.c_str(), stdout);
    std::fflush(stdout);
  };
  try {
    const Patient until_it_is_saved;
    const auto result = perform_one({o.study}, {o.arm, o.seed, o.steps, o.rate}, o.key,
                                    {.stop = [] { return interruptions() > 0; },
                                     .progress = [&](const RunProgress& p) { say(tell_progress(p)); },
                                     .note = [&](const std::string& n) { say(tell_note(n)); }});
    return result ? 0 : 128 + last_signal();
  } catch (const Error& e) {
    say(tell_error(int(e.fault()), e.what()));
    return int(e.fault());
  } catch (const std::bad_alloc&) {
    say(tell_error(int(Fault::resource), "out of memory: " + memory_text()));
    return int(Fault::resource);
  }
}

}  // namespace gnomon::cli
