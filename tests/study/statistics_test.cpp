// Statistics against scipy and statsmodels (tests/golden/make_statistics.py), with the usual mistakes, which must not agree;
// and what they say of borders and of arguments that cannot be.
#include "gnomon/study/statistics/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <iomanip>
#include <limits>
#include <nlohmann/json.hpp>
#include <numbers>

#include "gnomon/core/distributions.h"
#include "gnomon/core/error.h"
#include "gnomon/core/file.h"
#include "gnomon/study/statistics/budgets.h"
#include "gnomon/study/statistics/comparisons.h"
#include "gnomon/study/statistics/shares.h"

namespace gnomon {
namespace {

using Json = nlohmann::json;
using Numbers = std::vector<double>;

const double kNaN = std::numeric_limits<double>::quiet_NaN(),
             kInfinity = std::numeric_limits<double>::infinity();

const Json& golden(const char* group) {
  static const Json all = Json::parse(read_file(Path(GNOMON_TESTS) / "golden" / "statistics.json"));
  return all.at(group);
}
bool agree(double found, double wanted) { return std::abs(found - wanted) <= 1e-9 * std::abs(wanted); }
#define EXPECT_AGREE(found, wanted) \
  EXPECT_TRUE(agree(found, wanted)) << std::setprecision(17) << (found) << " instead of " << (wanted)

std::vector<Budget> curve(const Numbers& compute, const Numbers& loss) {
  std::vector<Budget> c;
  for (std::size_t i = 0; i < compute.size(); ++i) c.push_back({compute[i], loss[i]});
  return c;
}

TEST(Statistics, SharesHaveIntervalsThatStayBetween0And1) {
  const ShareEstimate e = share_interval(Numbers{.9, .95, .99}, 1e6);
  // In Python, with the t quantile 4.302652729749464 of 2 degrees of freedom.
  EXPECT_NEAR(e.share, 0.9625144830216872, 1e-12);
  EXPECT_NEAR(e.low, 0.5492375324361328, 1e-12);
  EXPECT_NEAR(e.high, 0.9981553114795665, 1e-12);
  const Estimate wrong = mean_interval(Numbers{.9, .95, .99});
  EXPECT_GT(wrong.mean + wrong.half_width, 1) << "what t makes of the shares themselves";
  const ShareEstimate all = share_interval(Numbers{1, 1, 1}, 100);
  EXPECT_NEAR(all.share, .995, 1e-12) << "half a case in 100 is on the other side";
  EXPECT_EQ(all.n, 3);
  EXPECT_TRUE(std::isnan(share_interval(Numbers{.5}, 100).low));
}

TEST(Distributions, TailsAndQuantiles) {
  const Json& d = golden("distributions");
  int controls = 0;
  for (const Json& c : d.at("t")) {
    EXPECT_AGREE(t_tail(c.at("t"), c.at("freedom")), c.at("tail").get<double>()) << c;
    controls += !agree(t_tail(c.at("t"), c.at("freedom")), c.at("wrong"));  // the normal tail
  }
  EXPECT_GT(controls, 40);
  for (const Json& c : d.at("t_quantile")) {
    EXPECT_AGREE(t_quantile(c.at("tail"), c.at("freedom")), c.at("t").get<double>()) << c;
    EXPECT_FALSE(agree(t_quantile(c.at("tail"), c.at("freedom")), c.at("wrong"))) << c;
  }
  for (const Json& c : d.at("normal")) EXPECT_AGREE(normal_tail(c.at("z")), c.at("tail").get<double>()) << c;
  for (const Json& c : d.at("normal_quantile")) {
    EXPECT_AGREE(normal_quantile(c.at("tail")), c.at("z").get<double>()) << c;
  }
  for (const Json& c : d.at("noncentral_t")) {
    const double found = noncentral_t_tail(c.at("t"), c.at("freedom"), c.at("shift"));
    EXPECT_AGREE(found, c.at("tail").get<double>()) << c;
    EXPECT_FALSE(agree(found, c.at("wrong"))) << c;  // a central t, moved
  }
}

// In closed form for 1 and 2 degrees of freedom; scipy's tail has nine digits near t = 0.
TEST(Distributions, ClosedForms) {
  for (const double t : {-3.0, 0.0, 1e-8, 1e-3, 0.5, 1.0, 30.0, 1e6}) {
    EXPECT_AGREE(t_tail(t, 1), std::atan2(1, t) / std::numbers::pi);
    EXPECT_AGREE(t_tail(t, 2), t > 1 ? 1 / (std::sqrt(2 + t * t) * (std::sqrt(2 + t * t) + t))
                                     : 0.5 - t / (2 * std::sqrt(2 + t * t)));
  }
}

TEST(Distributions, Borders) {
  EXPECT_EQ(t_tail(kInfinity, 2), 0);
  EXPECT_EQ(t_tail(-kInfinity, 2), 1);
  EXPECT_TRUE(std::isnan(t_tail(kNaN, 2)));
  EXPECT_NEAR(t_tail(t_quantile(1e-100, 1), 1), 1e-100, 1e-109);
  for (const double tail : {0.0, 1.0, -0.1, kNaN}) {
    EXPECT_THROW(normal_quantile(tail), Error);
    EXPECT_THROW(t_quantile(tail, 3), Error);
  }
  for (const double freedom : {0.0, -1.0, kNaN, kInfinity}) EXPECT_THROW(t_tail(1, freedom), Error);
}

TEST(Statistics, UnpairedAsWelchHasIt) {
  for (const Json& c : golden("unpaired")) {
    const auto a = c.at("a").get<Numbers>(), b = c.at("b").get<Numbers>();
    const Estimate e = welch_interval(a, b);
    EXPECT_EQ(e.n, int(std::min(a.size(), b.size())));
    EXPECT_NEAR(e.mean, c.at("mean"), 1e-14);
    EXPECT_AGREE(e.half_width, c.at("half_width").get<double>()) << c;
    EXPECT_AGREE(p_value(e), c.at("p").get<double>()) << c;
    EXPECT_FALSE(agree(e.half_width, c.at("wrong"))) << c;
  }
  EXPECT_TRUE(std::isnan(welch_interval(Numbers{1, 2, 3}, Numbers{1}).half_width));
  const Estimate apart = welch_interval(Numbers{2, 2}, Numbers{1, 1, 1});
  EXPECT_EQ(apart.mean, 1);
  EXPECT_EQ(apart.half_width, 0);
}

TEST(Statistics, PairedBySeed) {
  for (const Json& c : golden("paired")) {
    const auto a = c.at("a").get<Numbers>(), b = c.at("b").get<Numbers>();
    const Json& wrong = c.at("wrong");
    const Estimate e = paired_interval(a, b);
    EXPECT_EQ(e.n, int(a.size()));
    EXPECT_NEAR(e.mean, c.at("mean"), 1e-14);
    const Equivalence same = equivalence(e, c.at("margin"));
    EXPECT_EQ(same.equivalent, same.p <= 0.05);
    const auto expect = [&](const char* key, double found) {
      EXPECT_AGREE(found, c.at(key).get<double>()) << key << " of " << c;
      EXPECT_FALSE(wrong.contains(key) && agree(found, wrong.at(key))) << key << " of " << c;
    };
    expect("half_width", e.half_width);
    expect("half_width_99", half_width(e, 0.99));
    expect("p", p_value(e));
    expect("p_equivalent", same.p);
    if (a.size() > 2) expect("correlation", pairing_correlation(a, b));
  }
}

TEST(Statistics, CrossedBySeedsAndBlocks) {
  for (const Json& c : golden("crossed")) {
    const auto values = c.at("values").get<Numbers>();
    const std::int64_t seeds = c.at("seeds");
    const Estimate e = crossed_interval(values, seeds);
    EXPECT_EQ(e.n, seeds);
    EXPECT_NEAR(e.mean, c.at("mean"), 1e-14);
    EXPECT_AGREE(e.half_width, c.at("half_width").get<double>()) << c;
    EXPECT_AGREE(p_value(e), c.at("p").get<double>()) << c;
    EXPECT_FALSE(agree(e.half_width, c.at("wrong"))) << c;  // every value as a sample of its own
    const Numbers zeros(values.size());
    EXPECT_EQ(paired_crossed_interval(values, zeros, seeds).half_width, e.half_width);
    EXPECT_EQ(paired_crossed_interval(zeros, values, seeds).mean, -e.mean);
  }
}

TEST(Statistics, WithoutASecondSeedThereIsNoInference) {
  const Numbers values{1, 2, 4, 3};
  for (const Estimate& e :
       {mean_interval(std::span(values).first(1)), paired_interval(Numbers{1}, Numbers{2}),
        crossed_interval(values, 1), crossed_interval(values, 4)}) {
    EXPECT_TRUE(std::isfinite(e.mean));
    EXPECT_TRUE(std::isnan(e.half_width));
    EXPECT_TRUE(std::isnan(half_width(e, 0.9)));
    EXPECT_TRUE(std::isnan(p_value(e)));
    EXPECT_TRUE(std::isnan(equivalence(e, 100).p));
    EXPECT_FALSE(equivalence(e, 100).equivalent);
  }
  EXPECT_TRUE(std::isnan(detectable_effect(1, 1)));
  EXPECT_TRUE(std::isnan(pairing_correlation(Numbers{1, 2}, Numbers{1, 3})));
  EXPECT_TRUE(std::isnan(pairing_correlation(Numbers{.1, .1, .1}, Numbers{1, 2, 3})));
}

TEST(Statistics, ArmsThatAreTheSameDoNotDiffer) {
  const Numbers a{1.1, 2.3, 0.7, 1.9}, b{1.2, 2.4, 0.8, 2.0};
  for (const Estimate& same : {paired_interval(a, a), paired_crossed_interval(a, a, 2)}) {
    EXPECT_EQ(same.half_width, 0);
    EXPECT_EQ(p_value(same), 1);
    EXPECT_TRUE(equivalence(same, 1e-6).equivalent);
  }
  const Estimate apart = paired_interval(Numbers{1, 2, 3}, Numbers{0, 1, 2});  // by 1 in every seed
  EXPECT_EQ(p_value(apart), 0);
  EXPECT_EQ(equivalence(apart, 0.5).p, 1);
  EXPECT_EQ(equivalence(apart, 1.5).p, 0);
}

TEST(Statistics, ShapesHaveToFit) {
  const Numbers three{1, 2, 3}, four{1, 2, 3, 4};
  EXPECT_THROW(paired_interval(three, four), Error);
  EXPECT_THROW(pairing_correlation(three, four), Error);
  EXPECT_THROW(crossed_interval(three, 2), Error);
  EXPECT_THROW(crossed_interval(three, 4), Error);
  EXPECT_THROW(crossed_interval({}, 2), Error);
  EXPECT_THROW(crossed_interval(three, 0), Error);
  EXPECT_THROW(paired_crossed_interval(three, four, 1), Error);
}

// The golden numbers are those of two-sided tests by the non-central t.
TEST(Statistics, DetectableEffects) {
  for (const Json& c : golden("effects")) {
    const double found = detectable_effect(c.at("deviation"), c.at("n"), c.at("power"));
    EXPECT_AGREE(found, c.at("effect").get<double>()) << c;
    EXPECT_FALSE(agree(found, c.at("wrong"))) << c;  // by the normal distribution
  }
}

TEST(Shares, Wilson) {
  for (const Json& c : golden("shares").at("wilson")) {
    const ShareInterval s = wilson_interval(c.at("k"), c.at("n"));
    EXPECT_EQ(s.share, c.at("k").get<double>() / c.at("n").get<double>());
    EXPECT_NEAR(s.low, c.at("low"), 1e-12) << c;
    EXPECT_NEAR(s.high, c.at("high"), 1e-12) << c;
    EXPECT_GT(
        std::abs(s.low - c.at("wrong")[0].get<double>()) + std::abs(s.high - c.at("wrong")[1].get<double>()),
        1e-6)
        << c;  // Wald's
  }
  EXPECT_THROW(wilson_interval(0, 0), Error);
  EXPECT_THROW(wilson_interval(-1, 3), Error);
  EXPECT_THROW(wilson_interval(4, 3), Error);
}

TEST(Shares, OverSeedsOnTheLogitScale) {
  for (const Json& c : golden("shares").at("logit")) {
    const auto k = c.at("k").get<std::vector<std::int64_t>>();
    const ShareInterval s = share_interval(k, c.at("n"));
    EXPECT_AGREE(s.share, c.at("share").get<double>()) << c;
    EXPECT_AGREE(s.low, c.at("low").get<double>()) << c;
    EXPECT_AGREE(s.high, c.at("high").get<double>()) << c;
    EXPECT_FALSE(agree(s.low, c.at("wrong")[0])) << c;  // without logits
    EXPECT_GT(s.low, 0);
    EXPECT_LT(s.high, 1);
  }
  const ShareInterval one = share_interval(std::vector<std::int64_t>{7}, 10);
  EXPECT_GT(one.share, 0.6);
  EXPECT_TRUE(std::isnan(one.low) && std::isnan(one.high));
  EXPECT_THROW(share_interval(std::vector<std::int64_t>{3, 11}, 10), Error);
}

TEST(Family, Holm) {
  for (const Json& c : golden("families")) {
    const auto wanted = c.at("holm").get<Numbers>(), bonferroni = c.at("wrong").get<Numbers>();
    const auto found = holm(c.at("p").get<Numbers>());
    ASSERT_EQ(found.size(), wanted.size());
    int apart = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      EXPECT_AGREE(found[i], wanted[i]) << c;
      apart += !agree(found[i], bonferroni[i]);
    }
    EXPECT_GT(apart, 0) << c;
  }
  const auto partly = holm(Numbers{0.01, kNaN, 0.02});  // a test without a result is one of the family
  EXPECT_DOUBLE_EQ(partly[0], 0.03);
  EXPECT_TRUE(std::isnan(partly[1]));
  EXPECT_DOUBLE_EQ(partly[2], 0.04);
  EXPECT_TRUE(holm({}).empty());
}

TEST(Family, DecisionsByWhatTheySay) {
  const auto at = [](double mean, double error) {
    return Estimate{mean, half_width({mean, 0, 5, {{error, 4}}}, 0.95), 5, {{error, 4}}};
  };
  const std::vector<Estimate> differences{
      at(-0.1, 0.004),     // far below
      at(0.05, 0.002),     // far above
      at(0.0005, 0.0005),  // within ±0.01, and cannot be told from 0
      at(0.004, 0.0003),   // within ±0.01, and certainly not 0
      at(0.01, 0.02),      // anything
      {-3, kNaN, 1},       // one seed
  };
  const auto found = compare(differences, 0.01);
  using enum Decision;
  const Decision wanted[] = {better, worse, equivalent, equivalent, undecided, undecided};
  ASSERT_EQ(found.size(), std::size(wanted));
  Numbers p, p_equivalent;
  for (const Estimate& d : differences)
    p.push_back(p_value(d)), p_equivalent.push_back(equivalence(d, 0.01).p);
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].decision, wanted[i]) << i;
    EXPECT_EQ(found[i].difference.mean, differences[i].mean);
    if (i == 5) continue;
    EXPECT_EQ(found[i].p, holm(p)[i]);
    EXPECT_EQ(found[i].p_equivalent, holm(p_equivalent)[i]);
    EXPECT_DOUBLE_EQ(found[i].difference.half_width, half_width(differences[i], 1 - 0.05 / 6));
    EXPECT_GT(found[i].difference.half_width, differences[i].half_width);
  }
  EXPECT_TRUE(std::isnan(found[5].p));
  // Alone at 5 %, in company not.
  const Estimate close = at(-0.05, 0.015);
  EXPECT_EQ(compare(std::vector{close}, 0.01)[0].decision, better);
  EXPECT_EQ(compare(std::vector(3, close), 0.01)[0].decision, undecided);
  for (const double margin : {0.0, -0.1, kNaN}) EXPECT_THROW(compare(differences, margin), Error);
}

TEST(Budgets, PowerLaws) {
  for (const Json& c : golden("budgets").at("fits")) {
    const auto given = curve(c.at("compute").get<Numbers>(), c.at("loss").get<Numbers>());
    const auto law = power_law(given);
    ASSERT_TRUE(law) << c;
    // Least squares of more than three points is found by scipy to about the root of its tolerance.
    const double tolerance = given.size() == 3 ? 1e-9 : 1e-6;
    const double scale = law->scale * std::pow(c.at("unit").get<double>(), -law->exponent);
    EXPECT_NEAR(law->floor / c.at("floor").get<double>(), 1, tolerance) << c;
    EXPECT_NEAR(law->exponent / c.at("exponent").get<double>(), 1, tolerance) << c;
    EXPECT_NEAR(scale / c.at("scale_in_unit").get<double>(), 1, tolerance) << c;
    EXPECT_GT(std::abs(law->exponent - c.at("wrong").at("exponent").get<double>()), 0.01) << c;  // no floor
    EXPECT_NEAR(law->compute(law->loss(given[1].compute)) / given[1].compute, 1, 1e-9);
    EXPECT_EQ(law->compute(law->floor), kInfinity);
  }
  EXPECT_FALSE(power_law(curve({1, 2}, {3, 2})));
  EXPECT_FALSE(power_law(curve({1, 2, 4}, {3, 2, 1})));      // straight in the logarithm of compute
  EXPECT_FALSE(power_law(curve({1, 2, 4}, {3, 2.9, 2})));    // falls ever faster
  EXPECT_FALSE(power_law(curve({1, 2, 4}, {2, 2.5, 2.6})));  // rises
  EXPECT_FALSE(power_law(curve({1, 2, 4}, {2, 2, 2})));
}

TEST(Budgets, SpeedUps) {
  using enum SpeedUp::Bound;
  const Json& g = golden("budgets");
  const auto baseline = curve(g.at("curve")[0].get<Numbers>(), g.at("curve")[1].get<Numbers>());
  int controls = 0;
  for (const Json& c : g.at("speed_ups")) {
    const SpeedUp s = speed_up(baseline, {c.at("arm")[0], c.at("arm")[1]});
    EXPECT_EQ(s.bound, equal);
    EXPECT_AGREE(s.factor, c.at("factor").get<double>()) << c;
    controls += !agree(s.factor, c.at("wrong"));  // linear in compute
  }
  EXPECT_EQ(controls, 3);  // the fourth is a budget of the baseline
  const SpeedUp beyond = speed_up(baseline, {2e16, 1.5}), short_of = speed_up(baseline, {2e16, 2.5});
  EXPECT_EQ(beyond.bound, at_least);
  EXPECT_DOUBLE_EQ(beyond.factor, 5);
  EXPECT_EQ(short_of.bound, at_most);
  EXPECT_DOUBLE_EQ(short_of.factor, 0.05);
  for (const Budget& own : baseline) {  // the baseline itself
    EXPECT_EQ(speed_up(baseline, own).bound, equal);
    EXPECT_DOUBLE_EQ(speed_up(baseline, own).factor, 1);
  }
  // A loss that rises again: the first budget that reached it.
  EXPECT_NEAR(speed_up(curve({1, 4, 16, 64}, {3, 2, 2.5, 1}), {1, 2.25}).factor, std::pow(4, 0.75), 1e-12);
}

TEST(Budgets, SpeedUpsByALaw) {
  using enum SpeedUp::Bound;
  const PowerLaw truth{1.2, 3, 0.4};
  std::vector<Budget> baseline;
  for (const double c : {64.0, 1.0, 8.0}) baseline.push_back({c, truth.loss(c)});
  const auto law = power_law(baseline);
  ASSERT_TRUE(law);
  const SpeedUp s = speed_up(baseline, {10, truth.loss(20)}, law);
  EXPECT_EQ(s.bound, equal);
  EXPECT_NEAR(s.factor, 2, 1e-9);
  EXPECT_GT(speed_up(baseline, {10, truth.loss(20)}).factor, 2.1);  // a chord lies above the law
  EXPECT_EQ(speed_up(baseline, {10, truth.loss(65)}, law).bound, at_least);
  EXPECT_EQ(speed_up(baseline, {10, truth.loss(0.9)}, law).bound, at_most);
}

TEST(Budgets, Crossings) {
  const Json& g = golden("budgets");
  const auto one = curve(g.at("curve")[0].get<Numbers>(), g.at("curve")[1].get<Numbers>()),
             two = curve(g.at("other")[0].get<Numbers>(), g.at("other")[1].get<Numbers>());
  const auto wanted = g.at("crossings").get<Numbers>();
  for (const auto& found : {crossings(one, two), crossings(two, one)}) {
    ASSERT_EQ(found.size(), wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_AGREE(found[i], wanted[i]);
  }
  EXPECT_TRUE(crossings(one, one).empty());
  const auto flat = curve({1, 2, 4, 8}, {2, 2, 2, 2});
  EXPECT_TRUE(crossings(flat, curve({1, 2, 4}, {3, 2, 3})).empty());          // touches
  EXPECT_EQ(crossings(flat, curve({1, 2, 4, 8}, {3, 2, 2, 1})), Numbers{2});  // along a stretch
  EXPECT_EQ(crossings(flat, curve({1, 2, 4}, {3, 2, 1})), Numbers{2});
  EXPECT_TRUE(crossings(flat, curve({16, 32}, {3, 1})).empty());  // no range in common
}

TEST(Budgets, CurvesThatCannotBe) {
  const auto good = curve({1, 2}, {2, 1});
  for (const auto& bad : {curve({1}, {2}), curve({1, 1}, {2, 1}), curve({0, 1}, {2, 1}), curve({}, {})}) {
    EXPECT_THROW(power_law(bad), Error);
    EXPECT_THROW(speed_up(bad, {1, 1}), Error);
    EXPECT_THROW(crossings(good, bad), Error);
  }
}

}  // namespace
}  // namespace gnomon
