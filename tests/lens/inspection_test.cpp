// What `gnomon inspect` measures, against the lenses that look one layer at a time, numbers made by hand, and models whose answer
// is known.
#include "gnomon/lens/inspection.h"

#include <gtest/gtest.h>

#include <cmath>

#include "gnomon/kernels/loss.h"
#include "gnomon/lens/masked.h"
#include "gnomon/nn/block.h"
#include "tests/lens/lens_support.h"

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
  const Sample all{4, std::vector<std::int32_t>(8), std::vector<std::int32_t>(8)};
  const auto by_place = loss_by_place(losses, all, 2);
  ASSERT_EQ(by_place.size(), 2u);
  EXPECT_DOUBLE_EQ(by_place[0].nats, 2.5);
  EXPECT_DOUBLE_EQ(by_place[1].nats, 4.5);
  EXPECT_EQ(by_place[1].first, 2);
  EXPECT_NEAR(by_place[0].half_width, 12.706204736 * 1,
              1e-8);  // 1.5 and 3.5: deviation √2, over √2 windows; t(1)
  EXPECT_TRUE(refuses([&] { loss_by_place(losses, {3, all.inputs, {}}, 1); }));
}

TEST(Watch, LossByPlaceCountsWhatIsScored) {
  const std::vector<float> losses{1, 0, 0, 0, 3, 8, 0, 0};
  constexpr std::int32_t no = kUnscored;
  const Sample some{4, std::vector<std::int32_t>(8), {5, no, no, no, 5, 5, no, no}};
  const auto by_place = loss_by_place(losses, some, 2);
  ASSERT_EQ(by_place.size(), 1u);  // places 2 and 3 have no number
  EXPECT_DOUBLE_EQ(by_place[0].nats, 4);
  // Without the first window (3 + 8)/2, without the second 1: ±2.25 about 3.25.
  EXPECT_NEAR(by_place[0].half_width, 12.706204736 * 2.25, 1e-7);
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

TEST(Blocks, MeansOfBlocksOfDifferentSizes) {
  const std::vector<BlockSum> same{{3, 3}, {6, 3}, {12, 3}, {15, 3}}, mixed{{3, 3}, {0, 0}, {8, 1}};
  const BlockMean whole = over_sums(same), plain = over_blocks(std::vector<double>{1, 2, 4, 5});
  EXPECT_DOUBLE_EQ(whole.mean, plain.mean);
  EXPECT_NEAR(whole.half_width, plain.half_width, 1e-12);
  EXPECT_DOUBLE_EQ(over_sums(mixed).mean, 11.0 / 4);
  EXPECT_NEAR(over_sums(mixed).half_width, 12.706204736 * 3.5, 1e-7);  // without one: 8, without the other: 1
  EXPECT_TRUE(std::isnan(over_sums(std::vector<BlockSum>{{2, 1}, {0, 0}}).half_width));
  EXPECT_TRUE(refuses([] { over_sums(std::vector<BlockSum>{{0, 0}}); }));
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
  for (std::size_t p = 0; p < apart.plane.positions.size(); ++p) {  // words along x, positions along y
    EXPECT_NEAR(apart.plane.words[p % apart.plane.words.size()].second, 0, 1e-9);
    EXPECT_NEAR(apart.plane.positions[p].first, 0, 1e-9);
    EXPECT_NEAR(apart.plane.cloud[p].second, apart.plane.positions[p].second, 1e-9);
  }
  fill("position.input.table", [&](std::int64_t r, std::int64_t c) {
    return c < kWidth / 2 ? 3 * random.normal(std::uint64_t(1000000 + r * kWidth + c)) : 0.0;
  });
  const TableLook loud = look_at_table(encoder.look());
  EXPECT_NEAR(loud.within, 1, 1e-9);
  EXPECT_LT(loud.recall, 0.5);
  EXPECT_LT(loud.identity, 0.9);
  // Words in one channel, positions most in the same and a little in another: the plane has both.
  fill("embed.word", [&](std::int64_t r, std::int64_t c) { return c == 2 ? double(r % 5) - 2 : 0.0; });
  fill("position.input.table", [&](std::int64_t r, std::int64_t c) {
    return c == 2 ? 5.0 * double(r) : c == 5 ? 0.5 * double(r % 4) : 0.0;
  });
  const TablePlane plane = look_at_table(encoder.look()).plane;
  const auto first = plane.positions[0], third = plane.positions[3];
  EXPECT_NEAR(std::abs(third.second - first.second), 1.5, 1e-9);  // not 15, which is along x
  // A small step along x stands apart where the others take none, however far they are spread along y.
  fill("position.input.table", [&](std::int64_t r, std::int64_t c) {
    return c == 2 ? (r == 3 ? 0.5 : 0.0) : c == 5 ? 5.0 * double(r % 4) : 0.0;
  });
  const TablePlane one = look_at_table(encoder.look()).plane;
  const double P = double(one.positions.size());
  EXPECT_EQ(one.apart, 3);
  EXPECT_GT(one.apart_by, std::sqrt(P - 1) - 1e-9);  // of one among P that are equal
}

// A table larger than is looked at in one piece: the last word, and one between, are seen as the first ones are.
TEST(Inspection, EveryWordOfALargeTableIsLookedAt) {
  Architecture a = Encoder::architecture();
  a.vocabulary = 5003;
  const Model model(a);
  Floats w = model.initial(5);
  const Param& words = model.param("embed.word");
  for (std::int64_t n = 0; n < words.spec.size(); ++n) w[std::size_t(words.offset + n)] *= 10;
  const TableLook before = look_at_table({model, w});
  EXPECT_EQ(before.words, 5003);
  for (const std::int64_t row : {std::int64_t{4}, std::int64_t{4097}, std::int64_t{5002}}) {
    Floats changed = w;
    changed[std::size_t(words.offset + row * kWidth + 1)] = 77;
    EXPECT_EQ(look_at_table({model, changed}).entries.largest, 77) << row;
  }
  // By a loop over all pairs: how often the nearest word to the sum is the own one.
  const Matrix rows = parameter({model, w}, "embed.word"),
               places = parameter({model, w}, "position.input.table");
  int kept = 0;
  for (std::int64_t n = 0; n < kWordsAsked; ++n) {
    const std::int64_t own = n * rows.rows / kWordsAsked;
    const auto place = places.row((n * 7919 + 1) % places.rows);
    std::int64_t best = -1;
    double most = -HUGE_VAL;
    for (std::int64_t v = 0; v < rows.rows; ++v) {
      double product = 0, size = 0;
      for (std::int64_t c = 0; c < rows.columns; ++c)
        product += (rows.at(own, c) + place[std::size_t(c)]) * rows.at(v, c),
            size += rows.at(v, c) * rows.at(v, c);
      if (product / std::sqrt(size) > most) most = product / std::sqrt(size), best = v;
    }
    kept += best == own;
  }
  EXPECT_NEAR(before.identity, double(kept) / double(kWordsAsked), 1e-9);
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

// --- Masked tokens

// Windows of 40 tokens whose first and last two are no words.
Sample framed(std::int64_t windows) {
  Sample s{40, {}, {}};
  for (std::int64_t n = 0; n < windows * s.T; ++n) {
    const bool word = n % s.T > 0 && n % s.T < s.T - 2;
    s.inputs.push_back(word ? 10 + std::int32_t(n * n % 83) : 1);
    s.targets.push_back(word ? s.inputs.back() : kUnscored);
  }
  return s;
}

TEST(Masked, TokensAreChosenAndReplacedByTheRule) {
  const Sample sample = framed(400), found = masked(sample, {.mask = 4, .vocabulary = 1000});
  EXPECT_EQ(found.T, sample.T);
  std::int64_t masks = 0, others = 0, kept = 0;
  for (std::int64_t w = 0; w < sample.count(); ++w) {
    std::int64_t scored = 0;
    for (std::int64_t n = w * sample.T; n < (w + 1) * sample.T; ++n) {
      const std::int32_t was = sample.inputs[std::size_t(n)], is = found.inputs[std::size_t(n)];
      if (found.targets[std::size_t(n)] == kUnscored) {
        EXPECT_EQ(is, was);
        continue;
      }
      EXPECT_EQ(found.targets[std::size_t(n)], was);
      EXPECT_NE(sample.targets[std::size_t(n)], kUnscored) << "a token of the frame";
      ++scored, masks += is == 4, kept += is == was, others += is != 4 && is != was;
    }
    EXPECT_EQ(scored, 6);  // 15 % of 37: 5.55
  }
  const double all = 2400;  // three deviations of a binomial
  EXPECT_NEAR(double(masks) / all, 0.8, 3 * std::sqrt(.8 * .2 / all));
  EXPECT_NEAR(double(others) / all, 0.1, 3 * std::sqrt(.1 * .9 / all));
  EXPECT_NEAR(double(kept) / all, 0.1, 3 * std::sqrt(.1 * .9 / all));
}

TEST(Masked, ItFollowsFromTheSeedTheWindowAndThePlace) {
  const Sample few = masked(framed(3), {4, 1000}), many = masked(framed(5), {4, 1000}),
               other = masked(framed(3), {4, 1000, 2});
  EXPECT_TRUE(std::equal(few.inputs.begin(), few.inputs.end(), many.inputs.begin()));
  EXPECT_TRUE(std::equal(few.targets.begin(), few.targets.end(), many.targets.begin()));
  EXPECT_NE(few.targets, other.targets);
  const Sample one = masked({3, {7, 8, 9}, {7, 8, 9}}, {4, 1000});  // 15 % of 3 is none
  EXPECT_EQ(std::count(one.targets.begin(), one.targets.end(), kUnscored), 2);
}

TEST(Masked, WhatCannotBeMaskedIsRefused) {
  EXPECT_TRUE(refuses([] { masked(framed(2), {1000, 1000}); }));
  EXPECT_TRUE(refuses([] { masked(framed(2), {-1, 1000}); }));
  EXPECT_TRUE(refuses([] { masked({2, {1, 2, 3, 4}, {1, 2, kUnscored, kUnscored}}, {1, 9}); }));
}

// A loss of nothing is no number: neither 0 nor an interval about it.
TEST(Masked, AnEncoderIsComparedByScoredTokensAlone) {
  const Encoder encoder;
  Sample sample = letters(6);
  const Sample asked = masked(sample, {.mask = 2, .vocabulary = 200});
  const SampleOutcome before = outcome_of(encoder.look(), asked);
  const Change without = look_without(encoder.look(), asked, before, -1);
  Sample nowhere = asked;
  nowhere.drop_positions = true;
  EXPECT_NEAR(without.value, mean_loss(encoder.look(), nowhere) - mean_loss(encoder.look(), asked), 1e-5);
  EXPECT_GT(std::abs(without.value), 1e-3);
  EXPECT_GT(without.half_width, 0);
  EXPECT_EQ(measure_of(encoder.model.architecture()), Measure::loss_of_masked);
  std::fill(sample.targets.begin(), sample.targets.end(), kUnscored);
  EXPECT_TRUE(refuses([&] { outcome_of(encoder.look(), sample); }));
}

// Weights that are finite and too large for float32 give no numbers to compare.
TEST(Inspection, ALossThatIsNotFiniteIsRefused) {
  Moved moved("rope");
  for (float& x : moved.w) x *= 1e30f;
  EXPECT_TRUE(refuses([&] { outcome_of(moved.look(), letters(2)); }));
}

// Every rotation that a file may ask for: its pairs add up to the logits of the definition, or the lens says why not.
class Rotations : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(
    All, Rotations,
    testing::Values("rope(theta=500)", "linear(theta=500, factor=4)", "ntk(theta=500, factor=4)",
                    "dynamic_ntk(theta=500, factor=4, original=8)", "yarn(theta=500, factor=4, original=8)",
                    "llama3(theta=500, factor=8, original=8)",
                    "longrope(theta=500, original=8, factor=2, short=1/1.5/2/4, long=2/3/4/8)",
                    "proportional(theta=500, share=0.5)", "mrope(theta=500, sections=2/1/1)",
                    "mrope_interleaved(theta=500, sections=2/1/1)"));
TEST_P(Rotations, AreToldByPairsOrRefusedWithTheReason) {
  const Moved moved(GetParam());
  const Sample sample = letters(3);
  const Matrix h = streams(moved.look(), sample)[1];
  std::string refusal;
  try {
    const auto use = rotary_use(moved.look(), 1, h, sample.T);
    for (const auto& head : use) {
      double sum = 0;
      for (const PairUse& u : head) sum += u.share;
      EXPECT_NEAR(sum, 1, 1e-6);
    }
    EXPECT_EQ(use.front().size(), pair_frequencies(moved.look(), 1).size());
  } catch (const Error& error) {
    EXPECT_EQ(error.fault(), Fault::usage);
    refusal = error.what();
  }
  const std::string spec = GetParam();
  const bool plain = spec[0] == 'r' || spec[0] == 'n' || spec.starts_with("li") || spec.starts_with("ll");
  if (plain) {
    EXPECT_EQ(refusal, "");
  } else if (!refusal.empty()) {
    EXPECT_NE(refusal.find(moved.model.architecture().position.print()), std::string::npos) << refusal;
  }
  RecordProperty("refusal", refusal);
}

TEST(RotaryPairs, OfAModelThatTurnsNothingAreRefusedWithTheReason) {
  const auto why = [](const char* spec) -> std::string {
    const Moved moved(spec);
    try {
      pair_frequencies(moved.look(), 0);
    } catch (const Error& error) {
      return error.what();
    }
    return "told";
  };
  EXPECT_NE(why("learned").find("has no rotation"), std::string::npos) << why("learned");
  EXPECT_NE(why("alibi").find("has no rotation"), std::string::npos) << why("alibi");
  EXPECT_NE(why("rope+window(size=4)").find("no other encoding"), std::string::npos);
  EXPECT_NE(why("[rope, none]").find("every layer has the same rotation"), std::string::npos);
  EXPECT_NE(why("rope(fraction=0.5)").find("does not rotate whole heads"), std::string::npos);
}

}  // namespace
}  // namespace gnomon
