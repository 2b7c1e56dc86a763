// What the classes of transformers 5.23 did with position when they ran (tests/golden/make_classes.py, make_wrappers.py), against what gnomon explains
// from the files that they wrote: with every key, without the keys that the class has by itself, and with none.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "gnomon/core/error.h"
#include "gnomon/core/file.h"
#include "gnomon/encodings/encoding.h"
#include "gnomon/models/resolve/family.h"
#include "gnomon/spec/scheme.h"
#include "tests/models/resolver_support.h"

namespace gnomon {
namespace {

const Json& recorded() {
  static const Json all = Json::parse(read_file(Path(GNOMON_TESTS) / "golden" / "classes.json"));
  return all;
}
std::int64_t tokens() { return recorded().at("tokens").get<std::int64_t>(); }
bool known(const Json& c) { return find_family(c.at("type").get<std::string>()) != nullptr; }

Shape one_head(const LayerPosition& layer) { return {layer.head_dim, 1, layer.head_dim, 1, layer.causal}; }

bool sees(const LayerPosition& layer, std::int64_t query, std::int64_t key) {
  if (layer.causal && key > query) return false;
  std::vector<double> places;
  for (std::int64_t t = 0; t < tokens(); ++t) places.push_back(double(t));
  for (const Named& named : layer.spec.attention) {
    const auto encoding = make_encoding(named, one_head(layer));
    const auto* mask = part<MaskPart>(*encoding);
    if (mask && !mask->sees(Scene{places, {}, {}, {}}, query, key)) return false;
  }
  return true;
}
std::int64_t first_seen(const LayerPosition& layer) {
  std::int64_t key = 0;
  while (!sees(layer, tokens() - 1, key)) ++key;
  return key;
}

// The stream of positions by which each pair turns: the one that moves its first channel.
std::string streams_of(const LayerPosition& layer, const Numbers& numbers) {
  std::string out;
  for (const Named& named : layer.spec.attention) {
    const auto encoding = make_encoding(named, one_head(layer));
    if (!part<TurnPart>(*encoding)) continue;
    for (std::size_t pair = 0; pair < numbers.inv_freq.size(); ++pair) {
      out.push_back('?');
      for (std::int64_t axis = 0; axis < 3; ++axis) {
        std::vector<double> places(3, 0.0), row(std::size_t(layer.head_dim), 0.0);
        places[std::size_t(axis)] = 64;
        const bool adjacent = numbers.pairing == Pairing::adjacent;
        const std::size_t channel = std::size_t(numbers.first) + pair * (adjacent ? 2 : 1);
        row[channel] = 1;
        part<MapPart>(*encoding)->map_row(Scene{Positions(places, 1, 3), {}, {}, {}}, Role::q, 0, 0, row);
        if (row[channel] != 1) out.back() = char('0' + axis);
      }
    }
  }
  return out;
}
bool moves_by_streams(const LayerPosition& layer) {
  return std::any_of(layer.spec.attention.begin(), layer.spec.attention.end(),
                     [](const Named& named) { return named.name.starts_with("mrope"); });
}
bool same_streams(const std::string& own, const std::string& want) {
  if (own.size() != want.size()) return false;
  for (std::size_t i = 0; i < want.size(); ++i)
    if (want[i] != '?' && want[i] != own[i]) return false;
  return true;
}

std::int64_t kept_per_token(const LayerPosition& layer) {
  if (layer.kept.elsewhere) return 0;
  if (layer.kept.latent) return layer.kept.latent;
  const std::int64_t values = layer.kept.shared ? 0 : layer.value_dim ? layer.value_dim : layer.head_dim;
  return layer.kv_heads * (layer.head_dim + values);
}

std::string wrong_rotation(const LayerPosition& layer, const Json& want) {
  const Numbers numbers = numbers_of(layer, double(tokens()));
  if (want.at("turned").is_null()) return numbers.inv_freq.empty() ? "" : "it turns";
  const bool halves = numbers.pairing == Pairing::halves || numbers.rotary_dim == 2;  // one pair is both
  const Json own = Json::array({numbers.first, numbers.rotary_dim, halves ? "halves" : "adjacent"});
  if (own != want.at("turned")) return text("channels ", own.dump(), ", not ", want.at("turned").dump());
  if (const auto wrong = difference(numbers, want.at("f"), tolerance(layer)); !wrong.empty()) return wrong;
  if (!want.contains("streams")) return {};
  if (want.at("streams") == "none") return moves_by_streams(layer) ? "it turns by streams" : "";
  const std::string streams = streams_of(layer, numbers);
  return same_streams(streams, want.at("streams")) ? "" : text("streams ", streams);
}

// The first difference of a layer from what the class did in it, in words; empty: none.
std::string difference(const LayerPosition& layer, const Json& want) {
  if (want.at("heads").is_null() || !layer.mixer.empty())
    return want.at("heads").is_null() == !layer.mixer.empty() ? "" : text("mixer '", layer.mixer, "'");
  const Json heads = Json::array({layer.heads, layer.kv_heads, layer.head_dim});
  if (heads != want.at("heads")) return text("heads ", heads.dump(), ", not ", want.at("heads").dump());
  if (first_seen(layer) != want.at("first"))
    return text("sees from ", first_seen(layer), " on, not ", want.at("first").dump());
  if (sees(layer, 0, tokens() - 1) != want.at("later")) return "sees later keys, or not";
  if (want.contains("scale")) {
    const double scale = (layer.scale == 0 ? 1 / std::sqrt(double(layer.head_dim)) : layer.scale) *
                         numbers_of(layer, double(tokens())).softmax_factor;
    if (!(std::abs(scale / want.at("scale").get<double>() - 1) <= 2e-7))
      return text("scale ", scale, ", not ", want.at("scale").dump());
  }
  if (want.contains("kept") && kept_per_token(layer) != want.at("kept"))
    return text("keeps ", kept_per_token(layer), " numbers of a token, not ", want.at("kept").dump());
  return wrong_rotation(layer, want);
}

// The attention that chooses keys for this layer.
std::string wrong_indexer(const Resolved& answer, std::int64_t number, const Json& want) {
  const auto own = std::find_if(answer.layers.begin(), answer.layers.end(), [&](const LayerPosition& layer) {
    return layer.number == number && layer.component == "indexer";
  });
  const bool there = own != answer.layers.end();
  if (there != want.contains("indexer")) return there ? "an indexer that is none" : "no indexer";
  if (!there) return {};
  const Json& indexer = want.at("indexer");
  const Json heads = Json::array({own->heads, own->kv_heads, own->head_dim});
  if (heads != indexer.at("heads")) return text("heads ", heads.dump(), " of the indexer");
  const std::string wrong = wrong_rotation(*own, indexer);
  return wrong.empty() ? "" : text("indexer: ", wrong);
}

std::string difference(const Resolved& answer, const Json& groups) {
  std::vector<const LayerPosition*> layers;
  for (const LayerPosition& layer : answer.layers)
    if (layer.component.empty()) layers.push_back(&layer);
  std::size_t count = 0;
  for (const Json& group : groups)
    for (const std::size_t l : group.at("layers").get<std::vector<std::size_t>>()) {
      if (l >= layers.size()) return text("no layer ", l);
      if (const auto wrong = difference(*layers[l], group); !wrong.empty())
        return text("layer ", l, ": ", wrong);
      if (const auto wrong = wrong_indexer(answer, layers[l]->number, group); !wrong.empty())
        return text("layer ", l, ": ", wrong);
      ++count;
    }
  return count == layers.size() ? "" : text(layers.size(), " layers, not ", count);
}
std::string difference(const Json& file, const Json& groups) {
  try {
    return difference(resolve(Config::parse(file.dump(), "config.json")), groups);
  } catch (const Error& error) {
    return text("refused: ", error.what());
  }
}

Json without_defaults(const Json& c) {
  Json file = c.at("config");
  for (const std::string key : c.at("defaults")) file.erase(key);
  return file;
}

TEST(Classes, EveryKnownTypeDoesWhatItsClassDoes) {
  int compared = 0;
  for (const Json& c : recorded().at("classes")) {
    if (!known(c)) continue;
    ++compared;
    EXPECT_EQ(difference(c.at("config"), c.at("layers")), "") << c.at("config").dump();
    EXPECT_EQ(difference(without_defaults(c), c.at("layers")), "") << without_defaults(c).dump();
  }
  std::cout << compared << " classes compared\n";
}

// The class of full size, of a file that names it and nothing else.
std::string wrong_bare(const Json& file, const Json& want) {
  const Resolved answer = resolve(Config::parse(file.dump(), "config.json"));
  if (answer.width != want.at("width")) return text("width ", answer.width);
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
  for (const Json& c : recorded().at("classes")) {
    if (!known(c) || c.at("bare").is_null()) continue;
    const Json file{{"model_type", c.at("type")}};
    EXPECT_EQ(wrong_bare(file, c.at("bare")), "") << file.dump() << " " << c.at("bare").dump();
  }
}

const Json& larger_models() {
  static const Json all = Json::parse(read_file(Path(GNOMON_TESTS) / "golden" / "wrappers.json"));
  return all;
}
const Json& small_model(const Json& larger) {
  const Json& all = recorded().at("classes");
  return *std::find_if(all.begin(), all.end(), [&](const Json& c) {
    return c.at("type") == larger.at("inner") && !c.contains("file");
  });
}

// As their classes write them; without the type of the language model and what its class has by itself; with its settings at the
// top level, where the class looks there.
TEST(Classes, LargerModelsKeepThemInAnObject) {
  int compared = 0;
  for (const Json& larger : larger_models()) {
    const Json& small = small_model(larger);
    if (!known(small)) continue;
    for (const char* file : {"file", "older", "flat"}) {
      if (larger.at(file).is_null()) continue;
      EXPECT_EQ(difference(larger.at(file), small.at("layers")), "") << file << " " << larger.at(file).dump();
      ++compared;
    }
  }
  EXPECT_GE(compared, 150);
}

// The key says how many heads of keys attention sees: not so of latent attention.
bool shares_keys(const Json& c) {
  const auto kv = c.at("config").find("num_key_value_heads");
  const Json& heads = c.at("layers")[0].at("heads");
  return kv != c.at("config").end() && heads.is_array() && heads[1] == *kv;
}

// A larger model whose file has no object for its language model is that of its class.
TEST(Classes, LargerModelsFillInWhatTheirFileLeavesOut) {
  for (const Json& larger : larger_models()) {
    const Json& want = larger.at("bare");
    if (want.is_null() || !known(small_model(larger))) continue;
    const Json file{{"model_type", larger.at("type")}};
    EXPECT_EQ(wrong_bare(file, want), "") << file.dump() << want.dump();
    const Resolved answer = resolve(Config::parse(file.dump(), "config.json"));
    if (shares_keys(small_model(larger))) {
      EXPECT_EQ(answer.layers.back().kv_heads, want.at("kv_heads")) << file.dump();
    }
    if (!want.at("longest").is_null() && !answer.input.input) {
      EXPECT_EQ(answer.longest, want.at("longest")) << file.dump();
    }
  }
}

// Types of transformers 5.23 with a class of text that gnomon has no row for. The list may only become shorter.
const std::set<std::string> kUnknown{"afmoe",
                                     "aimv2_text_model",
                                     "albert",
                                     "align_text_model",
                                     "altclip_text_model",
                                     "apertus",
                                     "arcee",
                                     "aria_text",
                                     "beam",
                                     "bert-generation",
                                     "big_bird",
                                     "biogpt",
                                     "bitnet",
                                     "blip_text_model",
                                     "blt",
                                     "bridgetower_text_model",
                                     "chameleon",
                                     "chinese_clip_text_model",
                                     "clap_text_model",
                                     "clip_text_model",
                                     "clipseg_text_model",
                                     "clvp_decoder",
                                     "clvp_encoder",
                                     "cohere",
                                     "cohere2",
                                     "cohere2_moe",
                                     "cohere_compass_text",
                                     "convbert",
                                     "cpmant",
                                     "csm",
                                     "csm_depth_decoder_model",
                                     "ctrl",
                                     "cwm",
                                     "data2vec-text",
                                     "dbrx",
                                     "deepseek_ocr2_text",
                                     "diffllama",
                                     "diffusion_gemma_text",
                                     "doge",
                                     "dots1",
                                     "embedding_gemma2_text",
                                     "emu3_text_model",
                                     "ernie",
                                     "ernie4_5",
                                     "ernie4_5_moe",
                                     "esm",
                                     "esmc",
                                     "eurobert",
                                     "exaone_moe",
                                     "flaubert",
                                     "flava_text_model",
                                     "flex_olmo",
                                     "flint",
                                     "fnet",
                                     "funnel",
                                     "gemma3n_text",
                                     "gemma4_unified_text",
                                     "git",
                                     "glm4_moe",
                                     "gpt-sw3",
                                     "gpt_bigcode",
                                     "gpt_neo",
                                     "gpt_neox_japanese",
                                     "gradium_phonon_tts",
                                     "granite4_vision_text",
                                     "granite_docling_text",
                                     "granitemoe",
                                     "granitemoeshared",
                                     "groupvit_text_model",
                                     "gte",
                                     "helium",
                                     "higgs_audio_v2",
                                     "hrm_text",
                                     "hy_v3",
                                     "hyperclovax",
                                     "ibert",
                                     "internlm3",
                                     "iquestcoder",
                                     "jais2",
                                     "jina_embeddings_v3",
                                     "kolibri1",
                                     "kosmos_2_5_text_model",
                                     "kosmos_2_text_model",
                                     "kyutai_speech_to_text",
                                     "laguna",
                                     "layoutlm",
                                     "longformer",
                                     "luke",
                                     "megatron-bert",
                                     "mellum",
                                     "metaclip_2_text_model",
                                     "minimax_m2",
                                     "minimax_m3_vl_text",
                                     "mllama_text_model",
                                     "mobilebert",
                                     "modernbert-decoder",
                                     "molmo2_text",
                                     "moshi",
                                     "mra",
                                     "muse_glimmer_text",
                                     "muse_spark_text",
                                     "musicgen_decoder",
                                     "musicgen_melody_decoder",
                                     "nanochat",
                                     "nemotron",
                                     "neomme",
                                     "nystromformer",
                                     "olmoe",
                                     "openai-gpt",
                                     "owlv2_text_model",
                                     "owlvit_text_model",
                                     "perceiver",
                                     "persimmon",
                                     "phi4_multimodal",
                                     "phimoe",
                                     "pix2struct_text_model",
                                     "pocket_tts",
                                     "qwen2_moe",
                                     "reformer",
                                     "rembert",
                                     "roberta-prelayernorm",
                                     "roc_bert",
                                     "roformer",
                                     "sam3_lite_text_text_model",
                                     "seed_oss",
                                     "siglip2_text_model",
                                     "siglip_text_model",
                                     "solar_open",
                                     "squeezebert",
                                     "starcoder2",
                                     "step3p5",
                                     "t5gemma2_text",
                                     "tapas",
                                     "tipsv2_text_model",
                                     "trocr",
                                     "ultrabert",
                                     "unlimited_ocr_text",
                                     "vaultgemma",
                                     "videoprism_text_model",
                                     "voxtral_realtime_text",
                                     "xclip_text_model",
                                     "xglm",
                                     "xlm",
                                     "xlm-roberta-xl",
                                     "xlnet",
                                     "xmod",
                                     "yoso",
                                     "youtu",
                                     "zaya"};
TEST(Classes, UnknownTypesStandInTheList) {
  std::set<std::string> unknown;
  for (const Json& c : recorded().at("classes"))
    if (!known(c)) unknown.insert(c.at("type"));
  for (const auto& [type, why] : recorded().at("unmade").items())
    if (!find_family(type)) unknown.insert(type);
  EXPECT_EQ(unknown, kUnknown);
}

// A comparison that takes the other pairs, another base, a wider window or other heads for the same is none.
TEST(Classes, AnotherConventionDiffers) {
  std::set<std::string> told;
  for (const Json& c : recorded().at("classes")) {
    if (!known(c) || !difference(c.at("config"), c.at("layers")).empty()) continue;
    for (const char* change : {"pairs", "frequency", "first", "heads", "kept", "scale", "later"}) {
      Json layers = c.at("layers");
      Json& last = layers.back();
      if (last.at("heads").is_null()) continue;
      const std::string what = change;
      if (what == "pairs" || what == "frequency") {
        if (last.at("turned").is_null() || last.at("turned")[1] == 2) continue;
        if (what == "pairs") last["turned"][2] = last["turned"][2] == "halves" ? "adjacent" : "halves";
        if (what == "frequency") last["f"]["f"].back() = last["f"]["f"].back().get<double>() * 1.001;
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
      EXPECT_NE(difference(c.at("config"), layers), "") << c.at("type").dump() << " " << change;
      told.insert(change);
    }
  }
  EXPECT_EQ(told.size(), 7u);
}

}  // namespace
}  // namespace gnomon
