// `gnomon lint --fix`: suggestions written into the text of a file, and nothing else of it changed.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "gnomon/core/text.h"
#include "gnomon/models/lint/fix.h"
#include "gnomon/models/resolve/place.h"

namespace gnomon {
namespace {

using Json = nlohmann::ordered_json;

LintFix fixed(const std::string& json, LintChoice choice = {}) {
  LintRequest request{{Path("-")}, json, std::move(choice)};
  return lint_fixes(request).at(0);
}
std::set<std::string> ids_of(const std::vector<LintResult>& results) {
  std::set<std::string> ids;
  for (const LintResult& r : results) ids.insert(std::string(r.rule->id));
  return ids;
}
std::vector<LintResult> lint_text(const std::string& json) { return lint(text_for_lint(json, "-")); }

TEST(WithValue, KeepsEveryOtherByte) {
  const std::string file =
      "{\n  \"a\": 1,\n  \"b\": {\"c\" : [1, {\"d\": 2}],\n        \"e\":null},  \"f.g\": 3\n}\n";
  const std::map<std::string, std::string> expected{
      {"a", "{\n  \"a\": 7,\n  \"b\": {\"c\" : [1, {\"d\": 2}],\n        \"e\":null},  \"f.g\": 3\n}\n"},
      {"b", "{\n  \"a\": 1,\n  \"b\": 7,  \"f.g\": 3\n}\n"},
      {"b.c", "{\n  \"a\": 1,\n  \"b\": {\"c\" : 7,\n        \"e\":null},  \"f.g\": 3\n}\n"},
      {"b.e", "{\n  \"a\": 1,\n  \"b\": {\"c\" : [1, {\"d\": 2}],\n        \"e\":7},  \"f.g\": 3\n}\n"},
      {"f.g", "{\n  \"a\": 1,\n  \"b\": {\"c\" : [1, {\"d\": 2}],\n        \"e\":null},  \"f.g\": 7\n}\n"},
      {"b.new",
       "{\n  \"a\": 1,\n  \"b\": {\"c\" : [1, {\"d\": 2}],\n        \"e\":null,\n        \"new\":7},  "
       "\"f.g\": 3\n}\n"},
      {"new",
       "{\n  \"a\": 1,\n  \"b\": {\"c\" : [1, {\"d\": 2}],\n        \"e\":null},  \"f.g\": 3,  \"new\": "
       "7\n}\n"}};
  for (const auto& [key, after] : expected) EXPECT_EQ(with_value(file, key, "7"), after) << key;
  EXPECT_EQ(with_value(file, "a.x", "7"), std::nullopt);
  EXPECT_EQ(with_value(file, "missing.x", "7"), std::nullopt);
  EXPECT_EQ(with_value("{}", "x", "7"), "{\"x\": 7}");
  EXPECT_EQ(with_value(" { }\n", "x", "7"), " {\"x\": 7 }\n");
  EXPECT_EQ(with_value(R"({"a":"}\"{","b":1})", "b", "7"), R"({"a":"}\"{","b":7})");
}

TEST(WithName, KeepsEveryOtherByte) {
  const std::string file =
      "{\n  \"a\" : 1,\n  \"b\": {\"c\":\t[1, {\"a\": 2}],\n   \"a\":null, \"\\u0065\": \"a\"},  \"f.g\": "
      "3\n}\n";
  const auto with = [&](std::string old, const std::string& now) {
    const std::size_t at = file.find(old);
    EXPECT_NE(at, file.npos);
    return std::string(file).replace(at, old.size(), now);
  };
  EXPECT_EQ(with_name(file, "a", "new"), with("\"a\" : 1", "\"new\" : 1"));
  EXPECT_EQ(with_name(file, "b", "new"), with("\"b\"", "\"new\""));
  EXPECT_EQ(with_name(file, "b.c", "new"), with("\"c\"", "\"new\""));
  EXPECT_EQ(with_name(file, "b.a", "new"), with("\"a\":null", "\"new\":null"));
  EXPECT_EQ(with_name(file, "b.e", "new"), with("\"\\u0065\"", "\"new\""));
  EXPECT_EQ(with_name(file, "f.g", "new"), with("\"f.g\"", "\"new\""));
  EXPECT_EQ(with_name(file, "b.c", "b"), with("\"c\"", "\"b\""));  // of another object
  for (const char* key : {"missing", "b.missing", "missing.a", "a.b"})
    EXPECT_EQ(with_name(file, key, "new"), std::nullopt) << key;
  EXPECT_EQ(with_name(file, "a", "b"), std::nullopt);
  EXPECT_EQ(with_name(file, "b.c", "a"), std::nullopt);
  EXPECT_EQ(with_name(file, "f.g", "a"), std::nullopt);
}

// No key is gone, but for one that got its right name; where keys were only added, all that stood there still does, in order.
void expect_nothing_else_changed(const LintFix& fix) {
  const Json before = Json::parse(fix.before), after = Json::parse(fix.after);
  for (const LintResult& r : fix.fixed)
    if (!right_name(r).empty()) return;  // LintFix.RenamesAKeyAtItsPlace looks at those
  for (const auto& change : Json::diff(before, after)) {
    EXPECT_NE(change.at("op"), "remove") << fix.after;
    if (change.at("op") == "replace") return;
  }
  std::size_t from = 0;
  for (std::size_t n = 0; n < fix.before.size(); ++n) {
    if (std::isspace(static_cast<unsigned char>(fix.before[n])) == 0) continue;
    from = fix.after.find(fix.before[n], from);
    ASSERT_NE(from, fix.after.npos);
    ++from;
  }
}

TEST(LintFix, EveryRuleWhoseSuggestionIsAValueFixesItsExample) {
  std::set<std::string> fix_their_own;
  for (const LintRule* rule : lint_rules()) {
    const std::string id(rule->id), json(rule->fails);
    if (json.find("general.architecture") != json.npos || !ids_of(lint_text(json)).contains(id)) continue;
    const LintFix fix = fixed(json, {{id}, {}});
    const std::set<std::string> gone = ids_of(fix.fixed), left = ids_of(fix.left);
    EXPECT_TRUE(gone.contains(id) != left.contains(id)) << id;
    EXPECT_EQ(gone.empty(), fix.before == fix.after) << id;
    if (gone.empty()) continue;
    fix_their_own.insert(id);
    EXPECT_FALSE(ids_of(lint_text(fix.after)).contains(id)) << id << fix.after;
    expect_nothing_else_changed(fix);
    for (const LintResult& now : lint_text(fix.after)) {
      if (now.rule->severity == Severity::note) continue;
      EXPECT_TRUE(ids_of(lint_text(json)).contains(std::string(now.rule->id))) << id << ": " << now.rule->id;
    }
    EXPECT_EQ(fixed(fix.after, {{id}, {}}).after, fix.after) << id;  // once is enough
  }
  for (const char* id :
       {"scaling-drops-theta", "theta-of-class", "model-type-missing", "base-under-another-name",
        "position-key-misspelt", "rope-key-misspelt", "type-unread-by-kind"})
    EXPECT_TRUE(fix_their_own.contains(id)) << id;
  EXPECT_GE(fix_their_own.size(), 15U);
}

TEST(LintFix, WritesIntoTheFileAsItIsSpaced) {
  const std::string before =
      "{\n    \"model_type\": \"smollm3\",\n    \"hidden_size\": 512,\n    \"num_attention_heads\": 8,\n"
      "    \"num_hidden_layers\": 4,\n    \"max_position_embeddings\": 65536\n}\n";
  const LintFix fix = fixed(before);
  EXPECT_TRUE(ids_of(fix.fixed).contains("theta-of-class"));
  EXPECT_EQ(
      fix.after,
      "{\n    \"model_type\": \"smollm3\",\n    \"hidden_size\": 512,\n    \"num_attention_heads\": 8,\n"
      "    \"num_hidden_layers\": 4,\n    \"max_position_embeddings\": 65536,\n    \"rope_theta\": "
      "2000000\n}\n");
  EXPECT_EQ(unified_diff("config.json", fix.before, fix.after),
            "--- config.json\n+++ config.json\n@@ -3,5 +3,6 @@\n     \"hidden_size\": 512,\n     "
            "\"num_attention_heads\": 8,\n"
            "     \"num_hidden_layers\": 4,\n-    \"max_position_embeddings\": 65536\n+    "
            "\"max_position_embeddings\": 65536,\n"
            "+    \"rope_theta\": 2000000\n }\n");
}

// What a rename makes of a file: the same bytes with one name instead of another.
struct Renamed {
  std::string rule, file, old, now;
};
constexpr std::string_view kLlama =
    "{\n\t\"model_type\":\"llama\", \"hidden_size\": 512,\n\"num_attention_heads\" :8, "
    "\"num_hidden_layers\": 2,\n\n"
    "  \"max_position_embeddings\": 4096, ";
const std::vector<Renamed> kRenamed{
    {"position-key-misspelt", text(kLlama, "\"rope_thetta\" : 5e5,\n \"x\": \"rope_thetta\"}\n"),
     "\"rope_thetta\" :", "\"rope_theta\" :"},
    {"position-key-misspelt",
     R"({"model_type": "llava", "rope_thetta": 1, "text_config": {"model_type": "llama",   "rope_thetta":500000}})",
     "\"rope_thetta\":500000", "\"rope_theta\":500000"},
    {"rope-key-misspelt",
     text(kLlama, R"("rope_theta": 1e4, "rope_scaling": {"rope_type": "yarn", "factor": 4.0,
          "original_max_position_embedding" : 1024, "beta_fast": 32}})"),
     "embedding\" : 1024", "embeddings\" : 1024"},
    {"type-unread-by-kind",
     R"({"model_type": "gemma3_text", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 6, "head_dim": 64,
         "max_position_embeddings": 8192, "sliding_window": 512, "rope_theta": 1000000, "rope_scaling": {"type":  "linear", "factor": 8.0}})",
     "{\"type\":", "{\"rope_type\":"}};

TEST(LintFix, RenamesAKeyAtItsPlace) {
  for (const Renamed& one : kRenamed) {
    ASSERT_TRUE(ids_of(lint_text(one.file)).contains(one.rule)) << one.file;
    const LintFix fix = fixed(one.file, {{one.rule}, {}});
    std::string expected = one.file;
    expected.replace(expected.find(one.old), one.old.size(), one.now);
    EXPECT_EQ(fix.after, expected);
    EXPECT_EQ(ids_of(fix.fixed), std::set<std::string>{one.rule}) << one.file;
    EXPECT_TRUE(fix.left.empty() && fix.told.empty()) << one.file;
    EXPECT_EQ(fixed(fix.after, {{one.rule}, {}}).after, fix.after);
  }
}

// A name that is taken, two keys for one name, and a name under which the value is a fault.
TEST(LintFix, TellsWhyAKeyKeepsItsName) {
  const std::map<std::string, std::vector<std::string>> kept{
      {R"("rope_thetta": 500000, "rope_theta": null})",
       {"rope_thetta is not renamed to rope_theta: the file has both"}},
      {R"("rope_theta": 1e4, "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "facter": 2.0, "original_max_position_embeddings": 1024}})",
       {"rope_scaling.facter is not renamed to factor: the file has both"}},
      {R"("rope_thetta": 500000, "rope_theeta": 10000})",
       {"rope_thetta is not renamed to rope_theta: another key may mean the same",
        "rope_theeta is not renamed to rope_theta: another key may mean the same"}},
      {R"("rope_thetta": -1})",
       {"rope_thetta is not renamed to rope_theta: the file would then have the finding theta-impossible"}}};
  for (const auto& [more, told] : kept) {
    const std::string file = text(kLlama, more);
    const LintFix fix = fixed(file, {{"position-key-misspelt", "rope-key-misspelt"}, {}});
    EXPECT_EQ(fix.after, file) << more;
    EXPECT_EQ(fix.told, told) << more;
    EXPECT_TRUE(fix.fixed.empty() && fix.left.size() == told.size()) << more;
  }
}

// Words, and what only another file can say, stay with the reader.
TEST(LintFix, LeavesWordsAlone) {
  const std::string file =
      R"({"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 262144,
          "rope_scaling": {"rope_type": "yarn", "factor": 2.0, "original_max_position_embeddings": 131072}})";
  const LintFix fix = fixed(file, {{"scaling-without-theta"}, {}});
  EXPECT_EQ(fix.after, file);
  EXPECT_TRUE(fix.fixed.empty());
  EXPECT_TRUE(ids_of(fix.left).contains("scaling-without-theta"));
  const LintFix broken = fixed("{");
  EXPECT_EQ(broken.after, "");
  EXPECT_FALSE(broken.left.empty());
}

TEST(UnifiedDiff, HasThreeLinesAroundEachChange) {
  std::string before, after;
  for (int n = 1; n <= 30; ++n) {
    const std::string line = std::to_string(n) + "\n";
    before += line;
    after += n == 5 ? "five\n" : n == 9 ? "nine\n" : n == 25 ? "" : line;
  }
  EXPECT_EQ(unified_diff("x", before, after),
            "--- x\n+++ x\n@@ -2,11 +2,11 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n-9\n+nine\n 10\n 11\n 12\n"
            "@@ -22,7 +22,6 @@\n 22\n 23\n 24\n-25\n 26\n 27\n 28\n");
  EXPECT_EQ(
      unified_diff("x", "a", "b"),
      "--- x\n+++ x\n@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n");
  EXPECT_EQ(unified_diff("x", "a\n", "a\n"), "");
  EXPECT_EQ(unified_diff("x", "", "a\n"), "--- x\n+++ x\n@@ -0,0 +1,1 @@\n+a\n");
}

}  // namespace
}  // namespace gnomon
