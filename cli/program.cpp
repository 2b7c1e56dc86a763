#include "cli/program.h"

#include <fmt/core.h>

#include <filesystem>

#include "cli/completion.h"
#include "cli/describe.h"
#include "cli/manual.h"
#include "gnomon/core/error.h"
#include "gnomon/core/names.h"
#include "gnomon/core/text.h"

namespace gnomon::cli {
namespace {

std::string as_typed(int argc, char** argv) {
  std::string all = "gnomon";
  for (int i = 1; i < argc; ++i) all += " " + shell_word(argv[i]);
  return all;
}

// `gnomon study staus`: a configuration by its place, a mistyped command by its looks.
void check_is_no_command(const CLI::App& study, const std::string& config) {
  if (config.empty() || std::filesystem::exists(config)) return;
  std::vector<std::string_view> names;
  for (const CLI::App* command : listed_commands(study)) names.push_back(command->get_name());
  const std::vector<Name> known(names.begin(), names.end());
  if (!meant(config, known).empty()) throw unknown("command of gnomon study", config, names);
}

class Program {
 public:
  Program(int argc, char** argv);
  int run(int argc, char** argv);

 private:
  template <class Options>
  CLI::App* add(const char* name, const char* help, Options& options, void (*describe)(CLI::App&, Options&),
                int (*act)(const Options&));
  void add_study(const std::string& command);
  void add_helpers();  // help, completion, manual

  CLI::App app_;
  int code_ = 0;
  EncodingsOptions encodings_;
  ShowOptions show_;
  CheckCommand check_;
  InspectCommand inspect_;
  LintOptions lint_;
  ExplainOptions explain_;
  ExtendOptions extend_;
  StudyOptions study_;
  StudyFolderOptions folder_;
  SampleOptions sample_;
  ClaimsOptions claims_;
  BenchOptions bench_;
  RankOptions rank_;
  WorkerOptions worker_;
  std::vector<std::string> helped_;
  std::string shell_, share_, manual_, manual_folder_;
};

template <class Options>
CLI::App* Program::add(const char* name, const char* help, Options& options,
                       void (*describe)(CLI::App&, Options&), int (*act)(const Options&)) {
  CLI::App* command = app_.add_subcommand(name, help);
  describe(*command, options);
  command->callback([this, &options, act] { code_ = act(options); });
  return command;
}

void Program::add_study(const std::string& command) {
  study_.command = folder_.command = command;
  CLI::App* study = add("study", "train a Transformer with each encoding on a text and compare them", study_,
                        describe_study, cli::study);
  describe_study_verbs(*study, folder_, code_);
  CLI::App* to_cluster = study->add_subcommand(
      "export", "prepare a study for a cluster: its folder, and the scripts that submit its runs");
  describe_export(*to_cluster, study_);
  to_cluster->callback([this] { code_ = study_export(study_); });
  study->callback([this, study] {
    if (!study->get_subcommands().empty()) return;
    check_is_no_command(*study, study_.config);
    code_ = cli::study(study_);
  });
}

void Program::add_helpers() {
  CLI::App* help = app_.add_subcommand("help", "show the help of a command");
  help->add_option("COMMAND", helped_, "the command; by default all")->type_name("COMMAND");
  help->footer("Examples:\n  gnomon help\n  gnomon help study\n  gnomon help study status");
  help->callback([this] { fmt::print("{}", help_of(app_, helped_)); });

  CLI::App* complete = app_.add_subcommand("completion", "print a script for shell completion");
  CLI::Option* shell = complete->add_option("SHELL", shell_, "bash, zsh or fish")->type_name("SHELL");
  complete->add_option("--out", share_, "write all three scripts into this folder, in the layout of share/")
      ->excludes(shell)
      ->type_name("DIR");
  complete->footer(
      text("Examples:\n"
           "  gnomon completion bash > gnomon.bash && source gnomon.bash\n"
           "  gnomon completion zsh > _gnomon\n"
           "  gnomon completion --out share\n",
           "bash looks for `gnomon` in ~/.local/share/bash-completion/completions.\n"
           "zsh looks for `_gnomon` in the folders of $fpath.\n"
           "fish looks for `gnomon.fish` in ~/.config/fish/completions.\n"
           "`cmake --install` installs all three."));
  complete->callback([this] {
    if (!share_.empty()) return write_completions(described(app_), share_);
    if (shell_.empty())
      throw Error(Fault::usage, "completion: SHELL is missing; allowed are bash, zsh and fish");
    fmt::print("{}", completion(described(app_), shell_));
  });

  CLI::App* page = app_.add_subcommand("manual", "print the manual page of a command, in the format of man");
  CLI::Option* one =
      page->add_option("COMMAND", manual_, "the command; by default gnomon itself")->type_name("COMMAND");
  page->add_option("--out", manual_folder_, "write all pages into this folder instead")
      ->excludes(one)
      ->type_name("DIR");
  page->footer(
      "Examples:\n"
      "  gnomon manual study > gnomon-study.1\n"
      "  gnomon manual > gnomon.1\n"
      "  gnomon manual --out man1\n"
      "`man ./gnomon.1` shows a page. `cmake --install` installs all pages.");
  page->callback([this] {
    manual_folder_.empty() ? fmt::print("{}", manual_page(described(app_), manual_))
                           : write_manual_pages(described(app_), manual_folder_);
  });
}

Program::Program(int argc, char** argv)
    : app_("gnomon: position encodings in Transformers, implemented, measured, compared", "gnomon") {
  const std::string command = claims_.command = bench_.command = as_typed(argc, argv);
  app_.formatter(help_format());
  app_.set_help_flag("-h,--help", "this help");
  app_.set_version_flag("-V,--version", std::string("gnomon ") + GNOMON_VERSION, "the version");
  app_.require_subcommand(1);
  add("encodings", "list or search the encodings, or describe one", encodings_, describe_encodings,
      cli::encodings);
  add("show", "show the numbers of one encoding, from its definition, and a page of pictures", show_,
      describe_show, cli::show);
  add("check", "find the convention that another program's position numbers follow", check_, describe_check,
      cli::check);
  add("inspect", "measure what a trained model does with position, on a text", inspect_, describe_inspect,
      cli::inspect);
  add("lint", "find probable errors in the position settings of a model's file", lint_, describe_lint,
      cli::lint);
  add("explain", "explain the position encoding in a model's file, every number with its reason", explain_,
      describe_explain, cli::explain);
  add("extend", "find settings for a longer context of a rotary model, tested and explained", extend_,
      describe_extend, cli::extend);
  add_study(command);
  add("sample", "generate text with a model that a study trained", sample_, describe_sample, cli::sample);
  add("claims", "measure claims about word and position, with verdicts", claims_, describe_claims,
      cli::claims);
  add("bench", "time attention, training and rotation beside what this machine allows", bench_,
      describe_bench, cli::bench);
  add("rank", "one process of a run on several processes; started by mpirun", rank_, describe_rank, cli::rank)
      ->group("");
  add("worker", "one run of a study; started by `study`", worker_, describe_worker, cli::worker)->group("");
  add_helpers();
  app_.footer("`gnomon help COMMAND` explains a command and shows examples.");
}

int Program::run(int argc, char** argv) {
  if (argc < 2) {  // nothing was asked, which is no success; the help is there to be read, also by a pager
    fmt::print("{}", app_.help());
    return int(Fault::usage);
  }
  try {
    app_.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", app_.help());
  } catch (const CLI::CallForVersion&) {
    fmt::print("{}\n", app_.version());
  } catch (const CLI::ParseError& error) {
    refuse(app_, error);
  }
  return code_;
}

}  // namespace

int run_program(int argc, char** argv) { return Program(argc, argv).run(argc, argv); }

}  // namespace gnomon::cli
