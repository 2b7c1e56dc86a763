// What `gnomon inspect` measures, against the lenses that look one layer at a time, numbers made by hand, and models whose answer
// is known.
#include "gnomon/lens/inspection.h"

#include <gtest/gtest.h>

#include <cmath>

#include "gnomon/nn/block.h"
#include "tests/unit/lens_support.h"

namespace gnomon {
namespace {

TEST(Watch, HeadsAreThoseOfTheLensThatRunsEveryLayerByItself) {
  for (const bool causal : {true, false}) {
    const Moved moved("rope", causal);
    const Sample sample = letters(4);
    const auto heads = watch_heads(moved.look(), sample);
    const auto stream = streams(moved.look(), sample);
    for (std::int64_t l = 0; l < kLayers; ++l) {
      const auto want = head_habits(moved.look(), l, stream[std::size_t(l)], sample.T);
      for (std::size_t h = 0; h < want.size(); ++h) {
        const HeadHabits& found = heads[std::size_t(l)][h].habits;
        EXPECT_NEAR(found.distance, want[h].distance, 1e-5);
        EXPECT_NEAR(found.entropy, want[h].entropy, 1e-5);
        EXPECT_NEAR(found.first, want[h].first, 1e-6);
        EXPECT_NEAR(found.previous, want[h].previous, 1e-6);
      }
    }
  }
}

TEST(Watch, TheDistanceExplainsAlibiWithoutContentAndNothingWithoutPositions) {
  Moved moved("alibi(slopes=authors)");
  for (const Param& p : moved.model.params()) {
    if (p.spec.name.find("attention.qkv") == std::string::npos) continue;
    std::fill_n(moved.w.begin() + p.offset, p.spec.size(), 0.0f);
  }
  for (const auto& layer : watch_heads(moved.look(), letters(3)))
    for (const HeadWatched& h : layer) EXPECT_NEAR(h.by_distance, 1, 1e-6);
  const Moved none("none");
  double most = 0;
  for (const auto& layer : watch_heads(none.look(), letters(3)))
    for (const HeadWatched& h : layer) most = std::max(most, h.by_distance);
  EXPECT_LT(most, 0.9);
}

TEST(Watch, LossByPlaceIsTheMeanOfItsGroup) {
  const std::vector<float> losses{1, 2, 3, 4, 3, 4, 5, 6};  // two windows of four
  const auto by_place = loss_by_place(losses, 4, 2);
  ASSERT_EQ(by_place.size(), 2u);
  EXPECT_DOUBLE_EQ(by_place[0].nats, 2.5);
  EXPECT_DOUBLE_EQ(by_place[1].nats, 4.5);
  EXPECT_EQ(by_place[1].first, 2);
  EXPECT_NEAR(by_place[0].half_width, 12.706204736 * 1,
              1e-8);  // 1.5 and 3.5: deviation √2, over √2 windows; t(1)
  EXPECT_TRUE(refuses([&] { loss_by_place(losses, 3, 1); }));
}

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
  EXPECT_TRUE(refuses([&] { extensions(trained, 1, 100); }));
}

TEST(WaysOfReading, ALayerWithoutPositionIsOneWhoseSpecHasNone) {
  const Moved moved("add(none, scale=off)+rope");
  const Sample sample = letters(5);
  const SampleOutcome before = outcome_of(moved.look(), sample);
  const Model other = with_spec(moved.look(), Spec::parse("add(none, scale=off)+[none, rope]"));
  const Change without = look_without(moved.look(), sample, before, 0);
  EXPECT_NEAR(without.loss, mean_loss({other, moved.w}, sample) - mean_loss(moved.look(), sample), 1e-5);
  EXPECT_GT(std::abs(without.loss), 1e-4);
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
    EXPECT_NEAR(heads.loss, layer.loss, 2e-6) << spec;
    EXPECT_NEAR(heads.half_width, layer.half_width, 2e-6) << spec;
    EXPECT_GT(std::abs(one.loss - layer.loss), 1e-5) << spec;
    EXPECT_GT(std::abs(one.loss), 1e-6) << spec;
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
  EXPECT_NEAR(look_without_heads(look, letters(3), before, 0, {0, 1, 2, 3}).loss,
              look_without(look, letters(3), before, 0).loss, 2e-6);
}

// Student's t and the jackknife: of a mean both are the same interval; of a square it is the delta method's to first order.
TEST(Blocks, IntervalsOverBlocks) {
  const std::vector<double> x{1, 2, 4, 5};  // mean 3, variance 10/3, standard error √(10/12); t(3) = 3.182446
  const BlockMean mean = over_blocks(x);
  EXPECT_DOUBLE_EQ(mean.mean, 3);
  EXPECT_NEAR(mean.half_width, 3.182446305 * std::sqrt(10.0 / 12), 1e-8);
  const auto without = [&](std::int64_t b) {
    double sum = 0;
    for (std::int64_t n = 0; n < 4; ++n) sum += n == b ? 0 : x[std::size_t(n)] / 3;
    return std::vector<double>{sum, sum * sum};
  };
  const auto widths = jackknife(4, without);
  EXPECT_NEAR(widths[0], mean.half_width, 1e-12);
  EXPECT_NEAR(widths[1], 2 * mean.mean * mean.half_width, 0.02 * widths[1]);
  EXPECT_TRUE(std::isnan(over_blocks(std::vector<double>{1.0}).half_width));
  EXPECT_TRUE(refuses([&] { jackknife(1, without); }));
  EXPECT_TRUE(refuses([] { over_blocks({}); }));
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
  EXPECT_LT(std::abs(look_at_shift(turned.look(), sample, outcome_of(turned.look(), sample), 4).loss), 1e-5);
  const Moved table("learned");
  EXPECT_GT(std::abs(look_at_shift(table.look(), sample, outcome_of(table.look(), sample), 4).loss), 1e-3);
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

// An encoder as BERT's, with a norm behind the sum of word, position and type.
struct Encoder {
  Model model;
  Floats w;
  Encoder() : model(architecture()), w(model.initial(3)) {
    const Random random(4, "moved");
    for (std::size_t n = 0; n < w.size(); ++n) w[n] += 0.3f * float(random.normal(n));
  }
  static Architecture architecture() {
    Architecture a = make_block("bert", {.layers = kLayers, .width = kWidth, .heads = kHeads, .length = 16},
                                Spec::parse("add(learned, scale=off)"));
    return a;
  }
  Trained look() const { return {model, w}; }
};

TEST(Inspection, TermsOfAnEncoderAddUpBehindItsNorm) {
  const Encoder encoder;
  const auto shares = look_at_terms(encoder.look(), letters(4));  // throws where the terms are not the logits
  ASSERT_EQ(shares.size(), std::size_t(kHeads));
  for (const TermsLook& head : shares) {
    double sum = 0;
    for (const double v : head.shares.values) sum += v;
    EXPECT_NEAR(sum, 1, 1e-6);
    EXPECT_GT(std::abs(head.shares.at(1, 1)), 1e-4);  // positions do something here
    EXPECT_GT(head.half_widths.at(1, 1), 0);
  }
}

TEST(Inspection, ATableThatIsOrthogonalToTheWordsIsSeenToBe) {
  Encoder encoder;
  const auto fill = [&](const std::string& name, auto&& value) {
    const Param& p = encoder.model.param(name);
    const std::int64_t rows = p.spec.shape.front();
    for (std::int64_t n = 0; n < p.spec.size(); ++n)
      encoder.w[std::size_t(p.offset + n)] = float(value(n / (p.spec.size() / rows), n % kWidth));
  };
  const Random random(6, "tables");
  // Words in the first half of the channels, positions in the second, ten times shorter.
  fill("embed.word", [&](std::int64_t r, std::int64_t c) {
    return c < kWidth / 2 ? random.normal(std::uint64_t(r * kWidth + c)) : 0.0;
  });
  fill("position.input.table", [&](std::int64_t r, std::int64_t c) {
    return c < kWidth / 2 ? 0.0 : 0.1 * random.normal(std::uint64_t(1000000 + r * kWidth + c));
  });
  const TableLook apart = look_at_table(encoder.look());
  EXPECT_NEAR(apart.within, 0, 1e-9);
  EXPECT_NEAR(apart.chance, 0.5, 1e-9);
  EXPECT_NEAR(apart.norms.raw, 0.1, 0.02);
  EXPECT_NEAR(apart.recall, 1, 1e-9);  // what is orthogonal to all words moves no neighbour
  EXPECT_NEAR(apart.identity, 1, 1e-9);
  EXPECT_NEAR(apart.size_of_cosine, 0, 1e-9);
  EXPECT_LT(apart.channels, -0.5);  // positions vary where words do not
  EXPECT_EQ(apart.word_components, std::llround(apart.chance * double(kWidth)));
  EXPECT_NEAR(apart.position_length / apart.word_length, apart.norms.raw, 1e-9);
  EXPECT_NEAR(apart.entries.deviation, std::sqrt(0.5), 0.05);  // half of the entries are normal, the others 0
  EXPECT_NEAR(apart.entries.within_two, 1 - 0.0455 / 2, 0.02);
  fill("position.input.table", [&](std::int64_t r, std::int64_t c) {
    return c < kWidth / 2 ? 3 * random.normal(std::uint64_t(1000000 + r * kWidth + c)) : 0.0;
  });
  const TableLook loud = look_at_table(encoder.look());
  EXPECT_NEAR(loud.within, 1, 1e-9);
  EXPECT_LT(loud.recall, 0.5);
  EXPECT_LT(loud.identity, 0.9);
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

}  // namespace
}  // namespace gnomon
