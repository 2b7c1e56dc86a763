// The command line: the only part of gnomon that prints, exits, meets signals and reads the environment.
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <new>
#include <string_view>
#include <system_error>

#include "cli/commands.h"
#include "cli/signals.h"
#include "gnomon/core/error.h"
#include "gnomon/core/memory.h"
#include "gnomon/core/text.h"
#include "gnomon/lab/presets.h"

namespace gnomon::cli {
namespace {

// Where no memory is left an exception may find no way out (a destructor, a thread, a library that promised not to throw).
// Nothing here needs memory.
[[noreturn]] void end_without_memory() {
  if (const std::exception_ptr current = std::current_exception()) {
    try {
      std::rethrow_exception(current);
    } catch (const std::bad_alloc&) {
      struct rusage usage {};
      getrusage(RUSAGE_SELF, &usage);
      char line[100];
      const int n = std::snprintf(line, sizeof line, "gnomon: out of memory: %ld MB were in use\n",
                                  usage.ru_maxrss / 1000);
      [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line, std::size_t(n));
      _exit(int(Fault::resource));
    } catch (...) {
    }
  }
  std::abort();
}

// What was printed is there, or the reader has gone (`| head`), which is quiet; a full disk is an error.
int flushed(int code) {
  if (std::fflush(stdout) == 0 || errno == EPIPE) return code;
  std::fprintf(stderr, "gnomon: standard output: cannot write: %s\n", std::strerror(errno));
  return code ? code : int(Fault::resource);
}

std::string as_typed(int argc, char** argv) {
  std::string all = "gnomon";
  for (int i = 1; i < argc; ++i) all += " " + shell_word(argv[i]);
  return all;
}

std::string preset_names() {
  std::string all;
  for (const Preset& p : presets()) all += (all.empty() ? "" : ", ") + std::string(p.name);
  return all;
}

// What a study is, and where.
void describe_settings(CLI::App& app, StudyOptions& o) {
  app.add_option("FILE.toml", o.config, "configuration; what it leaves out is standard");
  app.add_option("--text", o.text, "the text to learn, UTF-8");
  app.add_option("--out", o.out, "folder of the study")->capture_default_str();
  app.add_option("--set", o.set, "key=value, as in study.toml; may be repeated")->allow_extra_args(false);
  app.add_option("--preset", o.preset, "a study prepared: " + preset_names());
  app.add_option("--minutes", o.minutes,
                 "what it may cost, in minutes of two cores with AVX-512; fixes model and steps");
  app.add_flag("--replace", o.replace, "replace the report of another study in this folder");
}

void describe_study(CLI::App& app, StudyOptions& o) {
  describe_settings(app, o);
  app.add_flag("--dry-run", o.dry_run, "print the plan and its cost, run nothing");
  app.add_flag("--quiet", o.quiet, "no progress on standard error");
  app.add_flag("--json", o.json, "print results.json instead of the table");
  app.footer(
      "Examples:\n  gnomon study --text book.txt\n  gnomon study --text book.txt --preset smoke\n  gnomon "
      "study --text "
      "book.txt --minutes 30 --set 'study.arms=none, rope, alibi' --set study.seeds=5\n"
      "  gnomon study plan.toml --out results --dry-run\n  gnomon study export --slurm --text book.txt\n  "
      "gnomon study status\n  gnomon study compare study "
      "other\nRepeating a command skips finished runs and "
      "continues interrupted ones, to the same bits.");
}

void describe_study_verbs(CLI::App& study, StudyFolderOptions& o, int& code) {
  const auto verb = [&](const char* name, const char* help, int (*act)(const StudyFolderOptions&)) {
    CLI::App* command = study.add_subcommand(name, help);
    command->callback([&o, &code, act] { code = act(o); });
    return command;
  };
  CLI::App* status = verb("status", "how far the study in a folder has come", study_status);
  CLI::App* report =
      verb("report", "write the page, the tables and the store again from the run folders", study_report);
  CLI::App* work =
      verb("work", "join the study in a folder: do its open runs beside whoever else does", study_work);
  for (CLI::App* command : {status, report, work})
    command->add_option("--out", o.out, "folder of the study")->capture_default_str();
  CLI::Option* most = work->add_option("--most", o.most, "do so many runs and end")->capture_default_str();
  work->add_flag("--task", o.task, "do one run, as a task of a cluster does: without waiting for others'")
      ->excludes(most);
  work->add_flag("--quiet", o.quiet, "no progress on standard error");
  CLI::App* compare = verb("compare", "two studies, arm by arm", study_compare);
  compare->add_option("A", o.out, "folder of a study")->required();
  compare->add_option("B", o.other, "folder of another")->required();
  for (CLI::App* command : {status, report, compare})
    command->add_flag("--json", o.json, "the answer as JSON");
}

void describe_export(CLI::App& study, StudyOptions& o, int& code) {
  CLI::App* command = study.add_subcommand(
      "export", "prepare a study for a cluster: its folder, and the scripts that submit its runs");
  describe_settings(*command, o);
  command->add_flag("--slurm", o.slurm, "as job arrays of Slurm, see docs/cluster.md");
  command->callback([&o, &code] { code = study_export(o); });
}

void describe_sample(CLI::App& app, SampleOptions& o) {
  app.add_option("--study", o.study, "folder of the study")->capture_default_str();
  app.add_option("--arm", o.arm, "the arm, as a spec; not given: the one with the lowest loss");
  app.add_option("--run-seed", o.run_seed, "the seed of the run; not given: the first");
  app.add_option("--prompt", o.prompt, "what it continues")->capture_default_str();
  app.add_option("--bytes", o.bytes, "how much it writes")->capture_default_str();
  app.add_option("--temperature", o.temperature, "0: always the likeliest byte")->capture_default_str();
  app.add_option("--seed", o.seed, "of what is drawn")->capture_default_str();
  app.add_flag("--json", o.json, "prompt and text as JSON");
  app.footer(
      "Examples:\n  gnomon sample\n  gnomon sample --arm rope --temperature 0 --bytes 80\n  gnomon sample "
      "--prompt 'And he said, ' --seed 2 --json");
}

void describe_rank(CLI::App& app, RankOptions& o) {
  app.add_option("FILE.toml", o.config, "configuration, as of a study; what it leaves out is standard");
  app.add_option("--text", o.text, "the text to learn, UTF-8: the same on every machine");
  app.add_option("--out", o.out, "folder of the run; only rank 0 needs it")->required();
  app.add_option("--arm", o.arm, "the position encoding, as a spec")->required();
  app.add_option("--seed", o.seed, "of initial weights and data order")->capture_default_str();
  app.add_option("--set", o.set, "key=value, as in study.toml; may be repeated")->allow_extra_args(false);
  app.add_flag("--quiet", o.quiet, "no progress on standard error");
  app.footer("Example:\n  mpirun -n 4 gnomon rank --text book.txt --arm rope --out run --set train.shards=4");
}

void describe_claims(CLI::App& app, ClaimsOptions& o) {
  app.add_option("ID", o.ids,
                 "claims to measure: all, a text (000 to 004) or single ones (004-16); none lists them");
  app.add_option("--text", o.text, "the text that models are trained on, UTF-8");
  app.add_option(
      "--out", o.out,
      "folder of the page and of the trained models; not given: `claims`, and only if something is trained");
  app.add_option("--model", o.model,
                 "measure this model instead, one that `inspect` reads: what it says of each question");
  app.add_flag("--quick", o.quick, "one seed and short training: three minutes, no inference");
  app.add_flag("--replace", o.replace, "replace a page that has other claims, or of another text");
  app.add_flag("--quiet", o.quiet, "no progress on standard error");
  app.add_flag("--json", o.json, "the findings as JSON");
  app.add_flag("--rules", o.rules,
               "what was written down before any run, as JSON: methods, predictions, rules");
  app.footer(
      "Examples:\n  gnomon claims\n  gnomon claims 004-16\n  gnomon claims 000 --text book.txt --quick\n  "
      "gnomon claims all "
      "--text book.txt\n  gnomon claims --model build/models/minilm --text book.txt\nTrained models are kept "
      "and reused. Exit code 1: a verdict differs from the recorded "
      "one.");
}

void describe_check(CLI::App& app, CheckCommand& o) {
  app.add_option("DUMP.safetensors", o.dump,
                 "what an engine computed: q_before and q_after, k_before and k_after, cos and sin, "
                 "inv_freq, bias, slopes, "
                 "table, positions; those that there are")
      ->required();
  app.add_option("--spec", o.spec,
                 "what is expected, such as 'rope(theta=500000)'; not given: any convention");
  app.add_option("--positions", o.positions,
                 "of the tokens, such as 0..99 or 0,1,7; not given: the dump's, or 0, 1, 2 ...");
  app.add_option("--theta", o.theta, "one more base to try, beside the usual and the fitted ones");
  app.add_flag("--json", o.json, "the answers as JSON, with all that was ruled out");
  app.footer(
      "Examples:\n  gnomon check dump.safetensors\n  gnomon check dump.safetensors --spec "
      "'rope(theta=10000)'\n  gnomon "
      "check dump.safetensors --positions 0..11 --json\nExit code 0: it follows a convention, or the "
      "expected one; 1: it "
      "does not, or with a fault.");
}

void describe_inspect(CLI::App& app, InspectOptions& o) {
  app.add_option("MODEL", o.model,
                 "a folder with config.json, safetensors and tokenizer.json, or a .gguf file")
      ->required();
  app.add_option("--text", o.text, "what it reads, UTF-8");
  app.add_option("--ids", o.ids,
                 "the same as token ids, whole numbers with spaces between them, for other tokenisers");
  app.add_option("--window", o.window, "tokens of a window")
      ->capture_default_str()
      ->check(CLI::Range(16, 4096));
  app.add_option("--windows", o.windows, "how many of them")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  app.add_option("--longest", o.longest, "tokens of the windows whose loss is told by place")
      ->capture_default_str()
      ->check(CLI::Range(64, 1 << 20));
  app.add_option("--beyond", o.beyond,
                 "also windows so many times the trained length, in six ways without training; minutes each "
                 "for long ones");
  app.add_flag("--each-head", o.each_head,
               "also take the position from one head at a time: a run of the model for each head");
  app.add_option("--out", o.out, "write the page to this file");
  app.add_flag("--json", o.json, "every number as JSON");
  app.add_flag("--quiet", o.quiet, "no progress on standard error");
  app.footer(
      "Examples:\n  gnomon inspect build/models/minilm --text book.txt\n  gnomon inspect build/models/minilm "
      "--text book.txt --windows 16 --out inspected.html\n  gnomon inspect build/models/minilm --ids ids.txt "
      "--json\n`make models` fetches that model. It runs in float32, and every value is looked at on its "
      "way.");
}

void describe_lint(CLI::App& app, LintOptions& o) {
  CLI::Option* path = app.add_option(
      "PATH", o.path, "config.json, a folder with one, a .safetensors file beside one, or a .gguf file");
  CLI::Option* rules = app.add_flag("--rules", o.rules, "list the rules")->excludes(path);
  app.add_option("--rule", o.rule, "explain one, with a file that has it and one that does not")
      ->excludes(path)
      ->excludes(rules);
  app.add_option("--only", o.only, "look for this rule alone; may be repeated")->allow_extra_args(false);
  app.add_option("--ignore", o.ignore, "leave this rule out; may be repeated")->allow_extra_args(false);
  CLI::Option* json = app.add_flag("--json", o.json, "findings, or rules, as JSON");
  app.add_flag("--sarif", o.sarif, "findings as SARIF 2.1.0, as GitHub's code scanning takes them")
      ->excludes(json)
      ->excludes(rules);
  app.add_flag("--markdown", o.markdown, "the page of the rules, docs/lint.md")->needs(rules)->excludes(json);
  app.footer(
      "Examples:\n  gnomon lint config.json\n  gnomon lint model --ignore theta-by-kind-of-layer --json\n  "
      "gnomon lint config.json --sarif > lint.sarif\n"
      "  gnomon lint --rules\n  gnomon lint --rule scaling-without-theta\nExit code 1: an error was found; "
      "warnings and notes leave it 0.");
}

void describe_explain(CLI::App& app, ExplainOptions& o) {
  app.add_option("PATH", o.path, "a model's folder, its config.json, a .gguf or a .safetensors file")
      ->required();
  CLI::Option* other = app.add_option("OTHER", o.other, "another: what the two compute differently");
  app.add_option(
      "--reader", o.reader,
      "who reads it: v5 or v4 (transformers), llama.cpp, vllm, naive; not given: llama.cpp for a .gguf "
      "file, v5 for others");
  CLI::Option* readers =
      app.add_flag("--readers", o.readers, "what every reader makes of it, where they differ")
          ->excludes(other);
  app.add_flag("--full", o.full, "every frequency and slope");
  app.add_flag("--json", o.json, "all numbers as JSON");
  app.add_option("--out", o.out, "write a page with pictures to this file")
      ->excludes(readers)
      ->excludes(other);
  app.footer(
      "Examples:\n  gnomon explain docs/examples/llama-3.1.json\n  gnomon explain "
      "docs/examples/llama-3.1.json "
      "--readers\n  gnomon explain docs/examples/llama-3.1.json docs/examples/llama-2.json\n  gnomon explain "
      "docs/examples/llama-3.1.json --json\n  gnomon explain docs/examples/gemma-3.json --out "
      "page.html\nExit "
      "code 3: the file is malformed.");
}

void describe_extend(CLI::App& app, ExtendOptions& o) {
  app.add_option("PATH", o.path, "a model's folder, its config.json, a .gguf or a .safetensors file")
      ->required();
  app.add_option("--to", o.to, "tokens that it is to reach")->required()->check(CLI::Range(1, 1000000000));
  app.add_option("--method", o.method, "one alone: linear, ntk, dynamic, yarn or longrope");
  app.add_flag("--full", o.full, "every pair: wavelength, turns within the trained length, factor");
  app.add_flag("--json", o.json, "all numbers as JSON");
  app.footer(
      "Examples:\n  gnomon extend docs/examples/llama-2.json --to 32768\n  gnomon extend "
      "docs/examples/llama-2.json --to 32768 --method yarn --full\n  gnomon extend "
      "docs/examples/gemma-3.json --to 131072 --json\nEvery snippet is put into the file and read again "
      "before it is shown.");
}

int run(int argc, char** argv) {
  CLI::App app("gnomon: position encodings in Transformers, implemented, measured, compared", "gnomon");
  app.set_version_flag("--version", std::string("gnomon ") + GNOMON_VERSION);
  app.require_subcommand(1);
  int code = 0;

  EncodingsOptions e;
  auto* list = app.add_subcommand("encodings", "list the encodings, or describe one");
  list->add_option("NAME", e.name, "encoding or combination to describe");
  list->add_flag("--json", e.json, "a list of objects: name, title, paper, year, acts, options");
  list->add_flag("--markdown", e.markdown, "the reference page, docs/encodings.md");
  list->footer(
      "Examples:\n  gnomon encodings\n  gnomon encodings rope\n  gnomon encodings --json\n  gnomon encodings "
      "--markdown > docs/encodings.md");
  list->callback([&] { code = encodings(e); });

  ShowOptions s;
  auto* show_command =
      app.add_subcommand("show", "the numbers of one encoding, from its definition, and a page of pictures");
  show_command->add_option("SPEC", s.spec, "such as sinusoidal, 'rope(theta=500)', 'alibi(slopes=geometric)'")
      ->required();
  show_command->add_option("--dim", s.dim, "channels of the model; without it 16 a head");
  show_command->add_option("--heads", s.heads, "attention heads")->capture_default_str();
  show_command->add_option("--length", s.length, "tokens to look at")->capture_default_str();
  show_command->add_flag("--bidirectional", s.bidirectional, "without a causal mask");
  show_command->add_option("--out", s.out, "write the page to this file");
  show_command->add_flag("--plan", s.plan,
                         "what attention executes in each layer, as data, instead of the numbers");
  show_command->add_flag("--json", s.json, "the numbers as JSON");
  show_command->footer(
      "Examples:\n  gnomon show sinusoidal --dim 16\n  gnomon show 'sinusoidal(layout=halves, "
      "frequencies=tensor2tensor)' --dim 512 --out page.html\n  gnomon show alibi --heads 12\n  gnomon show "
      "rope+alibi --plan");
  show_command->callback([&] { code = show(s); });

  CheckCommand d;
  auto* check_command =
      app.add_subcommand("check", "which convention another program's dump of position numbers follows");
  describe_check(*check_command, d);
  check_command->callback([&] { code = check(d); });

  InspectOptions i;
  auto* inspect_command =
      app.add_subcommand("inspect", "what a trained model does with position, measured on a text");
  describe_inspect(*inspect_command, i);
  inspect_command->callback([&] { code = inspect(i); });

  LintOptions l;
  auto* lint_command =
      app.add_subcommand("lint", "what is likely to go wrong with the position settings of a model's file");
  describe_lint(*lint_command, l);
  lint_command->callback([&] { code = lint(l); });

  ExplainOptions x;
  auto* explain_command =
      app.add_subcommand("explain", "what a model's file makes of position, every number with its reason");
  describe_explain(*explain_command, x);
  explain_command->callback([&] { code = explain(x); });

  ExtendOptions n;
  auto* extend_command =
      app.add_subcommand("extend", "settings that let a model's rotation reach further, tried and explained");
  describe_extend(*extend_command, n);
  extend_command->callback([&] { code = extend(n); });

  StudyOptions t;
  t.program = std::filesystem::read_symlink("/proc/self/exe").string();
  t.command = as_typed(argc, argv);
  auto* study_command =
      app.add_subcommand("study", "train a Transformer under each encoding on a text and compare");
  describe_study(*study_command, t);
  StudyFolderOptions f;
  f.command = t.command;
  describe_study_verbs(*study_command, f, code);
  describe_export(*study_command, t, code);
  study_command->callback([&] {
    if (study_command->get_subcommands().empty()) code = study(t);
  });

  SampleOptions p;
  auto* sample_command = app.add_subcommand("sample", "let a model that a study trained write");
  describe_sample(*sample_command, p);
  sample_command->callback([&] { code = sample(p); });

  ClaimsOptions c;
  c.command = as_typed(argc, argv);
  auto* claims_command =
      app.add_subcommand("claims", "what is said about word and position, measured, with verdicts");
  describe_claims(*claims_command, c);
  claims_command->callback([&] { code = claims(c); });

  RankOptions r;
  auto* rank_command =
      app.add_subcommand("rank", "one run on several processes, as one of them; started by mpirun")
          ->group("");
  describe_rank(*rank_command, r);
  rank_command->callback([&] { code = rank(r); });

  WorkerOptions w;
  auto* worker_command = app.add_subcommand("worker", "one run of a study; started by `study`")->group("");
  worker_command->add_option("--study", w.study)->required();
  worker_command->add_option("--parent", w.parent)->required();
  worker_command->add_option("--arm", w.arm)->required();
  worker_command->add_option("--seed", w.seed)->required();
  worker_command->add_option("--steps", w.steps)->required();
  worker_command->add_option("--rate", w.rate)->required();
  worker_command->add_option("KEY", w.key)->required();
  worker_command->callback([&] { code = worker(w); });

  app.failure_message([](const CLI::App*, const CLI::Error& error) {
    return printable(error.what()) + "\nRun with --help for more information.\n";
  });
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const bool help = error.get_exit_code() == 0;
    app.exit(error);
    return help ? 0 : int(Fault::usage);
  }
  return code;
}

}  // namespace
}  // namespace gnomon::cli

int main(int argc, char** argv) {
  using namespace gnomon;
  std::set_terminate(cli::end_without_memory);
  try {
    cli::watch_signals(argc > 1 && std::string_view(argv[1]) == "worker");
    return cli::flushed(cli::run(argc, argv));
  } catch (const Error& e) {
    std::fprintf(stderr, "gnomon: %s\n", e.what());
    return int(e.fault());
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "gnomon: out of memory: %s\n", memory_text().c_str());
    return int(Fault::resource);
  } catch (const std::system_error& e) {  // of fmt, when a long answer cannot be written
    if (e.code().value() == EPIPE) return 0;
    std::fprintf(stderr, "gnomon: %s\n", e.what());
    return int(Fault::resource);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "gnomon: this is a bug of gnomon's: %s\n", e.what());
    return int(Fault::bug);
  }
}
