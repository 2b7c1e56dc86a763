#pragma once
#include <optional>
#include <string>
#include <vector>

#include "gnomon/models/lint/context.h"
#include "gnomon/models/lint/lint.h"

namespace gnomon {

// A key of a config.json and the JSON to write there.
struct LintWrite {
  std::string key, json;
};
// What the finding says to write, if that is one whole value for one key: "rope_theta": 500000. nullopt: it is words, a choice, or
// about a key that has no object to stand in.
std::optional<LintWrite> whole_suggestion(const LintContext& file, const LintFinding& finding);

// The right name of the key that the finding is about; empty: it says none.
std::string right_name(const LintResult& result);

// A config.json before and after its suggestions were written.
struct LintFix {
  Path file;
  std::string before, after;
  std::vector<LintResult> fixed, left;  // findings that are gone, and the others that are not excepted
  std::vector<std::string> told = {};   // why a key keeps its wrong name, in sentences
};
// Writes every whole suggestion into the text of its file and renames every key whose right name is known, none in a file itself. A
// suggestion is written only if its finding is then gone and no error or warning is new; a key is renamed only if no other takes
// the name. One for each config.json of the request. Throws as lint_paths() does.
std::vector<LintFix> lint_fixes(const LintRequest& request);

// The two texts as a unified diff with three lines around each change; empty: they are equal.
std::string unified_diff(const std::string& name, const std::string& before, const std::string& after);

}  // namespace gnomon
