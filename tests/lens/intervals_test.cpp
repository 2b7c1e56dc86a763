// Intervals over blocks of a text, against Student's t and numbers made by hand.
#include <gtest/gtest.h>

#include <cmath>

#include "gnomon/lens/blocks.h"
#include "tests/lens/lens_support.h"

namespace gnomon {
namespace {

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

}  // namespace
}  // namespace gnomon
