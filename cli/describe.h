#pragma once
#include <CLI/CLI.hpp>

#include "cli/command.h"
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
void describe_bench(CLI::App& app, BenchOptions& o);
void describe_rank(CLI::App& app, RankOptions& o);
void describe_worker(CLI::App& app, WorkerOptions& o);

// --help in lines that fit the screen.
std::shared_ptr<CLI::FormatterBase> help_format();
// The help of a command of the program, by its name: {"study", "status"}; throws Error(usage) with what was probably meant.
std::string help_of(const CLI::App& app, const std::vector<std::string>& command);
// What is told of a command line that cannot be parsed.
[[noreturn]] void refuse(const CLI::App& app, const CLI::ParseError& error);
// The commands that --help lists, and those of one of them.
std::vector<const CLI::App*> listed_commands(const CLI::App& app);
// The same as data.
Command described(const CLI::App& app);

}  // namespace gnomon::cli
