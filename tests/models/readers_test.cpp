// What vLLM's versions make of the keys of YaRN, by formulas written from its rotary_embedding/__init__.py, yarn_scaling_rope.py
// and deepseek_scaling_rope.py of 0.24.0 and 0.33.0.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "gnomon/models/resolve/numbers.h"
#include "gnomon/models/resolve/resolved.h"

namespace gnomon {
namespace {

constexpr double kFactor = 6, kOriginal = 1536;

Resolved llama(const std::string& more, Reader reader) {
  const std::string file =
      R"({"model_type": "llama", "hidden_size": 640, "num_hidden_layers": 3, "num_attention_heads": 8,
          "max_position_embeddings": 9216, "rope_theta": 20000.0, "rope_scaling": {"rope_type": "yarn", "factor": 6.0,
          "original_max_position_embeddings": 1536)";
  return resolve(Config::parse(file + more + "}}", "config.json"), reader);
}
Resolved deepseek(const std::string& more, Reader reader) {
  const std::string file =
      R"({"model_type": "deepseek_v3", "hidden_size": 640, "num_hidden_layers": 2, "num_attention_heads": 4,
          "num_key_value_heads": 4, "qk_rope_head_dim": 32, "qk_nope_head_dim": 64, "max_position_embeddings": 9216,
          "rope_theta": 20000.0, "rope_scaling": {"rope_type": "yarn", "factor": 6.0,
          "original_max_position_embeddings": 1536)";
  return resolve(Config::parse(file + more + "}}", "config.json"), reader);
}
double temperature(const Resolved& model) { return numbers_of(model.layers[0], 1).attention_factor; }
double mscale(double m) { return 0.1 * m * std::log(kFactor) + 1; }

TEST(Readers, VllmsOlderYarnMultipliesByAttnFactor) {
  const std::string own = R"(, "attn_factor": 1.75)";
  EXPECT_NEAR(temperature(llama(own, Reader::vllm_24)), 1.75 * mscale(1), 1e-12);
  for (const Reader reader : {Reader::v5, Reader::vllm})
    EXPECT_NEAR(temperature(llama(own, reader)), mscale(1), 1e-12);
  const std::string off = R"(, "attn_factor": 1.75, "apply_yarn_scaling": false)";
  EXPECT_NEAR(temperature(llama(off, Reader::vllm_24)), 1.75, 1e-12);
  EXPECT_NEAR(temperature(llama(off, Reader::vllm)), mscale(1), 1e-12);
}

TEST(Readers, VllmsNewerYarnReadsAttentionFactorAndMscale) {
  const std::string said = R"(, "attention_factor": 1.31)",
                    pair = R"(, "mscale": 0.8, "mscale_all_dim": 0.3)";
  EXPECT_NEAR(temperature(llama(said, Reader::vllm)), 1.31, 1e-12);
  EXPECT_NEAR(temperature(llama(pair, Reader::vllm)), mscale(0.8) / mscale(0.3), 1e-12);
  for (const std::string& one : {said, pair}) {
    const Resolved older = llama(one, Reader::vllm_24);
    EXPECT_NEAR(temperature(older), mscale(1), 1e-12);
    EXPECT_FALSE(older.remarks.empty());
  }
}

// γ_i times extrapolation_factor, in the older one.
TEST(Readers, VllmsOlderYarnReadsExtrapolationFactor) {
  const std::string own = R"(, "extrapolation_factor": 0.35, "beta_fast": 24, "beta_slow": 2)";
  const auto found = numbers_of(llama(own, Reader::vllm_24).layers[0], 1).inv_freq;
  const auto newer = numbers_of(llama(own, Reader::vllm).layers[0], 1).inv_freq;
  const double R = 80, pi = std::acos(-1.);
  const auto pair_of = [&](double turns) {
    return R * std::log(kOriginal / (turns * 2 * pi)) / (2 * std::log(20000.));
  };
  const double low = std::max(std::floor(pair_of(24)), 0.), high = std::min(std::ceil(pair_of(2)), R - 1);
  ASSERT_EQ(found.size(), 40u);
  bool apart = false;
  for (int i = 0; i < 40; ++i) {
    const double w = std::pow(20000., -2 * i / R), ramp = std::clamp((i - low) / (high - low), 0., 1.);
    const auto mixed = [&](double own_share) { return w / kFactor * (1 - own_share) + w * own_share; };
    EXPECT_NEAR(found[std::size_t(i)], mixed(0.35 * (1 - ramp)), 1e-12 * w);
    EXPECT_NEAR(newer[std::size_t(i)], mixed(1 - ramp), 1e-12 * w);
    apart |= std::abs(found[std::size_t(i)] / newer[std::size_t(i)] - 1) > 0.1;
  }
  EXPECT_TRUE(apart);
}

// DeepSeek's class in vLLM: mscale is 1 and mscale_all_dim 0 where they are absent, and attention_factor is not read.
TEST(Readers, VllmsDeepSeekGoesByMscale) {
  for (const Reader reader : {Reader::vllm, Reader::vllm_24}) {
    EXPECT_NEAR(temperature(deepseek(R"(, "mscale": 0.6)", reader)), mscale(0.6), 1e-12);
    EXPECT_NEAR(temperature(deepseek(R"(, "attention_factor": 2.5)", reader)), mscale(1), 1e-12);
    EXPECT_NEAR(temperature(deepseek(R"(, "mscale": 0.6, "mscale_all_dim": 0.9)", reader)),
                mscale(0.6) / mscale(0.9), 1e-12);
    const Numbers n = numbers_of(deepseek(R"(, "mscale": 0.6, "mscale_all_dim": 0.9)", reader).layers[0], 1);
    EXPECT_NEAR(n.softmax_factor, std::pow(mscale(0.9), 2), 1e-12);
  }
  EXPECT_NEAR(temperature(deepseek(R"(, "attn_factor": 1.5)", Reader::vllm_24)), 1.5 * mscale(1), 1e-12);
  EXPECT_NEAR(temperature(deepseek(R"(, "attn_factor": 1.5)", Reader::vllm)), mscale(1), 1e-12);
  EXPECT_NEAR(temperature(deepseek(R"(, "mscale": 0.6)", Reader::v5)), mscale(1), 1e-12);  // both or neither
}

TEST(Readers, EachHasANameATitleAndAVersion) {
  std::set<std::string_view> names, titles;
  for (std::size_t n = 0; n < reader_names().size(); ++n) {
    const Reader reader = Reader(n);
    names.insert(reader_names()[n]), titles.insert(reader_title(reader));
    const std::string_view version = reader_version(reader), first = version.substr(0, version.find('.', 2));
    EXPECT_NE(reader_title(reader).find(first), std::string_view::npos) << reader_title(reader);
  }
  EXPECT_EQ(names.size(), reader_names().size());
  EXPECT_EQ(titles.size(), reader_names().size());
}

}  // namespace
}  // namespace gnomon
