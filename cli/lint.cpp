#include "gnomon/pages/lint.h"

#include <fmt/core.h>

#include "cli/commands.h"
#include "gnomon/core/error.h"
#include "gnomon/core/text.h"

namespace gnomon::cli {
namespace {

void list_rules() {
  for (const Rule* rule : lint_rules())
    fmt::print("{:<8} {:<32} {}\n", severity_name(rule->severity), rule->id, rule->title);
  fmt::print("\n{} rules; `gnomon lint --rule ID` explains one.\n", lint_rules().size());
}
void explain(const Rule& r) {
  fmt::print("{}: {}\n  {}\n\n{}\n\n{}\nsee {}\n\nwith it:\n{}\n\nwithout:\n{}\n", severity_name(r.severity),
             r.id, r.title, r.explains, r.fix, r.link, r.fails, r.passes);
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
    fmt::print("{}: {}{}: {} [{}]\n", severity_name(rule->severity), where, line, rule->title, rule->id);
    if (!f.key.empty()) fmt::print("  found  {} = {}\n", printable(f.key), printable(f.found));
    fmt::print("  means  {}\n  write  {}\n  see    {}\n", printable(f.says), printable(f.expected),
               rule->link);
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
    const Rule& rule = find_rule(o.rule);
    if (o.json) {
      fmt::print("{}\n", pages::lint_rule_json(rule));
    } else {
      explain(rule);
    }
    return 0;
  }
  if (o.path.empty()) throw Error(Fault::usage, "lint: no PATH; `gnomon lint --rules` lists the rules");
  const LintFile file = open_for_lint(o.path);
  const std::vector<LintResult> results = gnomon::lint(file.context, {o.only, o.ignore});
  const pages::LintReport report{file.context, results, file.bytes};
  if (o.json || o.sarif) {
    fmt::print("{}\n", o.sarif ? pages::lint_sarif(report) : pages::lint_json(report));
  } else {
    print(report);
  }
  return !results.empty() && results.front().rule->severity == Severity::error ? 1 : 0;
}

}  // namespace gnomon::cli
