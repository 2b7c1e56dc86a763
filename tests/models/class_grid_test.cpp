// A drawn grid over all classes of transformers 5.23 that turn (tests/golden/make_class_grid.py): what gnomon explains, against what
// each class did when it ran. GNOMON_CLASS_GRID names one more file of that script, for a larger grid than the recorded one.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <map>
#include <set>

#include "gnomon/models/lint/context.h"
#include "tests/models/class_answers.h"

namespace gnomon {
namespace {

Json read_grid(const Path& path) { return Json::parse(read_file(path)); }
const Json& recorded() {
  static const Json grid = read_grid(Path(GNOMON_TESTS) / "golden" / "class_grid.json");
  return grid;
}

// The configuration of a case: the file of its class, with some other keys.
Json file_of(const Json& grid, const Json& c) {
  const std::string type = c.at("type");
  Json file{{"model_type", type}};
  file.update(grid.at("files").at(type));
  for (const std::string key : c.value("without", Json::array())) file.erase(key);
  for (const auto& [key, value] : c.at("with").items()) file[key] = value;
  return file;
}
LintContext context_of(const Json& file) { return LintContext(Config::parse(file.dump(), "config.json")); }

// Longer contexts change the frequencies of some types. `far` says nothing of one where they stay.
std::string wrong_far(const LayerPosition& layer, const Json& group) {
  for (const Json& far : group.value("far", Json::array())) {
    const double length = far.at("length");
    const Json& want = far.contains("f") ? far : group.at("f");
    if (const auto wrong = difference(numbers_of(layer, length), want, tolerance(layer)); !wrong.empty())
      return text("at ", length, " tokens: ", wrong);
  }
  return {};
}
// No encoding has M-RoPE's streams and scaled frequencies: gnomon says so, and its spec is that of text.
bool of_text_alone(const Resolved& answer) {
  return std::any_of(answer.remarks.begin(), answer.remarks.end(),
                     [](const Remark& remark) { return remark.rule == "sections-with-scaling"; });
}
std::string wrong_layers(const Resolved& answer, Json groups) {
  if (of_text_alone(answer))
    for (Json& group : groups) group.erase("streams");
  if (const auto wrong = difference_of_layers(answer, groups); !wrong.empty()) return wrong;
  for (const Json& group : groups)
    for (const LayerPosition& layer : answer.layers)
      if (layer.component.empty() && layer.number == group.at("layers")[0])
        if (const auto wrong = wrong_far(layer, group); !wrong.empty())
          return text("layer ", layer.number, ": ", wrong);
  return {};
}

// Who says that transformers 5.23 refuses the file: gnomon, which has no answer; a remark beside the answer; an error of lint.
std::set<std::string> refusals_of(const LintContext& file) {
  std::set<std::string> by;
  const Resolved* answer = file.read_by(Reader::v5);
  if (!answer) by.insert("no answer: " + file.refusal(Reader::v5));
  for (const Remark& remark : answer ? answer->remarks : std::vector<Remark>{})
    if (remark.refused) by.insert(text(remark.rule, ": ", remark.key, ": ", remark.says));
  return by;
}
bool has_error(const LintContext& file) {
  const auto all = lint(file);
  return std::any_of(all.begin(), all.end(),
                     [](const LintResult& r) { return r.rule->severity == Severity::error; });
}

// What gnomon cannot compare, and says so: a class without a row, and NanoChat's turns backwards by another type than the default.
std::string_view passed_over(const LintContext& file) {
  if (!file.family()) return "without a row";
  const bool none = file.refusal(Reader::v5).find("gnomon has no such encoding") != std::string::npos;
  return none ? "without an encoding" : "";
}

// The first difference from what the class did, in words; empty: none.
std::string difference(const Json& grid, const Json& c) {
  const LintContext file = context_of(file_of(grid, c));
  if (!passed_over(file).empty()) return {};
  const auto refused = refusals_of(file);
  if (c.contains("refused")) return refused.empty() && !has_error(file) ? "gnomon has an answer" : "";
  if (!refused.empty()) return *refused.begin();
  return wrong_layers(*file.read_by(Reader::v5), c.at("layers"));
}

std::map<std::string, int> compare(const Json& grid) {
  std::map<std::string, int> counts;
  for (const Json& c : grid.at("cases")) {
    const std::string wrong = difference(grid, c);
    const std::string passed(passed_over(context_of(file_of(grid, c))));
    ++counts[!wrong.empty()          ? "differ"
             : !passed.empty()       ? passed
             : c.contains("refused") ? "refused by both"
                                     : "agree"];
    EXPECT_EQ(wrong, "") << c.value("refused", "") << " " << c.value("error", "") << "\n" << file_of(grid, c);
  }
  return counts;
}

TEST(ClassGrid, EveryConfigurationIsExplainedAsItsClassRuns) {
  auto counts = compare(recorded());
  EXPECT_GE(counts["agree"], 800);
  EXPECT_EQ(counts["without a row"], 0);
  EXPECT_LE(counts["without an encoding"], 20);
}

// The share of a head beside dictionaries by kind of layer and within them, in every class that has them
// (tests/golden/make_class_shares.py).
TEST(ClassGrid, ASharesPlaceDecidesAsInTheClass) {
  auto counts = compare(read_grid(Path(GNOMON_TESTS) / "golden" / "class_shares.json"));
  EXPECT_GE(counts["agree"], 150);
  EXPECT_GE(counts["refused by both"], 100);
}

TEST(ClassGrid, ALargerOneThatIsNamed) {
  const char* path = std::getenv("GNOMON_CLASS_GRID");
  if (!path) GTEST_SKIP() << "GNOMON_CLASS_GRID names no file";
  for (const auto& [kind, count] : compare(read_grid(path))) std::cout << count << " " << kind << "\n";
}

// Every class that turns and has a dictionary is in it several times, in both spellings, with each type of scaling.
TEST(ClassGrid, HoldsEveryClassThatTurns) {
  std::map<std::string, int> of_type, of_scaling;
  int version_4 = 0, saved = 0, far = 0;
  for (const Json& c : recorded().at("cases")) {
    ++of_type[c.at("type")];
    saved += c.contains("saved");
    const Json file = file_of(recorded(), c);
    version_4 += file.contains("rope_theta") || file.contains("rope_scaling");
    for (const char* name : {"default", "linear", "dynamic", "yarn", "llama3", "longrope", "proportional"})
      of_scaling[name] += file.dump().find(text('"', name, '"')) != std::string::npos;
    for (const Json& group : c.value("layers", Json::array())) far += group.contains("far");
  }
  for (const Json& c : recorded_classes().at("classes")) {
    const bool turns = std::any_of(c.at("layers").begin(), c.at("layers").end(), [](const Json& group) {
      return group.contains("turned") && !group.at("turned").is_null();
    });
    if (!turns || c.contains("file") || !c.at("config").contains("rope_parameters")) continue;
    EXPECT_GE(of_type[c.at("type")], 4) << c.at("type");
  }
  for (const auto& [name, count] : of_scaling) EXPECT_GE(count, 50) << name;
  EXPECT_GE(version_4, 200);
  EXPECT_GE(saved, 200);
  EXPECT_GE(far, 100);
}

// A comparison that takes the other pairs, another base, a wider window or other heads for the same is none.
TEST(ClassGrid, AnotherConventionDiffers) {
  std::map<std::string, int> told;
  for (const Json& c : recorded().at("cases")) {
    const LintContext file = context_of(file_of(recorded(), c));
    if (c.contains("refused") || !passed_over(file).empty() || !difference(recorded(), c).empty()) continue;
    const Resolved& answer = *file.read_by(Reader::v5);
    for (const char* change : kConventions) {
      Json groups = c.at("layers");
      const auto changed = otherwise(groups.back(), change);
      if (!changed) continue;
      groups.back() = *changed;
      EXPECT_NE(wrong_layers(answer, groups), "") << change << " " << file_of(recorded(), c);
      ++told[change];
    }
  }
  told.try_emplace("slopes", 100);  // of ALiBi, in layers that do not turn
  for (const char* change : kConventions) EXPECT_GE(told[change], 100) << change;
}

// The rules of a reader of 2023 are others than those of the classes, and the comparison tells them apart.
TEST(ClassGrid, AnotherReaderDiffers) {
  int same = 0, other = 0;
  for (const Json& c : recorded().at("cases")) {
    if (c.contains("refused")) continue;
    const LintContext file = context_of(file_of(recorded(), c));
    const Resolved* answer = file.read_by(Reader::naive);
    ++(answer && wrong_layers(*answer, c.at("layers")).empty() ? same : other);
  }
  EXPECT_GE(other, 200);
  EXPECT_GE(same, 20);
}

}  // namespace
}  // namespace gnomon
