#include <algorithm>
#include <array>

#include "gnomon/core/error.h"
#include "gnomon/core/names.h"
#include "gnomon/core/text.h"
#include "gnomon/models/lint/context.h"

namespace gnomon {

#define RULES(name) std::span<const LintRule> name##_rules();
#include "gnomon/models/lint/rules/list.def"
#undef RULES

std::string_view severity_name(Severity severity) {
  constexpr std::array<std::string_view, 3> names{"error", "warning", "note"};
  return names[std::size_t(severity)];
}

std::span<const LintRule* const> lint_rules() {
  static const std::vector<const LintRule*> all = [] {
    std::vector<const LintRule*> found;
#define RULES(name) \
  for (const LintRule& rule : name##_rules()) found.push_back(&rule);
#include "gnomon/models/lint/rules/list.def"
#undef RULES
    return found;
  }();
  return all;
}

const LintRule& find_rule(std::string_view id) {
  std::vector<std::string_view> ids;
  for (const LintRule* rule : lint_rules()) {
    if (rule->id == id) return *rule;
    ids.push_back(rule->id);
  }
  throw unknown("rule", id, ids, "`gnomon lint --rules` lists them");
}

namespace {

// Another rule has said what this finding of a general one is about: the same key, or the dictionary that lacks it.
bool said(const LintResult& general, const std::vector<LintResult>& all) {
  const std::string& key = general.finding.key;
  const bool missing = general.finding.found == "absent" || general.finding.found == "null";
  return std::any_of(all.begin(), all.end(), [&](const LintResult& other) {
    const std::string& its = other.finding.key;
    return !other.rule->traits.general && other.rule->severity <= general.rule->severity &&
           (key.empty() || key == its || (missing && !its.empty() && key.starts_with(its + ".")));
  });
}

}  // namespace

constexpr std::size_t kMostFindings = 64;  // of one rule: a file may have a million keys

std::vector<LintResult> lint(const LintContext& context, const LintChoice& choice) {
  const auto named = [](const std::vector<std::string>& ids, std::string_view id) {
    return std::find(ids.begin(), ids.end(), id) != ids.end();
  };
  for (const auto* ids : {&choice.only, &choice.ignore})
    for (const std::string& id : *ids) find_rule(id);
  std::vector<LintResult> all;
  for (const LintRule* rule : lint_rules()) {
    if (named(choice.ignore, rule->id) || (!choice.only.empty() && !named(choice.only, rule->id))) continue;
    if (!context.readable() && !rule->traits.unread) continue;
    if (rule->severity == Severity::error && !rule->traits.any_class && !context.known()) continue;
    Findings found = rule->find(context);
    const std::size_t more = found.size() - std::min(found.size(), kMostFindings);
    if (more) found.resize(kMostFindings), found.back().says += text("; and ", more, " more like it");
    for (LintFinding& finding : found) all.push_back({rule, std::move(finding)});
  }
  std::vector<LintResult> once;
  for (const LintResult& result : all)
    if (!result.rule->traits.general || !said(result, all)) once.push_back(result);
  all = std::move(once);
  std::stable_sort(all.begin(), all.end(), [](const LintResult& a, const LintResult& b) {
    return a.rule->severity < b.rule->severity;
  });
  return all;
}

std::vector<LintResult> lint(const LintFile& file, const LintChoice& choice) {
  std::vector<LintResult> all = lint(*file.context, choice);
  for (LintResult& result : all)
    if (!file.bytes.empty() && !result.finding.line)
      result.finding.line = line_of(file.bytes, result.finding.key);
  return all;
}

}  // namespace gnomon
