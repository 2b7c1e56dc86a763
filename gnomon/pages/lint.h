#pragma once
#include <string>

#include "gnomon/models/lint/lint.h"

// Documents about lint: the rules about position settings, and their findings in a file.
namespace gnomon::pages {

std::string lint_markdown();                       // docs/lint.md
std::string lint_rules_json();                     // a list of objects
std::string lint_rule_json(const LintRule& rule);  // one of them

// A JSON schema (draft 7) of rope_parameters and rope_scaling in a config.json, in old and new spelling, for editors and
// check-jsonschema. It knows types, keys and kinds of values, and what a type needs; the rules know the rest.
std::string rope_schema();

// The files of a run, the number of findings of each severity, and the findings with the file of each.
std::string lint_json(const LintRun& run);
// SARIF 2.1.0 (docs.oasis-open.org/sarif/sarif/v2.1.0), as GitHub's code scanning takes it. Files in the current folder or below
// are relative to it. Excepted findings are left out.
std::string lint_sarif(const LintRun& run);

}  // namespace gnomon::pages
