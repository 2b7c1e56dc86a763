// A verdict is what the checks of its rules make of the numbers, for every claim.
#include "gnomon/claims/verdict.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "gnomon/claims/answer.h"
#include "gnomon/core/error.h"
#include "gnomon/core/file.h"

namespace gnomon::claims {
namespace {

using Json = nlohmann::json;

Finding with(double value, double half_width = std::nan("")) {
  Finding f;
  f.estimate("x", "the number x", {value, half_width, 5});
  return f;
}
bool passes(const Check& c, const Finding& f) { return passes(c, f.numbers); }

TEST(Verdict, ChecksLookAtValuesOrAtWholeIntervals) {
  EXPECT_TRUE(passes(at_least("x", 1), with(1)) && passes(at_most("x", 1), with(1)));
  EXPECT_FALSE(passes(at_least("x", 1), with(.999)) || passes(at_most("x", 1), with(1.001)));
  EXPECT_TRUE(passes(above("x"), with(.1, .05)) && passes(below("x"), with(-.1, .05)));
  EXPECT_FALSE(passes(above("x"), with(.1, .2)) || passes(below("x"), with(-.1, .2)));
  EXPECT_TRUE(passes(apart("x"), with(-.1, .05)) && passes(apart("x", .04), with(.1, .05)));
  EXPECT_FALSE(passes(apart("x"), with(-.1, .2)) || passes(apart("x", .06), with(.1, .05)));
  EXPECT_TRUE(passes(equal("x", .02), with(.005, .01)));
  EXPECT_FALSE(passes(equal("x", .02), with(.015, .01)));
  for (const Check& c : {above("x"), below("x"), apart("x"), equal("x", 1)})
    EXPECT_FALSE(passes(c, with(0)) || passes(c, with(9)) || passes(c, with(-9))) << "one seed shows nothing";
  for (const Check& c : {at_least("x", 0), at_most("x", 0)}) EXPECT_FALSE(passes(c, with(std::nan(""))));
}

TEST(Verdict, AShareHasTheIntervalOfItsLogOdds) {
  const auto p_of = [](const Check& c, const Finding& f) {
    return p_value(std::vector<VerdictRule>{{Verdict::holds, {c}}}, f.numbers);
  };
  for (const auto& shares :
       {std::vector{.9, .95, .99}, std::vector{.999, 1.0, 1.0, 1.0}, std::vector{.4, .6}}) {
    Finding f;
    const ShareEstimate e = share_interval(shares, 1000);
    f.share("x", "the share x", e);
    EXPECT_GT(e.low, 0);
    EXPECT_LT(e.high, 1);
    // p is below 0.05 exactly where the check passes: just beside both ends.
    for (const double side : {-1e-9, 1e-9}) {
      EXPECT_EQ(passes(above("x", e.low + side), f), side < 0);
      EXPECT_EQ(passes(below("x", e.high + side), f), side > 0);
      if (side < 0) {
        EXPECT_NEAR(p_of(above("x", e.low + side), f), .05, 1e-4);
      }
      if (side > 0) {
        EXPECT_NEAR(p_of(below("x", e.high + side), f), .05, 1e-4);
      }
    }
    EXPECT_FALSE(passes(above("x", 1), f) || passes(below("x", 0), f));
  }
  Finding one;
  one.share("x", "the share x", share_interval(std::vector{.9}, 10));
  EXPECT_FALSE(passes(above("x", .1), one)) << "one seed shows nothing";
}

TEST(Verdict, ABoundMayBePartOfAnotherNumber) {
  Finding f = with(.4, .05);
  f.number("chance", "by chance", 1);
  EXPECT_TRUE(passes(below("x", "chance"), f) && passes(below("x", {.5, "chance"}), f));
  EXPECT_FALSE(passes(below("x", {.44, "chance"}), f));
}

TEST(Verdict, AGroupIsAskedAsOne) {
  Finding f;
  f.near("row.1", "first", 1, 1, .1);
  f.near("row.2", "second", 2, 2, .1);
  f.near("rows", "another", 9, 1, .1);
  f.number("row.3", "free", 7);
  EXPECT_TRUE(passes(asked("row"), f) && passes(asked("row.2"), f));
  EXPECT_FALSE(passes(asked("rows"), f));
  f.numbers[1].value = 3;
  EXPECT_FALSE(passes(asked("row"), f));
  EXPECT_THROW(passes(asked("row.3"), f), Error) << "nothing is asked of it";
  EXPECT_THROW(passes(at_least("missing", 0), f), Error);
}

TEST(Verdict, TheFirstRuleThatAppliesDecides) {
  const std::vector<VerdictRule> rules{
      {Verdict::wrong, {above("x")}}, {Verdict::holds, {below("x")}}, otherwise(Verdict::open)};
  EXPECT_EQ(decide(rules, with(1, .5).numbers), Verdict::wrong);
  EXPECT_EQ(decide(rules, with(-1, .5).numbers), Verdict::holds);
  EXPECT_EQ(decide(rules, with(1, 2).numbers), Verdict::open);
  EXPECT_EQ(decide(std::span(rules).first(2), with(1, 2).numbers), Verdict::differs);
  EXPECT_EQ(explained(rules, with(1).numbers),
            "wrong if the interval of “the number x” lies above 0; holds if the interval of “the number x” "
            "lies below "
            "0; otherwise open");
  const std::vector<RuleInWords> told = in_words(rules, with(1).numbers);
  ASSERT_EQ(told.size(), 3u);
  EXPECT_EQ(told[0].verdict, "wrong");
  EXPECT_EQ(told[0].checks, std::vector<std::string>{"the interval of “the number x” lies above 0"});
  EXPECT_EQ(told[2].verdict, "otherwise open");
  EXPECT_TRUE(told[2].checks.empty());
  EXPECT_EQ(explained(std::vector<VerdictRule>{{Verdict::holds, {at_least("x", 1)}},
                                               {Verdict::holds, {at_most("x", "y")}}},
                      {}),
            "holds if “x” is at least 1, or if “x” is at most “y”");
  EXPECT_EQ(
      explained(std::vector<VerdictRule>{{Verdict::holds, {asked("x")}}, otherwise(Verdict::holds_if)}, {}),
      "holds if “x” is as asked for; otherwise holds under its condition");
  EXPECT_TRUE(needs_seeds(rules));
  EXPECT_FALSE(needs_seeds(std::vector<VerdictRule>{{Verdict::holds, {asked("x"), at_most("x", 1)}}}));
}

TEST(Verdict, PIsBelowFivePercentExactlyWhereAnIntervalPasses) {
  int passed = 0, failed = 0;
  for (const Check& c : {above("x", .2), below("x", -.1), apart("x"), apart("x", .3), equal("x", 1.5)}) {
    const std::vector<VerdictRule> rules{{Verdict::holds, {c}}, otherwise(Verdict::wrong)};
    for (const int n : {3, 5, 40}) {
      for (double value = -2; value < 2.01; value += .13) {
        for (const double half_width : {.01, .21, .7, 3.}) {
          Finding f;
          f.estimate("x", "x", {value, half_width, n});
          const double p = p_value(rules, f.numbers);
          EXPECT_EQ(p < .05, passes(c, f)) << value << " ± " << half_width;
          EXPECT_EQ(p == 1, !passes(c, f)) << "no other rule looks at an interval";
          ++(passes(c, f) ? passed : failed);
        }
      }
    }
    // An interval that just excludes the bound, or just lies within, has a p just below 0.05.
    const double b = c.bound.factor, end = .4 * (1 - 1e-9),
                 value = c.kind == Check::Kind::below   ? b - .4
                         : c.kind == Check::Kind::equal ? b - .4
                                                        : b + .4;
    EXPECT_NEAR(p_value(rules, with(value, end).numbers), .05, 1e-6);
  }
  EXPECT_GT(passed, 200);
  EXPECT_GT(failed, 200);
}

TEST(Verdict, SeveralIntervalsAreAsSureAsTheLeastSure) {
  Finding f = with(.4, .1);
  f.estimate("y", "the number y", {.4, .3, 5});
  f.number("z", "a value", 7);
  const auto p = [&](std::vector<Check> checks) {
    return p_value(std::vector<VerdictRule>{{Verdict::holds, std::move(checks)}}, f.numbers);
  };
  EXPECT_GT(p({above("y")}), p({above("x")}));
  EXPECT_EQ(p({above("x"), above("y")}), p({above("y")}));
  EXPECT_EQ(p({above("x"), at_least("z", 7)}), p({above("x")})) << "a value has no p";
  EXPECT_EQ(p({at_least("z", 7)}), 1) << "no interval was looked at";
}

// Against scipy and statsmodels (tests/golden/make_verdicts.py), with the usual mistakes, which must not agree.
Json golden(const char* group) {
  return Json::parse(read_file(Path(GNOMON_TESTS) / "golden" / "verdicts.json")).at(group);
}
Check check_named(const std::string& kind, double bound) {
  return kind == "above"   ? above("x", bound)
         : kind == "below" ? below("x", bound)
         : kind == "apart" ? apart("x", bound)
                           : equal("x", bound);
}

TEST(Verdict, PIsThatOfOthers) {
  int decided = 0;
  for (const Json& c : golden("checks")) {
    Finding f;
    f.estimate("x", "x", {c.at("mean"), c.at("half_width"), c.at("n")});
    const std::vector<VerdictRule> rules{{Verdict::holds, {check_named(c.at("kind"), c.at("bound"))}}};
    const double p = p_value(rules, f.numbers), wanted = c.at("p");
    EXPECT_EQ(applied(rules, f.numbers) != nullptr, c.at("passes").get<bool>()) << c;
    EXPECT_NEAR(p, wanted, 1e-8 * wanted) << c;
    if (!c.at("passes")) continue;
    ++decided;
    EXPECT_GT(std::abs(p - c.at("wrong").get<double>()), 1e-3 * p) << "one-sided";
  }
  EXPECT_GT(decided, 15);
}

std::vector<double> corrected(const std::vector<double>& p) {
  std::vector<Answered> answers;
  for (const double one : p) {
    answers.push_back({nullptr, {}, Verdict::holds, 0});
    answers.push_back({nullptr, {}, Verdict::holds, 0});  // without a p: no member of the family
    answers.back().p = one;
  }
  correct(answers);
  std::vector<double> out;
  for (std::size_t n = 0; n < answers.size(); ++n) {
    if (n % 2)
      out.push_back(answers[n].p_holm);
    else
      EXPECT_TRUE(std::isnan(answers[n].p_holm));
  }
  return out;
}

TEST(Verdict, DifferencesAreCorrectedForTheirNumber) {
  const auto five = [](double mean, double half_width) {
    const double step = half_width * std::sqrt(2.0) / 2.776445;  // t(4) at 97.5 %
    std::vector<double> values;
    for (const double at : {-2, -1, 0, 1, 2}) values.push_back(mean + step * at);
    return mean_interval(values);
  };
  // p = 0.010, 0.026, 0.033 and 1: three lie apart from 0 by themselves, and one among the four.
  const std::vector<Estimate> four{five(-.0569, .0343), five(.0218, .0175), five(.0246, .0214),
                                   five(0, .0047)};
  EXPECT_NEAR(four[0].half_width, .0343, 1e-6);
  for (std::size_t n = 0; n < 4; ++n) EXPECT_EQ(surviving(std::span(four).subspan(n, 1)), n < 3) << n;
  EXPECT_EQ(surviving(four), 1u);
  EXPECT_EQ(surviving(std::vector{mean_interval(std::vector{1.0})}), 0u) << "one seed tells nothing";
}

TEST(Verdict, TheCorrectionIsHolms) {
  // By hand: 0.005 · 4, 0.01 · 3, 0.03 · 2, and 0.04 · 1, which must not be less than the one before.
  const std::vector<double> found = corrected({.01, .04, .03, .005}), by_hand{.03, .06, .06, .02};
  for (std::size_t n = 0; n < found.size(); ++n) EXPECT_NEAR(found[n], by_hand[n], 1e-15);
  int controls = 0;
  for (const Json& c : golden("corrections")) {
    const auto p = c.at("p").get<std::vector<double>>(), holm = c.at("holm").get<std::vector<double>>(),
               bonferroni = c.at("wrong").get<std::vector<double>>(), ours = corrected(p);
    ASSERT_EQ(ours.size(), p.size());
    for (std::size_t n = 0; n < p.size(); ++n) {
      EXPECT_NEAR(ours[n], holm[n], 1e-12) << c;
      controls += std::abs(ours[n] - bonferroni[n]) > 1e-6;
    }
  }
  EXPECT_GT(controls, 20);
}

TEST(Verdict, AClaimThatCannotDecideIsRefused) {
  const VerdictRule rule{Verdict::holds, {above("x")}}, rest = otherwise(Verdict::wrong);
  const auto claim = [](std::vector<VerdictRule> rules, Basis basis, std::string_view because) {
    Claim c{};
    c.id = "009-01", c.recorded = Verdict::holds, c.verdicts = std::move(rules), c.rests_on = basis;
    c.text.because = because;
    return c;
  };
  const auto with_rules = [&](std::vector<VerdictRule> rules) {
    return claim(std::move(rules), Basis::measurement, "");
  };
  const auto argued = [&](std::string_view because, std::vector<VerdictRule> rules = {}) {
    return claim(std::move(rules), Basis::argument, because);
  };
  EXPECT_NO_THROW(require_decidable(with_rules({rule, rest})));
  EXPECT_NO_THROW(require_decidable(argued("so it is")));
  EXPECT_NO_THROW(require_decidable(claim({}, Basis::citation, "who and when")));
  EXPECT_THROW(require_decidable(with_rules({})), Error) << "no check";
  EXPECT_THROW(require_decidable(with_rules({otherwise(Verdict::holds)})), Error) << "a literal verdict";
  EXPECT_THROW(require_decidable(with_rules({rule, rest, rule})), Error) << "a rule that is never reached";
  EXPECT_THROW(require_decidable(with_rules({{Verdict::open, {above("x")}}, rest})), Error)
      << "no rule for what is recorded";
  EXPECT_THROW(require_decidable(argued("")), Error) << "an argument that is not told";
  EXPECT_THROW(require_decidable(argued("so it is", {rule})), Error) << "two bases";
}

TEST(Verdict, AConditionAndWhatSettlesAreToldWhereTheyAreNeededAndNowhereElse) {
  const auto claim = [](Verdict verdict, std::string_view condition, std::string_view settles) {
    Claim c{};
    c.id = "009-01", c.recorded = Verdict::holds, c.text.condition = condition, c.text.settles = settles;
    c.verdicts = {{Verdict::holds, {above("x")}}, otherwise(verdict)};
    return c;
  };
  EXPECT_NO_THROW(require_decidable(claim(Verdict::wrong, "", "")));
  EXPECT_NO_THROW(require_decidable(claim(Verdict::holds_if, "it is loud", "")));
  EXPECT_NO_THROW(require_decidable(claim(Verdict::open, "", "ten more seeds")));
  EXPECT_THROW(require_decidable(claim(Verdict::holds_if, "", "")), Error);
  EXPECT_THROW(require_decidable(claim(Verdict::open, "", "")), Error);
  EXPECT_THROW(require_decidable(claim(Verdict::wrong, "it is loud", "")), Error);
  EXPECT_THROW(require_decidable(claim(Verdict::wrong, "", "ten more seeds")), Error);
  EXPECT_EQ(told(claim(Verdict::holds_if, "it is loud", ""), Verdict::holds_if), "holds if it is loud");
}

// The laws below hold for every record; numbers are made up for the checks that it declares.

// A number that a check passes or, `broken`, fails by little.
void make(FoundNumber& n, const Check& c, bool broken) {
  const double b = c.bound.factor, step = broken ? -.01 : .01;  // numbers that bounds name are 1
  n.half_width = .001;
  switch (c.kind) {
    case Check::Kind::asked:
      n.value = broken ? 2 : .5;
      return;
    case Check::Kind::at_least:
      n.value = broken ? b - 1e-6 : b;
      return;
    case Check::Kind::at_most:
      n.value = broken ? b + 1e-6 : b;
      return;
    case Check::Kind::above:
      n.value = b + step;
      return;
    case Check::Kind::apart:
      n.value = broken ? 0 : b + step;
      return;
    case Check::Kind::below:
      n.value = b - step;
      return;
    case Check::Kind::equal:
      n.value = b - step;
      return;
  }
}

// What passes the checks of one rule, but for the one that is broken, and no check of other numbers.
std::vector<FoundNumber> numbers_for(const Claim& claim, const VerdictRule& rule,
                                     const Check* broken = nullptr) {
  std::vector<FoundNumber> out;
  const auto get = [&](std::string_view key) -> FoundNumber& {
    const auto found =
        std::find_if(out.begin(), out.end(), [&](const FoundNumber& n) { return n.key == key; });
    return found != out.end()
               ? *found
               : out.emplace_back(FoundNumber{std::string(key), std::string(key), std::nan("")});
  };
  for (const VerdictRule& r : claim.verdicts) {
    for (const Check& c : r.checks) {
      if (c.kind == Check::Kind::asked)
        get(c.key).ask(0, 1);
      else
        get(c.key);
      if (!c.bound.key.empty()) get(c.bound.key).value = 1;
    }
  }
  for (const Check& c : rule.checks) make(get(c.key), c, &c == broken);
  return out;
}

class Laws : public testing::TestWithParam<const Claim*> {};

TEST_P(Laws, ItCanDecide) { EXPECT_NO_THROW(require_decidable(*GetParam())); }

TEST_P(Laws, EveryRuleGivesItsVerdictAndEachOfItsChecksIsNeeded) {
  for (const VerdictRule& r : GetParam()->verdicts) {
    EXPECT_EQ(name(decide(GetParam()->verdicts, numbers_for(*GetParam(), r))), name(r.verdict));
    for (const Check& c : r.checks)
      EXPECT_NE(name(decide(GetParam()->verdicts, numbers_for(*GetParam(), r, &c))), name(r.verdict))
          << c.key;
  }
}

TEST_P(Laws, AVerdictOfIntervalsNeedsSeeds) {
  const Claim& c = *GetParam();
  for (const VerdictRule& r : c.verdicts) {
    Finding f;
    f.numbers = numbers_for(c, r);
    const bool fits = f.fits();  // an asked number of another rule does not
    for (FoundNumber& n : f.numbers) n.half_width = std::nan("");
    EXPECT_EQ(judge(c, f, true), !fits                     ? Verdict::differs
                                 : needs_seeds(c.verdicts) ? Verdict::no_inference
                                                           : r.verdict);
  }
}

std::string id_of(const testing::TestParamInfo<const Claim*>& claim) {
  std::string id(claim.param->id);
  id[3] = '_';
  return id;
}
INSTANTIATE_TEST_SUITE_P(Claims, Laws, testing::ValuesIn(all_claims().begin(), all_claims().end()), id_of);

}  // namespace
}  // namespace gnomon::claims
