#include "gnomon/families/lint.h"

#include <algorithm>
#include <array>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"

namespace gnomon {

#define RULES(name) std::span<const Rule> name##_rules();
#include "gnomon/families/rules/list.def"
#undef RULES

std::string_view severity_name(Severity severity) {
  constexpr std::array<std::string_view, 3> names{"error", "warning", "note"};
  return names[std::size_t(severity)];
}

std::span<const Rule* const> lint_rules() {
  static const std::vector<const Rule*> all = [] {
    std::vector<const Rule*> found;
#define RULES(name) \
  for (const Rule& rule : name##_rules()) found.push_back(&rule);
#include "gnomon/families/rules/list.def"
#undef RULES
    return found;
  }();
  return all;
}

const Rule& find_rule(std::string_view id) {
  std::vector<std::string_view> ids;
  for (const Rule* rule : lint_rules()) {
    if (rule->id == id) return *rule;
    ids.push_back(rule->id);
  }
  throw Error(Fault::usage, unknown("rule", id, ids));
}

std::vector<LintResult> lint(const LintContext& context, const LintChoice& choice) {
  const auto named = [](const std::vector<std::string>& ids, std::string_view id) {
    return std::find(ids.begin(), ids.end(), id) != ids.end();
  };
  for (const auto* ids : {&choice.only, &choice.ignore})
    for (const std::string& id : *ids) find_rule(id);
  std::vector<LintResult> all;
  for (const Rule* rule : lint_rules()) {
    if (named(choice.ignore, rule->id) || (!choice.only.empty() && !named(choice.only, rule->id))) continue;
    for (Finding& finding : rule->find(context)) all.push_back({rule, std::move(finding)});
  }
  std::stable_sort(all.begin(), all.end(), [](const LintResult& a, const LintResult& b) {
    return a.rule->severity < b.rule->severity;
  });
  return all;
}

}  // namespace gnomon
