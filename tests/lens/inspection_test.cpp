// What `gnomon inspect` measures, against numbers made by hand and models whose answer is known.
#include "gnomon/lens/inspection.h"

#include <gtest/gtest.h>

#include <cmath>

#include "gnomon/nn/block.h"
#include "tests/lens/lens_support.h"

namespace gnomon {
namespace {

TEST(WaysOfReading, SpecsKeepWhatTheModelTurnsBy) {
  const Spec trained =
      Spec::parse("add(none, scale=off)+rope(theta=100000, pairing=adjacent)+window(size=8)");
  const auto all = extensions(trained, 2, 100);
  ASSERT_EQ(all.size(), 6u);
  EXPECT_EQ(all[0].spec, trained);
  EXPECT_EQ(
      all[1].spec,
      Spec::parse("add(none, scale=off)+linear(theta=100000, pairing=adjacent, factor=2)+window(size=8)"));
  EXPECT_EQ(all[3].spec.print(),
            "add(none, scale=off)+yarn(theta=100000, pairing=adjacent, factor=2, "
            "original=100)+window(size=8)");
  // 200 tokens: 50 as they are and (200 − 50)/3 = 50 groups.
  EXPECT_EQ(all[5].spec.print(),
            "add(none, scale=off)+self_extend(theta=100000, pairing=adjacent, "
            "window=50, group=3)+window(size=8)");
  EXPECT_TRUE(refuses([] { extensions(Spec::parse("alibi"), 2, 100); }));
  EXPECT_TRUE(refuses([] { extensions(Spec::parse("rope(direction=backward)"), 2, 100); }));
  EXPECT_TRUE(refuses([&] { extensions(trained, 1, 100); }));
}

TEST(WaysOfReading, ALayerWithoutPositionIsOneWhoseSpecHasNone) {
  const Moved moved("add(none, scale=off)+rope");
  const Sample sample = letters(5);
  const SampleOutcome before = outcome_of(moved.look(), sample);
  const Model other = with_spec(moved.look(), Spec::parse("add(none, scale=off)+[none, rope]"));
  const Change without = look_without(moved.look(), sample, before, 0);
  EXPECT_NEAR(without.value, mean_loss({other, moved.w}, sample) - mean_loss(moved.look(), sample), 1e-5);
  EXPECT_GT(std::abs(without.value), 1e-4);
  EXPECT_TRUE(refuses([&] { look_without(moved.look(), sample, before, kLayers); }));
  EXPECT_TRUE(refuses([&] { with_spec(moved.look(), Spec::parse("learned")); }));
}

// All heads of a layer without position are the layer without it; one is not; and a model of shared keys and capped logits.
TEST(Inspection, HeadsWithoutPositionAreTheLayerWithoutPosition) {
  for (const char* spec : {"rope", "add(none, scale=off)+alibi", "t5", "sinusoidal+xpos"}) {
    Moved moved(spec);
    const Sample sample = letters(3);
    const SampleOutcome before = outcome_of(moved.look(), sample);
    std::vector<std::int64_t> all;
    for (std::int64_t h = 0; h < kHeads; ++h) all.push_back(h);
    const Change layer = look_without(moved.look(), sample, before, 1),
                 heads = look_without_heads(moved.look(), sample, before, 1, all),
                 one = look_without_heads(moved.look(), sample, before, 1, {0});
    EXPECT_NEAR(heads.value, layer.value, 2e-6) << spec;
    EXPECT_NEAR(heads.half_width, layer.half_width, 2e-6) << spec;
    EXPECT_GT(std::abs(one.value - layer.value), 1e-5) << spec;
    EXPECT_GT(std::abs(one.value), 1e-6) << spec;
    EXPECT_TRUE(refuses([&] { look_without_heads(moved.look(), sample, before, 1, {kHeads}); }));
    EXPECT_TRUE(refuses([&] { look_without_heads(moved.look(), sample, before, kLayers, {0}); }));
  }
  Architecture a = make_block("llama(group=2, attention_cap=1.5, head_norm=on, scale=0.7)",
                              {.layers = 2, .width = 16, .heads = 4, .length = 16}, Spec::parse("rope"));
  const Model model(a);
  Floats w = model.initial(3);
  const Random random(4, "moved");
  for (std::size_t n = 0; n < w.size(); ++n) w[n] += 0.3f * float(random.normal(n));
  const Trained look{model, w};
  const SampleOutcome before = outcome_of(look, letters(3));
  EXPECT_NEAR(look_without_heads(look, letters(3), before, 0, {0, 1, 2, 3}).value,
              look_without(look, letters(3), before, 0).value, 2e-6);
}

// The half-width of a stream's shares by numpy's jackknife (blocks of one window), and the null before training.
TEST(Inspection, StreamsHaveIntervalsAndANull) {
  const Moved moved("learned");
  const Sample sample = letters(8);
  const Streams found = look_at_streams(moved.look(), sample, {0, kLayers});
  for (const StreamLook& s : found.looks) {
    EXPECT_GT(s.half_width.position, 0);
    EXPECT_LT(s.half_width.position, 1);
  }
  const auto whole = streams(moved.look(), sample);
  const auto by_hand = jackknife(8, [&](std::int64_t b) {
    Sample less{kTokens - 1, {}, {}};
    Matrix rows(7 * (kTokens - 1), kWidth);
    std::int64_t to = 0;
    for (std::int64_t n = 0; n < whole[1].rows; ++n) {
      if (n % kTokens == 0 || n / kTokens == b) continue;
      less.inputs.push_back(sample.inputs[std::size_t(n)]), less.targets.push_back(0);
      for (std::int64_t c = 0; c < kWidth; ++c) rows.at(to, c) = whole[1].at(n, c);
      ++to;
    }
    return std::vector<double>{variance_shares(rows, less).position};
  });
  EXPECT_NEAR(found.looks[1].half_width.position, by_hand[0], 1e-6);  // rows of float32, by another batch
  ASSERT_TRUE(found.looks[0].untrained);
  EXPECT_FALSE(found.looks[1].untrained);
  const Floats initial = moved.model.initial(1);
  const auto before = streams({moved.model, initial}, sample);
  EXPECT_NEAR(found.looks[kLayers].untrained->error, probe_positions(before[kLayers], kTokens).error, 1e-6);
}

TEST(Inspection, AShiftChangesNothingOfARotationAndMuchOfATable) {
  const Sample sample = letters(5);
  const Moved turned("rope");
  EXPECT_LT(std::abs(look_at_shift(turned.look(), sample, outcome_of(turned.look(), sample), 4).value), 1e-5);
  const Moved table("learned");
  EXPECT_GT(std::abs(look_at_shift(table.look(), sample, outcome_of(table.look(), sample), 4).value), 1e-3);
}

// A table beside the words is position as well: without any there is neither.
TEST(Inspection, WithoutAnyPositionThereIsNoTable) {
  const Moved table("add(learned, scale=off)+rope");
  const Sample sample = letters(4);
  const Change without = look_without(table.look(), sample, outcome_of(table.look(), sample), -1);
  Moved none("add(none, scale=off)");
  for (const Param& p : none.model.params()) {
    const Param& from = table.model.param(p.spec.name);
    std::copy_n(table.w.begin() + from.offset, p.spec.size(), none.w.begin() + p.offset);
  }
  const Moved turned("add(learned, scale=off)");  // the same table, and no rotation
  EXPECT_NEAR(without.value, mean_loss(none.look(), sample) - mean_loss(table.look(), sample), 1e-5);
  EXPECT_GT(std::abs(without.value), 1e-3);
  Sample nowhere = sample;
  nowhere.drop_positions = true;
  EXPECT_NEAR(mean_loss(turned.look(), nowhere), mean_loss(none.look(), sample), 1e-5);
}

TEST(Inspection, ReadingAsTrainedIsTheLossOfTheLastTokens) {
  const Moved moved("rope");
  Sample last = letters(3);
  const auto ways = extensions(moved.model.architecture().position, 2, kTokens / 2);
  const LongReading as_trained = look_beyond(moved.look(), ways[0], last, 3),
                    linear = look_beyond(moved.look(), ways[1], last, 3);
  for (std::size_t n = 0; n < last.targets.size(); ++n)
    if (std::int64_t(n) % kTokens < kTokens - 3) last.targets[n] = -1;
  EXPECT_NEAR(as_trained.nats, mean_loss(moved.look(), last), 1e-5);
  EXPECT_GT(std::abs(as_trained.nats - linear.nats), 1e-4);
}

TEST(Inspection, TheFirstTokenStandsApart) {
  const Moved moved("rope");
  const Sample sample = letters(30);
  const Streams found = look_at_streams(moved.look(), sample, {0});
  ASSERT_EQ(found.looks.size(), std::size_t(kLayers + 1));
  EXPECT_TRUE(found.looks[0].probe.has_value());
  EXPECT_FALSE(found.looks[1].probe.has_value());
  EXPECT_GT(found.looks[0].variance.token, 0.999);  // words and nothing else enter the first layer
  const Matrix stream = streams(moved.look(), sample)[1];
  double first = 0, others = 0;
  for (std::int64_t n = 0; n < stream.rows; ++n) {
    double size = 0;
    for (const double v : stream.row(n)) size += v * v;
    (n % kTokens ? others : first) += std::sqrt(size) / (n % kTokens ? double(kTokens - 1) : 1.0);
  }
  EXPECT_NEAR(found.looks[1].first_length, first / others, 1e-4);
}

// Weights that are finite and too large for float32 give no numbers to compare.
TEST(Inspection, ALossThatIsNotFiniteIsRefused) {
  Moved moved("rope");
  for (float& x : moved.w) x *= 1e30f;
  EXPECT_TRUE(refuses([&] { outcome_of(moved.look(), letters(2)); }));
}

}  // namespace
}  // namespace gnomon
