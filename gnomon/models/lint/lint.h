#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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

// A file with settings, and the files beside it.
struct LintFile {
  std::shared_ptr<const LintContext> context;
  std::string bytes = {};  // content of the config.json; empty: a GGUF file
};
// Opens a folder or file, with the tensors that rules read. Throws Error(input) and Error(resource) as Config::open() and
// Weights::open() do, and Error(usage) for a version that is none.
LintFile open_for_lint(const Path& path, LintPrograms programs = {});
// Takes settings without weights.
LintFile settings_for_lint(Config config, LintPrograms programs = {});

struct LintFinding {
  std::string key;       // full key in the file; empty: no key, or a missing one
  std::string found;     // its value as JSON
  std::string expected;  // what to write instead
  std::string says;      // what goes wrong in this file, with numbers
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
};

struct LintRule {
  std::string_view id;  // kebab-case
  Severity severity;
  std::string_view title;     // one sentence
  std::string_view explains;  // what goes wrong, for whom, and how much
  std::string_view fix;
  std::string_view link;           // a report of such a case
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

}  // namespace gnomon
