// What the classes of transformers 5.23 did with position when they ran (tests/golden/make_classes.py), against what gnomon explains
// from the files that they wrote: with every key, without the keys that the class has by itself, and with none.
#include <gtest/gtest.h>

#include <algorithm>
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
    EXPECT_EQ(wrong_bare(file, c.at("bare")), "") << file.dump() << " " << c.at("bare").dump();
  }
}

// Types of transformers 5.23 with a class of text that gnomon has no row for. The list may only become shorter.
const std::set<std::string> kUnknown{"blt",
                                     "clvp_encoder",
                                     "convbert",
                                     "cpmant",
                                     "fnet",
                                     "funnel",
                                     "gpt_neox_japanese",
                                     "longformer",
                                     "mra",
                                     "musicgen_decoder",
                                     "musicgen_melody_decoder",
                                     "neomme",
                                     "perceiver",
                                     "reformer",
                                     "sam3_lite_text_text_model",
                                     "t5gemma2_text",
                                     "trocr",
                                     "yoso"};
TEST(Classes, UnknownTypesStandInTheList) {
  std::set<std::string> unknown;
  for (const Json& c : recorded_classes().at("classes"))
    if (!known(c)) unknown.insert(c.at("type"));
  for (const auto& [type, why] : recorded_classes().at("unmade").items())
    if (!find_family(type)) unknown.insert(type);
  EXPECT_EQ(unknown, kUnknown);
}

// A comparison that takes the other pairs, another base, a wider window or other heads for the same is none.
TEST(Classes, AnotherConventionDiffers) {
  std::set<std::string> told;
  for (const Json& c : recorded_classes().at("classes")) {
    if (!known(c) || !difference(c.at("config"), c).empty()) continue;
    for (const char* change : {"pairs", "frequency", "first", "heads", "kept", "scale", "later"}) {
      Json other = c;
      Json& last = other["layers"].back();
      if (last.at("heads").is_null()) continue;
      const std::string what = change;
      if (what == "pairs" || what == "frequency") {
        if (last.at("turned").is_null() || last.at("turned")[1] == 2) continue;
        if (what == "pairs") last["turned"][2] = last["turned"][2] == "halves" ? "adjacent" : "halves";
        if (what == "frequency")
          for (Json& f : last["f"]["f"]) f = f.get<double>() * 1.001;
      } else if (what == "first" || what == "kept") {
        if (!last.contains(what)) continue;
        last[what] = last[what].get<std::int64_t>() + 1;
      } else if (what == "heads") {
        last["heads"][1] = 99;
      } else if (what == "scale") {
        if (!last.contains(what)) continue;
        last["scale"] = last["scale"].get<double>() * 1.001;
      } else {
        last["later"] = !last["later"].get<bool>();
      }
      EXPECT_NE(difference(c.at("config"), other), "") << c.at("type").dump() << " " << change;
      told.insert(change);
    }
  }
  EXPECT_EQ(told.size(), 7u);
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
