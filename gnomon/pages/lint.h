#pragma once
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "gnomon/models/lint/lint.h"

// Documents about lint: the rules about position settings, and their findings in a file.
namespace gnomon::pages {

std::string lint_markdown();                       // docs/lint.md
std::string lint_rules_json();                     // a list of objects
std::string lint_rule_json(const LintRule& rule);  // one of them

// The findings in one file. `bytes` is its text; empty for a GGUF file, which has no text.
struct LintReport {
  const LintContext& context;
  std::span<const LintResult> results;
  std::string_view bytes;
};
std::string lint_json(const LintReport& report);
// SARIF 2.1.0 (docs.oasis-open.org/sarif/sarif/v2.1.0), as GitHub's code scanning takes it.
std::string lint_sarif(const LintReport& report);

}  // namespace gnomon::pages
