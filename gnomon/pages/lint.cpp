#include "gnomon/pages/lint.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/core/unprintable.h"
#include "gnomon/models/lint/context.h"
#include "gnomon/models/resolve/place.h"

namespace gnomon::pages {
namespace {

using Json = nlohmann::ordered_json;

Json rule_json(const LintRule& rule) {
  return {{"id", rule.id},       {"severity", severity_name(rule.severity)},
          {"title", rule.title}, {"explains", rule.explains},
          {"fix", rule.fix},     {"link", rule.link},
          {"fails", rule.fails}, {"passes", rule.passes}};
}

// What happened to someone, or the code that does it.
std::string link(const LintRule& rule) {
  const bool happened =
      rule.link.find("/issues/") != rule.link.npos || rule.link.find("/pull/") != rule.link.npos;
  return text("[", happened ? "Seen here" : "The code", "](", rule.link, ")");
}

std::string section(const LintRule& rule) {
  const std::string_view departs =
      rule.traits.departs ? " Here gnomon's answer differs from that of transformers 5.23." : "";
  return text("\n### ", rule.id, "\n\n", severity_name(rule.severity), ": ", rule.title, "\n\n",
              rule.explains, departs, "\n\n", rule.fix, " ", link(rule), ".\n\n```json\n", rule.fails,
              "\n```\n\nWrite instead:\n\n```json\n", rule.passes, "\n```\n");
}

// A file's name as the reference of a URI (RFC 3986): whole paths are file:, others relative.
std::string uri(std::string_view path) {
  std::string out = path.starts_with('/') ? "file://" : "";
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

std::string lint_json(const LintReport& r) {
  Json findings = Json::array();
  std::array<std::size_t, 3> count{};
  for (const auto& [rule, f] : r.results) {
    ++count[std::size_t(rule->severity)];
    Json one{{"rule", rule->id},    {"severity", severity_name(rule->severity)},
             {"key", f.key},        {"found", f.found},
             {"write", f.expected}, {"says", f.says},
             {"link", rule->link}};
    if (!r.bytes.empty()) one["line"] = line_of(r.bytes, f.key);
    findings.push_back(one);
  }
  return printed({{"file", r.context.config().where()},
                  {"family", r.context.type()},
                  {"errors", count[0]},
                  {"warnings", count[1]},
                  {"notes", count[2]},
                  {"findings", findings}});
}

std::string lint_sarif(const LintReport& r) {
  Json rules = Json::array(), results = Json::array();
  for (const LintRule* rule : lint_rules()) rules.push_back(sarif_rule(*rule));
  for (const auto& [rule, f] : r.results) {
    const auto index = std::find(lint_rules().begin(), lint_rules().end(), rule) - lint_rules().begin();
    Json place{{"artifactLocation", {{"uri", uri(r.context.config().where())}}}};
    if (!r.bytes.empty()) place["region"] = {{"startLine", line_of(r.bytes, f.key)}};
    results.push_back({{"ruleId", rule->id},
                       {"ruleIndex", index},
                       {"level", severity_name(rule->severity)},
                       {"message", {{"text", printable(sentence(f))}}},
                       {"locations", {{{"physicalLocation", place}}}},
                       {"partialFingerprints", {{"ruleAndKey/v1", text(rule->id, ":", f.key)}}}});
  }
  const Json driver{{"name", "gnomon"}, {"version", GNOMON_VERSION}, {"rules", rules}};
  return printed({{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
                  {"version", "2.1.0"},
                  {"runs", {{{"tool", {{"driver", driver}}}, {"results", results}}}}});
}

}  // namespace gnomon::pages
