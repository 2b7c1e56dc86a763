// What the towers of transformers 5.23 did with position when they ran (tests/golden/make_towers.py), against what gnomon explains from
// their files.
#include "gnomon/models/resolve/towers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <set>
#include <tuple>

#include "gnomon/core/error.h"
#include "gnomon/core/file.h"
#include "gnomon/core/text.h"
#include "gnomon/encodings/encoding.h"
#include "gnomon/models/explain/differences.h"
#include "gnomon/models/resolve/family.h"
#include "gnomon/models/resolve/numbers.h"
#include "gnomon/spec/scheme.h"
#include "tests/models/resolver_support.h"

namespace gnomon {
namespace {

const Json& recorded() {
  static const Json all = Json::parse(read_file(Path(GNOMON_TESTS) / "golden" / "towers.json"));
  return all;
}
Config file_of(const Json& json) { return Config::parse(json.dump(), "config.json"); }

// Angles of a pair for one row, for one column, at the first patch, and for one frame.
struct Angles {
  double row, column, origin, frame;
};
std::map<std::pair<std::int64_t, std::int64_t>, Angles> angles_of(const Tower& t, const Json& grid) {
  std::map<std::pair<std::int64_t, std::int64_t>, Angles> all;
  const bool from_one = t.coordinates.find("count from 1") != std::string::npos;
  for (const TurnedPair& pair : pairs_of(t.position)) {
    const std::string& axis = t.axes.at(std::size_t(pair.axis));
    const double patches = grid[axis == "row" ? 0 : 1];
    const double step = t.unit.empty() ? 1 : 2 / patches;
    const bool frame = axis == "time" || axis == "frame";
    const double first = frame ? 0 : !t.unit.empty() ? -1 + 1 / patches : from_one ? 1 : 0;
    const double angle = step * pair.frequency;
    all[{pair.low, pair.high}] = {axis == "row" ? angle : 0, axis == "column" ? angle : 0,
                                  first * pair.frequency, frame ? angle : 0};
  }
  return all;
}
bool same_angle(double a, double b) { return std::abs(std::remainder(a - b, 2 * std::numbers::pi)) <= 5e-6; }

std::string wrong_turns(const Tower& t, const Json& c) {
  if (!c.contains("pairs")) return pairs_of(t.position).empty() ? "" : "it turns";
  const auto own = angles_of(t, c.at("grid"));
  if (own.size() != c.at("pairs").size()) return text(own.size(), " pairs");
  for (const Json& pair : c.at("pairs")) {
    const auto at = own.find({pair[0], pair[1]});
    if (at == own.end()) return text("no pair ", pair.dump());
    const Angles& a = at->second;
    if (!same_angle(a.row, pair[2]) || !same_angle(a.column, pair[3]))
      return text("pair ", pair.dump(), ": ", a.row, " for a row, ", a.column, " for a column");
    if (!same_angle(a.origin, pair[4])) return text("pair ", pair.dump(), " begins at ", a.origin);
    if (!same_angle(a.frame, pair.size() > 5 ? pair[5].get<double>() : 0))
      return text("pair ", pair.dump(), ": ", a.frame, " for a frame");
  }
  return {};
}

std::string wrong_rows(const Tower& t, const Json& table) {
  if (t.rows != table.at("rows")) return text(t.rows, " rows");
  if (t.by_coordinates != table.contains("sum")) return "rows for columns and rows, or not";
  if (t.by_coordinates) return {};
  std::int64_t patches = 0, without = 0, others = 0, first = -1;
  for (std::size_t n = 0; n < table.at("of").size(); ++n) {
    const Json& row = table.at("of")[n];
    if (row.is_null()) {
      ++without;
      continue;
    }
    if (row == -1) return "rows of this size are resampled";
    if (row >= t.first && row < t.first + t.grid_rows * t.grid_columns) {
      if (first < 0) first = row;
      ++patches;
    } else {
      ++others;
    }
  }
  if (t.sound)
    return patches + others == t.rows && t.resized.empty() && table.at("other").at("plain") == "refused"
               ? ""
               : "frames";
  if (first != t.first || patches != t.grid_rows * t.grid_columns || others != t.beside ||
      without != t.without)
    return text(patches, " patches from row ", first, ", ", others, " others, ", without, " without");
  const Json& other = table.at("other");
  const Json plain = t.resized.empty() || t.asked ? Json("refused") : Json(t.resized);
  if (other.at("plain") != plain) return text("another size: ", plain.dump());
  return other.contains("asked") == t.asked && (!t.asked || other.at("asked") == t.resized)
             ? ""
             : "another size that is asked for";
}
std::string wrong_sines(const Tower& t, const Json& values) {
  const auto encoding = make_encoding(*t.input.input, {t.width, 1, t.width, 1, false});
  for (const Json& value : values) {
    const std::vector<double> place{value[0].get<double>()};
    const double own =
        part<InputPart>(*encoding)->input(Scene{place, {}, {}, {}}, 0, value[1].get<std::int64_t>());
    if (!(std::abs(own - value[2].get<double>()) <= 2e-6)) return text("frame ", value.dump(), ": ", own);
  }
  return {};
}

// Which layers turn, and whether some see a part of the image.
std::string wrong_layers(const Tower& t, const Json& c) {
  const bool windows = t.window.find("see a window") != std::string::npos;
  const Json parts = c.value("windows", Json::array({1}));
  if (windows != (std::max_element(parts.begin(), parts.end())->get<int>() > 1)) return "windows";
  if (t.mixers.empty()) return c.contains("turns") ? "layers that do not turn" : "";
  Json turns = Json::array();
  for (const std::string& mixer : t.mixers) turns.push_back(mixer.empty());
  return c.contains("turns") && c.at("turns") == turns ? "" : text("layers that turn: ", turns.dump());
}

// The first difference from what the class did, in words; empty: none.
std::string difference(const Tower& t, const Json& c) {
  if (!t.known) return "unknown";
  if (Json::array({t.position.heads, t.position.head_dim}) != c.at("heads"))
    return text(t.position.heads, " heads");
  if (t.position.kv_heads != c.value("kv_heads", t.position.heads))
    return text(t.position.kv_heads, " heads of keys");
  if (const auto wrong = wrong_turns(t, c); !wrong.empty()) return wrong;
  if (c.contains("still") && c.at("still") != t.without + (c.at("still") == 0 ? 0 : 1))
    return "tokens that do not turn";
  const bool by_weights = t.coordinates.find("learned angles") != std::string::npos;
  if (c.value("learned", 0) != (by_weights ? 1 : 0)) return "tokens that turn by a weight";
  if (const auto wrong = wrong_layers(t, c); !wrong.empty()) return wrong;
  if (!c.contains("table")) return t.rows == 0 ? "" : "a table";
  if (const auto wrong = wrong_rows(t, c.at("table")); !wrong.empty()) return wrong;
  const bool sines = t.input.input && t.input.input->name == "sinusoidal";
  if (sines != c.at("table").contains("sines")) return "rows that the class computes, or not";
  return sines ? wrong_sines(t, c.at("table").at("sines")) : "";
}
Tower tower_in(const Json& file) { return resolve_towers(file_of(file)).at(0); }

TEST(Towers, EveryKnownTowerDoesWhatItsClassDoes) {
  std::set<std::string> compared;
  for (const Json& c : recorded().at("towers")) {
    EXPECT_EQ(difference(tower_in(c.at("config")), c), "") << c.dump();
    compared.insert(c.at("type"));
  }
  for (const TowerRow& row : tower_rows())
    for (const std::string_view type : row.types)
      EXPECT_TRUE(compared.contains(std::string(type))) << type << " is not compared";
}

TEST(Towers, AFileThatSaysNothingIsTheClassOfFullSize) {
  for (const Json& c : recorded().at("towers")) {
    const Tower t = tower_in({{"model_type", c.at("type")}});
    const Json& want = c.at("bare");
    EXPECT_EQ(t.width, want.at("width")) << c.at("type");
    EXPECT_EQ(t.layers, want.at("layers")) << c.at("type");
    EXPECT_EQ(t.position.heads, want.at("heads")) << c.at("type");
    EXPECT_EQ(t.rows ? Json(t.rows) : Json(), want.at("rows")) << c.at("type");
  }
}

// Within a larger model, whose object names the tower, or does not.
TEST(Towers, LargerModelsHaveTheTowersOfTheirClasses) {
  std::set<std::string> classes, rows;
  for (const auto& [larger, parts] : recorded().at("within").items())
    for (const auto& [part, own] : parts.items()) {
      const Json& type = own[0];
      if (part.starts_with("vlm_config")) continue;  // the tower of the model that it keeps
      classes.insert(text(larger, " ", type.get<std::string>()));
      Json inside{{"depth", 3}};
      Json file{{"model_type", larger}};
      const Json::json_pointer where("/" + std::string(part.starts_with("thinker") ? "thinker_config/" : "") +
                                     part.substr(part.rfind('.') + 1));
      file[where] = inside;
      const auto towers = resolve_towers(file_of(file));
      ASSERT_EQ(towers.size(), 1u) << file.dump();
      EXPECT_EQ(towers[0].part, part);
      ASSERT_NE(find_tower(towers[0].type), nullptr) << file.dump();
      EXPECT_EQ(find_tower(towers[0].type), find_tower(type.get<std::string>())) << file.dump();
      EXPECT_EQ(towers[0].layers, 3) << file.dump();
      if (own[1].is_null()) continue;
      file[where]["model_type"] = "deit";  // which the class takes, or does not look at
      const auto named = resolve_towers(file_of(file));
      EXPECT_EQ(named.at(0).type == "deit", own[1].get<bool>()) << file.dump();
    }
  for (const TowerRow& row : tower_rows())
    for (const auto& list : {row.within, row.fixed})
      for (const std::string_view larger : list)
        EXPECT_TRUE(recorded().at("within").contains(std::string(larger))) << larger << " has no such tower";
}

// The encoder of TrOCR is a ViT, and a tower; that of two stacks of text is none.
TEST(Towers, AnEncoderThatReadsNoText) {
  const auto of = [](const std::string& type, const std::string& encoder) {
    return resolve(Config::parse(Json{{"model_type", type},
                                      {"encoder", {{"model_type", encoder}}},
                                      {"decoder", {{"model_type", "bert"}}}}
                                     .dump(),
                                 "config.json"));
  };
  const Resolved seen = of("vision-encoder-decoder", "vit");
  ASSERT_EQ(seen.towers.size(), 1u);
  EXPECT_EQ(seen.towers[0].part, "encoder");
  EXPECT_EQ(seen.towers[0].rows, 197);
  const Resolved unknown = of("vision-encoder-decoder", "donut-swin");
  ASSERT_EQ(unknown.towers.size(), 1u);
  EXPECT_FALSE(unknown.towers[0].known);
  EXPECT_TRUE(of("encoder-decoder", "bert").towers.empty());
}

TEST(Towers, StandBesideTheLanguageModel) {
  const Resolved answer = resolve(file_of(
      {{"model_type", "llava"},
       {"vision_config", {{"model_type", "clip_vision_model"}, {"image_size", 336}, {"patch_size", 14}}},
       {"audio_config", {{"model_type", "of_somebody"}}},
       {"text_config", {{"model_type", "llama"}}}}));
  EXPECT_FALSE(answer.tower_alone);
  EXPECT_EQ(answer.family, "llama");
  ASSERT_EQ(answer.towers.size(), 2u);
  EXPECT_EQ(answer.towers[0].rows, 577);
  EXPECT_EQ(answer.towers[0].input.print(), "add(learned(length=577), scale=off)");
  EXPECT_FALSE(answer.towers[1].known);
  EXPECT_TRUE(resolve(file_of({{"model_type", "llama"}})).towers.empty());
}

TEST(Towers, ATowerAloneIsExplained) {
  const Resolved answer = resolve(file_of({{"model_type", "siglip_vision_model"}}));
  EXPECT_TRUE(answer.known && answer.tower_alone);
  EXPECT_EQ(answer.layers.size(), 12u);
  EXPECT_EQ(answer.trained_length, 196);
  const Resolved mixed = resolve(file_of({{"model_type", "lfm3_vl_vision"}}));
  for (const LayerPosition& layer : mixed.layers)
    EXPECT_EQ(layer.mixer, layer.number < 2 || layer.number % 2 ? "conv" : "") << layer.number;
  EXPECT_THROW(resolve(file_of({{"model_type", "lfm3_vl_vision"}, {"layer_types", {"conv"}}})), Error);
  EXPECT_THROW(resolve(file_of({{"model_type", "vit"}}), Reader::vllm), Error);
  EXPECT_THROW(resolve(file_of({{"model_type", "vit"}, {"patch_size", 0}})), Error);
  EXPECT_THROW(resolve(file_of({{"model_type", "pixtral"}, {"head_dim", 64}, {"num_attention_heads", 512}})),
               Error);
}

// Step3p7VisionConfig and Dots3NoteVisionConfig take the keys of published files before their own.
TEST(Towers, KeysOfPublishedFilesAreRead) {
  const Tower step = tower_in(
      {{"model_type", "step3p5_vision"}, {"width", 768}, {"hidden_size", 1536}, {"layers", 5}, {"heads", 8}});
  EXPECT_EQ(std::tuple(step.width, step.layers, step.position.heads), std::tuple(768, 5, 8));
  const Tower dots =
      tower_in({{"model_type", "dots3_note_vision_encoder"}, {"embed_dim", 768}, {"num_heads", 6}});
  EXPECT_EQ(std::tuple(dots.width, dots.layers, dots.position.heads), std::tuple(768, 42, 6));
}

// GlmAsrEncoderConfig fills in what a dictionary leaves out, and takes its share before that of the top level.
TEST(Towers, AShareOfAHeadTurnsByFrames) {
  const auto turned = [](Json keys) {
    keys["model_type"] = "glmasr_encoder";
    return pairs_of(tower_in(keys).position).size();
  };
  EXPECT_EQ(turned({}), 16u);
  EXPECT_EQ(turned({{"rope_parameters", {{"rope_theta", 77}}}}), 16u);
  EXPECT_EQ(turned({{"partial_rotary_factor", 0.25}}), 8u);
  EXPECT_EQ(turned({{"partial_rotary_factor", 0.25}, {"rope_parameters", {{"partial_rotary_factor", 0.75}}}}),
            24u);
  EXPECT_THROW(turned({{"rope_scaling", {{"rope_type", "linear"}, {"factor", 2}}}}), Error);
  EXPECT_THROW(turned({{"partial_rotary_factor", 2}}), Error);
}

TEST(Towers, AFileSwitchesATableOff) {
  const Json file{{"model_type", "internvl_vision"}};
  EXPECT_EQ(tower_in(file).rows, 1025);
  Json without = file;
  without["use_absolute_position_embeddings"] = false;
  EXPECT_EQ(tower_in(without).rows, 0);
  EXPECT_EQ(tower_in(without).input.print(), "add(none, scale=off)");
}

// Those of transformers 5.23 that no class is run for; the list only gets shorter.
TEST(Towers, OthersAreNotKnown) {
  const Json& unknown = recorded().at("unknown");
  EXPECT_EQ(unknown.size(), 57u);
  for (const auto& [type, larger] : unknown.items()) {
    EXPECT_EQ(find_tower(type), nullptr) << type;
    EXPECT_FALSE(tower_in({{"model_type", "llava"}, {"vision_config", {{"model_type", type}}}}).known);
  }
}

// Whisper's decoder is the language model of its file.
TEST(Towers, TheDecoderOfWhisperHasItsOwnTable) {
  for (const Json& c : recorded().at("towers")) {
    if (!c.contains("decoder")) continue;
    const Json& want = c.at("decoder");
    const Resolved answer = resolve(file_of(c.at("config")));
    EXPECT_TRUE(answer.known && answer.causal && !answer.tower_alone);
    EXPECT_EQ(answer.layers.size(), want.at("layers"));
    EXPECT_EQ(Json::array({answer.layers[0].heads, answer.layers[0].head_dim}), want.at("heads"));
    EXPECT_EQ(answer.longest, want.at("rows"));
    EXPECT_EQ(answer.table_first, want.at("of")[0]);
    EXPECT_EQ(want.at("of").back(), answer.table_first + std::int64_t(want.at("of").size()) - 1);
    EXPECT_EQ(answer.towers.at(0).component, "encoder");
  }
}

// What cannot be read beside a language model is said, and the language model is explained.
TEST(Towers, AnImpossibleTowerIsSaid) {
  const Resolved answer = resolve(file_of({{"model_type", "qwen2_vl"},
                                           {"vision_config", {{"embed_dim", 60}}},
                                           {"text_config", {{"hidden_size", 8192}}}}));
  ASSERT_EQ(answer.towers.size(), 1u);
  EXPECT_FALSE(answer.towers[0].known);
  EXPECT_NE(answer.towers[0].wrong, "");
  EXPECT_EQ(answer.layers.size(), 80u);
}

// Another pairing, axis, base, place, row or interpolation is told apart.
Differences between(const Json& a, const Json& b) {
  return differences(explain(file_of(a), Reader::v5), explain(file_of(b), Reader::v5));
}
// `explain A B` tells what towers do differently, and of which object; a default that is spelled out is no difference.
TEST(Towers, OfTwoFilesAreCompared) {
  const Json llava{{"model_type", "llava"},
                   {"text_config", {{"model_type", "llama"}}},
                   {"vision_config", {{"model_type", "clip_vision_model"}, {"image_size", 336}}}};
  const Json pixtral{{"model_type", "llava"},
                     {"text_config", {{"model_type", "llama"}}},
                     {"vision_config", {{"model_type", "pixtral"}}}};
  const auto with = [](Json file, const char* key, const Json& value) {
    file["vision_config"][key] = value;
    return file;
  };
  const std::tuple<Json, Json, Quantity> cases[] = {
      {llava, with(llava, "image_size", 224), Quantity::position_vectors},
      {llava, with(llava, "patch_size", 14), Quantity::position_vectors},
      {llava, with(llava, "num_hidden_layers", 5), Quantity::layers},
      {llava, with(llava, "num_attention_heads", 4), Quantity::heads},
      {llava, pixtral, Quantity::rotation},
      {llava, with(llava, "model_type", "no_such_tower"), Quantity::tower},
      {pixtral, with(pixtral, "rope_theta", 5000), Quantity::frequencies},
  };
  for (const auto& [a, b, what] : cases) {
    EXPECT_TRUE(between(a, a).same()) << a;
    for (const Differences& d : {between(a, b), between(b, a)}) {
      const auto found = std::find_if(d.computed.begin(), d.computed.end(),
                                      [w = what](const Difference& one) { return one.what == w; });
      ASSERT_NE(found, d.computed.end()) << quantity_name(what) << b;
      EXPECT_EQ(found->component, "vision_config");
    }
  }
  EXPECT_FALSE(between(llava, with(llava, "model_type", "siglip_vision_model")).same());
  EXPECT_TRUE(between(llava, with(with(llava, "hidden_act", "gelu"), "layer_norm_eps", 1e-6)).same());
  EXPECT_TRUE(between(pixtral, with(pixtral, "rope_theta", 10000)).same());
  const Json exaone = with(llava, "model_type", "exaone4_5_vision");
  const Differences heads = between(exaone, with(exaone, "num_key_value_heads", 4));
  ASSERT_EQ(heads.computed.size(), 1u);
  EXPECT_EQ(heads.computed[0].what, Quantity::kv_heads);
}

TEST(Towers, AnotherConventionDiffers) {
  std::set<std::string> told;
  for (const Json& c : recorded().at("towers"))
    for (const std::string change : {"pair", "axis", "angle", "origin", "frame", "heads", "kv_heads",
                                     "windows", "turns", "learned", "rows", "of", "other", "sines"}) {
      Json other = c;
      if (c.contains("pairs")) {
        Json& pair = other["pairs"].front();
        if (change == "pair") pair[1] = pair[1].get<std::int64_t>() + 1;
        if (change == "axis") std::swap(pair[2], pair[3]);
        if (change == "angle") pair[2] = pair[2].get<double>() + 1e-3;
        if (change == "frame" && pair.size() > 5) pair[5] = pair[5].get<double>() + 1e-3;
        if (change == "origin") pair[4] = pair[4].get<double>() + 1e-3;
      }
      if (change == "heads") other["heads"][1] = 99;
      if (change == "turns" && c.contains("turns")) other["turns"][0] = !c.at("turns")[0].get<bool>();
      if (change == "windows") other["windows"] = c.contains("windows") ? Json{1, 1} : Json{1, 4};
      if (change == "kv_heads" || change == "learned") other[change] = 99;
      if (c.contains("table")) {
        Json& table = other["table"];
        if (change == "rows") table["rows"] = 1234;
        if (change == "of" && table.contains("of") && !table.contains("sines")) table["of"].back() = nullptr;
        if (change == "other" && table.contains("other")) table["other"]["plain"] = "in another way";
        if (change == "sines" && table.contains("sines")) table["sines"][3][2] = 0.25;
      }
      if (other == c) continue;
      EXPECT_NE(difference(tower_in(c.at("config")), other), "") << c.at("type") << " " << change;
      told.insert(change);
    }
  EXPECT_EQ(told.size(), 14u);
}

}  // namespace
}  // namespace gnomon
