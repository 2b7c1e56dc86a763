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
#include "cli/model.h"
#include "cli/progress.h"
#include "cli/signals.h"
#include "cli/study_plan.h"
#include "cli/study_table.h"
#include "gnomon/core/error.h"
#include "gnomon/core/memory.h"
#include "gnomon/core/parallel.h"
#include "gnomon/core/text.h"
#include "gnomon/kernels/targets.h"
#include "gnomon/models/run/architecture.h"
#include "gnomon/pages/suite.h"
#include "gnomon/study/conduct.h"
#include "gnomon/study/plan/estimate.h"
#include "gnomon/study/plan/slurm.h"
#include "gnomon/study/results/archive.h"
#include "gnomon/study/results/results.h"
#include "gnomon/study/results/versus.h"
#include "gnomon/study/settings/presets.h"
#include "gnomon/study/settings/scale.h"
#include "gnomon/study/suite.h"

namespace gnomon::cli {
namespace {

// What is said of one of several studies.
std::string about(const std::string& part, const std::string& sentence) {
  return part.empty() ? sentence : part + ": " + sentence;
}

// Says beforehand that the minutes of a study are longer on this machine than on the one that they are counted in.
void warn_of_slowness(double minutes) {
  constexpr double kAvx2 = 1.4;  // times as long, at least: docs/scale.md
  const std::string target = simd_target();
  const double cores = double(std::max(1u, std::thread::hardware_concurrency()));
  const double factor = (target.rfind("AVX3", 0) == 0 ? 1 : kAvx2) * std::max(1.0, 2 / cores);
  if (factor > 1)
    tell(text("minutes are counted on two cores with AVX-512; this machine has ",
              counted(std::size_t(cores), "core"), " with ", target, ", so ", shortest(minutes),
              minutes == 1 ? " minute takes" : " minutes take", " about ", shortest(minutes * factor),
              " or more (--dry-run measures it)"));
}

// A model in the place of a block, by its path or its name: the block of that model.
void read_block(Part& part) {
  std::string& block = part.config.model.block;
  const auto names = block_names();
  if (std::find(names.begin(), names.end(), block) != names.end()) return;
  const auto path = find_model(block, HubPart::settings);
  if (!path) return;  // text: a block and what differs
  const Config config = Config::open(*path);
  const Resolved resolved = resolve(config);
  const std::string found = block_of(config, resolved);
  tell(about(part.name, text("model.block: ", block, " has the block ", found,
                             "; its encoding, as an arm, is ", position_of(config, resolved).print())));
  block = found;
}

// The study that stands in the folder, where nothing but the folder is said.
std::optional<Suite> standing(const StudyOptions& o) {
  const bool said =
      !o.preset.empty() || !o.config.empty() || !o.text.empty() || !o.set.empty() || o.minutes || o.seeds;
  const SuiteFolder folder{o.out};
  if (said ||
      (!std::filesystem::exists(folder.names()) && !std::filesystem::exists(folder.part("").config())))
    return {};
  Suite suite;
  for (const std::string& name : folder.parts()) {
    Part& part = suite.emplace_back(Part{name, {}});
    read_toml(part.config, folder.part(name).config());
  }
  return suite;
}

// The configurations from the preset, then the file, then the flags, then --set: the later wins.
Suite configure(const StudyOptions& o) {
  if (auto suite = standing(o)) {
    tell(text("continuing the study in ", o.out, " with its own settings"));
    return *suite;
  }
  const auto given = [](bool there, const auto& read) {
    return there ? std::optional<Toml>(read()) : std::nullopt;
  };
  Suite suite = read_suite(given(!o.preset.empty(), [&] { return preset(o.preset); }),
                           given(!o.config.empty(), [&] { return toml_in(o.config); }));
  if (o.minutes) set_minutes(suite, *o.minutes);
  double minutes = 0;
  for (Part& part : suite) {
    if (!o.text.empty()) part.config.text_path = o.text;
    if (o.seeds) set(part.config, text("study.seeds=", *o.seeds));
    for (const auto& assignment : o.set) set(part.config, assignment);
    read_block(part);
    if (!part.config.train.steps) minutes += part.config.minutes;
    for (const std::string& sentence : settle(part.config)) tell(about(part.name, sentence));
  }
  if (minutes > 0 && !o.quiet) warn_of_slowness(minutes);
  return suite;
}

// Workers are this very program.
std::string this_program() {
  std::error_code unreadable;
  const auto found = std::filesystem::read_symlink("/proc/self/exe", unreadable);
  if (unreadable)
    throw Error(Fault::resource,
                "workers are started as /proc/self/exe, which cannot be read: is /proc mounted?");
  return found.string();
}

// Does what is not done yet; returns the number of runs that crashed.
std::size_t perform(const StudyOptions& o, StudyConduct& conduct, const StudyConfig& config,
                    const StudyFolder& folder) {
  const Patient until_workers_have_ended;
  Progress progress(o.quiet, config, conduct);
  const std::vector<std::string> command{this_program(),         "worker",   "--study",
                                         folder.folder.string(), "--parent", text(getpid())};
  return conduct.perform(
      command,
      {.interruptions = interruptions,
       .progress = [&](std::size_t slot, const RunPlan& run,
                       const RunProgress& p) { progress.update(slot, run, p); },
       .finished = [&](std::size_t slot, const RunResult& result) { progress.finished(slot, result); },
       .note = [&](const std::string& sentence) { progress.note(sentence); }});
}

// A study and what was found.
struct Done {
  std::string name;
  StudySummary summary;
  std::size_t crashed = 0;
};

void write_page(const StudySummary& summary, const Data& data, const StudyFolder& folder,
                const std::string& command) {
  write_file(folder.report(), pages::study_page(summary, data, folder, {command, machine()}));
}

// Prints what was found, and of several studies writes their page; the exit code.
int show(const std::vector<Done>& all, const SuiteFolder& suite, const std::string& command, bool json) {
  std::vector<Told> told;
  bool failed = false;
  for (const Done& d : all) told.push_back({d.name, &d.summary}), failed |= d.crashed || d.summary.failed;
  const bool alone = all.size() == 1 && all.front().name.empty();
  const std::string results = alone ? results_json(all.front().summary) : results_json(told);
  if (!alone) {
    write_file(suite.json(), results);
    write_file(suite.report(), pages::suite_page(told, {command, machine()}));
  }
  if (json) {
    fmt::print("{}", results);
  } else {
    alone ? print_table(all.front().summary) : print_suite(told);
    fmt::print("\nreport: {}\n",
               printable(std::filesystem::absolute(suite.report()).lexically_normal().string()));
  }
  return failed ? 1 : 0;
}

// One study as it stands in its folder.
Done as_it_stands(const std::string& name, const StudyFolder& folder) {
  const Opened study = open_study(folder);
  return {name, summarise(study.config, *study.data, study.found)};
}

// Throws Error(usage) for a name that no part has.
void check_parts(const std::vector<std::string>& asked, const Suite& suite) {
  std::string names;
  for (const Part& part : suite) names += (names.empty() ? "" : ", ") + part.name;
  for (const std::string& name : asked) {
    if (std::none_of(suite.begin(), suite.end(), [&](const Part& part) { return part.name == name; }))
      throw Error(Fault::usage, text("--part: found ", excerpt(name), ", allowed are ",
                                     names.empty() ? "none: this study has no parts" : names));
  }
}

bool asked(const StudyOptions& o, const Part& part) {
  return o.parts.empty() || std::find(o.parts.begin(), o.parts.end(), part.name) != o.parts.end();
}

// Does one study; nullopt: interrupted.
std::optional<Done> conduct(const StudyOptions& o, const Part& part, const StudyFolder& folder) {
  const auto data = open_data(part.config);
  for (const auto& note : data->notes()) tell(about(part.name, note));
  StudyConduct conduct(part.config, *data, folder, o.replace);
  for (const std::string& sentence : conduct.said()) tell(about(part.name, sentence));
  const std::size_t crashed = perform(o, conduct, part.config, folder);
  if (interruptions()) return {};
  Done done{part.name, conduct.summary(tell), crashed};
  write_page(done.summary, *data, folder, o.command);
  return done;
}

}  // namespace

namespace {

int show_plans(const Suite& suite, const SuiteFolder& folder, const StudyOptions& o) {
  std::vector<StudyPlan> plans;
  for (const Part& part : suite) {
    if (!asked(o, part)) continue;
    const auto data = open_data(part.config);
    for (const auto& note : data->notes()) tell(about(part.name, note));
    const StudyFolder own = folder.part(part.name);
    if (const std::string why = leftovers(part.config, *data, own).in_the_way(own);
        !why.empty() && !o.replace)
      tell(about(part.name, why));
    plans.push_back(plan_study(part.name, part.config, *data, own));
    if (!o.json) fmt::print("{}", plans.size() == 1 ? "" : "\n"), print(plans.back());
  }
  if (o.json) fmt::print("{}", plans_json(plans));
  return 0;
}

// The runs of an archive that these studies have need no training.
void take_over_from(const Path& archive, const Suite& suite, const SuiteFolder& folder) {
  std::size_t taken = 0;
  for (const Archived& from : archive_from(archive)) {
    for (const Part& part : suite) {
      if (part.name == from.name)
        taken += take_over(from, part.config, *open_data(part.config), folder.part(part.name));
    }
  }
  tell(text(archive.string(), ": ", counted(taken, "run"),
            taken ? " of this study taken from it" : " taken from it: none is new and of this study"));
}

}  // namespace

int study(const StudyOptions& o) {
  const Suite suite = configure(o);
  const SuiteFolder folder{o.out};
  check_parts(o.parts, suite);
  if (o.dry_run) return show_plans(suite, folder, o);
  folder.begin(suite, o.replace);
  if (!o.from.empty()) take_over_from(o.from, suite, folder);
  // Its settings stand in every folder before the first is done: what is foretold of a part needs them.
  for (const Part& part : suite) {
    if (const StudyFolder own = folder.part(part.name); !std::filesystem::exists(own.config()))
      StudyConduct(part.config, *open_data(part.config), own, o.replace);
  }
  std::vector<Done> all;
  for (const Part& part : suite) {
    if (!asked(o, part)) {
      all.push_back(as_it_stands(part.name, folder.part(part.name)));
      continue;
    }
    if (!o.quiet && !part.name.empty())
      tell(text(part.name, ": study ", all.size() + 1, " of ", suite.size()));
    auto done = conduct(o, part, folder.part(part.name));
    if (!done) {
      tell("interrupted; the same command continues where it stopped");
      return 128 + last_signal();
    }
    all.push_back(std::move(*done));
  }
  return show(all, folder, o.command, o.json);
}

int study_export(const StudyOptions& o) {
  if (!o.slurm) throw Error(Fault::usage, "export: found no target, allowed is --slurm");
  Suite suite = configure(o);
  const SuiteFolder folder{o.out};
  folder.begin(suite, o.replace);
  for (Part& part : suite) {
    part.config.workers = 1;  // side by side are tasks
    const StudyFolder own = folder.part(part.name);
    const auto data = open_data(part.config);
    for (const auto& note : data->notes()) tell(about(part.name, note));
    const StudyConduct conduct(part.config, *data, own, o.replace);
    const SlurmJobs jobs = slurm_jobs(part.config, *data, this_program());
    make_folders(own.logs());
    write_file(own.sbatch(), slurm_task(jobs));
    write_file(own.submit(), slurm_submit(jobs));
    fmt::print("runs: {} for tuning, {} after it; {} of memory for each; finished: {}\nsubmit with: sh {}\n",
               jobs.tuning, jobs.following, bytes_text(double(jobs.memory_bytes)), conduct.done().runs,
               printable(shell_word(std::filesystem::absolute(own.submit()).lexically_normal().string())));
  }
  return 0;
}

int study_status(const StudyFolderOptions& o) {
  const SuiteFolder folder{o.out};
  std::vector<Done> all;
  for (const std::string& name : folder.parts()) {
    if (!name.empty() && !std::filesystem::exists(folder.part(name).config())) {
      if (!o.json) fmt::print("{}: not started\n\n", name);
      continue;
    }
    all.push_back(as_it_stands(name, folder.part(name)));
    if (o.json) continue;
    if (!name.empty()) fmt::print("{}\n", name);
    print_status(all.back().summary);
    if (!name.empty()) fmt::print("\n");
  }
  if (!o.json) return 0;
  std::vector<Told> told;
  for (const Done& d : all) told.push_back({d.name, &d.summary});
  const bool alone = told.size() == 1 && told.front().name.empty();
  fmt::print("{}", alone ? results_json(*told.front().summary) : results_json(told));
  return 0;
}

namespace {

// The pages and tables of an archive, in a folder where no study stands.
int report_archive(const StudyFolderOptions& o) {
  const SuiteFolder folder{o.out};
  if (std::filesystem::exists(folder.names()) || std::filesystem::exists(folder.part("").config()))
    throw Error(Fault::usage,
                text(o.out, ": found a study, allowed is another folder for what is in ", o.from));
  std::vector<Done> all;
  for (const Archived& study : archive_from(o.from)) {
    const StudyFolder own = folder.part(study.name);
    make_folders(own.folder);
    all.push_back({study.name, summarise(study.config, *study.data, study.found)});
    write_file(own.csv(), results_csv(all.back().summary)),
        write_file(own.json(), results_json(all.back().summary));
    write_page(all.back().summary, *study.data, own, o.command);
  }
  return show(all, folder, o.command, o.json);
}

}  // namespace

int study_archive(const StudyFolderOptions& o) {
  const SuiteFolder folder{o.out};
  std::vector<std::pair<std::string, Opened>> all;
  for (const std::string& name : folder.parts()) all.emplace_back(name, open_study(folder.part(name)));
  std::vector<ToArchive> studies;
  for (const auto& [name, s] : all) studies.push_back({name, &s.config, s.data.get(), &s.found});
  fmt::print("{}", archive_json(studies));
  return 0;
}

int study_report(const StudyFolderOptions& o) {
  if (!o.from.empty()) return report_archive(o);
  const SuiteFolder folder{o.out};
  std::vector<Done> all;
  for (const std::string& name : folder.parts()) {
    const StudyFolder own = folder.part(name);
    const Opened study = open_study(own);
    const FileLock lock(own.lock(), "the study");
    all.push_back({name, write_results(study, own, tell)});
    write_page(all.back().summary, *study.data, own, o.command);
  }
  return show(all, folder, o.command, o.json);
}

namespace {

// The study in folder A and the one in folder B.
Compared compared(const std::string& name, const StudyFolder& in_a, const StudyFolder& in_b) {
  const Opened a = open_study(in_a), b = open_study(in_b);
  if (a.data->print() != b.data->print())
    throw Error(Fault::usage, text(in_a.folder.string(), " and ", in_b.folder.string(),
                                   " have different data, so their losses cannot be compared: ",
                                   a.data->print(), " and ", b.data->print()));
  return {name, summarise(a.config, *a.data, a.found), summarise(b.config, *b.data, b.found)};
}

}  // namespace

int study_compare(const StudyFolderOptions& o) {
  const SuiteFolder a{o.out}, b{o.other};
  const std::vector<std::string> in_b = b.parts();
  std::vector<Compared> both;
  for (const std::string& name : a.parts()) {
    if (std::find(in_b.begin(), in_b.end(), name) != in_b.end())
      both.push_back(compared(name, a.part(name), b.part(name)));
  }
  if (both.empty())
    throw Error(Fault::usage, text(o.out, " and ", o.other, " have no study with the same name"));
  if (o.json) fmt::print("{}", versus_json(both));
  for (std::size_t i = 0; i < both.size() && !o.json; ++i) {
    if (!both[i].name.empty()) fmt::print("{}{}\n", i ? "\n" : "", both[i].name);
    print_comparison(both[i].a, both[i].b);
  }
  return 0;
}

namespace {

std::size_t join_one(const StudyFolderOptions& o, const StudyFolder& folder, std::size_t most) {
  return join(
      folder, {most, !o.task},
      {.stop = [] { return interruptions() > 0; }, .progress = [](const RunProgress&) {}, .note = tell},
      [&](const RunResult& r) {
        if (!o.quiet)
          tell(text(r.plan.arm, ", seed ", r.plan.seed, ", ", r.plan.steps, " steps at rate ",
                    shortest(r.plan.learning_rate), ": ",
                    r.failure.empty() ? fixed(r.nats, 4) + " nats per byte" : r.failure));
      });
}

}  // namespace

int study_work(const StudyFolderOptions& o) {
  const Patient until_it_is_saved;
  const SuiteFolder folder{o.out};
  const std::size_t most = o.task ? 1 : std::size_t(o.most);
  std::size_t done = 0;
  for (const std::string& name : folder.parts()) {
    if (done >= most || interruptions()) break;
    done += join_one(o, folder.part(name), most - done);
  }
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
