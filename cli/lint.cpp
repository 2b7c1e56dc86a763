#include "gnomon/pages/lint.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>

#include "cli/commands.h"
#include "cli/model.h"
#include "cli/progress.h"
#include "cli/wrapped.h"
#include "gnomon/core/error.h"
#include "gnomon/core/file.h"
#include "gnomon/core/names.h"
#include "gnomon/core/text.h"
#include "gnomon/core/unprintable.h"
#include "gnomon/models/lint/fix.h"
#include "gnomon/models/lint/targets.h"

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
  say(text("see ", r.link, r.also.empty() ? "" : " ", r.also));
  fmt::print("\na file that fails:\n{}\n\na file that passes:\n{}\n", r.fails, r.passes);
}

// On one line if it fits; the place is never broken: editors read it.
void print_head(Severity severity, const std::string& place, const std::string& title,
                const std::string& id) {
  const std::string start = text(severity_name(severity), ": ", place, ": ");
  const bool fits = columns(start + title + id) + 1 <= screen_width();
  const bool id_fits = columns(start + id) <= screen_width();
  const std::string below = text("\n  ", wrapped(id_fits ? title : text(id, " ", title), 2));
  fmt::print("{}{}\n", fits || id_fits ? start : start.substr(0, start.size() - 1),
             fits ? text(title, title.empty() ? "" : " ", id) : text(id_fits ? id : "", below));
}
void print(const std::string& file, const LintResult& result) {
  const auto& [rule, f] = result;
  const std::string line = f.line ? text(", line ", f.line) : "",
                    column = f.column ? text(", column ", f.column) : "";
  print_head(rule->severity, printable(file) + line + column, std::string(rule->title),
             text("[", rule->id, "]"));
  const auto part = [](std::string_view name, const std::string& says) {
    fmt::print("  {:<7}{}\n", name, wrapped(printable(says), 9));
  };
  if (!f.key.empty()) part("found", text(f.key, " = ", f.found));
  part("means", f.says), part("write", f.expected), part("see", std::string(rule->link));
}
std::string excepted_text(std::size_t count) {
  return count ? text("; ", counted(count, "finding"), count == 1 ? " is excepted" : " are excepted") : "";
}
void print(const LintRun& run) {
  std::size_t excepted = 0, clean = 0;
  for (const LintedFile& file : run.files) {
    for (const LintResult& result : file.results) print(file.file, result);
    excepted += file.excepted.size(), clean += file.results.empty();
  }
  for (const StaleException& e : run.stale)
    print_head(Severity::note, text(printable(e.file), ", line ", e.line), stale_sentence(e), "");
  for (const std::string& path : run.passed_over)
    fmt::print("{}: there is no config.json beside it\n", printable(path));
  if (run.files.size() == 1 && clean) {
    fmt::print("{}: nothing found by {} rules{}\n", printable(run.files[0].file), lint_rules().size(),
               excepted_text(excepted));
  } else if (run.files.size() != 1 || excepted) {
    say(text(counted(run.files.size(), "file"), ": ", counted(run.count(Severity::error), "error"), ", ",
             counted(run.count(Severity::warning), "warning"), ", ",
             counted(run.count(Severity::note), "note"), excepted_text(excepted)));
  }
}

Severity severity_named(const std::string& name) {
  std::vector<std::string_view> names;
  for (const Severity s : {Severity::error, Severity::warning, Severity::note}) {
    if (name == severity_name(s)) return s;
    names.push_back(severity_name(s));
  }
  throw unknown("severity", name, names);
}

std::string standard_input() {
  constexpr std::size_t kMost = 100'000'000;  // as for a file's header
  std::string all(1 << 16, '\0');
  std::size_t size = 0;
  while (const std::size_t n = std::fread(all.data() + size, 1, all.size() - size, stdin)) {
    size += n;
    if (size > kMost) throw Error(Fault::input, text("standard input: more than ", kMost, " bytes"));
    if (size == all.size()) all.resize(2 * size);
  }
  all.resize(size);
  return all;
}

LintRequest request_of(const LintOptions& o) {
  LintRequest request{{}, "", {o.only, o.ignore}, o.exceptions, {o.transformers, o.vllm}};
  for (const std::string& path : o.paths) {
    const bool as_it_is = path == "-" || is_pattern(path);
    request.paths.emplace_back(as_it_is ? path : model_path(path, HubPart::headers, o.download));
  }
  if (std::find(o.paths.begin(), o.paths.end(), "-") != o.paths.end()) request.text = standard_input();
  return request;
}

int fix(const LintRequest& request, bool write, Severity level) {
  if (write && std::find(request.paths.begin(), request.paths.end(), Path("-")) != request.paths.end())
    throw Error(Fault::usage, "lint: --write needs a file, and - is standard input");
  std::size_t fixed = 0, files = 0, left = 0;
  bool fails = false;
  for (const LintFix& one : lint_fixes(request)) {
    for (const LintResult& result : one.left) fails |= result.rule->severity <= level;
    left += one.left.size(), fixed += one.fixed.size(), files += one.before != one.after;
    fmt::print("{}", without_unprintables(unified_diff(one.file.string(), one.before, one.after)));
    for (const std::string& why : one.told) tell(printable(text(one.file.string(), ": ", why)));
    if (write && one.before != one.after) write_file(one.file, one.after);
  }
  tell(text(write ? "fixed: " : "would fix: ", counted(fixed, "finding"), " in ", counted(files, "file"),
            "; left: ", counted(left, "finding"), !write && fixed ? ". --write writes it" : ""));
  return fails ? 1 : 0;
}

}  // namespace

int lint(const LintOptions& o) {
  if (o.schema) {
    fmt::print("{}", pages::rope_schema());
    return 0;
  }
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
  const Severity level = severity_named(o.fail_on);
  if (o.paths.empty())
    throw Error(Fault::usage, "lint: PATH is missing; `gnomon lint --rules` lists the rules");
  const LintRequest request = request_of(o);
  if (o.write_baseline) {
    const LintBaseline written = write_lint_baseline(request);
    tell(text("written: ", written.file.string(), ", ", written.added, " entries added, ", written.removed,
              " removed"));
    return 0;
  }
  if (o.fix) return fix(request, o.write, level);
  const LintRun run = lint_paths(request);
  if (o.json || o.sarif) {
    fmt::print("{}\n", o.sarif ? pages::lint_sarif(run) : pages::lint_json(run));
  } else {
    print(run);
  }
  return run.fails(level) ? 1 : 0;
}

}  // namespace gnomon::cli
