#include "gnomon/lab/study.h"

#include <fmt/core.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <thread>

#include "cli/commands.h"
#include "cli/progress.h"
#include "cli/signals.h"
#include "cli/study_page.h"
#include "gnomon/core/error.h"
#include "gnomon/core/memory.h"
#include "gnomon/core/parallel.h"
#include "gnomon/core/text.h"
#include "gnomon/lab/store.h"
#include "gnomon/lab/workers.h"

namespace gnomon::cli {
namespace {

// The configuration from the file, then --quick, then the flags, then --set: the later wins.
StudyConfig configure(const StudyOptions& o) {
  StudyConfig config;
  config.baseline.clear();  // until someone asks for one
  if (!o.config.empty()) read_toml(config, o.config);
  if (o.quick) make_quick(config);
  if (!o.text.empty()) config.text_path = o.text;
  for (const auto& assignment : o.set) set(config, assignment);
  const bool as_asked = !config.baseline.empty() || choose_baseline(config);
  if (config.text_path.empty()) {
    throw Error(Fault::usage, "no text: give one with --text FILE, or as study.text in the configuration");
  }
  config.text_path = std::filesystem::absolute(config.text_path).lexically_normal().string();
  config.check();
  if (!as_asked)
    fmt::print(stderr, "gnomon: study.baseline: {} is no arm, so the first is the baseline: {}\n",
               StudyConfig().baseline, config.baseline);
  if (!config.workers)
    config.workers =
        std::max<std::int64_t>(1, std::int64_t(std::thread::hardware_concurrency()) / config.threads);
  return config;
}

std::string duration(double seconds) {
  if (seconds < 90) return fmt::format("{:.0f} s", seconds);
  return seconds < 5400 ? fmt::format("{:.0f} min", seconds / 60) : fmt::format("{:.1f} h", seconds / 3600);
}

// The first column of the table is as wide as its longest spec.
std::size_t arm_width(const StudySummary& s) {
  std::size_t width = 3;
  for (const auto& arm : s.arms) width = std::max(width, arm.arm.size());
  return width;
}

int dry_run(const StudyConfig& config, const std::vector<RunPlan>& plan, const Corpus& corpus,
            const StudyFolder& folder) {
  set_thread_count(int(config.threads));
  std::size_t width = 3, done = 0;
  for (const auto& run : plan) width = std::max(width, run.arm.size());
  fmt::print("{:<{}}  {:>10}  {:>12}  {:>8}  {:>8}\n", "arm", width, "parameters", "TFLOP a run", "a run",
             "memory");
  double seconds = 0, memory = 0, disk = 0;
  for (const auto& run : plan) {
    done += std::filesystem::exists(folder.run(run).result());
    if (run.seed != 1) continue;
    const RunEstimate e = estimate(config, run, corpus);
    fmt::print("{:<{}}  {:>10}  {:>12.2f}  {:>8}  {:>8}\n", run.arm, width, e.parameters,
               e.training_flops / 1e12, duration(e.seconds), bytes_text(double(e.memory_bytes)));
    seconds += e.seconds * double(config.seeds);
    memory = std::max(memory, double(e.memory_bytes));
    disk += double(e.disk_bytes) * double(config.seeds);
  }
  fmt::print("\n{} runs ({} finished), {} side by side: about {} in all, {} of memory, {} of disk in {}\n",
             plan.size(), done, config.workers, duration(seconds / double(config.workers)),
             bytes_text(memory * double(config.workers)), bytes_text(disk), folder.folder.string());
  fmt::print("text: {} bytes, {} of them for training, {} held out; {} tokens a run are {:.2f} epochs\n",
             corpus.bytes().size(), corpus.training_bytes(), corpus.held_out_bytes(),
             config.train.steps * config.train.batch * config.model.length,
             double(config.train.steps * config.train.batch * config.model.length) /
                 double(corpus.training_bytes()));
  return 0;
}

std::string difference_text(const Estimate& e) {
  if (e.n == 0) return "-";
  return std::isnan(e.half_width) ? fmt::format("{:+.3f}", e.mean)
                                  : fmt::format("{:+.3f} ±{:.3f}", e.mean, e.half_width);
}

void print_table(const StudySummary& s) {
  const std::size_t width = arm_width(s);
  std::string head = fmt::format("{:<{}}  {:>6}  {:>6}  {:>15}", "arm", width, "nats", "bits", "to baseline");
  for (const double factor : s.config.lengths) head += fmt::format("  {:>7}", "at " + shortest(factor) + "x");
  fmt::print("{}  {:>10}  {:>8}  {:>7}\n", head, "parameters", "tokens/s", "memory");
  for (std::size_t i = 0; i < s.arms.size(); ++i) {
    const auto& a = s.arms[i];
    if (a.runs.empty()) {
      fmt::print("{:<{}}  {}\n", a.arm, width,
                 a.failed.empty() ? "not run" : "failed: " + a.failed.front().failure);
      continue;
    }
    std::string row = fmt::format("{:<{}}  {:>6.4f}  {:>6.3f}  {:>15}", a.arm, width, a.nats.mean,
                                  a.nats.mean / std::log(2.0),
                                  i == s.baseline ? "baseline" : difference_text(a.difference));
    for (const auto& l : a.by_length)
      row += fmt::format("  {:>7}", l.nats ? fmt::format("{:.3f}", l.nats->mean) : "n/d");
    fmt::print("{}  {:>10}  {:>8.0f}  {:>7}{}\n", row, a.runs.front().parameters, a.tokens_per_second,
               bytes_text(double(a.peak_memory_bytes)),
               a.failed.empty() ? "" : fmt::format("  ({} failed)", a.failed.size()));
  }
  fmt::print("\nnats, bits: held-out loss a byte over whole windows of {} tokens, mean of {} seed{}.\n",
             s.config.model.length, s.config.seeds, s.config.seeds == 1 ? "" : "s");
  fmt::print("to baseline: difference in nats to {}{}.\n", s.arms[s.baseline].arm,
             s.config.seeds > 1 ? ", paired by seed, ± 95 % t interval" : "; one seed: no inference");
  fmt::print(
      "at Nx: loss of the last {} tokens of windows N times as long, the same target bytes; n/d: not defined "
      "there.\n",
      s.config.score);
}

// Results of the runs that have one, in the order of the plan. Throws Error(input) for one that is damaged or another's.
std::vector<RunResult> collect(const StudyFolder& folder, const std::vector<RunPlan>& plan) {
  std::vector<RunResult> results;
  for (const auto& run : plan) {
    if (std::filesystem::exists(folder.run(run).result())) results.push_back(result_of(run, folder.run(run)));
  }
  return results;
}

// What a folder holds of another study stays, unless that was asked for; what other numerics computed is done again.
void respect(const StudyFolder& folder, const std::vector<RunPlan>& plan, bool replace) {
  const Leftovers left = leftovers(folder, plan);
  if (!left.lost.empty() && !replace) {
    throw Error(
        Fault::usage,
        text(folder.report().string(), " shows ", left.lost.size(), " runs that this command does not have (",
             left.lost.front(), left.lost.size() > 1 ? ", ..." : "",
             "): give another folder with --out, the same settings with more arms or seeds, or --replace"));
  }
  if (left.other_numerics) {
    fmt::print(
        stderr,
        "gnomon: {} finished runs of this study in {} were computed by '{}'; here it is '{}', whose bits "
        "differ: they are done again\n",
        left.other_numerics, folder.runs().string(), left.found, plan.front().numerics);
  }
}

// Does what is not done yet; returns the number of runs that crashed.
std::size_t perform_open(const StudyOptions& o, const StudyConfig& config, const std::vector<RunPlan>& plan,
                         const StudyFolder& folder) {
  std::vector<RunPlan> open;
  for (const auto& run : plan) {
    if (std::filesystem::exists(folder.run(run).result())) {
      folder.run(run).forget_checkpoints();  // what a failure after the result left
    } else {
      open.push_back(run);
    }
  }
  const std::size_t workers =
      std::min<std::size_t>(std::size_t(config.workers), std::max<std::size_t>(open.size(), 1));
  Progress progress(o.quiet, workers, plan.size(), plan.size() - open.size());
  const auto note = [&](const std::optional<std::string>& sentence) {
    if (sentence) progress.note(*sentence);
  };
  note(write_store(folder.store(), collect(folder, plan)));
  const std::vector<std::string> command{o.program,  "worker",      "--study", folder.folder.string(),
                                         "--parent", text(getpid())};
  return perform_all(open, workers, command,
                     {.interruptions = interruptions,
                      .progress = [&](std::size_t slot, const RunPlan& run,
                                      const RunProgress& p) { progress.update(slot, run, p); },
                      .finished =
                          [&](std::size_t slot, const RunPlan& run) {
                            const RunResult result = result_of(run, folder.run(run));
                            note(put_in_store(folder.store(), result));
                            if (!result.failure.empty())
                              progress.note(text(run.arm, ", seed ", run.seed, " failed: ", result.failure));
                            progress.finished(slot, run);
                          },
                      .note = [&](const std::string& sentence) { progress.note(sentence); }});
}

}  // namespace

int study(const StudyOptions& o) {
  const StudyConfig config = configure(o);
  const Corpus corpus(config.text_path, config.longest() + 1);
  for (const auto& note : corpus.notes()) fmt::print(stderr, "gnomon: {}\n", note);
  const auto plan = plan_runs(config, corpus);
  const StudyFolder folder{o.out};
  if (o.dry_run) return dry_run(config, plan, corpus, folder);

  check_memory(config, plan, corpus);
  make_folders(folder.folder);
  const FileLock lock(folder.lock(), "the study");
  respect(folder, plan, o.replace);
  write_file(folder.config(), print_toml(config));
  std::size_t crashed = 0;
  {
    const Patient until_workers_have_ended;
    crashed = perform_open(o, config, plan, folder);
  }
  if (interruptions()) {
    fmt::print(stderr, "gnomon: interrupted; the same command continues where it stopped\n");
    return 128 + last_signal();
  }
  const std::vector<RunResult> results = collect(folder, plan);
  if (const auto problem = write_store(folder.store(), results)) fmt::print(stderr, "gnomon: {}\n", *problem);
  const StudySummary summary = summarise(config, plan, results);
  write_file(folder.csv(), results_csv(summary));
  write_file(folder.json(), results_json(summary));
  write_file(folder.report(), study_page(summary, corpus, folder, o.command));
  if (o.json) {
    fmt::print("{}", results_json(summary));
  } else {
    print_table(summary);
    fmt::print("\nreport: {}\n", std::filesystem::absolute(folder.report()).lexically_normal().string());
  }
  return summary.failed || crashed ? 1 : 0;
}

int worker(const WorkerOptions& o) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // no orphans: a killed study continues from its checkpoints
  if (getppid() != pid_t(o.parent)) return 1;
  const auto tell = [](const std::string& line) {
    std::fputs(line.c_str(), stdout);
    std::fflush(stdout);
  };
  try {
    StudyConfig config;
    const StudyFolder folder{o.study};
    read_toml(config, folder.config());
    set_thread_count(int(config.threads));
    const Corpus corpus(config.text_path, config.longest() + 1);
    const auto plan = plan_runs(config, corpus);
    const auto run = std::find_if(plan.begin(), plan.end(), [&](const RunPlan& p) { return p.key == o.key; });
    if (run == plan.end())
      throw Error(Fault::input, text("the study has no run ", o.key, "; did ", config.text_path, " change?"));
    const Patient until_it_is_saved;
    const auto result = perform(config, *run, corpus, folder.run(*run),
                                {.stop = [] { return interruptions() > 0; },
                                 .progress = [&](const RunProgress& p) { tell(tell_progress(p)); },
                                 .note = [&](const std::string& n) { tell(tell_note(n)); }});
    return result ? 0 : 128 + last_signal();
  } catch (const Error& e) {
    tell(tell_error(int(e.fault()), e.what()));
    return int(e.fault());
  } catch (const std::bad_alloc&) {
    tell(tell_error(int(Fault::resource), "out of memory: " + memory_text()));
    return int(Fault::resource);
  }
}

}  // namespace gnomon::cli
