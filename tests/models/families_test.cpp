// Files of real models (tests/golden/configs, each with its source) and the specs that they say, worked out by hand from the
// models' own documentation and code.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "gnomon/core/error.h"
#include "gnomon/models/resolve/numbers.h"
#include "gnomon/models/resolve/resolved.h"

namespace gnomon {
namespace {

Resolved read(const std::string& name, Reader reader = Reader::v5) {
  return resolve(Config::open(Path(GNOMON_TESTS) / "golden" / "configs" / (name + ".json")), reader);
}
std::string inside(const LayerPosition& layer) {
  const std::string all = layer.spec.print(), before = "add(none, scale=off)";
  return all == before ? "none" : all.substr(before.size() + 1);
}

struct Want {
  const char* file;
  const char* input;
  std::int64_t layer, head_dim;
  double scale;  // 0: 1/√head_dim
  const char* inside;
};
const std::string kNone = "add(none, scale=off)";
const std::string kLists = std::string("short=") + [] {
  std::string list = "1";
  for (int i = 1; i < 48; ++i) list += "/1";
  return list;
}() + ", long=" + [] {
  std::string list = "2";
  for (int i = 1; i < 48; ++i) list += "/2";
  return list;
}();

TEST(Families, RealFilesSayTheseSpecs) {
  const Want wants[] = {
      {"minilm", "add(learned(length=512), scale=off)", 0, 32, 0, "none"},
      {"roberta", "add(learned(length=512), scale=off)", 0, 64, 0, "none"},
      {"xlm-roberta", "add(learned(length=512), scale=off)", 23, 64, 0, "none"},
      {"mpnet", "add(learned(length=512), scale=off)", 0, 64, 0, "t5"},
      {"distilbert", "add(learned(length=512), scale=off)", 0, 64, 0, "none"},
      {"electra", "add(learned(length=512), scale=off)", 0, 64, 0, "none"},
      {"opt", "add(learned(length=2048), scale=off)", 0, 64, 0, "none"},
      {"gpt2", "add(learned(length=1024), scale=off)", 0, 64, 0, "none"},
      {"gptj", "", 0, 256, 0, "rope(pairing=adjacent, channels=64)"},
      {"pythia", "", 0, 64, 0, "rope(channels=16)"},
      {"llama2", "", 0, 128, 0, "rope"},
      {"llama3.1", "", 0, 128, 0, "llama3(original=8192)"},
      {"llama3.2", "", 0, 64, 0, "llama3(factor=32, original=8192)"},
      {"mistral", "", 0, 128, 0, "rope+window(size=4096)"},
      {"mistral0.3", "", 0, 128, 0, "rope(theta=1000000)"},
      {"ministral3", "", 0, 128, 0,
       "yarn(theta=1000000, factor=16, original=16384, mscale=1, mscale_all_dim=1)+log_n(rule=ministral3, "
       "floor=16384)"},
      {"qwen2", "", 23, 64, 0, "rope(theta=1000000)"},
      {"qwen2.5-yarn", "", 0, 128, 0, "yarn(theta=1000000, original=32768)"},
      {"qwen3", "", 0, 128, 0, "rope(theta=1000000)"},
      {"qwen2-vl", "", 0, 128, 0, "mrope(theta=1000000, sections=16/24/24)"},
      {"qwen3-vl", "", 0, 128, 0, "mrope_interleaved(theta=5000000, sections=24/20/20)"},
      {"phi3-4k", "", 0, 96, 0, "rope+window(size=2047)"},
      {"stablelm", "", 0, 64, 0, "rope(channels=16)"},
      {"glm4", "", 0, 128, 0, "rope(pairing=adjacent, channels=64)"},
      {"gemma2", "", 0, 128, 1.0 / 12, "rope+window(size=4096)"},
      {"gemma2", "", 1, 128, 1.0 / 12, "rope"},
      {"gemma3", "", 4, 256, 1.0 / 16, "rope+window(size=1024)"},
      {"gemma3", "", 5, 256, 1.0 / 16, "linear(theta=1000000, factor=8)"},
      {"gemma4", "", 4, 256, 1, "rope+window(size=512)"},
      {"gemma4", "", 5, 512, 1, "proportional(theta=1000000, share=0.25)"},
      {"smollm2", "", 0, 64, 0, "rope(theta=100000)"},
      {"smollm3", "", 2, 128, 0, "rope(theta=5000000)"},
      {"smollm3", "", 3, 128, 0, "none"},
      {"deepseek-v2-lite", "", 0, 192, 0,
       "yarn(pairing=adjacent, channels=64, side=trailing, factor=40, original=4096, mscale=0.707, "
       "mscale_all_dim=0.707, "
       "softmax_mscale=0.707)"},
      {"deepseek-v3", "", 60, 192, 0,
       "yarn(pairing=adjacent, channels=64, side=trailing, factor=40, original=4096, mscale=1, "
       "mscale_all_dim=1, "
       "softmax_mscale=1)"},
      {"deepseek-v3.2", "", 1, 128, 0,
       "yarn(channels=64, factor=40, original=4096, mscale=1, mscale_all_dim=1)"},
      {"deepseek-v4", "", 0, 512, 0,
       "rope_value(pairing=adjacent, channels=64, side=trailing)+window(size=128)"},
      {"deepseek-v4", "", 2, 512, 0,
       "yarn(theta=160000, pairing=adjacent, channels=64, side=trailing, factor=16, original=65536, "
       "attention_factor=1)"},
      {"gpt-oss", "", 0, 64, 0,
       "yarn(theta=150000, factor=32, original=4096, truncate=off)+window(size=128)"},
      {"gpt-oss", "", 1, 64, 0, "yarn(theta=150000, factor=32, original=4096, truncate=off)"},
      {"olmo2", "", 0, 128, 0, "rope(theta=500000)"},
      {"olmo3", "", 0, 128, 0, "rope(theta=500000)+window(size=4096)"},
      {"olmo3", "", 3, 128, 0,
       "yarn(theta=500000, factor=8, original=8192, attention_factor=1.2079441541679836)"},
      {"exaone4", "", 0, 128, 0, "llama3(theta=1000000, factor=16, original=8192)+window(size=4096)"},
      {"exaone4", "", 3, 128, 0, "none"},
      {"granite-swa", "", 0, 128, 0.0078125, "none"},
      {"granite-swa", "", 1, 128, 0.0078125, "rope+window(size=128)"},
      {"granite-swa", "", 3, 128, 0.0078125, "rope(theta=500000)+window(size=128)"},
      {"modernbert", "", 0, 64, 0, "rope(theta=160000)"},
      {"modernbert", "", 1, 64, 0, "rope+window(size=65)"},
      {"nomic-bert", "", 0, 64, 0, "rope(theta=1000)"},
      {"deberta", "", 0, 64, 0, "deberta(span=512, layers=own)"},
      {"deberta-v3", "", 0, 64, 0, "deberta_v2(buckets=256, distance=512)"},
      {"t5", "", 0, 64, 0, "t5(scale=off)"},
      {"bloom", "", 0, 64, 0, "alibi"},
      {"mpt", "", 0, 128, 0, "alibi"},
      {"falcon-7b", "", 0, 64, 0, "rope"},
      {"falcon-rw", "", 0, 64, 0, "alibi(scaled=on)"},
      {"baichuan-13b", "", 0, 128, 0, "alibi"},
      {"jina-v2", "", 0, 64, 0, "alibi"},
      {"inkling", "", 0, 128, 1.0 / 128, "content_profile(extent=512)+window(size=512)"},
      {"inkling", "", 5, 128, 1.0 / 128,
       "content_profile(scale=0.1, floor=128000)+log_n(rule=inkling, floor=128000)"},
      {"hunyuan", "", 0, 128, 0, "ntk(factor=1000)"},
  };
  std::set<std::string> seen;
  for (const Want& want : wants) {
    const Resolved answer = read(want.file);
    const LayerPosition& layer = answer.layers.at(std::size_t(want.layer));
    EXPECT_TRUE(answer.known) << want.file;
    EXPECT_EQ(answer.input.print(), *want.input ? want.input : kNone) << want.file;
    EXPECT_EQ(inside(layer), want.inside) << want.file << ", layer " << want.layer;
    EXPECT_EQ(layer.head_dim, want.head_dim) << want.file;
    EXPECT_NEAR(layer.scale, want.scale, 1e-12) << want.file;
    seen.insert(want.file);
  }
  // Those with lists, and those that other tests are about.
  EXPECT_EQ(inside(read("phi4-mini").layers[0]),
            "longrope(channels=96, " + kLists + ", factor=32, original=4096)+window(size=262144)");
  seen.insert({"phi4-mini", "llama4", "byt5"});
  std::set<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(Path(GNOMON_TESTS) / "golden" / "configs"))
    files.insert(entry.path().stem().string());
  EXPECT_EQ(seen, files);
}

// Of an unknown family that says parts and no share: their pairs, and no more. A share that is said wins.
TEST(Families, PartsOfAnUnknownFamilySayWhatTurns) {
  const auto spec = [](const std::string& more) {
    const std::string json =
        R"({"model_type": "no_such", "hidden_size": 96, "num_attention_heads": 4, "num_hidden_layers": 1, "head_dim": 24,
            "max_position_embeddings": 64, "rope_parameters": {"rope_type": "default", "rope_theta": 5000, )" +
        more + "}}";
    return inside(resolve(Config::parse(json, "config.json")).layers[0]);
  };
  EXPECT_EQ(spec(R"("mrope_section": [2, 2, 1])"), "rope(theta=5000, channels=10)");
  EXPECT_EQ(spec(R"("mrope_section": [2, 2, 1], "partial_rotary_factor": 0.5)"),
            "rope(theta=5000, channels=12)");
  EXPECT_EQ(spec(R"("mrope_section": [6, 4, 2])"), "rope(theta=5000)");
  EXPECT_EQ(spec(R"("mrope_section": [60, 4, 2])"), "rope(theta=5000)") << "more than the head has";
}

TEST(Families, EveryNumberHasAReason) {
  for (const auto& entry : std::filesystem::directory_iterator(Path(GNOMON_TESTS) / "golden" / "configs")) {
    const Config config = Config::open(entry.path());
    const Resolved answer = resolve(config);
    for (const LayerPosition& layer : answer.layers) {
      EXPECT_FALSE(layer.because.empty()) << entry.path();
      for (const Because& b : layer.because) {
        EXPECT_FALSE(b.rule.empty()) << entry.path() << ", " << b.what;
        EXPECT_FALSE(b.value.empty()) << entry.path() << ", " << b.what;
      }
    }
  }
}

TEST(Families, Llama4AlternatesChunksAndLayersWithoutPosition) {
  const Resolved answer = read("llama4");
  EXPECT_EQ(inside(answer.layers[0]), "rope(theta=500000, pairing=adjacent)+chunk(size=8192)");
  EXPECT_EQ(inside(answer.layers[3]), "log_n(rule=llama4)");
}

TEST(Families, EncoderAndDecoderOfT5) {
  const Resolved answer = read("byt5");
  ASSERT_EQ(answer.layers.size(), 16u);
  EXPECT_EQ(answer.layers[11].component, "encoder");
  EXPECT_FALSE(answer.layers[11].causal);
  EXPECT_EQ(answer.layers[12].component, "decoder");
  EXPECT_TRUE(answer.layers[12].causal);
  EXPECT_EQ(answer.layers[12].number, 0);
  EXPECT_NEAR(numbers_of(answer.layers[0], 1).softmax_factor, 8, 1e-12);  // √64: T5 does not divide by it
}

// LED's encoder has a longer table than its decoder, and a window that the decoder has not.
TEST(Families, EncoderAndDecoderOfLedDifferInRowsAndWindows) {
  const Resolved led =
      resolve(Config::parse(R"({"model_type": "led", "encoder_layers": 2, "decoder_layers": 1})", "led"));
  EXPECT_EQ(led.input.print(), "add(learned(length=1024), scale=off)");
  EXPECT_EQ(led.longest, 1024);
  EXPECT_EQ(led.encoder_longest, 16384);
  ASSERT_EQ(led.layers.size(), 3u);
  EXPECT_EQ(led.layers[0].spec.print(), "add(none, scale=off)+window(size=257)");
  EXPECT_EQ(led.layers[2].spec.print(), "add(none, scale=off)");
  EXPECT_TRUE(!led.causal && !led.layers[1].causal && led.layers[2].causal);
  EXPECT_EQ(led.layers[2].component, "decoder");
}
// Each stack of these is a model of its own, of the type that its object names, or of the class's.
TEST(Families, StacksInObjects) {
  const auto of = [](std::string_view encoder, std::string_view decoder) {
    return resolve(
        Config::parse(text(R"({"model_type": "encoder-decoder", "encoder": {"model_type": ")", encoder,
                           R"("}, "decoder": {"model_type": ")", decoder, R"(", "is_decoder": true}})"),
                      "pair.json"));
  };
  const Resolved pair = of("bert", "gpt2");
  EXPECT_EQ(pair.longest, 1024);
  EXPECT_EQ(pair.encoder_longest, 512);
  EXPECT_EQ(pair.layers.size(), 24u);
  EXPECT_EQ(resolve(Config::parse(R"({"model_type": "encoder-decoder"})", "bare")).layers.back().causal,
            true);
  EXPECT_THROW(of("roberta", "gpt2"), Error);  // whose rows begin elsewhere
  EXPECT_THROW(of("bert", "llama"), Error);    // a table and none
  try {
    of("bert", "nobody-knows");
    FAIL();
  } catch (const WrongValue& error) {
    EXPECT_EQ(error.key(), "decoder.model_type");
  }
}

// TrOCR, Donut and Nougat keep it in an object, beside an encoder that reads images.
TEST(Families, ADecoderAlone) {
  for (const char* file :
       {R"({"model_type": "bart", "is_decoder": true})",
        R"({"model_type": "vision-encoder-decoder", "decoder": {"model_type": "bart"}})"}) {
    const Resolved answer = resolve(Config::parse(file, "decoder.json"));
    ASSERT_EQ(answer.layers.size(), 12u);
    EXPECT_TRUE(answer.causal && answer.layers[0].causal);
    EXPECT_EQ(answer.layers[0].component, "decoder");
    EXPECT_EQ(answer.table_first, 2);
    EXPECT_EQ(answer.encoder_longest, 0);
  }
}

TEST(Families, AllSlopesOfBloom) {
  const auto slopes = numbers_of(read("bloom").layers[0], 1).slopes;
  ASSERT_EQ(slopes.size(), 16u);
  for (std::size_t h = 0; h < 16; ++h) EXPECT_NEAR(slopes[h], std::pow(2.0, -0.5 * double(h + 1)), 1e-12);
}

// A class's attribute_map: the common name of a size wins over its own, and BLOOM's n_embed over both. What transformers 5.23
// makes of these: hidden_size 1024, 24 layers, 12 heads; n_embd 96, 6 heads; d_model 64, 4 heads.
TEST(Families, SizesUnderTheirOtherNames) {
  const auto of = [](std::string_view json) { return resolve(Config::parse(json, "config.json")); };
  const Resolved bloom = of(
      R"({"model_type": "bloom", "n_embed": 1024, "hidden_size": 512, "n_layer": 24, "num_attention_heads": 16, "n_head": 4})");
  EXPECT_EQ(bloom.width, 1024);
  EXPECT_EQ(bloom.layers.size(), 24u);
  EXPECT_EQ(bloom.layers[0].heads, 16);
  const Resolved gpt2 = of(
      R"({"model_type": "gpt2", "num_attention_heads": 6, "n_head": 3, "hidden_size": 96, "n_embd": 48, "max_position_embeddings": 77})");
  EXPECT_EQ(gpt2.width, 96);
  EXPECT_EQ(gpt2.layers[0].heads, 6);
  EXPECT_EQ(gpt2.longest, 77);
  const Resolved mpt =
      of(R"({"model_type": "mpt", "hidden_size": 64, "n_heads": 2, "num_attention_heads": 4})");
  EXPECT_EQ(mpt.width, 64);
  EXPECT_EQ(mpt.layers[0].heads, 4);
}

// Llama 3.1: 29 pairs as they were, 6 blended, 29 divided by 8 (huggingface/transformers, modeling_rope_utils.py).
TEST(Families, PairsOfLlama31) {
  const auto f = numbers_of(read("llama3.1").layers[0], 1).inv_freq;
  int kept = 0, divided = 0;
  for (std::size_t i = 0; i < f.size(); ++i) {
    const double plain = std::pow(500000.0, -2.0 * double(i) / 128);
    kept += f[i] == plain, divided += std::abs(f[i] * 8 / plain - 1) < 1e-12;
  }
  EXPECT_EQ(kept, 29);
  EXPECT_EQ(divided, 29);
  EXPECT_EQ(f.size(), 64u);
}

// The ends of YaRN's ramp: Qwen 2.5 23 and 40 whole pairs.
TEST(Families, RampOfQwen25) {
  const auto f = numbers_of(read("qwen2.5-yarn").layers[0], 1).inv_freq;
  int kept = 0, divided = 0;
  for (std::size_t i = 0; i < f.size(); ++i) {
    const double plain = std::pow(1e6, -2.0 * double(i) / 128);
    kept += std::abs(f[i] / plain - 1) < 1e-12, divided += std::abs(f[i] * 4 / plain - 1) < 1e-12;
  }
  EXPECT_EQ(kept, 24);     // pairs 0 to 23
  EXPECT_EQ(divided, 24);  // pairs 40 to 63
}

TEST(Families, LongRopeSwitchesBeyondTheOriginalLength) {
  const LayerPosition layer = read("phi4-mini").layers[0];
  EXPECT_EQ(numbers_of(layer, 4096).inv_freq[0], 1);
  EXPECT_EQ(numbers_of(layer, 4097).inv_freq[0], 0.5);
}

TEST(Families, ReadersDiffer) {
  // transformers 4 does not know rope_parameters.
  EXPECT_EQ(inside(read("nomic-bert", Reader::v4).layers[0]), "rope(theta=1000)");
  EXPECT_EQ(inside(read("ministral3", Reader::naive).layers[0]), "rope");
  EXPECT_EQ(inside(read("llama3.1", Reader::naive).layers[0]), "rope(theta=500000)");
  EXPECT_EQ(inside(read("pythia", Reader::naive).layers[0]), "rope");
  // vLLM does not look at attention_factor.
  EXPECT_EQ(inside(read("olmo3", Reader::vllm_24).layers[3]), "yarn(theta=500000, factor=8, original=8192)");
  EXPECT_EQ(inside(read("olmo3", Reader::vllm).layers[3]), inside(read("olmo3").layers[3]));
  EXPECT_THROW(read("llama2", Reader::llama_cpp), Error);
}

bool remarks(const std::string& json, const std::string& key, const std::string& says) {
  for (const Remark& r : resolve(Config::parse(json, "config.json")).remarks)
    if (r.key == key && r.says.find(says) != std::string::npos) return true;
  return false;
}
constexpr const char* kLlama =
    R"({"model_type": "llama", "hidden_size": 256, "num_attention_heads": 4, "num_hidden_layers": 2)";

TEST(Families, WhatNobodyReadsIsTold) {
  const std::string base = kLlama;
  EXPECT_TRUE(remarks(base + R"(, "rotary_dim": 32})", "rotary_dim", "no rule of this family"));
  EXPECT_TRUE(remarks(base + R"(, "rope_thetta": 5e5})", "rope_thetta", "did you mean rope_theta?"));
  EXPECT_TRUE(remarks(
      base + R"(, "rope_scaling": {"type": "yarn", "factor": 4, "original_max_position_embedding": 64}})",
      "rope_scaling.original_max_position_embedding", "did you mean original_max_position_embeddings?"));
  EXPECT_TRUE(remarks(
      base + R"(, "rope_parameters": {"rope_theta": 1e6}, "rope_scaling": {"type": "linear", "factor": 2}})",
      "rope_parameters", "replaces it as a whole"));
  EXPECT_TRUE(remarks(base + R"(, "partial_rotary_factor": 0.5})", "partial_rotary_factor",
                      "rotates the whole head"));
  EXPECT_TRUE(remarks(R"({"model_type": "llava", "rope_theta": 5, "text_config": {"model_type": "llama"}})",
                      "rope_theta", "text_config"));
  EXPECT_TRUE(remarks(R"({"model_type": "bert", "position_embedding_type": "relative_key"})",
                      "position_embedding_type", "transformers 5"));
  EXPECT_TRUE(resolve(Config::parse(base + "}", "config.json")).remarks.empty());
}

TEST(Families, AnUnknownFamilyIsSaidToBe) {
  const Resolved answer = resolve(Config::parse(
      R"({"model_type": "novel", "d_model": 256, "n_heads": 4, "n_layers": 2, "rope_theta": 7e4, "max_seq_len": 512})",
      "config.json"));
  EXPECT_FALSE(answer.known);
  EXPECT_EQ(answer.family, "novel");
  EXPECT_EQ(inside(answer.layers[1]), "rope(theta=70000)");
  EXPECT_FALSE(answer.remarks.empty());
}

// Strangers' values that cannot be: an error that names file and key, never a crash.
TEST(Families, WhatCannotBeIsRefused) {
  const std::string base = kLlama;
  for (const char* more :
       {R"(, "num_key_value_heads": -1})", R"(, "num_hidden_layers": 1e9})", R"(, "head_dim": "big"})",
        R"(, "rope_theta": 0})", R"(, "rope_theta": "x"})", R"(, "rope_scaling": 4})",
        R"(, "rope_scaling": {"type": "linear", "factor": 0.5}})", R"(, "rope_scaling": {"type": 7}})",
        R"(, "rope_scaling": {"type": "yarn", "factor": 1e9}})", R"(, "head_dim": 63})",
        R"(, "rope_scaling": {"type": "longrope", "short_factor": [1], "long_factor": [1, 2]}})"}) {
    const std::string json =
        (more[2] == '"' && std::string(more).find("num_hidden") != std::string::npos)
            ? R"({"model_type": "llama", "hidden_size": 256, "num_attention_heads": 4)" + std::string(more)
            : base + more;
    try {
      resolve(Config::parse(json, "config.json"));
      ADD_FAILURE() << json;
    } catch (const Error& error) {
      EXPECT_EQ(error.fault(), Fault::input) << error.what();
      EXPECT_NE(std::string(error.what()).find("config.json"), std::string::npos) << error.what();
    }
  }
  EXPECT_THROW(resolve(Config::parse("[]", "config.json")), Error);
  EXPECT_THROW(resolve(Config::parse("{}", "config.json")), Error);
}

}  // namespace
}  // namespace gnomon
