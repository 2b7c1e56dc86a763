// Laws of size and training, of points that follow one exactly, and of points with the noise of seeds.
#include "gnomon/study/statistics/scaling_law.h"

#include <gtest/gtest.h>

#include <cmath>

#include "gnomon/core/random.h"

namespace gnomon {
namespace {

constexpr ScalingLaw kLaw{0.7, 5.2, 0.25, 1100, 0.58};

// Three sizes, and 5, 20 and 80 tokens a parameter, but for the largest with 80.
std::vector<Reached> points(double deviation, int seeds, std::uint64_t draw, double more = 0) {
  const Random random(draw, "seeds of a law");
  std::vector<Reached> all;
  std::uint64_t n = 0;
  for (const double parameters : {4.2e4, 1.3e5, 5e5}) {
    for (const double each : {5.0, 20.0, 80.0}) {
      if (parameters > 4e5 && each > 50) continue;
      Reached p{parameters, parameters * each, {}};
      for (int s = 0; s < seeds; ++s)
        p.by_seed.push_back(kLaw.loss(p.parameters, p.tokens) + more + deviation * random.normal(n++));
      all.push_back(p);
    }
  }
  return all;
}

TEST(ScalingLaw, IsFoundInPointsThatFollowIt) {
  const auto found = scaling_law(points(0, 1, 1));
  ASSERT_TRUE(found);
  for (const Reached& p : points(0, 1, 1)) EXPECT_NEAR(found->loss(p.parameters, p.tokens), p.mean(), 1e-6);
  EXPECT_NEAR(found->loss(1.9e6, 9.5e6), kLaw.loss(1.9e6, 9.5e6), 1e-3);
  EXPECT_NEAR(found->size_exponent, kLaw.size_exponent, 0.01);
  EXPECT_NEAR(found->data_exponent, kLaw.data_exponent, 0.01);
}

TEST(ScalingLaw, AsksForMorePointsThanNumbersAndForThreeSizes) {
  std::vector<Reached> few = points(0, 1, 1);
  few.resize(6);
  EXPECT_FALSE(scaling_law(few));  // of two sizes
  EXPECT_TRUE(scaling_law(points(0, 1, 1)));
  std::vector<Reached> five{few[0], few[1], few[3], few[4], points(0, 1, 1)[6]};
  EXPECT_FALSE(scaling_law(five));
  EXPECT_FALSE(predicted_loss(points(0.01, 1, 1), {1.9e6, 9.5e6, 3}));  // one seed
}

// The mean of new seeds lies in the interval in at least 95 % of the draws: the law is right here, so that its intervals are wide.
TEST(ScalingLaw, ForetellsWhatItsIntervalSays) {
  const Elsewhere at{1.9e6, 9.5e6, 3};
  const double truth = kLaw.loss(at.parameters, at.tokens);
  constexpr int kDraws = 60;
  int held = 0, differences = 0, narrow = 0;
  for (int draw = 1; draw <= kDraws; ++draw) {
    const Random random(std::uint64_t(draw), "new seeds");
    const auto mean_of_new = [&](std::uint64_t from) {
      return 0.006 * (random.normal(from) + random.normal(from + 1) + random.normal(from + 2)) / 3;
    };
    const auto arm = points(0.006, 5, std::uint64_t(2 * draw), -0.1),
               base = points(0.006, 5, std::uint64_t(2 * draw + 1));
    const auto loss = predicted_loss(base, at);
    const auto lead = predicted_difference(arm, at, base, at);
    ASSERT_TRUE(loss && lead);
    held += std::abs(truth + mean_of_new(0) - loss->mean) <= loss->half_width;
    differences += std::abs(-0.1 + mean_of_new(3) - mean_of_new(6) - lead->mean) <= lead->half_width;
    narrow += loss->half_width < 0.15;
  }
  EXPECT_GE(held, 0.95 * kDraws);
  EXPECT_GE(differences, 0.95 * kDraws);
  EXPECT_GE(narrow, 0.9 * kDraws);
}

// Seeds without noise and a law that misses: the residuals alone make the interval.
TEST(ScalingLaw, CountsWhatItMisses) {
  auto bent = points(0, 3, 1);
  const auto exact = predicted_loss(bent, {1.9e6, 9.5e6, 3});
  for (std::size_t n = 0; n < bent.size(); ++n) {
    for (double& x : bent[n].by_seed) x += n % 2 ? 0.02 : -0.02;
  }
  const auto wide = predicted_loss(bent, {1.9e6, 9.5e6, 3});
  ASSERT_TRUE(exact && wide);
  EXPECT_LT(exact->half_width, 1e-4);
  EXPECT_GT(wide->half_width, 0.02);
}

TEST(Slopes, OfSizeAreAtEqualTokensAParameter) {
  std::vector<Reached> d = points(0, 2, 1);
  for (Reached& p : d) {
    const double with_size = -0.03 * std::log10(p.parameters),
                 with_training = 0.2 * std::log2(p.tokens / p.parameters);
    p.by_seed = {1 + with_size + with_training, 2 + 2 * with_size + with_training};
  }
  const auto found = slopes(d);
  ASSERT_TRUE(found);
  EXPECT_NEAR(found->size.mean, -0.045, 1e-9);
  EXPECT_NEAR(found->size.half_width, 12.7062 * 0.015, 1e-4);  // t over two seeds
  EXPECT_GT(found->compute.mean, 0.05);         // training, which computing contains, pulls it up
  EXPECT_FALSE(slopes(std::span(d).first(3)));  // one size
  // A seed that the largest size lacks has its line through the others.
  d.back().by_seed.pop_back();
  EXPECT_NEAR(slopes(d)->size.mean, -0.045, 1e-9);
}

}  // namespace
}  // namespace gnomon
