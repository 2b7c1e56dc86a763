// Positions as far apart as doubles tell them: what needs no arrays over distances works, and turns rightly.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "gnomon/core/file.h"
#include "gnomon/kernels/angle.h"
#include "gnomon/nn/block.h"
#include "gnomon/nn/session.h"
#include "tests/laws/laws.h"
#include "tests/support/turn.h"

namespace gnomon {
namespace {

TEST(FarAngles, AreThoseOfSixtyDigits) {
  const auto golden =
      nlohmann::json::parse(read_file(Path(GNOMON_TESTS) / "golden" / "angles.json"), nullptr, true);
  double one_product = 0;
  for (const auto& c : golden.at("cases")) {
    const double p = c[0], theta = c[1], cos = c[2], sin = c[3];
    const Angle angle(p, theta);
    EXPECT_NEAR(angle.cos(), cos, 5e-9) << p << " times " << theta;
    EXPECT_NEAR(angle.sin(), sin, 5e-9) << p << " times " << theta;
    one_product = std::max(one_product, std::abs(std::cos(p * theta) - cos));
  }
  EXPECT_GT(one_product, 1e-2);  // what a single double leaves
}

TEST(FarAngles, AddUp) {
  // 2^52·0.1 and back again, and a little more: of one double only the little would be left, with its error.
  Angle angle(0x1p52, 0.1);
  angle.add(0.25, 1);
  angle.add(-0x1p52, 0.1);
  EXPECT_NEAR(angle.sin(), std::sin(0.25), 1e-15);
}

// Below 2^24 rad the bits are those of the library.
TEST(FarAngles, NearOnesKeepTheirBits) {
  for (const double p : {0.0, 1.0, 131071.0, -1048575.0, 16777215.0, 0.3}) {
    for (const double theta : {1.0, 0.1, 0.00123}) {
      EXPECT_EQ(Angle(p, theta).cos(), std::cos(p * theta));
      EXPECT_EQ(Angle(p, theta).sin(), std::sin(p * theta));
    }
  }
}

const double kFar[] = {0, 1, 0x1p24, 0x1p40 + 1, 0x1p52 - 1, 0x1p52};

Placement far_places(std::int64_t axes) {
  std::vector<double> all;
  for (const double p : kFar) {
    for (std::int64_t a = 0; a < axes; ++a) all.push_back(a == 0 ? p : p / 2);
  }
  for (double& p : all) p = std::floor(p);
  return Placement::of(all, 1, axes);
}

class Far : public OnEveryTarget {};
INSTANTIATE_TEST_SUITE_P(Targets, Far, testing::ValuesIn(simd_targets()), target_name);

// Every encoding of q and k, the values, the mask or whole rows, and none: arrays over distances have no part in them.
TEST_P(Far, TheFastPathIsTheDefinition) {
  int tried = 0;
  each_encoding(2, 16, 32, [&](const Entry& entry, const Encoding& e, const Shape& shape) {
    if ((entry.acts & ~unsigned{kQk | kValue | kMask | kRows}) || (entry.acts & ~unsigned{kMask}) == kValue)
      return;
    if (e.positions_end()) return;
    if (entry.name == "xpos") {
      EXPECT_ANY_THROW(turn_of(e, far_places(1)));  // its factors leave float32
      return;
    }
    ++tried;
    for (const std::int64_t axes : {std::int64_t{1}, e.axes()}) {
      const Case c(shape, e, far_places(axes));
      const Fast fast(e, c, Floats(c.q.size()), Floats(c.T() * shape.C));
      const auto want = attention_by_definition(e, c);
      // float32's own error grows with the logits, which those of dynamic YaRN do with the context.
      double largest = 8;
      const Definition definition(e, c.scene());
      for (std::int64_t n = 0; n < c.T() * c.T(); ++n)
        largest = std::max(largest, std::abs(definition.ln_weight(1, n / c.T(), n % c.T())));
      for (std::size_t i = 0; i < want.size(); ++i)
        ASSERT_NEAR(fast.out[i], want[i], 1e-6 * largest / 8) << "number " << i;
    }
  });
  EXPECT_GT(tried, 100);
}

TEST(FarPlaces, ArraysOverDistancesAreRefusedWhenTheyAreAskedFor) {
  const Placement places = far_places(1);
  const Terms terms = terms_for(places, true);
  EXPECT_EQ(terms.distances, 0);
  const Shape shape{32, 2, 16, 32, true};
  for (const char* spec : {"alibi", "t5", "shaw", "deberta"}) {
    const auto e = make_encoding(spec, shape);
    const Floats w(e->param_count()), tables;
    Terms asked = terms;
    try {
      part<TermsPart>(*e)->lower({places, tables, w.data()}, asked);
      ADD_FAILURE() << spec << " takes places 2^52 apart";
    } catch (const Error& error) {
      EXPECT_EQ(error.fault(), Fault::usage);
      EXPECT_NE(std::string(error.what()).find("fewer than 16777216 distances"), std::string::npos)
          << error.what();
    }
  }
}

TEST(FarPlaces, WhereDifferencesAreNotExactIsAnError) {
  const std::vector<double> apart{-0x1p52, 1, 0x1p52};
  EXPECT_THROW(terms_for(Placement::of(apart), true), Error);
  const std::vector<double> near{-0x1p52, 1, 0x1p52 - 1};
  EXPECT_NO_THROW(terms_for(Placement::of(near), true));
  const std::vector<double> beyond{0, 0x1p53 + 2};
  EXPECT_THROW(Placement::of(beyond), Error);
}

// A whole model: what depends on differences alone is the same 2^51 tokens later.
TEST(FarPlaces, AModelSeesTheDifferences) {
  const std::vector<std::int32_t> text{5, 80, 7, 200, 33}, targets(5, 0);
  for (const char* spec :
       {"rope", "yarn(fraction=0.5, side=trailing)", "pope", "rope+window(size=100)", "rope_value"}) {
    const Model model(make_block(
        "gpt", {.layers = 2, .width = 16, .heads = 2, .feed_forward = 2, .length = 12}, Spec::parse(spec)));
    Session session(model);
    const Floats w = model.initial(3);
    const auto logits_at = [&](double first) {
      const Placement place = Placement::of({first, first + 1, first + 40, first + 0x1p30, first + 0x1p40});
      Tokens tokens{1, 5, text, targets};
      tokens.placement = &place;
      Floats logits(5 * kVocabulary);
      session.logits(tokens, w, logits);
      return logits;
    };
    const Floats here = logits_at(0), there = logits_at(0x1p51);
    for (std::size_t n = 0; n < here.size(); ++n)
      ASSERT_NEAR(here[n], there[n], 2e-5) << spec << ", number " << n;
  }
}

}  // namespace
}  // namespace gnomon
