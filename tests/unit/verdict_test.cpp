// A verdict is what the checks of its rules make of the numbers, for every claim.
#include "gnomon/claims/verdict.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "gnomon/claims/claim.h"
#include "gnomon/core/error.h"

namespace gnomon::claims {
namespace {

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
  const std::vector<Rule> rules{
      {Verdict::wrong, {above("x")}}, {Verdict::holds, {below("x")}}, otherwise(Verdict::undecided)};
  EXPECT_EQ(decide(rules, with(1, .5).numbers), Verdict::wrong);
  EXPECT_EQ(decide(rules, with(-1, .5).numbers), Verdict::holds);
  EXPECT_EQ(decide(rules, with(1, 2).numbers), Verdict::undecided);
  EXPECT_EQ(decide(std::span(rules).first(2), with(1, 2).numbers), Verdict::differs);
  EXPECT_EQ(explained(rules, with(1).numbers),
            "wrong if the interval of “the number x” lies above 0; holds if the interval of “the number x” "
            "lies below "
            "0; otherwise not decidable at this scale");
  EXPECT_EQ(
      explained(
          std::vector<Rule>{{Verdict::holds, {at_least("x", 1)}}, {Verdict::holds, {at_most("x", "y")}}}, {}),
      "holds if “x” is at least 1, or if “x” is at most “y”");
  EXPECT_TRUE(needs_seeds(rules));
  EXPECT_FALSE(needs_seeds(std::vector<Rule>{{Verdict::holds, {asked("x"), at_most("x", 1)}}}));
}

TEST(Verdict, AClaimThatCannotDecideIsRefused) {
  const Rule rule{Verdict::holds, {above("x")}}, rest = otherwise(Verdict::wrong);
  const auto claim = [](std::vector<Rule> rules, Basis basis) {
    Claim c{};
    c.id = "009-01", c.recorded = Verdict::holds, c.verdicts = std::move(rules), c.rests_on = basis;
    return c;
  };
  const auto with_rules = [&](std::vector<Rule> rules) { return claim(std::move(rules), {}); };
  const auto with_basis = [&](Basis basis, std::vector<Rule> rules = {}) {
    return claim(std::move(rules), basis);
  };
  EXPECT_NO_THROW(require_decidable(with_rules({rule, rest})));
  EXPECT_NO_THROW(require_decidable(with_basis(argument("so it is"))));
  EXPECT_NO_THROW(require_decidable(with_basis(citation("who and when"))));
  EXPECT_THROW(require_decidable(with_rules({})), Error) << "no check";
  EXPECT_THROW(require_decidable(with_rules({otherwise(Verdict::holds)})), Error) << "a literal verdict";
  EXPECT_THROW(require_decidable(with_rules({rule, rest, rule})), Error) << "a rule that is never reached";
  EXPECT_THROW(require_decidable(with_rules({{Verdict::undecided, {above("x")}}, rest})), Error)
      << "no rule for what is recorded";
  EXPECT_THROW(require_decidable(with_basis(argument(""))), Error) << "an argument that is not told";
  EXPECT_THROW(require_decidable(with_basis(argument("so it is"), {rule})), Error) << "two bases";
}

// The laws below hold for every record; numbers are made up for the checks that it declares.

// A number that a check passes or, `broken`, fails by little.
void make(Number& n, const Check& c, bool broken) {
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
std::vector<Number> numbers_for(const Claim& claim, const Rule& rule, const Check* broken = nullptr) {
  std::vector<Number> out;
  const auto get = [&](std::string_view key) -> Number& {
    const auto found = std::find_if(out.begin(), out.end(), [&](const Number& n) { return n.key == key; });
    return found != out.end() ? *found
                              : out.emplace_back(Number{std::string(key), std::string(key), std::nan("")});
  };
  for (const Rule& r : claim.verdicts) {
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
  for (const Rule& r : GetParam()->verdicts) {
    EXPECT_EQ(name(decide(GetParam()->verdicts, numbers_for(*GetParam(), r))), name(r.verdict));
    for (const Check& c : r.checks)
      EXPECT_NE(name(decide(GetParam()->verdicts, numbers_for(*GetParam(), r, &c))), name(r.verdict))
          << c.key;
  }
}

TEST_P(Laws, AVerdictOfIntervalsNeedsSeeds) {
  const Claim& c = *GetParam();
  for (const Rule& r : c.verdicts) {
    Finding f;
    f.numbers = numbers_for(c, r);
    const bool fits = f.fits();  // an asked number of another rule does not
    for (Number& n : f.numbers) n.half_width = std::nan("");
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
