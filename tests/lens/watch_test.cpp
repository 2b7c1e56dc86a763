// What one run of a model shows of every head and every place, against the lens that runs each layer by itself.
#include <gtest/gtest.h>

#include "gnomon/kernels/loss.h"
#include "gnomon/lens/inspection.h"
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

}  // namespace
}  // namespace gnomon
