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
#include "gnomon/core/error.h"
#include "gnomon/core/memory.h"
#include "gnomon/core/parallel.h"
#include "gnomon/core/text.h"
#include "gnomon/lab/conduct.h"

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
  for (const std::string& why : choose_arms(config)) tell(why);
  const bool as_asked = !config.baseline.empty() || choose_baseline(config);
  settle(config);
  if (!as_asked)
    tell(text("study.baseline: ", StudyConfig().baseline,
              " is no arm, so the first is the baseline: ", config.baseline));
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

// Does what is not done yet; returns the number of runs that crashed.
std::size_t perform(const StudyOptions& o, Conduct& conduct, std::size_t runs, const StudyFolder& folder) {
  const Patient until_workers_have_ended;
  Progress progress(o.quiet, conduct.workers(), runs, runs - conduct.open().size());
  const std::vector<std::string> command{o.program,  "worker",      "--study", folder.folder.string(),
                                         "--parent", text(getpid())};
  return conduct.perform(
      command, {.interruptions = interruptions,
                .progress = [&](std::size_t slot, const RunPlan& run,
                                const RunProgress& p) { progress.update(slot, run, p); },
                .finished = [&](std::size_t slot, const RunPlan& run) { progress.finished(slot, run); },
                .note = [&](const std::string& sentence) { progress.note(sentence); }});
}

}  // namespace

int study(const StudyOptions& o) {
  const StudyConfig config = configure(o);
  const Corpus corpus(config.text_path, config.longest() + 1);
  for (const auto& note : corpus.notes()) tell(note);
  const auto plan = plan_runs(config, corpus);
  const StudyFolder folder{o.out};
  if (o.dry_run) return dry_run(config, plan, corpus, folder);

  Conduct conduct(config, plan, corpus, folder, o.replace);
  if (conduct.redone()) tell(*conduct.redone());
  const std::size_t crashed = perform(o, conduct, plan.size(), folder);
  if (interruptions()) {
    tell("interrupted; the same command continues where it stopped");
    return 128 + last_signal();
  }
  const StudySummary summary = conduct.summary(tell);
  write_file(folder.report(), pages::study_page(summary, corpus, folder, {o.command, machine()}));
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
  const auto say = [](const std::string& line) {
    std::fputs(line.c_str(), stdout);
    std::fflush(stdout);
  };
  try {
    const Patient until_it_is_saved;
    const auto result = perform_one({o.study}, {o.arm, o.key, o.seed},
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
