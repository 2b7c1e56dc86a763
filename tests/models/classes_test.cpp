// What the classes of transformers 5.23 did with position when they ran (tests/golden/make_classes.py), against what gnomon explains
// from the files that they wrote: with every key, without the keys that the class has by itself, and with none.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "gnomon/models/resolve/family.h"
#include "tests/models/class_answers.h"

namespace gnomon {
namespace {

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

TEST(Classes, AFileWithNothingIsTheClassOfFullSize) {
  for (const Json& c : recorded_classes().at("classes")) {
    if (!known(c) || c.at("bare").is_null()) continue;
    const Json file{{"model_type", c.at("type")}};
    EXPECT_EQ(wrong_bare(file, c.at("bare"), c.value("component", "")), "")
        << file.dump() << " " << c.at("bare").dump();
  }
}

// Types of transformers 5.23 with a class of text that gnomon has no row for, and why. The list may only become shorter.
const std::map<std::string, std::string> kUnknown{
    {"blt",
     "four transformers with sizes of their own in four objects; three count bytes and the global one "
     "patches"},
    {"canine", "groups of four characters share a layer's token, and hashes stand for words"},
    {"clvp_encoder", "values turn with q and k, and what attention returns does not turn back"},
    {"fsmt", "the decoder hides no later token where it keeps a cache, and hides them where it keeps none"},
    {"funnel", "a block has half the tokens of the one before, and a query then stands for several of them"},
    {"layoutlmv2", "its class needs a library for images to run, so nothing of it is measured"},
    {"lxmert", "layers of words, of images and of both are counted in three keys"},
    {"pegasus_x",
     "a layer of the encoder sees blocks of tokens, which begin half a block later in every second layer, "
     "and "
     "tokens that stand for all"},
    {"prophetnet",
     "what the decoder adds for a bucket of distances comes from the content, and a layer predicts several "
     "tokens at once"},
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
