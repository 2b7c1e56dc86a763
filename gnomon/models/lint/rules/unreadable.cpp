// Files that rules cannot look at, or only in part.
#include "gnomon/models/lint/rules/rule.h"

namespace gnomon {
namespace {

constexpr Prose kText =
#include "gnomon/models/lint/rules/unreadable.txt.inc"
    ;

Findings obstacles(const LintContext& file, bool incomplete, std::string_view expected) {
  Findings all;
  for (const LintObstacle& o : file.obstacles())
    if (o.incomplete == incomplete)
      all.push_back({"", "", std::string(expected), o.why, o.place.line, o.place.column});
  return all;
}
Findings unreadable(const LintContext& file) {
  return obstacles(file, false, kText.at("file-unreadable", "expected"));
}
Findings incomplete(const LintContext& file) {
  return obstacles(file, true, kText.at("file-incomplete", "expected"));
}
Findings no_model(const LintContext& file) {
  if (file.no_model().empty()) return {};
  const std::string key = file.config().has("general.type") ? "general.type" : "general.architecture";
  return {finding(file, key, kText.at("gguf-of-no-model", "expected"),
                  said<"what">(kText.at("gguf-of-no-model", "says"), file.no_model()))};
}

constexpr LintRow kRows[] = {
    {"file-unreadable", Severity::error, unreadable, {.any_class = true, .unread = true}},
    {"file-incomplete", Severity::note, incomplete, {.unread = true}},
    {"gguf-of-no-model", Severity::note, no_model, {.unread = true}},
};
constexpr auto kRules = written(kText, kRows);

}  // namespace

std::span<const LintRule> unreadable_rules() { return kRules; }

}  // namespace gnomon
