// What is told of a model's file, from answers of the resolver made by hand: groups, lengths, windows, the key cache; and what
// two files compute differently.
#include "gnomon/models/explain/explain.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numbers>

#include "gnomon/core/error.h"
#include "gnomon/models/explain/differences.h"
#include "gnomon/pages/explain.h"
#include "gnomon/pages/explain_words.h"

namespace gnomon {
namespace {

LayerPosition layer(const std::string& spec, std::int64_t heads = 8, std::int64_t head_dim = 64) {
  LayerPosition p;
  p.spec = Spec::parse("add(none, scale=off)" + (spec.empty() ? "" : "+" + spec));
  p.heads = heads, p.kv_heads = heads / 4, p.head_dim = head_dim;
  return p;
}

Resolved model(const std::vector<LayerPosition>& layers, std::int64_t trained = 1024,
               std::int64_t longest = 1024) {
  Resolved m;
  m.family = "made", m.known = true, m.width = 512, m.trained_length = trained, m.longest = longest;
  m.input = Spec::parse("add(none, scale=off)");
  m.layers = layers;
  std::map<std::string, std::int64_t> met;  // layers of each component
  for (LayerPosition& p : m.layers) p.number = met[p.component]++;
  m.causal = layers.empty() || layers.front().causal;
  return m;
}
Explanation explained(const std::vector<LayerPosition>& layers, std::int64_t trained = 1024,
                      std::int64_t longest = 1024) {
  return explain(model(layers, trained, longest), "made.json");
}

TEST(Explain, LayersThatDoTheSameAreAGroup) {
  const auto wide = layer("rope(theta=1e6)"), near = layer("rope+window(size=100)"), bare = layer("");
  const Explanation e = explained({near, near, wide, near, near, wide, bare});
  ASSERT_EQ(e.groups.size(), 3u);
  EXPECT_EQ(e.groups[0].layers, (std::vector<std::int64_t>{0, 1, 3, 4}));
  EXPECT_EQ(e.groups[1].layers, (std::vector<std::int64_t>{2, 5}));
  EXPECT_EQ(e.groups[2].layers, (std::vector<std::int64_t>{6}));
  EXPECT_EQ(e.groups[0].window, 100);
  EXPECT_EQ(e.groups[0].theta, 10000);
  EXPECT_EQ(e.groups[1].theta, 1e6);
  EXPECT_FALSE(e.groups[1].window || e.groups[2].window || e.groups[2].theta);
  EXPECT_EQ(e.groups[0].kind, "rotary");
  EXPECT_EQ(e.groups[2].kind, "none");
  const auto said = pages::explain_answers(e);
  EXPECT_EQ(said.back(), "Without a position encoding: layer 6.");
}

TEST(Explain, OneLayerTurnsAndSeveralTurn) {
  const auto wide = layer("rope(theta=1e6)"), near = layer("rope+window(size=100)"), biased = layer("alibi");
  const auto said = pages::explain_answers(explained({near, near, wide, biased}));
  ASSERT_EQ(said.size(), 4u);
  EXPECT_TRUE(said[1].starts_with("Layers 0, 1 rotate all ")) << said[1];
  EXPECT_TRUE(said[1].ends_with(", and see the last 100 tokens.")) << said[1];
  EXPECT_TRUE(said[2].starts_with("Layer 2 rotates all ")) << said[2];
  EXPECT_TRUE(said[3].starts_with("Layer 3 has alibi ")) << said[3];
  const auto alone = pages::explain_answers(explained({near}));
  EXPECT_TRUE(alone[1].starts_with("Its layer rotates all ")) << alone[1];
  EXPECT_TRUE(alone[1].ends_with(", and sees the last 100 tokens.")) << alone[1];
}

// A temperature multiplies q and turns nothing, also beside a rotation whose base it has none of.
TEST(Explain, ATemperatureIsNoRotation) {
  const auto said = pages::explain_answers(
      explained({layer("yarn(theta=1e6, factor=16, original=16384)+log_n(rule=ministral3, floor=16384)")}));
  EXPECT_NE(said.back().find(" with yarn, theta 1,000,000 and has log_n (Temperature that grows"),
            std::string::npos)
      << said.back();
  EXPECT_EQ(said.back().find("rotates", said.back().find("rotates") + 1), std::string::npos) << said.back();
}

// Layers that rotate alike and keep other keys, as in DeepSeek V4, differ in their sentences.
TEST(Explain, LayersWithOtherBlocksAreToldApart) {
  auto fine = layer("rope"), coarse = layer("rope");
  fine.kept.block = 4, coarse.kept.block = 128, coarse.kept.window = 64;
  const auto said = pages::explain_answers(explained({fine, coarse, fine}));
  ASSERT_EQ(said.size(), 3u);
  EXPECT_TRUE(said[1].ends_with(", and keep one more key for every 4 tokens.")) << said[1];
  EXPECT_TRUE(said[2].ends_with(", and keeps the last 64 tokens and one more key for every 128 tokens."))
      << said[2];
}

// A file that extends says two lengths, and not how far the model was trained on.
TEST(Explain, AnExtensionIsNoTraining) {
  const auto first = [](std::int64_t trained, std::int64_t longest) {
    return pages::explain_answers(explained({layer("rope")}, trained, longest)).front();
  };
  EXPECT_EQ(first(8192, 131072),
            "made, as transformers 5.23 reads it: 1 causal layer, extended from 8,192 to 131,072 tokens (the "
            "file does "
            "not say how much of that was trained).");
  EXPECT_EQ(first(8192, 8192),
            "made, as transformers 5.23 reads it: 1 causal layer, trained on 8,192 tokens.");
  EXPECT_NE(first(0, 4096).find(
                "; the file gives no trained length, so gnomon assumes 4,096 tokens (the file allows 4,096"),
            std::string::npos);
  // Nor do the page and the longer lengths speak of training there.
  const Explanation extended = explained({layer("rope")}, 8192, 131072),
                    trained = explained({layer("rope")}, 8192, 8192);
  EXPECT_NE(pages::at_length(extended, 1).front().find("further than within the length before the extension"),
            std::string::npos);
  EXPECT_NE(pages::at_length(trained, 1).front().find("further than within the trained length"),
            std::string::npos);
  for (const Explanation* e : {&extended, &trained}) {
    const std::string page = pages::explain_page(*e);
    EXPECT_EQ(page.find(">before the extension: 8,192<") == std::string::npos, e == &trained);
    EXPECT_EQ(page.find(">trained: 8,192<") == std::string::npos, e == &extended);
  }
}

// DeepSeek-V4: keys are values, a window of keys, and beyond it one key for each block, with the indexer's.
TEST(Explain, KeysOfBlocks) {
  auto sparse = layer("rope", 8, 64), near = layer("rope+window(size=16)", 8, 64);
  for (LayerPosition* p : {&sparse, &near}) p->kv_heads = 1, p->kept.shared = true;
  sparse.kept = {true, 16, 4, 64 + 32};
  const Explanation e = explained({near, sparse, sparse}, 1024, 1024);
  ASSERT_TRUE(e.cache);
  EXPECT_EQ(e.groups.size(), 2u);
  EXPECT_EQ(e.cache->per_token, 3 * 2 * 64 + 2 * 2 * 96 / 4);
  EXPECT_EQ(e.cache->beyond_windows, 2 * 2 * 96 / 4);
  EXPECT_EQ(e.cache->at.front(), 3 * 2 * 64 * 16 + 2 * 2 * 96 * (1024 / 4));
  EXPECT_NE(pages::cache_text(e).find("96 B once all windows are full"), std::string::npos)
      << pages::cache_text(e);
}

TEST(Explain, ComponentsCountTheirOwnLayers) {
  auto encoder = layer("t5"), decoder = layer("t5");
  encoder.component = "encoder", encoder.causal = false, decoder.component = "decoder";
  const Explanation e = explained({encoder, encoder, decoder, decoder});
  ASSERT_EQ(e.groups.size(), 2u);
  EXPECT_EQ(e.groups[1].layers, (std::vector<std::int64_t>{0, 1}));
  ASSERT_TRUE(e.cache);
  EXPECT_EQ(e.cache->per_token, 2 * 2 * 2 * 2 * 64) << "of the decoder's two layers alone";
}

TEST(Explain, LengthsAreMultiplesOfTheTrainedOneAndWhatIsPromised) {
  EXPECT_EQ(explained({layer("rope")}, 1024, 1024).lengths, (std::vector<std::int64_t>{1024, 2048, 4096}));
  EXPECT_EQ(explained({layer("rope")}, 1024, 4096).lengths, (std::vector<std::int64_t>{1024, 2048, 4096}));
  EXPECT_EQ(explained({layer("rope")}, 1024, 3000).lengths,
            (std::vector<std::int64_t>{1024, 2048, 3000, 4096}));
  EXPECT_EQ(explained({layer("rope")}, 0, 0).trained(), kNoLength);
}

TEST(Explain, OfTheKeyCacheAWindowKeepsItsSize) {
  const Explanation e = explained({layer("rope+window(size=100)"), layer("rope")});
  ASSERT_TRUE(e.cache);
  const std::int64_t one = 2 * 2 * 2 * 64;  // keys and values, two bytes each, 2 heads of 64
  EXPECT_EQ(e.cache->per_token, 2 * one);
  EXPECT_EQ(e.cache->at,
            (std::vector<std::int64_t>{one * (100 + 1024), one * (100 + 2048), one * (100 + 4096)}));
  auto both_ways = layer("rope");
  both_ways.causal = false;
  EXPECT_FALSE(explained({both_ways}).cache);
}

// θ^(−2i/64) of 32 pairs: those whose turn is longer than the trained length go on to angles they never had.
TEST(Explain, PairsThatNeverTurnedGoBeyondWhatWasTrained) {
  std::int64_t slow = 0;
  for (int n = 0; n < 32; ++n) slow += 1023 * std::pow(10000, -n / 32.0) < 2 * std::numbers::pi;
  ASSERT_GT(slow, 5);
  const LayerGroup plain = explained({layer("rope")}).groups[0];
  EXPECT_EQ(plain.at[0].beyond_training, 0);
  EXPECT_EQ(plain.at[1].beyond_training, slow);
  const LayerGroup near = explained({layer("rope+window(size=300)")}).groups[0];
  EXPECT_EQ(near.at[2].beyond_training, 0) << "distances stay below 300, however long the context";
  EXPECT_EQ(near.span(200), 200);
  EXPECT_EQ(near.span(1024), 300);
  const LayerGroup divided = explained({layer("linear(factor=4)")}).groups[0];
  EXPECT_EQ(divided.at[1].beyond_training, 0) << "a quarter of every frequency: no new angle at 2 times";
  EXPECT_EQ(divided.at[2].beyond_training, 0) << "4 times the length is what factor 4 is for";
  const LayerGroup less = explained({layer("linear(factor=3.99)")}).groups[0];
  EXPECT_EQ(less.at[2].beyond_training, slow) << "4096/3.99 is more than 1024";
}

TEST(Explain, WhatFollowsTheContextIsToldForEachLength) {
  const LayerGroup g = explained({layer("dynamic_ntk(factor=2, original=1024)")}).groups[0];
  const double grown = std::pow(2.0 * 2 - 1, 64.0 / 62);  // of θ at twice the length
  EXPECT_NEAR(g.at[0].numbers.inv_freq[31], std::pow(10000, -62 / 64.0), 1e-15);
  EXPECT_NEAR(g.at[1].numbers.inv_freq[31] / std::pow(10000 * grown, -62 / 64.0), 1, 1e-12);
  const LayerGroup warm = explained({layer("log_n(original=1024)")}).groups[0];
  EXPECT_EQ(warm.kind, "temperature");
  EXPECT_NEAR(warm.at[0].temperature, 1, 1e-12);
  EXPECT_NEAR(warm.at[2].temperature, std::log(4096) / std::log(1024), 1e-12);
}

// The share as a loop over all pairs counts it; T5's causal buckets as transformers' _relative_position_bucket gives them.
TEST(Explain, BucketsOfT5) {
  const LayerGroup g = explained({layer("t5")}).groups[0];
  ASSERT_EQ(g.buckets.size(), 32u);
  const std::int64_t first[] = {16, 19, 21, 24, 27, 31, 35, 40, 46, 52, 59, 67, 77, 87, 99, 113};
  for (int n = 0; n < 16; ++n) {
    EXPECT_EQ(g.buckets[n].first, n);
    EXPECT_EQ(g.buckets[n].last, n);
    EXPECT_EQ(g.buckets[16 + n].bucket, 16 + n);
    EXPECT_EQ(g.buckets[16 + n].first, first[n]);
  }
  EXPECT_EQ(g.buckets[30].last, 112);
  EXPECT_EQ(g.buckets[31].last, -1);
  double far = 0;
  for (int i = 0; i < 2048; ++i)
    for (int j = 0; j <= i; ++j) far += i - j >= 113;
  EXPECT_NEAR(g.at[1].last_bucket, far / (2048 * 2049 / 2), 1e-12);
}

TEST(Explain, ATableEnds) {
  Resolved m = model({layer("")});
  m.input = Spec::parse("add(learned(length=1024), scale=off)");
  const Explanation e = explain(m, "made.json");
  EXPECT_EQ(e.positions_end, 1024);
  EXPECT_EQ(pages::at_length(e, 0).front(), "the reference");
  EXPECT_EQ(pages::at_length(e, 1).front(), "no position vectors from token 1,024 on");
}

TEST(Explain, WhatCannotBeIsTheFilesFault) {
  try {
    explained({layer("rope(channels=128)")});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.fault(), Fault::input);
    EXPECT_NE(std::string(error.what()).find("made.json"), std::string::npos);
  }
}

TEST(Explain, LayersAreNamedInRuns) {
  EXPECT_EQ(pages::layers_text({0, 1, 2, 3, 5, 7, 8, 11}), "0 to 3, 5, 7, 8, 11");
  EXPECT_EQ(pages::layers_text({4}), "4");
}

Differences between(const std::string& a, const std::string& b, bool gguf = false) {
  return differences(explained({layer(a), layer("rope")}),
                     explain(model({layer(b), layer("rope")}), "b", gguf));
}
const Difference* told(const Differences& d, Quantity what) {
  for (const Difference& one : d.computed)
    if (one.what == what) return &one;
  return nullptr;
}

TEST(Differences, OfFrequenciesTheLargestRatio) {
  EXPECT_TRUE(between("rope", "rope").same());
  EXPECT_TRUE(between("rope(theta=10000)", "rope(theta=10000.0000001)").same())
      << "below the rounding of float32";
  const Differences d = between("rope(theta=1e6)", "rope");
  ASSERT_EQ(d.computed.size(), 1u);
  EXPECT_EQ(d.computed[0].what, Quantity::frequencies);
  EXPECT_EQ(d.computed[0].layers, (std::vector<std::int64_t>{0}));
  EXPECT_NEAR(d.computed[0].ratio, std::pow(100, 62 / 64.0), 1e-9);
  EXPECT_FALSE(between("rope", "rope(theta=10000.1)").same());
}

TEST(Differences, OfEveryKind) {
  EXPECT_TRUE(told(between("rope+window(size=5)", "rope"), Quantity::window));
  EXPECT_TRUE(told(between("rope", "rope(channels=32)"), Quantity::rotated_channels));
  EXPECT_TRUE(told(between("rope", ""), Quantity::rotation));
  EXPECT_TRUE(told(between("alibi", "alibi(bias_max=4)"), Quantity::slopes));
  EXPECT_TRUE(told(between("t5", "t5(buckets=16)"), Quantity::relative_position));
  EXPECT_TRUE(told(between("rope+log_n(original=1024)", "rope"), Quantity::temperature));
  EXPECT_TRUE(
      told(between("yarn(factor=4, original=512)", "yarn(factor=4, original=512, attention_factor=1)"),
           Quantity::rotary_factor));
}

// Nothing differs up to the trained length: the base grows beyond it.
TEST(Differences, BeyondTheTrainedLengthAreFound) {
  const Differences d = between("dynamic_ntk(factor=2, original=1024)", "rope");
  ASSERT_TRUE(told(d, Quantity::frequencies));
  EXPECT_NE(told(d, Quantity::frequencies)->b.find("at 2048 tokens"), std::string::npos)
      << told(d, Quantity::frequencies)->b;
}

TEST(Differences, AGgufFilePermutesRatherThanPairsOtherwise) {
  EXPECT_TRUE(told(between("rope(pairing=adjacent)", "rope"), Quantity::pairing));
  const Differences d = differences(explained({layer("rope")}),
                                    explain(model({layer("rope(pairing=adjacent)")}), "b.gguf", true));
  EXPECT_TRUE(d.same());
  ASSERT_EQ(d.notes.size(), 1u);
  EXPECT_NE(d.notes[0].find("permuted"), std::string::npos);
  EXPECT_FALSE(differences(explained({layer("rope(pairing=adjacent)")}),
                           explain(model({layer("rope")}), "b.gguf", true))
                   .same())
      << "it is the GGUF file that has adjacent pairs";
}

TEST(Differences, OfAComponentThatNotEveryLayerHas) {
  auto indexer = layer("rope(pairing=adjacent)");
  indexer.component = "indexer";
  Resolved both = model({layer("rope"), layer("rope"), indexer, indexer}),
           last = model({layer("rope"), layer("rope"), indexer});
  last.layers.back().number = 1;
  const Differences d = differences(explain(both, "a"), explain(last, "b"));
  ASSERT_TRUE(told(d, Quantity::component));
  EXPECT_EQ(told(d, Quantity::component)->layers, (std::vector<std::int64_t>{0}));
  EXPECT_EQ(told(d, Quantity::component)->b, "none");
}

TEST(Differences, OfTheInputAndTheNumberOfLayers) {
  Resolved table = model({layer("")});
  table.input = Spec::parse("add(learned(length=1024), scale=off)");
  EXPECT_TRUE(told(differences(explained({layer("")}), explain(table, "b")), Quantity::position_vectors));
  EXPECT_TRUE(told(differences(explained({layer("")}), explained({layer(""), layer("")})), Quantity::layers));
}

}  // namespace
}  // namespace gnomon
