// The language models in files of larger ones, as the classes of transformers 5.23 read them (tests/golden/make_wrappers.py), against what
// gnomon explains.
#include "gnomon/models/resolve/wrappers.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/models/class_answers.h"

namespace gnomon {
namespace {

const Json& larger_models() {
  static const Json all = Json::parse(read_file(Path(GNOMON_TESTS) / "golden" / "wrappers.json"));
  return all;
}
const Json& small_model(const Json& larger) {
  const Json& all = recorded_classes().at("classes");
  return *std::find_if(all.begin(), all.end(), [&](const Json& c) {
    return c.at("type") == larger.at("inner") && !c.contains("file");
  });
}

// As their classes write them; without the type of the language model and what its class has by itself; with its settings at the top
// level, where the class looks there.
TEST(Wrappers, TheLanguageModelIsThatOfItsObject) {
  int compared = 0;
  for (const Json& larger : larger_models()) {
    const Json& small = small_model(larger);
    if (!known(small)) continue;
    for (const char* file : {"file", "older", "flat"}) {
      if (larger.at(file).is_null()) continue;
      EXPECT_EQ(difference(larger.at(file), small), "") << file << " " << larger.at(file).dump();
      ++compared;
    }
  }
  EXPECT_GE(compared, 220);
}

// The key says how many heads of keys attention sees: not so of latent attention.
bool shares_keys(const Json& c) {
  const auto kv = c.at("config").find("num_key_value_heads");
  const Json& heads = c.at("layers")[0].at("heads");
  return kv != c.at("config").end() && heads.is_array() && heads[1] == *kv;
}
// Layers that see everything may have others.
bool has_kv_heads(const Resolved& answer, std::int64_t kv_heads) {
  return std::any_of(answer.layers.begin(), answer.layers.end(), [&](const LayerPosition& layer) {
    return layer.component.empty() && layer.mixer.empty() && layer.kv_heads == kv_heads;
  });
}
std::string wrong_full(const Json& want, const Json& small) {
  if (const auto wrong = wrong_bare(want.at("file"), want); !wrong.empty()) return wrong;
  const Resolved answer = resolve(Config::parse(want.at("file").dump(), "config.json"));
  const std::int64_t first = answer.table_first;
  if (shares_keys(small) && !want.at("kv_heads").is_null() && !has_kv_heads(answer, want.at("kv_heads")))
    return text("no layer with ", want.at("kv_heads").dump(), " KV heads");
  if (want.at("longest").is_null()) return {};
  const auto longest =
      want.at("longest")
          .get<std::int64_t>();  // with the rows before the first token, in tables of RoBERTa's kind
  return answer.longest == longest || (answer.input.input && answer.longest + first == longest)
             ? ""
             : text(answer.longest, " tokens");
}

TEST(Wrappers, WhatAFileLeavesOutIsThatOfItsClass) {
  int compared = 0;
  for (const Json& larger : larger_models()) {
    const Json& small = small_model(larger);
    if (!known(small)) continue;
    for (const Json& want : larger.at("full")) {
      EXPECT_EQ(wrong_full(want, small), "") << want.dump();
      ++compared;
    }
  }
  EXPECT_GE(compared, 220);
}

// The list has each class that keeps a language model in an object, and no other; what it keeps, and where, is what the class says.
TEST(Wrappers, TheListIsThatOfTheClasses) {
  std::set<std::string> listed, classes;
  for (const Wrapper& wrapper : wrappers())
    for (const std::string_view type : wrapper.types)
      EXPECT_TRUE(listed.insert(std::string(type)).second) << type << " stands twice";
  for (const auto& [type, inner] : recorded_classes().at("wrappers").items()) {
    classes.insert(type);
    const LanguagePart part = language_part(Config::parse(Json{{"model_type", type}}.dump(), "config.json"));
    EXPECT_EQ(part.type, inner[1]) << type;
    if (part.filled_in) {
      EXPECT_EQ(part.key, inner[0]) << type;
    }
  }
  EXPECT_EQ(listed, classes);
  for (const std::string& type : listed) EXPECT_EQ(find_family(type), nullptr) << type << " is a row, too";
}

// A comparison that takes the language model of another file, or another size, for the same is none.
TEST(Wrappers, AnotherFileDiffers) {
  std::set<std::string> told;
  for (const Json& larger : larger_models()) {
    const Json& small = small_model(larger);
    if (!known(small)) continue;
    if (!larger.at("file").is_null() && small.at("layers")[0].at("heads").is_array()) {
      Json other = small;
      other["layers"][0]["heads"][0] = 99;
      EXPECT_NE(difference(larger.at("file"), other), "") << larger.at("type");
      told.insert("heads");
    }
    for (const Json& want : larger.at("full"))
      for (const char* change : {"width", "layers", "longest", "kv_heads"}) {
        Json other = want;
        if (other.at(change).is_null() || (change == std::string("kv_heads") && !shares_keys(small)))
          continue;
        other[change] = other[change].get<std::int64_t>() + 7;
        EXPECT_NE(wrong_full(other, small), "") << larger.at("type") << change;
        told.insert(change);
      }
  }
  EXPECT_EQ(told.size(), 5u);
}

TEST(Wrappers, AnObjectWithinAnotherIsFound) {
  const auto part = [](const char* json) { return language_part(Config::parse(json, "config.json")); };
  const LanguagePart inner = part(
      R"({"model_type": "colpali", "vlm_config": {"model_type": "llava", "text_config": {"model_type": "qwen2", "hidden_size": 64}}})");
  EXPECT_EQ(inner.key, "vlm_config.text_config");
  EXPECT_EQ(inner.type, "qwen2");
  EXPECT_EQ(inner.named_by, "vlm_config.text_config.model_type");
  EXPECT_FALSE(inner.filled_in);
  EXPECT_EQ(part(R"({"model_type": "colqwen2", "vlm_config": {"hidden_size": 64}})").key, "vlm_config");
  EXPECT_EQ(part(R"({"model_type": "llava", "llm_config": {"model_type": "qwen3"}})").key, "llm_config");
  EXPECT_EQ(part(R"({"model_type": "own", "text_config": {"model_type": "gemma3", "hidden_size": 64}})").type,
            "gemma3_text");
  const LanguagePart guessed = part(R"({"model_type": "qwen2_5_omni", "text_config": {"hidden_size": 64}})");
  EXPECT_EQ(guessed.key, "text_config");
  EXPECT_EQ(guessed.type, "qwen2_5_omni_text");
  EXPECT_FALSE(guessed.filled_in);
  EXPECT_EQ(part(R"({"model_type": "llava", "text_config": true})").key, "");
  EXPECT_EQ(part(R"({"model_type": 3, "text_config": {"model_type": []}})").family, nullptr);
}

}  // namespace
}  // namespace gnomon
