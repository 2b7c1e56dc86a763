#include "gnomon/pages/lint.h"

#include <fmt/core.h>

#include "cli/commands.h"
#include "cli/model.h"
#include "cli/wrapped.h"
#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/models/lint/context.h"
#include "gnomon/models/resolve/place.h"

namespace gnomon::cli {
namespace {

void say(const std::string& sentence, std::size_t indent = 0) {
  fmt::print("{}{}\n", std::string(indent, ' '), wrapped(sentence, indent));
}

void list_rules() {
  constexpr std::size_t kId = 9;  // the column where ids, and below them what they say, begin
  for (const LintRule* rule : lint_rules()) {
    fmt::print("{:<{}}{}\n", severity_name(rule->severity), kId, rule->id);
    say(std::string(rule->title), kId);
  }
  fmt::print("\n{} rules; `gnomon lint --rule ID` explains one.\n", lint_rules().size());
}
// The two files as they are: they are there to be copied.
void explain(const LintRule& r) {
  say(text(severity_name(r.severity), ": ", r.id));
  say(std::string(r.title), 2);
  for (const std::string_view part : {r.explains, r.fix}) fmt::print("\n"), say(std::string(part));
  say(text("see ", r.link));
  fmt::print("\na file that fails:\n{}\n\na file that passes:\n{}\n", r.fails, r.passes);
}

void print(const pages::LintReport& report) {
  const std::string where = printable(report.context.config().where());
  if (report.results.empty()) {
    fmt::print("{}: nothing found by {} rules\n", where, lint_rules().size());
    return;
  }
  for (const auto& [rule, f] : report.results) {
    const std::string line =
        report.bytes.empty() ? "" : fmt::format(", line {}", line_of(report.bytes, f.key));
    // On one line if it fits; the place is never broken: editors read it.
    const std::string place = text(severity_name(rule->severity), ": ", where, line, ": ");
    const std::string id = text("[", rule->id, "]"), title(rule->title);
    const bool fits = columns(place + title + id) + 1 <= screen_width();
    const bool id_fits = columns(place + id) <= screen_width();
    const std::string below = text("\n  ", wrapped(id_fits ? title : text(id, " ", title), 2));
    const std::string beside = id_fits ? id : "";
    fmt::print("{}{}\n", fits || id_fits ? place : place.substr(0, place.size() - 1),
               fits ? title + " " + id : beside + below);
    const auto part = [](std::string_view name, const std::string& says) {
      fmt::print("  {:<7}{}\n", name, wrapped(printable(says), 9));
    };
    if (!f.key.empty()) part("found", text(f.key, " = ", f.found));
    part("means", f.says), part("write", f.expected), part("see", std::string(rule->link));
  }
}

}  // namespace

int lint(const LintOptions& o) {
  if (o.rules) {
    if (o.markdown) {
      fmt::print("{}", pages::lint_markdown());
    } else if (o.json) {
      fmt::print("{}\n", pages::lint_rules_json());
    } else {
      list_rules();
    }
    return 0;
  }
  if (!o.rule.empty()) {
    const LintRule& rule = find_rule(o.rule);
    if (o.json) {
      fmt::print("{}\n", pages::lint_rule_json(rule));
    } else {
      explain(rule);
    }
    return 0;
  }
  if (o.path.empty())
    throw Error(Fault::usage, "lint: PATH is missing; `gnomon lint --rules` lists the rules");
  const LintFile file = open_for_lint(model_path(o.path, HubPart::headers, o.download));
  const std::vector<LintResult> results = gnomon::lint(*file.context, {o.only, o.ignore});
  const pages::LintReport report{*file.context, results, file.bytes};
  if (o.json || o.sarif) {
    fmt::print("{}\n", o.sarif ? pages::lint_sarif(report) : pages::lint_json(report));
  } else {
    print(report);
  }
  return !results.empty() && results.front().rule->severity == Severity::error ? 1 : 0;
}

}  // namespace gnomon::cli
