#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gnomon/core/file.h"
#include "gnomon/models/resolve/config.h"

namespace gnomon {

// Rules about the position settings of a model's file: what goes wrong, in which reader, and what to write instead. The list is
// rules/list.def; the program, its page docs/lint.md and the tests are made from it.

enum class Severity { error, warning, note };
std::string_view severity_name(Severity severity);

class LintContext;  // what rules read from a file: context.h

// The versions of the programs that will read the file, as "5.4.0"; empty: not known. Of transformers, the file's own
// transformers_version then counts, which is that of the program that wrote it.
struct LintPrograms {
  std::string transformers = {}, vllm = {};
};
// Throws Error(usage) for a version that is none.
void check_versions(const LintPrograms& programs);

// A file with settings, and the files beside it.
struct LintFile {
  std::shared_ptr<const LintContext> context;
  std::string bytes = {};  // content of the config.json; empty: a GGUF file
};
// A file that rules look at.
struct LintTarget {
  Path file;  // a config.json, of whatever name, or a .gguf file
  Path weights =
      {};  // a .safetensors file or a folder with weights; empty: none are compared with the settings
};
// Opens it, with the tensors that rules read. A file that cannot be read is a finding of its own (rules/unreadable.txt).
LintFile open_for_lint(const LintTarget& target, const LintPrograms& programs = {});
// Takes the content of a config.json instead; `where` names it.
LintFile text_for_lint(std::string json, const std::string& where, const LintPrograms& programs = {});
// Takes settings without weights.
LintFile settings_for_lint(Config config, LintPrograms programs = {});

struct LintFinding {
  std::string key;                   // full key in the file; empty: no key, or a missing one
  std::string found;                 // its value as JSON
  std::string expected;              // what to write instead
  std::string says;                  // what goes wrong in this file, with numbers
  std::size_t line = 0, column = 0;  // in its text, from 1; 0: not known
};
using Findings = std::vector<LintFinding>;

struct LintTraits {
  // gnomon's answer differs from transformers 5.23, or transformers raises an error where gnomon gives an answer.
  bool departs = false;
  // Omitted for a key about which another rule reports something at least as severe.
  bool general = false;
  // An error in every model class, because the file contradicts itself. For an unknown class, other errors are omitted: the class
  // may read keys that other classes do not.
  bool any_class = false;
  // About a file of which nothing else is known: the only rules for one that cannot be read.
  bool unread = false;
  // What is expected begins with the right name of the key, in quotes.
  bool renames = false;
};

struct LintRule {
  std::string_view id;  // kebab-case
  Severity severity;
  std::string_view title;     // one sentence
  std::string_view explains;  // what goes wrong, for whom, and how much
  std::string_view fix;
  std::string_view link;           // a report of such a case
  std::string_view also;           // more of them, with blanks between; mostly none
  std::string_view fails, passes;  // a config.json with the fault, and one without
  Findings (*find)(const LintContext&);
  LintTraits traits = {};
};

std::span<const LintRule* const> lint_rules();   // in the order of rules/list.def
const LintRule& find_rule(std::string_view id);  // throws Error(usage) with the nearest name

struct LintResult {
  const LintRule* rule;
  LintFinding finding;
};
struct LintChoice {
  std::vector<std::string> only, ignore;  // ids; empty `only`: all
};
// The findings of the chosen rules: errors first, then in the order of the list. For an unknown class, only errors with
// `any_class` are reported. Throws Error(usage) for a rule that does not exist.
std::vector<LintResult> lint(const LintContext& context, const LintChoice& choice = {});
// The same with the lines of the findings.
std::vector<LintResult> lint(const LintFile& file, const LintChoice& choice = {});

// --- Many files at once, as a gate before they are published

// The findings that a repository accepts stand in this file, in the folder of the models or in one above.
inline constexpr std::string_view kLintExceptions = ".gnomon-lint.json";

struct LintRequest {
  // Files, and folders in which every config.json and .gguf file is looked at, also in folders below. Another file of a model
  // (generation_config.json, tokenizer.json, model.safetensors ...) stands for the config.json beside it. "-": `text`.
  std::vector<Path> paths;
  std::string text = {};
  LintChoice choice = {};
  // The file of exceptions for all of them; empty: for each file the nearest kLintExceptions in its folder or above, up to the
  // folder that has .git.
  Path exceptions = {};
  LintPrograms programs = {};
};

struct ExceptedFinding {
  LintResult result;
  std::string reason;
};
struct LintedFile {
  std::string file, family;  // the file as the paths name it; its model_type or architecture
  std::vector<LintResult> results;
  std::vector<ExceptedFinding> excepted;
};
// An entry of a file of exceptions that excepts nothing any more.
struct StaleException {
  std::string file;
  std::size_t line;
  std::string rule, path;
};
std::string stale_sentence(const StaleException& entry);
struct LintRun {
  std::vector<LintedFile> files;  // each once, in the order of the paths
  std::vector<StaleException> stale;
  std::vector<std::string> passed_over;  // paths beside which there is no config.json
  std::size_t count(Severity severity) const;
  // Whether there is a finding of this severity or a worse one. A stale exception is a note.
  bool fails(Severity level) const;
};
// Throws Error(usage) for a rule that does not exist and a version that is none, Error(resource) for a path that does not exist and for a folder without
// a model, Error(input) for a malformed file of exceptions.
LintRun lint_paths(const LintRequest& request);

// Writes the findings that are not excepted into the file of exceptions, each with the state in which it was found: it is
// reported again as soon as it changes. Entries of that kind that except nothing any more are removed; others stay. Throws as
// lint_paths() and write_file() do, and Error(usage) if the paths have several files of exceptions.
struct LintBaseline {
  Path file;
  std::size_t added, removed;  // entries
};
LintBaseline write_lint_baseline(const LintRequest& request);

// Throws Error(input) that names the errors, if there are any.
void refuse_lint_errors(const LintedFile& file);

}  // namespace gnomon
