// What the classes of transformers 5.23 did with position when they ran (tests/golden/make_classes.py), against what gnomon explains
// from the files that they wrote: with every key, without the keys that the class has by itself, and with none.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "gnomon/core/error.h"
#include "gnomon/models/resolve/family.h"
#include "tests/models/class_answers.h"

namespace gnomon {
namespace {

bool known(const Json& c) { return find_family(c.at("type").get<std::string>()) != nullptr; }

// Of a file, from what class `c` did with it.
std::string difference(const Json& file, const Json& c) {
  try {
    const Resolved answer = resolve(Config::parse(file.dump(), "config.json"));
    const auto wrong = difference_of_layers(answer, c.at("layers"));
    return wrong.empty() && c.contains("table") ? wrong_table(answer, c.at("table")) : wrong;
  } catch (const Error& error) {
    return text("refused: ", error.what());
  }
}

TEST(Classes, EveryKnownTypeDoesWhatItsClassDoes) {
  int compared = 0;
  for (const Json& c : recorded_classes().at("classes")) {
    if (!known(c)) continue;
    ++compared;
    EXPECT_EQ(difference(c.at("config"), c), "") << c.at("config").dump();
    EXPECT_EQ(difference(without_defaults(c), c), "") << without_defaults(c).dump();
  }
  std::cout << compared << " classes compared\n";
}

// The class of full size, of a file that names it and nothing else.
std::string wrong_bare(const Json& c) {
  const Json& want = c.at("bare");
  const Resolved answer = resolve(Config::parse(Json{{"model_type", c.at("type")}}.dump(), "config.json"));
  if (answer.width != want.at("width")) return text("width ", answer.width);
  if (want.contains("table")) {
    Json rows = want.at("table");
    rows.erase("words");  // of the narrower model that was run, like the sines
    if (rows.contains("sines")) rows["sines"] = Json::array();
    if (const auto wrong = wrong_table(answer, rows); !wrong.empty()) return wrong;
  }
  std::set<std::int64_t> numbers;
  std::set<std::size_t> used;
  bool heads = false;
  for (const LayerPosition& layer : answer.layers) {
    if (!layer.component.empty()) continue;
    numbers.insert(layer.number);
    heads = heads || want.at("heads").is_null() || layer.heads == want.at("heads");
    if (!layer.mixer.empty() || numbers_of(layer, 1).inv_freq.empty()) continue;
    std::string wrong = "no rotation";
    bool found = false;
    for (std::size_t r = 0; r < want.at("rotations").size(); ++r) {
      const auto here = difference(numbers_of(layer, 1), want.at("rotations")[r], tolerance(layer));
      if (here.empty()) used.insert(r), found = true;
      wrong = here.empty() ? wrong : here;
    }
    if (!found) return text("layer ", layer.number, ": ", wrong);
  }
  if (std::int64_t(numbers.size()) != want.at("layers")) return text(numbers.size(), " layers");
  if (!heads) return "heads";
  return used.size() == want.at("rotations").size() ? "" : "a rotation of no layer";
}
TEST(Classes, AFileWithNothingIsTheClassOfFullSize) {
  for (const Json& c : recorded_classes().at("classes")) {
    if (!known(c) || c.at("bare").is_null()) continue;
    EXPECT_EQ(wrong_bare(c), "") << c.at("type").dump() << " " << c.at("bare").dump();
  }
}

TEST(Classes, LargerModelsKeepThemInAnObject) {
  for (const auto& [outer, inner] : recorded_classes().at("wrappers").items())
    for (const Json& c : recorded_classes().at("classes")) {
      if (c.at("type") != inner[1] || !known(c)) continue;
      Json file = wrapped(outer, inner[0], c.at("config"));
      EXPECT_EQ(difference(file, c), "") << file.dump();
      std::string part = text("/", inner[0].get<std::string>());
      std::replace(part.begin(), part.end(), '.', '/');
      file[Json::json_pointer(part)].erase("model_type");  // the larger model knows which it is
      EXPECT_EQ(difference(file, c), "") << file.dump();
    }
}

// Types of transformers 5.23 with a class of text that gnomon has no row for, and why. The list may only become shorter.
const std::map<std::string, std::string> kUnknown{
    {"blt",
     "four transformers with sizes of their own in four objects; three count bytes and the global one "
     "patches"},
    {"clvp_encoder", "values turn with q and k, and what attention returns does not turn back"},
    {"funnel", "a block has half the tokens of the one before, and a query then stands for several of them"},
    {"reformer",
     "the two parts of an axial table have sizes of their own, and a hash of the content says which keys a "
     "query sees"}};
TEST(Classes, UnknownTypesStandInTheList) {
  std::set<std::string> unknown;
  for (const Json& c : recorded_classes().at("classes"))
    if (!known(c)) unknown.insert(c.at("type"));
  for (const auto& [type, why] : recorded_classes().at("unmade").items())
    if (!find_family(type)) unknown.insert(type);
  std::set<std::string> listed;
  for (const auto& [type, why] : kUnknown) {
    listed.insert(type);
    std::cout << type << ": " << why << "\n";
  }
  EXPECT_EQ(unknown, listed);
}

// A comparison that takes the other pairs, another base, a wider window or other heads for the same is none.
TEST(Classes, AnotherConventionDiffers) {
  std::set<std::string> told;
  for (const Json& c : recorded_classes().at("classes")) {
    if (!known(c) || !difference(c.at("config"), c).empty()) continue;
    for (const char* change : kConventions) {
      const auto changed = otherwise(c.at("layers").back(), change);
      if (!changed) continue;
      Json other = c;
      other["layers"].back() = *changed;
      EXPECT_NE(difference(c.at("config"), other), "") << c.at("type").dump() << " " << change;
      told.insert(change);
    }
  }
  EXPECT_EQ(told.size(), 8u);
}

// One that takes the row beside, another length, other sines or words for the same is none either.
TEST(Classes, AnotherTableDiffers) {
  std::set<std::string> told;
  for (const Json& c : recorded_classes().at("classes")) {
    if (!known(c) || !c.contains("table") || c.at("table").is_null()) continue;
    for (const char* change : {"first", "longest", "sines", "words"}) {
      Json other = c;
      Json& table = other["table"];
      if (!table.contains(change) || table[change].is_null()) continue;
      const std::string what = change;
      Json& number = what == "sines" ? table["sines"].back()[2] : table[change];
      if (what == "words") {
        number = number.get<double>() * 1.01;
      } else {
        number = number.get<double>() + (what == "sines" ? 0.01 : 1);
      }
      EXPECT_NE(difference(c.at("config"), other), "") << c.at("type").dump() << " " << change;
      told.insert(change);
    }
  }
  EXPECT_EQ(told.size(), 4u);
}

}  // namespace
}  // namespace gnomon
