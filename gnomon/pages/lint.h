#pragma once
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "gnomon/models/lint/lint.h"

// The rules about position settings, and what they found in a file, as documents.
namespace gnomon::pages {

std::string lint_markdown();                       // docs/lint.md
std::string lint_rules_json();                     // a list of objects
std::string lint_rule_json(const LintRule& rule);  // one of them

// What was found in one file, whose text is `bytes`; empty: no text, as a GGUF file has none.
struct LintReport {
  const LintContext& context;
  std::span<const LintResult> results;
  std::string_view bytes;
};
std::string lint_json(const LintReport& report);
// SARIF 2.1.0 (docs.oasis-open.org/sarif/sarif/v2.1.0), as GitHub's code scanning takes it.
std::string lint_sarif(const LintReport& report);

}  // namespace gnomon::pages
