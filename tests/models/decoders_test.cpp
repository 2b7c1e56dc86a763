// Keys of decoders with other values than the one file of each in classes.json, worked out by hand from the classes of transformers 5.23.
#include <gtest/gtest.h>

#include "gnomon/core/error.h"
#include "gnomon/models/resolve/numbers.h"
#include "gnomon/models/resolve/resolved.h"

namespace gnomon {
namespace {

Resolved read(const std::string& members) {
  return resolve(Config::parse("{" + members + "}", "config.json"));
}
std::string inside(const LayerPosition& layer) {
  const std::string all = layer.spec.print(), before = "add(none, scale=off)";
  return !layer.mixer.empty() ? layer.mixer : all == before ? "none" : all.substr(before.size() + 1);
}
std::string layer(const std::string& members, std::size_t number) {
  return inside(read(members).layers.at(number));
}
// Of a window that is named, a letter for each layer: w a window and RoPE, r RoPE alone, n neither.
std::string letters(const std::string& members) {
  std::string all;
  for (const LayerPosition& l : read(members).layers) {
    const std::string spec = inside(l);
    all.push_back(spec.find("window") != spec.npos ? 'w' : spec == "none" ? 'n' : 'r');
  }
  return all;
}

TEST(Decoders, StepHasBasesAndSharesOfEachLayer) {
  const std::string lists = R"("model_type": "step3p5", "num_hidden_layers": 3, "num_nextn_predict_layers": 1,
    "layer_types": ["full_attention", "sliding_attention", "full_attention", "sliding_attention"], "sliding_window": 512,
    "rope_theta": [5000000, 10000, 1, 1], "partial_rotary_factors": [0.5, 1, 1, 1], "num_attention_groups": 4,
    "attention_other_setting": {"num_attention_heads": 96},
    "rope_scaling": {"rope_type": "llama3", "factor": 2, "original_max_position_embeddings": 131072, "low_freq_factor": 1,
                     "high_freq_factor": 32})";
  const Resolved answer = read(lists);
  const std::string full =
      "llama3(theta=5000000, channels=64, factor=2, original=131072, high=32)";  // the third is as the first
  EXPECT_EQ(inside(answer.layers[0]), full);
  EXPECT_EQ(inside(answer.layers[1]), "rope+window(size=512)");
  EXPECT_EQ(inside(answer.layers[2]), full);
  EXPECT_EQ(answer.layers[0].heads, 64);
  EXPECT_EQ(answer.layers[1].heads, 96);
  EXPECT_EQ(answer.layers[1].kv_heads, 4);
}

TEST(Decoders, StepsOneBaseIsThatOfAll) {
  const std::string one =
      R"("model_type": "step3p5", "num_hidden_layers": 2, "sliding_window": 8, "rope_theta": 500,
    "layer_types": ["full_attention", "sliding_attention"])";
  EXPECT_EQ(layer(one, 0), "rope(theta=500)");
  EXPECT_EQ(layer(one, 1), "rope(theta=500)+window(size=8)");
}

TEST(Decoders, CommandAsDenseLayersTurn) {
  const std::string file =
      R"("model_type": "cohere2_moe", "num_hidden_layers": 7, "sliding_window": 8, "first_k_dense_replace": 2)";
  EXPECT_EQ(letters(file), "rrwwwnw");  // the pattern begins after them
  EXPECT_EQ(letters(file + R"(, "prefix_dense_sliding_window_pattern": 2)"), "wnwwwnw");
  EXPECT_EQ(
      letters(file +
              R"(, "mlp_layer_types": ["sparse", "dense", "dense", "sparse", "sparse", "dense", "dense"])"),
      "nrwwwrw");
}

TEST(Decoders, HrmCountsTheLayersOfOneStack) {
  EXPECT_EQ(read(R"("model_type": "hrm_text", "num_hidden_layers": 4)").layers.size(), 32u);
  EXPECT_EQ(
      read(R"("model_type": "hrm_text", "num_hidden_layers": 4, "H_cycles": 3, "L_cycles": 1)").layers.size(),
      24u);
  EXPECT_EQ(
      read(R"("model_type": "hrm_text", "num_hidden_layers": 32, "num_layers_per_stack": 4)").layers.size(),
      32u);
  EXPECT_THROW(
      read(R"("model_type": "hrm_text", "num_hidden_layers": 4096, "H_cycles": 4096, "L_cycles": 4096)"),
      Error);
}

TEST(Decoders, Molmo2ScalesTheListedLayers) {
  const std::string file = R"("model_type": "molmo2_text", "num_hidden_layers": 2, "rope_scaling_layers": [1],
    "rope_parameters": {"rope_type": "linear", "factor": 4, "rope_theta": 500, "partial_rotary_factor": 0.5})";
  EXPECT_EQ(layer(file, 0), "rope(theta=500)");
  EXPECT_EQ(layer(file, 1).substr(0, 6), "linear");
}

TEST(Decoders, MiniMaxTurnsSoManyChannels) {
  const std::string file = R"("model_type": "minimax_m2", "num_hidden_layers": 1, "rotary_dim": 64)";
  EXPECT_EQ(layer(file, 0), "rope(theta=5000000, channels=64)");
  EXPECT_EQ(layer(file + R"(, "partial_rotary_factor": 0.25)", 0), "rope(theta=5000000, channels=32)");
}

TEST(Decoders, MiniMaxM3ChoosesKeysInSparseLayers) {
  const Resolved answer = read(R"("model_type": "minimax_m3_vl_text", "num_hidden_layers": 3,
    "sparse_attention_config": {"sparse_attention_freq": [0, 1, 1]})");
  ASSERT_EQ(answer.layers.size(), 5u);
  EXPECT_EQ(answer.layers[1].number, 1);
  EXPECT_EQ(answer.layers[2].component, "indexer");
  EXPECT_EQ(answer.layers[2].heads, 4);
  EXPECT_EQ(inside(answer.layers[2]), "rope(theta=5000000)");
}

TEST(Decoders, PhisMixtureNeverTakesTheLongList) {
  const std::string file =
      R"("model_type": "phimoe", "num_hidden_layers": 1, "hidden_size": 8, "num_attention_heads": 2,
    "num_key_value_heads": 2, "rope_scaling": {"type": "longrope", "short_factor": [1, 2], "long_factor": [3, 4],
    "short_mscale": 1.25, "long_mscale": 1.25, "original_max_position_embeddings": 4096})";
  const Resolved answer = read(file);
  const auto short_one = numbers_of(answer.layers[0], 10), long_one = numbers_of(answer.layers[0], 100000);
  EXPECT_EQ(short_one.inv_freq, long_one.inv_freq);
  EXPECT_DOUBLE_EQ(long_one.attention_factor, 1.25);
}

TEST(Decoders, MuseLeavesOutThePositionFromTheLastLayerOn) {
  const std::string muse =
      R"("model_type": "muse_glimmer_text", "num_hidden_layers": 6, "sliding_window": 8)";
  EXPECT_EQ(letters(muse), "wnwwwn");
  EXPECT_EQ(letters(muse + R"(, "layer_rope_theta": [0, 9, 9, 9, 9, 9])").substr(1), "rwwwr");
  // Which layers turn is no matter of their kind, and the base is that of all.
  const std::string kinds = muse + R"(, "rope_theta": 500, "layer_rope_theta": [9, 9, 9, 9, 9, 0],
    "layer_types": ["full_attention", "full_attention", "full_attention", "full_attention", "full_attention",
                    "sliding_attention"])";
  EXPECT_EQ(layer(kinds, 0), "rope(theta=500)");
  EXPECT_EQ(layer(kinds, 5), "window(size=8)");
}

TEST(Decoders, MllamasListedLayersSeeImages) {
  const std::string file = R"("model_type": "mllama_text_model", "num_hidden_layers": 3)";
  EXPECT_EQ(layer(file + R"(, "cross_attention_layers": [0, 2])", 0), "cross_attention");
  EXPECT_EQ(layer(file + R"(, "cross_attention_layers": [0, 2])", 1), "rope(theta=500000)");
}

TEST(Decoders, Qwen2sMixtureHasWindowsInEverySecondLayer) {
  EXPECT_EQ(
      letters(
          R"("model_type": "qwen2_moe", "num_hidden_layers": 6, "max_window_layers": 4, "use_sliding_window": true)"),
      "wrwrrr");
  EXPECT_EQ(letters(R"("model_type": "dots1", "num_hidden_layers": 3, "max_window_layers": 1)"), "rww");
}

TEST(Decoders, BeamsQueriesGrowWhereNothingTurns) {
  const std::string file = R"("model_type": "beam", "num_hidden_layers": 7)";
  EXPECT_EQ(layer(file, 0), "rope+window(size=512)");
  EXPECT_EQ(layer(file, 5), "log_n(rule=beam, floor=2048)");
  EXPECT_EQ(layer(file, 6), layer(file, 5));  // the last, whatever the pattern says
}

TEST(Decoders, NanoChatTurnsBackward) {
  const Resolved answer = read(R"("model_type": "nanochat", "num_hidden_layers": 1)");
  EXPECT_EQ(inside(answer.layers[0]), "rope(direction=backward)");
  EXPECT_TRUE(numbers_of(answer.layers[0], 10).backward);
  EXPECT_DOUBLE_EQ(numbers_of(answer.layers[0], 10).inv_freq.front(), 1);
  EXPECT_THROW(read(R"("model_type": "nanochat", "rope_scaling": {"rope_type": "linear", "factor": 2})"),
               Error);
}

}  // namespace
}  // namespace gnomon
