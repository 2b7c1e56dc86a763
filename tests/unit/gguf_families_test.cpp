// GGUF files as llama.cpp reads them: files made here, key by key.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "gnomon/core/error.h"
#include "gnomon/families/numbers.h"
#include "gnomon/families/resolved.h"
#include "tests/unit/files.h"
#include "tests/unit/gguf_bytes.h"

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

TEST_F(GgufFamilies, AnUnknownArchitectureIsSaidToBe) {
  const Resolved answer = read(model("novel"));
  EXPECT_FALSE(answer.known);
  EXPECT_FALSE(answer.remarks.empty());
}

TEST_F(GgufFamilies, WhatCannotBeIsRefused) {
  EXPECT_THROW(read(GgufBytes("llama")), Error);
  EXPECT_THROW(read(model("llama").text("rope.scaling.type", "magic")), Error);
  EXPECT_THROW(resolve(Config::parse(R"({"model_type": "llama"})", "config.json"), Reader::llama_cpp), Error);
}

}  // namespace
}  // namespace gnomon
