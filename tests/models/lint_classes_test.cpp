// The file that every class of transformers 5.23 saves, with all keys, without those that the class has by itself, and inside every larger
// model: none has a false error, and no warning but those that are listed here with their reason.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "gnomon/models/lint/context.h"
#include "tests/models/class_files.h"

namespace gnomon {
namespace {

// Warnings that are true of such a file.
const std::map<std::string_view, std::string_view> kTrue{
    {"theta-of-class", "a file without a base leaves it to the class, whose base is not 10000"},
    {"theta-short-for-context", "the class has a base of 10000 and a long context by itself"},
    {"table-without-its-offset", "the class has 512 rows by itself, and the first tokens' rows among them"},
    {"relative-attention-unsaid", "DeBERTa's class has no relative attention by itself"},
    {"sections-with-scaling", "HunYuan's class has both by itself"},
    {"sections-split-pairs", "the same"},
    {"bucket-distance-fixed-elsewhere", "a T5 by hand with fewer buckets"},
    {"partial-rotation-twice", "Bamba's share at the top level, in a file by hand"},
};
// Errors that are true of one: rule and type.
const std::map<std::pair<std::string_view, std::string_view>, std::string_view> kErrors{
    {{"rotary-key-unread", "bamba"}, "a share at the top level, by hand: Bamba's class has 0.5"},
    {{"rotary-key-unread", "minimax_m3_vl_text"}, "the class saves rotary_dim 64, and turns 128 channels"},
};

struct Told {
  std::map<std::string_view, std::set<std::string>> warnings;  // of each rule: the types
  std::set<std::pair<std::string_view, std::string_view>> errors;
  int files = 0;
};
void look_at(const Json& file, const std::string& type, Told& told) {
  ++told.files;
  for (const LintResult& r : lint(LintContext(Config::parse(file.dump(), "config.json")))) {
    const std::string what = text(r.rule->id, ", ", r.finding.key, ": ", r.finding.says, "\n", file.dump());
    if (r.rule->severity == Severity::error) {
      const auto known = kErrors.find({r.rule->id, type});
      EXPECT_NE(known, kErrors.end()) << what;
      if (known != kErrors.end()) told.errors.insert(known->first);
    }
    if (r.rule->severity != Severity::warning) continue;
    told.warnings[r.rule->id].insert(type);
    EXPECT_TRUE(kTrue.contains(r.rule->id)) << what;
  }
}

TEST(LintClasses, FilesThatEveryClassSavesHaveNoError) {
  Told told;
  for (const Json& c : recorded_classes().at("classes")) {
    const std::string type = c.at("type");
    look_at(c.at("config"), type, told);
    look_at(without_defaults(c), type, told);
    const bool runs = !c.at("bare").is_null();  // some classes fail with their own sizes: an error is true
    if (runs) look_at(Json{{"model_type", type}}, type, told);
    for (const auto& [outer, inner] : recorded_classes().at("wrappers").items())
      if (inner[1] == type) look_at(wrapped(outer, inner[0], c.at("config")), type, told);
  }
  EXPECT_GE(told.files, 800);
  for (const auto& [rule, why] : kTrue)
    EXPECT_TRUE(told.warnings.contains(rule)) << rule << " is told of none of these files";
  EXPECT_EQ(told.errors.size(), kErrors.size());
}

// Of a class that fails with its own sizes, a file that names it alone has an error.
TEST(LintClasses, ClassesThatFailByThemselvesAreRefused) {
  std::set<std::string> refused;
  for (const Json& c : recorded_classes().at("classes")) {
    if (!c.at("bare").is_null() || c.contains("file")) continue;
    const auto file = Json{{"model_type", c.at("type")}}.dump();
    for (const LintResult& r : lint(LintContext(Config::parse(file, "config.json"))))
      if (r.rule->severity == Severity::error) refused.insert(c.at("type"));
  }
  EXPECT_EQ(refused, (std::set<std::string>{"cohere_compass_text", "glm4v_moe_text", "glm4v_text",
                                            "glm_image_text", "qwen3_omni_moe_text"}));
}

}  // namespace
}  // namespace gnomon
