#pragma once
#include <CLI/CLI.hpp>

#include "cli/commands.h"

// The command line, described once: parsing, --help, the manual pages and the completions all follow from one CLI::App. The
// name of a value's kind (cli/values.h) says what may stand there.
namespace gnomon::cli {

// Of one command each: its values, its flags, its examples.
void describe_encodings(CLI::App& app, EncodingsOptions& o);
void describe_show(CLI::App& app, ShowOptions& o);
void describe_check(CLI::App& app, CheckCommand& o);
void describe_inspect(CLI::App& app, InspectCommand& o);
void describe_lint(CLI::App& app, LintOptions& o);
void describe_explain(CLI::App& app, ExplainOptions& o);
void describe_extend(CLI::App& app, ExtendOptions& o);
void describe_study(CLI::App& app, StudyOptions& o);
void describe_export(CLI::App& app, StudyOptions& o);
void describe_study_verbs(CLI::App& study, StudyFolderOptions& o, int& code);
void describe_sample(CLI::App& app, SampleOptions& o);
void describe_claims(CLI::App& app, ClaimsOptions& o);
void describe_rank(CLI::App& app, RankOptions& o);
void describe_worker(CLI::App& app, WorkerOptions& o);

class Program {
 public:
  Program(int argc, char** argv);
  // Does what is asked; the exit code. Throws Error(usage) for what cannot be, with what was probably meant.
  int run(int argc, char** argv);
  const CLI::App& app() const { return app_; }

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
  RankOptions rank_;
  WorkerOptions worker_;
  std::vector<std::string> helped_;
  std::string shell_, share_, manual_, manual_folder_;
};

// The commands that --help lists, and those of one of them.
std::vector<const CLI::App*> listed_commands(const CLI::App& app);
// "gnomon study status"
std::string full_name(const CLI::App& command);

}  // namespace gnomon::cli
