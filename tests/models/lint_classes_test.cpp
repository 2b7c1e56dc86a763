// The file that every class of transformers 5.23 saves, with all keys, without those that the class has by itself, and inside every larger
// model: none has an error, and no warning but those that are listed here with their reason.
#include <gtest/gtest.h>

#include <iostream>
#include <map>
#include <set>

#include "gnomon/models/lint/context.h"
#include "tests/models/class_files.h"

namespace gnomon {
namespace {

// Warnings that are true of such a file.
const std::map<std::string_view, std::string_view> kTrue{};

struct Told {
  std::map<std::string, std::set<std::string>> warnings;  // of each rule: the types
  int files = 0;
};
void look_at(const Json& file, const std::string& type, Told& told) {
  ++told.files;
  for (const LintResult& r : lint(LintContext(Config::parse(file.dump(), "config.json")))) {
    EXPECT_NE(r.rule->severity, Severity::error)
        << r.rule->id << ", " << r.finding.key << ": " << r.finding.says << "\n"
        << file.dump();
    if (r.rule->severity != Severity::warning) continue;
    told.warnings[std::string(r.rule->id)].insert(type);
    EXPECT_TRUE(kTrue.contains(r.rule->id))
        << r.rule->id << ", " << r.finding.key << ": " << r.finding.says << "\n"
        << file.dump();
  }
}

TEST(LintClasses, FilesThatEveryClassSavesHaveNoError) {
  Told told;
  for (const Json& c : recorded_classes().at("classes")) {
    look_at(c.at("config"), c.at("type"), told);
    look_at(without_defaults(c), c.at("type"), told);
    look_at(Json{{"model_type", c.at("type")}}, c.at("type"), told);
    for (const auto& [outer, inner] : recorded_classes().at("wrappers").items())
      if (inner[1] == c.at("type")) look_at(wrapped(outer, inner[0], c.at("config")), outer, told);
  }
  EXPECT_GE(told.files, 3 * 150);
  for (const auto& [rule, types] : told.warnings) {
    std::cout << rule << ": " << types.size() << " types";
    for (const std::string& type : types) std::cout << " " << type;
    std::cout << "\n";
  }
  for (const auto& [rule, why] : kTrue)
    EXPECT_TRUE(told.warnings.contains(std::string(rule))) << rule << " is told of none of these files";
}

}  // namespace
}  // namespace gnomon
