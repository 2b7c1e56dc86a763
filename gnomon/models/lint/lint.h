#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gnomon/models/resolve/config.h"

namespace gnomon {

// Rules about the position settings of a model's file: what is likely to be computed otherwise than was meant, by whom, and
// what to write instead. The list is rules/list.def; the program, its page docs/lint.md and the tests are derived from it.

enum class Severity { error, warning, note };
std::string_view severity_name(Severity severity);

class LintContext;  // what rules ask of a file: context.h

// A file of settings, and whatever stands beside it.
struct LintFile {
  std::shared_ptr<const LintContext> context;
  std::string bytes = {};  // of the config.json; empty: a GGUF file
};
// Of a folder or file, with the tensors that rules look at. Throws Error(input) and Error(resource) as Config::open() and
// Weights::open() do.
LintFile open_for_lint(const Path& path);
// Of settings without weights.
LintFile settings_for_lint(Config config);

struct LintFinding {
  std::string key;       // of the whole file; empty: no key, or one that is missing
  std::string found;     // its value as JSON
  std::string expected;  // what to write instead
  std::string says;      // what goes wrong here, in numbers
};
using Findings = std::vector<LintFinding>;

struct LintTraits {
  // gnomon's answer is another than that of transformers 5.23, or one where transformers raises an error.
  bool departs = false;
  // Left out about a key of which another rule says something that weighs as much.
  bool general = false;
  // An error that is one whatever the class does: the file contradicts itself. Other errors are left out where the class is
  // unknown, for it may read what others do not.
  bool any_class = false;
};

struct LintRule {
  std::string_view id;  // kebab-case
  Severity severity;
  std::string_view title;     // one sentence
  std::string_view explains;  // what goes wrong, for whom, how much
  std::string_view fix;
  std::string_view link;           // where it happened
  std::string_view fails, passes;  // a config.json that has it, one that does not
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
// What all the rules find, errors first, then in the order of the list; of a class that is not known no error but those of
// `any_class`. Throws Error(usage) for a rule that there is not.
std::vector<LintResult> lint(const LintContext& context, const LintChoice& choice = {});

}  // namespace gnomon
