// GGUF files as llama.cpp reads them: files made here, key by key.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>

#include "gnomon/core/error.h"
#include "gnomon/models/explain/explain.h"
#include "gnomon/models/lint/context.h"
#include "gnomon/models/resolve/family.h"
#include "gnomon/models/resolve/gguf_architectures.h"
#include "gnomon/models/resolve/numbers.h"
#include "gnomon/models/resolve/resolved.h"
#include "tests/files/gguf_bytes.h"
#include "tests/support/files.h"

namespace gnomon {
namespace {

GgufBytes model(const std::string& arch) {
  GgufBytes g(arch);
  g.whole("block_count", 8).whole("embedding_length", 512).whole("context_length", 4096);
  return g.whole("attention.head_count", 8).whole("attention.head_count_kv", 4);
}

class GgufFamilies : public Files {
 protected:
  Resolved read(const GgufBytes& g) {
    const Path path = folder_ / "model.gguf";
    const std::string bytes = g.bytes();
    std::ofstream(path, std::ios::binary).write(bytes.data(), std::streamsize(bytes.size()));
    return resolve(Config::open(path));
  }
  std::string inside(const GgufBytes& g, std::size_t layer) {
    const std::string all = read(g).layers.at(layer).spec.print(), before = "add(none, scale=off)";
    return all == before ? "none" : all.substr(before.size() + 1);
  }
};

// The architecture fixes which channels form a pair (llama.cpp, llama_model_rope_type).
TEST_F(GgufFamilies, PairsFollowTheArchitecture) {
  EXPECT_EQ(inside(model("llama").number("rope.freq_base", 5e5f), 0), "rope(theta=500000, pairing=adjacent)");
  EXPECT_EQ(inside(model("qwen2").number("rope.freq_base", 1e6f), 0), "rope(theta=1000000)");
  EXPECT_EQ(inside(model("gptneox").whole("rope.dimension_count", 16), 0), "rope(channels=16)");
  EXPECT_EQ(inside(model("granite").number("attention.scale", 0.5f), 0), "rope(pairing=adjacent)");
  EXPECT_EQ(read(model("granite").number("attention.scale", 0.5f)).layers[0].scale, 0.5);
}

// llama.cpp runs what gnomon leaves out: a note, and no error. A file that cannot be is an error all the same.
TEST_F(GgufFamilies, AnArchitectureThatIsLeftOutIsNoFault) {
  const auto rules = [&](const GgufBytes& g) {
    const Path path = folder_ / "model.gguf";
    const std::string bytes = g.bytes();
    std::ofstream(path, std::ios::binary).write(bytes.data(), std::streamsize(bytes.size()));
    std::vector<std::string> ids;
    for (const LintResult& r : lint(LintContext(Config::open(path))))
      if (r.rule->severity == Severity::error || r.rule->id == "file-not-read") ids.emplace_back(r.rule->id);
    return ids;
  };
  for (const char* arch : {"mamba", "mamba2", "rwkv7", "deepseek4"})
    EXPECT_EQ(rules(model(arch)), std::vector<std::string>{"file-not-read"}) << arch;
  GgufBytes broken("llama");
  broken.whole("block_count", 0).whole("embedding_length", 512).whole("attention.head_count", 8);
  EXPECT_EQ(rules(broken), std::vector<std::string>{"file-refused"});
}

TEST_F(GgufFamilies, Scaling) {
  EXPECT_EQ(inside(model("llama").text("rope.scaling.type", "linear").number("rope.scaling.factor", 4), 0),
            "linear(pairing=adjacent)");
  EXPECT_EQ(inside(model("llama").number("rope.scaling.factor", 4), 0),
            "linear(pairing=adjacent)");  // no type: linear
  EXPECT_EQ(inside(model("llama").text("rope.scaling.type", "none").number("rope.scaling.factor", 4), 0),
            "rope(pairing=adjacent)");
  const auto yarn = model("qwen2")
                        .text("rope.scaling.type", "yarn")
                        .number("rope.scaling.factor", 4)
                        .whole("rope.scaling.original_context_length", 1024);
  EXPECT_EQ(inside(yarn, 0), "yarn(original=1024)");
  EXPECT_EQ(read(yarn).trained_length, 1024);
  EXPECT_NEAR(numbers_of(read(yarn).layers[0], 1).attention_factor, 0.1 * std::log(4.0) + 1, 1e-6);
}

// Llama 3's scaling is a tensor of divisors, one for each pair.
TEST_F(GgufFamilies, DivisorsOfThePairs) {
  std::vector<float> divisors(32, 1);
  divisors[31] = 8;
  const Resolved answer = read(model("llama").tensor("rope_freqs.weight", divisors));
  const Numbers n = numbers_of(answer.layers[0], 1);
  EXPECT_EQ(n.inv_freq[30], std::pow(10000.0, -60.0 / 64));
  EXPECT_EQ(n.inv_freq[31], std::pow(10000.0, -62.0 / 64) / 8);
  EXPECT_EQ(n.attention_factor, 1);
}

TEST_F(GgufFamilies, LayersOfGemma3) {
  const auto gemma = model("gemma3")
                         .number("rope.freq_base", 1e6f)
                         .whole("attention.sliding_window", 512)
                         .whole("attention.key_length", 64);
  EXPECT_EQ(inside(gemma, 0), "rope+window(size=512)");
  EXPECT_EQ(inside(gemma, 5), "rope(theta=1000000)");
}

TEST_F(GgufFamilies, WithoutRotation) {
  EXPECT_EQ(inside(model("bloom"), 0), "alibi");
  EXPECT_EQ(read(model("gpt2")).input.print(), "add(learned(length=4096), scale=off)");
  EXPECT_EQ(inside(model("smollm3"), 3), "none");
}

// src/models/gemma4.cpp: layers with a window have heads and channels of their own, a base of 10000, and no divisors.
TEST_F(GgufFamilies, Gemma4AsItsConverterWrites) {
  std::vector<float> divisors(24, 1e30f);
  std::fill(divisors.begin(), divisors.begin() + 6, 1.f);
  const auto gemma = model("gemma4")
                         .whole("attention.key_length", 48)
                         .whole("attention.value_length", 48)
                         .whole("attention.key_length_swa", 32)
                         .whole("attention.value_length_swa", 32)
                         .whole("attention.sliding_window", 96)
                         .flags("attention.sliding_window_pattern", {1, 1, 0, 1, 1, 1, 0, 0})
                         .number("rope.freq_base", 1e6f)
                         .whole("rope.dimension_count", 48)
                         .whole("rope.dimension_count_swa", 16)
                         .tensor("rope_freqs.weight", divisors);
  const Resolved answer = read(gemma);
  ASSERT_EQ(answer.layers.size(), 8u);
  for (const std::size_t full : {2u, 6u, 7u}) {
    EXPECT_EQ(answer.layers[full].head_dim, 48);
    const Numbers n = numbers_of(answer.layers[full], 1);
    ASSERT_EQ(n.inv_freq.size(), 24u);
    for (int c = 0; c < 24; ++c)
      EXPECT_NEAR(n.inv_freq[std::size_t(c)], c < 6 ? std::pow(1e6, -2 * c / 48.) : 0, 1e-12);
  }
  for (const std::size_t sliding : {0u, 1u, 3u, 4u, 5u}) {
    EXPECT_EQ(answer.layers[sliding].head_dim, 32);
    EXPECT_EQ(answer.layers[sliding].scale, 1);
    EXPECT_EQ(inside(gemma, sliding), "rope(channels=16)+window(size=96)");
  }
}

TEST_F(GgufFamilies, ValuesOfAnotherWidthAreSaid) {
  const auto mimo = model("mimo2")
                        .whole("attention.key_length", 192)
                        .whole("attention.value_length", 128)
                        .whole("attention.sliding_window", 64)
                        .flags("attention.sliding_window_pattern", {0, 1, 1, 1, 0, 1, 1, 1})
                        .number("rope.freq_base", 5e6f)
                        .whole("rope.dimension_count", 64);
  const Resolved answer = read(mimo);
  EXPECT_EQ(answer.layers[0].value_dim, 128);
  EXPECT_EQ(inside(mimo, 4), "rope(theta=5000000, channels=64)");
  EXPECT_EQ(inside(mimo, 5), "rope(channels=64)+window(size=64)");
}

// src/models/olmo2.cpp: with a window it is OLMo 3, every fourth layer sees everything, and only those are scaled.
TEST_F(GgufFamilies, Olmo3IsOlmo2WithAWindow) {
  const auto olmo = [] {
    return model("olmo2")
        .number("rope.freq_base", 5e5f)
        .text("rope.scaling.type", "yarn")
        .number("rope.scaling.factor", 8)
        .whole("rope.scaling.original_context_length", 512);
  };
  EXPECT_EQ(inside(olmo(), 0), "yarn(theta=500000, factor=8, original=512)");
  const auto three = olmo().whole("attention.sliding_window", 128);
  for (const std::size_t l : {0u, 1u, 2u, 4u, 5u, 6u})
    EXPECT_EQ(inside(three, l), "rope(theta=500000)+window(size=128)");
  for (const std::size_t l : {3u, 7u})
    EXPECT_EQ(inside(three, l), "yarn(theta=500000, factor=8, original=512)");
  // It reads rope.freq_base_swa, but its graph does not use it.
  EXPECT_EQ(inside(olmo().whole("attention.sliding_window", 128).number("rope.freq_base_swa", 2e4f), 1),
            "rope(theta=500000)+window(size=128)");
  EXPECT_EQ(inside(olmo().whole("attention.sliding_window", 0), 1), inside(olmo(), 1));
  EXPECT_EQ(
      inside(olmo().whole("attention.sliding_window", 64).whole("attention.sliding_window_pattern", 2), 1),
      inside(olmo(), 1));
}

// Converters write a number for each layer where they differ; a layer without heads of keys has no attention.
TEST_F(GgufFamilies, HeadsOfEachLayer) {
  GgufBytes g("llama");
  g.whole("block_count", 4).whole("embedding_length", 384).whole("context_length", 2048);
  const auto lists = GgufBytes(g)
                         .wholes("attention.head_count", {6, 6, 3, 6})
                         .wholes("attention.head_count_kv", {3, 2, 1, 6});
  const Resolved answer = read(lists);
  ASSERT_EQ(answer.layers.size(), 4u);
  const std::int64_t heads[] = {6, 6, 3, 6}, kv[] = {3, 2, 1, 6};
  for (std::size_t l = 0; l < 4; ++l) {
    EXPECT_EQ(answer.layers[l].heads, heads[l]);
    EXPECT_EQ(answer.layers[l].kv_heads, kv[l]);
    EXPECT_EQ(answer.layers[l].head_dim, 64);  // 384 / 6: of the first layer
  }
  const auto some = GgufBytes(g)
                        .wholes("attention.head_count", {6, 6, 6, 6})
                        .wholes("attention.head_count_kv", {0, 2, 0, 2});
  const Resolved two = read(some);
  ASSERT_EQ(two.layers.size(), 4u);
  for (std::size_t l = 0; l < 4; ++l) EXPECT_EQ(two.layers[l].mixer, l % 2 ? "" : "no_attention") << l;
  EXPECT_THROW(read(GgufBytes(g)
                        .wholes("attention.head_count", {6, 6, 6, 6})
                        .wholes("attention.head_count_kv", {0, 0, 0, 0})),
               Error);
  EXPECT_THROW(read(GgufBytes(g).wholes("attention.head_count", {6, 6, 6})), WrongValue);
}

// EXAONE 4 has windows in its model of 64 layers alone; those without position see everything.
TEST_F(GgufFamilies, WindowsOfSomeModelsOfAFamily) {
  EXPECT_EQ(inside(model("exaone4").whole("attention.sliding_window", 256), 1), "rope");
  GgufBytes large("exaone4");
  large.whole("block_count", 64).whole("embedding_length", 512).whole("context_length", 4096);
  large.whole("attention.head_count", 8).whole("attention.sliding_window", 256);
  EXPECT_EQ(inside(large, 2), "rope+window(size=256)");
  EXPECT_EQ(inside(large, 3), "none");
  const auto small = model("exaone4").whole("attention.sliding_window", 256);
  EXPECT_EQ(inside(small, 3), "rope");  // nor does a layer go without position then
  const std::string dropped = "gguf-window-unread";
  const auto told = [&](const GgufBytes& g) {
    std::string says;
    for (const Remark& remark : read(g).remarks)
      if (remark.rule == dropped) says += remark.key + ": " + remark.says;
    return says;
  };
  EXPECT_EQ(told(small),
            "exaone4.attention.sliding_window: llama.cpp ignores it for the architecture exaone4 unless the "
            "model has 64 layers: every layer sees all tokens");
  EXPECT_NE(told(GgufBytes(small).whole("attention.sliding_window_pattern", 4)).find("and attention"),
            std::string::npos);
  EXPECT_NE(told(model("phi3").whole("attention.sliding_window", 256)), "");
  for (const auto& silent : {large, model("exaone4"), model("exaone4").whole("attention.sliding_window", 0),
                             model("exaone4").whole("attention.sliding_window", 4096),
                             model("gemma2").whole("attention.sliding_window", 256),
                             model("llama4").whole("attention.sliding_window", 256),
                             model("someone").whole("attention.sliding_window", 256)})
    EXPECT_EQ(told(silent), "");
  GgufBytes wide("gemma3");  // 27B: 1/sqrt(width / heads), not of the head
  wide.whole("block_count", 62).whole("embedding_length", 1344).whole("context_length", 4096);
  wide.whole("attention.head_count", 8).whole("attention.key_length", 128);
  EXPECT_NEAR(read(wide).layers[0].scale, 1 / std::sqrt(168.), 1e-12);
}

// The multiplier is a tenth of mscale_all_dim for DeepSeek and mscale_all_dim itself for Mistral; others do not read it.
TEST_F(GgufFamilies, KeysOfYarnThatAnArchitectureReads) {
  const auto with = [](const std::string& arch) {
    return model(arch)
        .text("rope.scaling.type", "yarn")
        .number("rope.scaling.factor", 40)
        .whole("rope.scaling.original_context_length", 4096)
        .number("rope.scaling.yarn_log_multiplier", 0.0707f)
        .number("rope.scaling.yarn_beta_fast", 16);
  };
  const auto deepseek = with("deepseek2").whole("attention.key_length", 48).whole("rope.dimension_count", 16);
  const Numbers n = numbers_of(read(deepseek).layers[0], 1);
  EXPECT_NEAR(n.attention_factor, 1, 1e-9);
  EXPECT_NEAR(n.softmax_factor, std::pow(0.1 * 0.707 * std::log(40.) + 1, 2), 1e-6);
  const double mistral = numbers_of(read(with("mistral3")).layers[0], 1).attention_factor;
  EXPECT_NEAR(mistral, (0.1 * std::log(40.) + 1) / (0.1 * 0.0707 * std::log(40.) + 1), 1e-6);
  const Resolved qwen = read(with("qwen2"));
  EXPECT_NEAR(numbers_of(qwen.layers[0], 1).attention_factor, 0.1 * std::log(40.) + 1, 1e-9);
  EXPECT_EQ(inside(with("qwen2"), 0), "yarn(factor=40, original=4096)");
  EXPECT_EQ(qwen.remarks.size(), 2u);
}

TEST_F(GgufFamilies, ArchitecturesWithoutAFamily) {
  EXPECT_EQ(inside(model("command-r"), 0), "rope(pairing=adjacent)");
  EXPECT_EQ(inside(model("cohere2").whole("attention.sliding_window", 64), 2),
            "rope(pairing=adjacent)+window(size=64)");
  EXPECT_EQ(inside(model("cohere2").whole("attention.sliding_window", 64), 3), "none");
  EXPECT_EQ(inside(model("minimax-m2").whole("rope.dimension_count", 32), 0), "rope(channels=32)");
  const Resolved hybrid = read(model("qwen35").wholes("rope.dimension_sections", {12, 10, 10, 0}));
  ASSERT_EQ(hybrid.layers.size(), 8u);
  for (std::size_t l = 0; l < 8; ++l)
    EXPECT_EQ(hybrid.layers[l].mixer, l % 4 == 3 ? "" : "linear_attention") << l;
  EXPECT_EQ(hybrid.layers[3].spec.print(), "add(none, scale=off)+mrope_interleaved(sections=12/10/10)");
  EXPECT_TRUE(hybrid.known);  // compared with llama.cpp's own library (llama_cpp_test)
  EXPECT_THROW(read(model("mamba2")), WrongValue);
}

// One list: a row of families/ names what the list has, and nothing stands in it twice.
TEST(GgufArchitectures, AreOneListInOrder) {
  const auto all = gguf_architectures();
  for (std::size_t n = 1; n < all.size(); ++n) EXPECT_LT(all[n - 1].name, all[n].name);
  for (const Family& family : families())
    for (const std::string_view name : family.gguf) EXPECT_TRUE(find_gguf_architecture(name)) << name;
}

TEST_F(GgufFamilies, AnUnknownArchitectureIsSaidToBe) {
  const Resolved answer = read(model("novel"));
  EXPECT_FALSE(answer.known);
  EXPECT_FALSE(answer.remarks.empty());
}

// One vector for all heads is kept: 2 bytes for each of 40 channels, in 8 layers.
TEST_F(GgufFamilies, LatentAttentionKeepsOneVector) {
  const auto latent = model("glm-dsa")
                          .whole("attention.key_length", 40)
                          .whole("attention.key_length_mla", 48)
                          .whole("attention.value_length_mla", 32)
                          .whole("rope.dimension_count", 16);
  const Explanation e = explain(read(latent), "model.gguf", true);
  ASSERT_TRUE(e.cache);
  EXPECT_EQ(e.cache->per_token, 2 * 40 * 8);
  EXPECT_EQ(e.groups[0].position.head_dim, 48);
}

// Numbers that no converter writes: an error about the file, and neither memory nor time for them.
TEST_F(GgufFamilies, ImpossibleNumbersAreErrorsOfTheFile) {
  const auto fault = [&](const GgufBytes& g) {
    try {
      read(g);
      return std::string("read");
    } catch (const Error& error) {
      return std::string(error.fault() == Fault::input ? "input" : "another");
    }
  };
  const float endless = std::numeric_limits<float>::infinity(),
              none = std::numeric_limits<float>::quiet_NaN();
  for (const float x : {endless, none, -4.f}) {
    EXPECT_EQ(fault(model("llama").number("rope.scaling.factor", x)), "input") << x;
    EXPECT_EQ(fault(model("llama").number("rope.scaling.attn_factor", x)), "input") << x;
    EXPECT_EQ(fault(model("deepseek2-ocr").number("rope.scaling.factor", x)), "input") << x;
  }
  const auto wide = model("qwen2").whole("rope.dimension_count", 4'000'000'000u);
  EXPECT_EQ(fault(wide), "input");
  EXPECT_EQ(fault(GgufBytes(wide).number("rope.scaling.factor", 4).number("rope.scaling.attn_factor", 2)),
            "input");
  EXPECT_EQ(fault(model("qwen3vl").wholes("rope.dimension_sections",
                                          {4'000'000'000u, 4'000'000'000u, 4'000'000'000u})),
            "input");
}

TEST_F(GgufFamilies, WhatCannotBeIsRefused) {
  EXPECT_THROW(read(GgufBytes("llama")), Error);
  EXPECT_THROW(read(model("llama").text("rope.scaling.type", "magic")), Error);
  EXPECT_THROW(resolve(Config::parse(R"({"model_type": "llama"})", "config.json"), Reader::llama_cpp), Error);
}

}  // namespace
}  // namespace gnomon
