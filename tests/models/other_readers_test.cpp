// What vLLM, SGLang, mlx-lm and TGI make of the settings of RoPE, by their own code (tests/golden/make_readers.py and
// make_readers_tgi.py).
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "gnomon/core/error.h"
#include "gnomon/core/file.h"
#include "gnomon/core/text.h"
#include "gnomon/models/explain/explain.h"
#include "gnomon/models/resolve/numbers.h"
#include "gnomon/models/resolve/resolved.h"

namespace gnomon {
namespace {

using Json = nlohmann::ordered_json;

Json golden(const char* name) { return Json::parse(read_file(Path(GNOMON_TESTS) / "golden" / name)); }
const Json& recorded() {
  static const Json all = golden("readers.json");
  return all;
}
const Json& recorded_tgi() {
  static const Json all = golden("readers_tgi.json");
  return all;
}

// The first difference, in words; empty: none. Both compute in float32.
std::string difference(const Resolved& found, const Json& want) {
  const LayerPosition& layer = found.layers.back();
  for (const auto& [length, list] : want.at("at").items()) {
    const Numbers n = numbers_of(layer, std::stod(length));
    const auto frequencies = list.get<std::vector<double>>();
    std::vector<double> own = n.inv_freq;
    if (own.size() != frequencies.size()) return text(own.size(), " pairs, not ", frequencies.size());
    for (std::size_t pair = 0; pair < own.size(); ++pair)
      if (std::abs(own[pair] - frequencies[pair]) > 1e-5 * frequencies[pair] + 1e-12)
        return text("pair ", pair, " at ", length, ": ", own[pair], ", not ", frequencies[pair]);
    if (std::abs(n.attention_factor - want.at("factor").get<double>()) > 2e-6)
      return text("factor ", n.attention_factor, ", not ", want.at("factor").dump());
    const double scale = layer.scale == 0 ? 1 / std::sqrt(double(layer.head_dim)) : layer.scale;
    if (want.contains("scale") && std::abs(scale * n.softmax_factor - want.at("scale").get<double>()) > 1e-6)
      return text("scale ", scale * n.softmax_factor, ", not ", want.at("scale").dump());
    if (want.value("adjacent", false) != (n.pairing == Pairing::adjacent)) return "other pairs";
  }
  if (want.contains("windows"))
    for (const LayerPosition& one : found.layers) {
      std::int64_t window = 0;
      for (const Named& named : one.spec.attention)
        if (named.name == "window") window = std::int64_t(named.number("size"));
      if (window != want.at("windows")[std::size_t(one.number)].get<std::int64_t>())
        return text("layer ", one.number, " has a window of ", window);
    }
  if (found.table_rows != want.value("rows", std::int64_t{0}))
    return text(found.table_rows, " rows, not ", want.value("rows", 0));
  return {};
}
std::string difference(const Json& config, const std::string& reader, const Json& want) {
  const Config file = Config::parse(config.dump(), "config.json");
  try {
    const Resolved found = resolve(file, reader_named(reader, file));
    return want.is_string() ? "read, and not refused: " + want.get<std::string>() : difference(found, want);
  } catch (const Error& error) {
    return want.is_string() ? "" : text("refused: ", error.what());
  }
}

TEST(OtherReaders, ComputeWhatTheirOwnCodeComputes) {
  std::map<std::string, int> compared;
  for (const Json& c : recorded().at("cases"))
    for (const auto& [reader, want] : c.at("readings").items()) {
      EXPECT_EQ(difference(c.at("config"), reader, want), "") << c.at("name") << ", " << reader;
      ++compared[reader];
    }
  EXPECT_EQ(compared.size(), 4u);
  for (const auto& [reader, count] : compared) EXPECT_GE(count, 75) << reader;
}

TEST(OtherReaders, MlxReadsEachTypeByItsClass) {
  int compared = 0;
  for (const Json& c : recorded().at("models")) {
    EXPECT_EQ(difference(c.at("config"), "mlx", c.at("reading")), "") << c.at("name");
    ++compared;
  }
  EXPECT_GE(compared, 58);
}

TEST(OtherReaders, TgiReadsEachTypeByItsClass) {
  for (const auto& [kind, least] : {std::pair{"cases", 80}, {"models", 40}}) {
    int compared = 0;
    for (const Json& c : recorded_tgi().at(kind)) {
      EXPECT_EQ(difference(c.at("config"), "tgi", c.at("reading")), "") << c.at("name");
      ++compared;
    }
    EXPECT_GE(compared, least) << kind;
  }
}

// They differ among each other, and from transformers: each of them must be told from the others.
TEST(OtherReaders, AreToldApart) {
  std::map<std::string, int> told;
  for (const Json& c : recorded().at("cases"))
    for (const auto& [reader, want] : c.at("readings").items())
      for (const char* other : {"v5", "v4", "vllm", "vllm-0.24", "sglang", "mlx"})
        if (reader != other) told[reader + " " + other] += !difference(c.at("config"), other, want).empty();
  for (const Json& c : recorded_tgi().at("cases"))
    for (const char* other : {"v5", "v4", "vllm", "vllm-0.24", "sglang", "mlx"})
      told["tgi " + std::string(other)] += !difference(c.at("config"), other, c.at("reading")).empty();
  for (const auto& [pair, count] : told) EXPECT_GE(count, 3) << pair;
}

// is_causal false, by the sources that resolve.cpp names: of vLLM some classes, of SGLang one, of mlx-lm, TGI and version 4.57 none.
TEST(OtherReaders, SomeClassesObeyIsCausal) {
  const auto causal = [](std::string_view type, Reader reader) {
    const std::string file = text(R"({"model_type": ")", type, R"(", "is_causal": false})");
    return resolve(Config::parse(file, "config.json"), reader).layers.back().causal;
  };
  struct Obeys {
    std::string_view type;
    bool vllm, vllm_24, sglang;
  };
  for (const Obeys& o : std::initializer_list<Obeys>{{"llama", true, true, false},
                                                     {"mistral", true, true, false},
                                                     {"phi3", true, true, false},
                                                     {"qwen2", true, true, false},
                                                     {"qwen3", true, true, false},
                                                     {"qwen3_5_text", true, true, true},
                                                     {"gemma3_text", true, true, false},
                                                     {"deepseek_v3", true, false, false},
                                                     {"seed_oss", false, true, false},
                                                     {"qwen2_moe", false, false, false},
                                                     {"qwen3_moe", false, false, false},
                                                     {"olmo2", false, false, false},
                                                     {"granite", false, false, false}}) {
    EXPECT_FALSE(causal(o.type, Reader::v5)) << o.type;
    EXPECT_EQ(causal(o.type, Reader::vllm), !o.vllm) << o.type;
    EXPECT_EQ(causal(o.type, Reader::vllm_24), !o.vllm_24) << o.type;
    EXPECT_EQ(causal(o.type, Reader::sglang), !o.sglang) << o.type;
    EXPECT_TRUE(causal(o.type, Reader::v4)) << o.type;
  }
  for (const char* type : {"llama", "qwen2", "gemma2"})
    for (const Reader reader : {Reader::mlx, Reader::tgi}) EXPECT_TRUE(causal(type, reader)) << type;
}

// What they do with a table or a bias is not known, and not said to be the same.
TEST(OtherReaders, WhatDoesNotTurnIsRefused) {
  for (const char* type : {"bert", "t5", "bloom", "bart"})
    for (const Reader reader : {Reader::mlx, Reader::tgi})
      EXPECT_THROW(resolve(Config::parse(Json{{"model_type", type}}.dump(), "config.json"), reader), Error)
          << type;
}

}  // namespace
}  // namespace gnomon
