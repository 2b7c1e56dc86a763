// Masked tokens: which are chosen, and that an encoder is compared by them alone.
#include "gnomon/lens/masked.h"

#include <gtest/gtest.h>

#include <cmath>

#include "gnomon/kernels/loss.h"
#include "gnomon/lens/inspection.h"
#include "tests/lens/lens_support.h"

namespace gnomon {
namespace {

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

}  // namespace
}  // namespace gnomon
