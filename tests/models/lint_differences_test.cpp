// Every deliberate difference between gnomon's reading of a configuration and that of transformers 5.23 is a rule of `gnomon lint`:
// tests/golden/resolver.json and resolver_edges.json name the rule of each (resolver_test sees that they do differ, and that no other does), every remark of
// the resolver names one, and lint says them of those very files and of no others.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "gnomon/core/error.h"
#include "gnomon/core/file.h"
#include "gnomon/models/lint/context.h"

namespace gnomon {
namespace {

using Json = nlohmann::ordered_json;

struct Linted {
  Json line;
  LintContext context;
  std::vector<LintResult> results;
  bool finds(std::string_view rule) const {
    return std::any_of(results.begin(), results.end(),
                       [&](const LintResult& r) { return r.rule->id == rule; });
  }
};
Linted linted(Json line) {
  LintContext context(Config::parse(line.at("config").dump(), "config.json"));
  std::vector<LintResult> results = lint(context);
  return {std::move(line), std::move(context), std::move(results)};
}
const std::vector<Linted>& golden() {
  static const std::vector<Linted> all = [] {
    std::vector<Linted> made;
    for (const char* name : {"resolver.json", "resolver_edges.json"})
      for (const Json& line : Json::parse(read_file(Path(GNOMON_TESTS) / "golden" / name)))
        made.push_back(linted(line));
    return made;
  }();
  return all;
}

TEST(LintDifferences, EachHasARuleThatSaysSo) {
  std::set<std::string> seen;
  for (const Linted& c : golden()) {
    if (!c.line.contains("difference")) continue;
    const std::string name = c.line.at("difference");
    EXPECT_EQ(find_rule(name).id, name);
    EXPECT_TRUE(c.finds(name)) << name << ": " << c.line.at("config");
    seen.insert(name);
  }
  for (const LintRule* rule : lint_rules())
    EXPECT_TRUE(!rule->traits.departs || seen.contains(std::string(rule->id)))
        << rule->id << ": no configuration shows that gnomon's answer is another";
  EXPECT_GE(seen.size(), 8U);
}

TEST(LintDifferences, NoneIsSaidWhereThereIsNone) {
  for (const Linted& c : golden()) {
    if (c.line.contains("difference")) continue;
    for (const LintResult& r : c.results)
      EXPECT_FALSE(r.rule->traits.departs) << r.rule->id << ": " << c.line.at("config");
  }
}

// A file that cannot be resolved has one complaint about what it cannot be for: that of the rule that knows the key, or the resolver's.
void expect_said_once(const Linted& c) {
  if (c.context.read_by(Reader::v5)) {
    EXPECT_FALSE(c.finds("file-refused")) << c.line.at("config");
    return;
  }
  if (!c.context.family()) {  // of a class that is not known it is no error
    EXPECT_TRUE(c.finds("file-not-read")) << c.line.at("config");
    return;
  }
  const std::string& key = c.context.refused_key(Reader::v5);
  std::size_t told = 0;
  for (const LintResult& r : c.results) {
    if (r.rule->severity != Severity::error) continue;
    EXPECT_TRUE(r.rule->id != "file-refused" || told == 0) << c.line.at("config");
    told += r.rule->id == "file-refused" || key.empty() || key.starts_with(r.finding.key);
  }
  EXPECT_GE(told, 1U) << c.line.at("config") << "\n" << c.context.refusal(Reader::v5);
}
TEST(LintDifferences, ARefusalIsSaidOnce) {
  for (const Linted& c : golden()) expect_said_once(c);
  for (const LintRule* rule : lint_rules()) {
    if (rule->traits.unread) continue;  // no JSON
    const Json config = Json::parse(rule->fails);
    if (!config.contains("general.architecture")) expect_said_once(linted({{"config", config}}));
  }
}

// The rule itself, or one that says more of the same key.
void expect_remarks_told(const Linted& c) {
  const Resolved* read = c.context.read_by(Reader::v5);
  if (!read) return;
  for (const Remark& remark : read->remarks) {
    EXPECT_EQ(find_rule(remark.rule).id, remark.rule) << remark.says;
    EXPECT_TRUE(c.finds(remark.rule) ||
                (find_rule(remark.rule).traits.general &&
                 std::any_of(c.results.begin(), c.results.end(),
                             [&](const LintResult& r) { return r.finding.key == remark.key; })))
        << remark.rule << ", " << remark.key << ": " << remark.says << "\n"
        << c.line.at("config");
  }
}
TEST(LintDifferences, EveryRemarkOfTheResolverIsARule) {
  for (const Linted& c : golden()) expect_remarks_told(c);
  for (const LintRule* rule : lint_rules()) {
    if (rule->traits.unread) continue;
    for (const std::string_view example : {rule->fails, rule->passes}) {
      const Json config = Json::parse(example);
      if (!config.contains("general.architecture")) expect_remarks_told(linted({{"config", config}}));
    }
  }
}

}  // namespace
}  // namespace gnomon
