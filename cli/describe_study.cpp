// What the commands that train take.
#include "cli/describe.h"
#include "gnomon/claims/claim.h"
#include "gnomon/core/text.h"
#include "gnomon/study/settings/presets.h"

namespace gnomon::cli {
namespace {

std::string preset_names() {
  std::string all;
  for (const Preset& p : presets()) all += (all.empty() ? "" : ", ") + std::string(p.name);
  return all;
}

void add_set(CLI::App& app, std::vector<std::string>& set) {
  app.add_option("--set", set, "a setting as in study.toml; may be repeated")
      ->allow_extra_args(false)
      ->type_name("KEY=VALUE");
}

// What a study is, and where.
void describe_settings(CLI::App& app, StudyOptions& o) {
  app.add_option("FILE.toml", o.config, "configuration; missing keys have their default")->type_name("FILE");
  app.add_option("--text", o.text, "the text to learn, UTF-8")->type_name("FILE");
  app.add_option("--out", o.out,
                 "folder of the study; given alone, it continues the study there with its own settings")
      ->capture_default_str()
      ->type_name("DIR");
  add_set(app, o.set);
  app.add_option("--seeds", o.seeds, "runs of each arm and budget, as --set study.seeds=N")->type_name("N");
  app.add_option("--preset", o.preset, "a prepared study: " + preset_names())->type_name("PRESET");
  app.add_option("--minutes", o.minutes,
                 "cost of the study, in minutes of two cores with AVX-512; fixes model and steps");
  app.add_flag("--replace", o.replace, "replace the report of another study in this folder");
}

}  // namespace

void describe_study(CLI::App& app, StudyOptions& o) {
  describe_settings(app, o);
  app.add_option("--part", o.parts, "of a study of several parts, train this one alone; may be repeated")
      ->allow_extra_args(false)
      ->type_name("PART");
  app.add_option("--from", o.from, "take the runs of this study that an archive has (study archive)")
      ->type_name("FILE");
  app.add_flag("--dry-run", o.dry_run, "print the plan and its cost, train nothing");
  app.add_flag("--quiet", o.quiet, "no progress on standard error");
  app.add_flag("--json", o.json, "print results.json, or the plan, instead of the table");
  app.footer(text(
      "Examples:\n", "  gnomon study --text book.txt\n", "  gnomon study --text book.txt --preset smoke\n",
      "  gnomon study --text book.txt --minutes 30 --dry-run\n",
      "  gnomon study --text book.txt --seeds 5 --set 'study.arms=none, rope, alibi'\n",
      "  gnomon study plan.toml --out results --dry-run\n",
      "The same command again skips finished runs and continues interrupted runs, with the same result to "
      "the last bit."));
}

void describe_study_verbs(CLI::App& study, StudyFolderOptions& o, int& code) {
  const auto verb = [&](const char* name, const char* help, int (*act)(const StudyFolderOptions&)) {
    CLI::App* command = study.add_subcommand(name, help);
    command->callback([&o, &code, act] { code = act(o); });
    return command;
  };
  CLI::App* status = verb("status", "show how far the study in a folder is", study_status);
  CLI::App* report =
      verb("report", "write the page, the tables and study.sqlite again from the run folders", study_report);
  CLI::App* work =
      verb("work", "join the study in a folder: do open runs, beside other processes", study_work);
  report->add_option("--from", o.from, "of an archive of a study, into the folder DIR")->type_name("FILE");
  CLI::App* archive =
      verb("archive", "print settings and results as compact JSON, for `report --from`", study_archive);
  for (CLI::App* command : {status, report, work, archive})
    command->add_option("DIR", o.out, "folder of the study")->capture_default_str()->type_name("DIR");
  CLI::Option* most = work->add_option("--most", o.most, "end after this many runs")->capture_default_str();
  work->add_flag("--task", o.task, "do one run without waiting for other runs, as a task on a cluster")
      ->excludes(most);
  work->add_flag("--quiet", o.quiet, "no progress on standard error");
  CLI::App* compare = verb("compare", "compare two studies, arm by arm", study_compare);
  compare->add_option("A", o.out, "folder of a study")->required()->type_name("DIR");
  compare->add_option("B", o.other, "folder of another study")->required()->type_name("DIR");
  for (CLI::App* command : {status, report, compare})
    command->add_flag("--json", o.json, "print the answer as JSON");
  status->footer("Examples:\n  gnomon study status\n  gnomon study status results --json");
  report->footer(
      "Examples:\n  gnomon study report\n  gnomon study report results --json\n  gnomon study report --from "
      "archive.json again");
  archive->footer("Examples:\n  gnomon study archive study > archive.json");
  work->footer("Examples:\n  gnomon study work\n  gnomon study work results --most 4");
  compare->footer(
      "Examples:\n  gnomon study compare study longer\n  gnomon study compare study longer --json");
}

void describe_export(CLI::App& app, StudyOptions& o) {
  describe_settings(app, o);
  app.add_flag("--slurm", o.slurm, "write job arrays for Slurm, see docs/cluster.md");
  app.footer("Examples:\n  gnomon study export --slurm --text book.txt");
}

void describe_sample(CLI::App& app, SampleOptions& o) {
  app.add_option("--study", o.study, "folder of the study")->capture_default_str()->type_name("DIR");
  app.add_option("--arm", o.arm, "the arm, as a spec; by default the one with the lowest loss")
      ->type_name("SPEC");
  app.add_option("--run-seed", o.run_seed, "the seed of the run; by default the first");
  app.add_option("--prompt", o.prompt, "the text to continue")->capture_default_str();
  app.add_option("--bytes", o.bytes, "how many bytes to write")->capture_default_str();
  app.add_option("--temperature", o.temperature, "0: always the likeliest byte")->capture_default_str();
  app.add_option("--seed", o.seed, "seed of the sampling")->capture_default_str();
  app.add_flag("--json", o.json, "print prompt and text as JSON");
  app.footer(
      text("Examples:\n", "  gnomon sample\n", "  gnomon sample --arm rope --temperature 0 --bytes 80\n",
           "  gnomon sample --prompt 'And he said, ' --seed 2 --json\n",
           "On a terminal, control characters appear as \\x1b; a pipe gets the bytes of the model. Bytes "
           "that are not UTF-8 become U+FFFD."));
}

void describe_claims(CLI::App& app, ClaimsOptions& o) {
  app.add_option("ID", o.ids,
                 text("claims to measure: all, a text (", claims::all_claims().front()->id.substr(0, 3),
                      " to ", claims::all_claims().back()->id.substr(0, 3),
                      ") or single claims (004-16); without any, list them"))
      ->type_name("CLAIM");
  app.add_option("--text", o.text, "the text to train models on, UTF-8")->type_name("FILE");
  app.add_option(
         "--out", o.out,
         "folder of the page and of the trained models; by default `claims`, and only if something is "
         "trained")
      ->type_name("DIR");
  app.add_option("--model", o.model,
                 "measure this model instead, in a form that `inspect` reads: its answer to each question")
      ->type_name("FILE");
  app.add_flag("--quick", o.quick, "one seed and short training: three minutes, no inference");
  app.add_flag("--replace", o.replace, "replace a page that has other claims or another text");
  app.add_flag("--quiet", o.quiet, "no progress on standard error");
  app.add_flag("--json", o.json, "print the findings as JSON");
  app.add_option("--from", o.from,
                 "write the pages again from the claims.json of a run, in today's words; measure nothing but "
                 "each ID, which may train no model")
      ->type_name("FILE");
  app.add_flag("--rules", o.rules, "print the methods, predictions and rules of the claims");
  app.footer(
      "Examples:\n"
      "  gnomon claims\n"
      "  gnomon claims 004-16\n"
      "  gnomon claims 000 --text book.txt --quick\n"
      "  gnomon claims all --text book.txt\n"
      "  gnomon claims --model build/models/minilm --text book.txt\n"
      "Trained models are kept and reused. Exit code 1: a verdict differs from the recorded verdict.");
}

void describe_rank(CLI::App& app, RankOptions& o) {
  app.add_option("FILE.toml", o.config, "configuration, as for a study; missing keys have their default")
      ->type_name("FILE");
  app.add_option("--text", o.text, "the text to learn, UTF-8; the same on every machine")->type_name("FILE");
  app.add_option("--out", o.out, "folder of the run; only rank 0 needs it")->required()->type_name("DIR");
  app.add_option("--arm", o.arm, "the position encoding, as a spec")->required()->type_name("SPEC");
  app.add_option("--seed", o.seed, "seed of the initial weights and the data order")->capture_default_str();
  add_set(app, o.set);
  app.add_flag("--quiet", o.quiet, "no progress on standard error");
  app.footer(
      "Examples:\n  mpirun -n 4 gnomon rank --text book.txt --arm rope --out run \\\n      --set "
      "train.shards=4");
}

void describe_worker(CLI::App& app, WorkerOptions& o) {
  app.add_option("--study", o.study)->required();
  app.add_option("--parent", o.parent)->required();
  app.add_option("--arm", o.arm)->required();
  app.add_option("--seed", o.seed)->required();
  app.add_option("--steps", o.steps)->required();
  app.add_option("--rate", o.rate)->required();
  app.add_option("KEY", o.key)->required();
}

}  // namespace gnomon::cli
