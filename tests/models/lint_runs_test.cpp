// What transformers 5.23 can run and what it cannot (tests/golden/make_lint.py), against the errors of lint.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "gnomon/core/file.h"
#include "gnomon/models/lint/context.h"

namespace gnomon {
namespace {

using Json = nlohmann::ordered_json;

const Json& golden() {
  static const Json all = Json::parse(read_file(Path(GNOMON_TESTS) / "golden" / "lint_runs.json"));
  return all;
}
std::set<std::string> errors_of(const Json& config) {
  std::set<std::string> ids;
  for (const LintResult& r : lint(LintContext(Config::parse(config.dump(), "config.json"))))
    if (r.rule->severity == Severity::error) ids.insert(std::string(r.rule->id));
  return ids;
}
Json file_of(const Json& c) {
  Json config{{"model_type", c.at(0)}};
  config.update(golden().at("bases").at(c.at(0).get<std::string>()));
  for (const Json& key : c.at(2)) config.erase(key.get<std::string>());
  config.update(c.at(1));
  return config;
}

TEST(LintRuns, WhatCannotRunHasAnError) {
  std::size_t refused = 0, missed = 0;
  for (const Json& c : golden().at("cases")) {
    if (c.at(3).is_null()) continue;
    ++refused;
    if (errors_of(file_of(c)).empty() && ++missed <= 20) ADD_FAILURE() << c.dump();
  }
  EXPECT_EQ(missed, 0U);
  EXPECT_GE(refused, 500U);
}

// The rules that say so of a file by itself.
TEST(LintRuns, WhatRunsHasNoErrorThatSaysItCannot) {
  const std::set<std::string> rules{
      "layer-type-unknown",  "value-type-refused",         "key-heads-not-shared", "head-dim-needed",
      "window-missing",      "head-dim-of-rotation-alone", "temperature-unsaid",   "proportional-in-a-part",
      "layer-label-missing", "window-impossible",          "scaling-key-missing"};
  std::size_t runs = 0;
  for (const Json& c : golden().at("cases")) {
    if (!c.at(3).is_null()) continue;
    ++runs;
    for (const std::string& id : errors_of(file_of(c)))
      EXPECT_FALSE(rules.contains(id)) << id << ": " << c.dump();
  }
  EXPECT_GE(runs, 500U);
}

// What the resolver says by itself: the answer tells of the refusal, or there is none.
std::set<std::string> refusals_of(const Json& config) {
  const LintContext file(Config::parse(config.dump(), "config.json"));
  const Resolved* read = file.read_by(Reader::v5);
  if (!read) return {"no answer"};
  std::set<std::string> rules;
  for (const Remark& remark : read->remarks)
    if (remark.refused) rules.insert(std::string(remark.rule));
  return rules;
}
TEST(LintRuns, ExplainTellsOfEveryRefusal) {
  std::size_t told = 0;
  for (const Json& c : golden().at("cases")) {
    const std::set<std::string> rules = refusals_of(file_of(c));
    told += !rules.empty() && !rules.contains("no answer");
    EXPECT_EQ(rules.empty(), c.at(3).is_null()) << c.dump() << (rules.empty() ? "" : *rules.begin());
  }
  EXPECT_GE(told, 600U);
}

TEST(LintRuns, FilesThatClassesWriteHaveNoError) {
  for (const auto& [family, config] : golden().at("written").items()) {
    const std::set<std::string> ids = errors_of(config);
    EXPECT_TRUE(ids.empty()) << family << ": " << *ids.begin();
  }
}

}  // namespace
}  // namespace gnomon
