// Every rotation that a file may ask for, pair by pair.
#include <gtest/gtest.h>

#include "gnomon/lens/inspection.h"
#include "tests/lens/lens_support.h"

namespace gnomon {
namespace {

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
