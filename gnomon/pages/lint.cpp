#include "gnomon/pages/lint.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/core/unprintable.h"

namespace gnomon::pages {
namespace {

using Json = nlohmann::ordered_json;

Json rule_json(const LintRule& rule) {
  return {{"id", rule.id},       {"severity", severity_name(rule.severity)},
          {"title", rule.title}, {"explains", rule.explains},
          {"fix", rule.fix},     {"link", rule.link},
          {"fails", rule.fails}, {"passes", rule.passes}};
}

// What happened to someone, or the code that does it; then where it happened to others.
std::string link(const LintRule& rule) {
  const bool happened =
      rule.link.find("/issues/") != rule.link.npos || rule.link.find("/pull/") != rule.link.npos;
  std::string all = text("[", happened ? "Seen here" : "The code", "](", rule.link, ")");
  for (std::string_view rest = rule.also; !rest.empty();) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    all += text(happened ? ", [and here](" : ". [Seen here](", rest.substr(0, end), ")");
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return all;
}

std::string section(const LintRule& rule) {
  const std::string_view departs =
      rule.traits.departs ? " Here gnomon's answer differs from that of transformers 5.23." : "";
  return text("\n### ", rule.id, "\n\n", severity_name(rule.severity), ": ", rule.title, "\n\n",
              rule.explains, departs, "\n\n", rule.fix, " ", link(rule), ".\n\n```",
              rule.traits.unread ? "" : "json", "\n", rule.fails, "\n```\n\nWrite instead:\n\n```json\n",
              rule.passes, "\n```\n");
}

// A file's name as the reference of a URI (RFC 3986): relative in the current folder and below, file: elsewhere.
std::string uri(const std::string& name) {
  const std::filesystem::path whole = std::filesystem::absolute(name).lexically_normal(),
                              from_here = whole.lexically_relative(std::filesystem::current_path());
  const bool elsewhere = from_here.empty() || *from_here.begin() == "..";
  const std::string path = (elsewhere ? whole : from_here).generic_string();
  std::string out = elsewhere ? "file://" : "";
  constexpr std::string_view digits = "0123456789ABCDEF";
  for (const char c : path) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                       std::string_view("-._~/").find(c) != std::string_view::npos;
    out += plain ? std::string(1, c)
                 : std::string{'%', digits[(unsigned char)c >> 4], digits[(unsigned char)c & 15]};
  }
  return out;
}

std::string printed(const Json& j) {
  return without_unprintables(j.dump(1, ' ', false, Json::error_handler_t::replace));
}

std::string sentence(const LintFinding& f) {
  return text(f.key.empty() ? "" : f.key + ": ", f.says, ". Write: ", f.expected, ".");
}

Json finding_json(const LintedFile& file, const LintResult& result) {
  const auto& [rule, f] = result;
  Json one{{"file", file.file}, {"rule", rule->id},  {"severity", severity_name(rule->severity)},
           {"key", f.key},      {"found", f.found},  {"write", f.expected},
           {"says", f.says},    {"link", rule->link}};
  if (f.line) one["line"] = f.line;
  if (f.column) one["column"] = f.column;
  return one;
}

Json sarif_rule(const LintRule& rule) {
  return {
      {"id", rule.id},
      {"shortDescription", {{"text", rule.title}}},
      {"fullDescription", {{"text", rule.explains}}},
      {"help", {{"text", rule.fix}, {"markdown", text(rule.explains, "\n\n", rule.fix, "\n\n", link(rule))}}},
      {"helpUri", rule.link},
      {"defaultConfiguration", {{"level", severity_name(rule.severity)}}},
      {"properties", {{"tags", {"position-encoding"}}}}};
}

Json sarif_place(const std::string& file, std::size_t line, std::size_t column) {
  Json place{{"artifactLocation", {{"uri", uri(file)}}}};
  if (line) place["region"] = {{"startLine", line}};
  if (column) place["region"]["startColumn"] = column;
  return place;
}
Json sarif_result(const LintedFile& file, const LintResult& result) {
  const auto& [rule, f] = result;
  const auto index = std::find(lint_rules().begin(), lint_rules().end(), rule) - lint_rules().begin();
  return {{"ruleId", rule->id},
          {"ruleIndex", index},
          {"level", severity_name(rule->severity)},
          {"message", {{"text", printable(sentence(f))}}},
          {"locations", {{{"physicalLocation", sarif_place(file.file, f.line, f.column)}}}},
          {"partialFingerprints", {{"ruleAndKey/v1", text(rule->id, ":", f.key)}}}};
}

}  // namespace

std::string lint_markdown() {
  std::array<std::size_t, 3> count{};
  for (const LintRule* rule : lint_rules()) ++count[std::size_t(rule->severity)];
  std::string out = text(
      "# Rules of `gnomon lint`\n\nGenerated from the rules by `gnomon lint --rules --markdown`; a test "
      "compares the two. There are ",
      counted(count[0], "error"), ", ", counted(count[1], "warning"), " and ", counted(count[2], "note"),
      ".\n\n- Error: transformers 5.23, or every reader, computes something else than the file says.\n- "
      "Warning: some reader in use does, or probably does.\n- Note: the file is right, but readers have "
      "misread it.\n\nNumbers from transformers come from 5.23.0 and 4.57.6.\n\n| rule | severity | "
      "what it is |\n|---|---|---|\n");
  for (const LintRule* rule : lint_rules())
    out += text("| [", rule->id, "](#", rule->id, ") | ", severity_name(rule->severity), " | ", rule->title,
                " |\n");
  for (const LintRule* rule : lint_rules()) out += section(*rule);
  return out;
}

std::string lint_rules_json() {
  Json all = Json::array();
  for (const LintRule* rule : lint_rules()) all.push_back(rule_json(*rule));
  return all.dump(1);
}
std::string lint_rule_json(const LintRule& rule) { return rule_json(rule).dump(1); }

std::string lint_json(const LintRun& run) {
  Json files = Json::array(), findings = Json::array(), excepted = Json::array(), stale = Json::array();
  for (const LintedFile& file : run.files) {
    files.push_back({{"file", file.file}, {"family", file.family}});
    for (const LintResult& result : file.results) findings.push_back(finding_json(file, result));
    for (const ExceptedFinding& e : file.excepted) {
      excepted.push_back(finding_json(file, e.result));
      excepted.back()["reason"] = e.reason;
    }
  }
  for (const StaleException& e : run.stale)
    stale.push_back({{"file", e.file}, {"line", e.line}, {"rule", e.rule}, {"path", e.path}});
  return printed({{"files", files},
                  {"errors", run.count(Severity::error)},
                  {"warnings", run.count(Severity::warning)},
                  {"notes", run.count(Severity::note)},
                  {"findings", findings},
                  {"excepted", excepted},
                  {"stale_exceptions", stale},
                  {"passed_over", run.passed_over}});
}

std::string lint_sarif(const LintRun& run) {
  Json rules = Json::array(), results = Json::array(), notes = Json::array();
  for (const LintRule* rule : lint_rules()) rules.push_back(sarif_rule(*rule));
  for (const LintedFile& file : run.files)
    for (const LintResult& result : file.results) results.push_back(sarif_result(file, result));
  for (const StaleException& e : run.stale)
    notes.push_back({{"level", "note"},
                     {"message", {{"text", printable(stale_sentence(e))}}},
                     {"locations", {{{"physicalLocation", sarif_place(e.file, e.line, 0)}}}}});
  const Json driver{{"name", "gnomon"}, {"version", GNOMON_VERSION}, {"rules", rules}};
  const Json call{{"executionSuccessful", true}, {"toolConfigurationNotifications", notes}};
  return printed({{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
                  {"version", "2.1.0"},
                  {"runs",
                   {{{"tool", {{"driver", driver}}},
                     {"invocations", {call}},
                     {"columnKind", "unicodeCodePoints"},
                     {"results", results}}}}});
}

}  // namespace gnomon::pages
