// What is told of a verdict, how sure it is, and what a run writes down.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "gnomon/claims/page/page.h"
#include "gnomon/claims/page/words.h"
#include "gnomon/core/error.h"

namespace gnomon::claims {
namespace {

Answered found(const Claim& c, double value, double half_width, bool quick = false) {
  Finding f;
  f.estimate("x", "the number x", {value, half_width, quick ? 1 : 5});
  Answered a{&c, f, judge(c, f, quick), 0};
  if (needs_seeds(c.verdicts) && !quick) a.p = p_value(c.verdicts, f.numbers);
  return a;
}

TEST(Claims, HowSureAVerdictIsFollowsFromItsRule) {
  const auto claim = [](std::vector<VerdictRule> rules, bool trains) {
    Claim c{};
    c.id = "009-01", c.recorded = rules.front().verdict, c.verdicts = std::move(rules);
    if (trains) c.recipes = [](const Experiment&) { return std::vector<Recipe>{}; };
    return c;
  };
  const VerdictRule otherwise_wrong = otherwise(Verdict::wrong);
  const Claim tested = claim({{Verdict::holds, {above("x")}}, otherwise_wrong}, true),
              mean = claim({{Verdict::holds, {at_least("x", 1)}}, otherwise_wrong}, true),
              value = claim({{Verdict::holds, {at_least("x", 1)}}, otherwise_wrong}, false);
  std::vector<Answered> two{found(tested, 1, .1), found(tested, 1, .9)};
  correct(two);
  EXPECT_EQ(pages::statistical(two), 2u);
  const std::string sure = pages::how_sure(two[0], 2), less = pages::how_sure(two[1], 2);
  EXPECT_EQ(sure,
            "Intervals over 5 seeds decide: p < 0.0001. After Holm's correction for 2 statistical verdicts, "
            "p < 0.0001: the verdict survives.");
  EXPECT_NE(less.find("Intervals over 5 seeds decide: p = 0.037."), less.npos) << less;
  two.push_back(found(tested, 1, .95)), two.push_back(found(tested, 1, .95));
  correct(two);
  EXPECT_TRUE(pages::survives(two[0]));
  EXPECT_FALSE(pages::survives(two[1]));
  EXPECT_NE(pages::how_sure(two[1], 4).find("the verdict does not survive."), std::string::npos);
  EXPECT_NE(pages::how_sure(found(tested, -1, .1), 4).find("No interval decides it"), std::string::npos);
  EXPECT_NE(pages::how_sure(found(tested, 1, std::nan(""), true), 0).find("a quick run"), std::string::npos);
  EXPECT_EQ(pages::how_sure(found(mean, 1, .1), 0), "Means of 5 models; the rule uses no interval.");
  EXPECT_EQ(pages::how_sure(found(value, 1, .1), 0),
            "Computed without a trained model: the rule compares values.");
  EXPECT_EQ(pages::how_sure(found(value, 0, .1), 0),
            "No other rule applies: this is the verdict in every other case.");

  Claim exact = claim({{Verdict::holds, {asked("y")}}}, false), argued{};
  Finding f;
  f.near("y", "the number y", 1, 1, .1);
  EXPECT_EQ(pages::how_sure({&exact, f, Verdict::holds, 0}, 0),
            "Algebra, checked without a trained model: 1 number lies in the range asked for.");
  f.numbers.front().value = 2;
  EXPECT_EQ(pages::how_sure({&exact, f, Verdict::differs, 0}, 0),
            "No verdict: a number is not what was asked for.");
  argued.rests_on = Basis::citation, argued.text.because = "who and when";
  EXPECT_EQ(pages::how_sure({&argued, {}, Verdict::holds, 0}, 0),
            "The verdict rests on a citation: who and when. The numbers do not decide it.");
}

ClaimsSummary run_of(std::vector<Answered> answers) {
  correct(answers);
  return {.config = {{}, "folder/book.txt", false},
          .text_sha256 = "",
          .answers = std::move(answers),
          .differing = 1,
          .seeds = 5,
          .causal = {.data = "text", .spec = "none", .steps = 1000},
          .masked = {.data = "text", .spec = "none", .steps = 2000},
          .rates = {{"rope", .008}},
          .minutes = 2,
          .trained = 3,
          .diverged = {}};
}

// A verdict that the correction, or another text, does not carry reads “leaning”, everywhere.
TEST(Claims, AVerdictThatIsNotCarriedLeans) {
  Claim c{};
  c.question = all_claims().front()->question, c.id = "009-01", c.text.says = "It is so.",
  c.recorded = Verdict::holds;
  c.verdicts = {{Verdict::holds, {above("x")}}, otherwise(Verdict::wrong)};
  const auto reads = [&](const Answered& a, const ClaimsSummary& s) {
    const std::string reading = pages::reading(a, s),
                      json = pages::claims_json(s, {"a command", "a machine"});
    EXPECT_NE(pages::claims_markdown(s, {"a command", "a machine"}).find("**" + reading + "**"),
              std::string::npos);
    EXPECT_NE(pages::claims_page(s, {"a command", "a machine"}).find(">" + reading + "<"), std::string::npos);
    EXPECT_NE(json.find("\"reading\":\"" + reading + "\""), std::string::npos);
    return reading;
  };
  const ClaimsSummary alone = run_of({found(c, 1, .9)}),
                      many = run_of({found(c, 1, .9), found(c, 1, .9), found(c, 1, .1)}),
                      wrong = run_of({found(c, -1, .1)});
  EXPECT_EQ(reads(alone.answers[0], alone), "holds");
  EXPECT_EQ(reads(many.answers[0], many), "leaning: holds") << "p = 0.037, of three";
  EXPECT_EQ(reads(many.answers[2], many), "holds");
  EXPECT_EQ(reads(wrong.answers[0], wrong), "leaning: wrong") << "no interval gave it";
  Claim values = c;
  values.verdicts = {
      {Verdict::wrong, {above("x", 5)}}, {Verdict::holds, {at_least("x", 1)}}, otherwise(Verdict::answered)};
  const ClaimsSummary by_value = run_of({found(values, 1, .9)});
  EXPECT_EQ(reads(by_value.answers[0], by_value), "holds") << "no interval was asked";
  const Claim& other = **std::find_if(all_claims().begin(), all_claims().end(), [](const Claim* one) {
    const auto* there = other_texts().front().find(one->id);
    return there && there->verdict == "open" && there->decides == explained(one->verdicts, {});
  });
  Answered a{&other, {}, Verdict::holds, 0, 1e-9, 1e-9};
  EXPECT_EQ(pages::reading(a, alone), "leaning: holds") << "open on another text";
  a.verdict = Verdict::open;
  EXPECT_EQ(pages::reading(a, alone), "open");
}

// What was judged by another rule says nothing of today's: neither for a verdict nor against it.
TEST(Claims, AnotherTextTestsNoRuleThatIsYounger) {
  Claim changed = **std::find_if(all_claims().begin(), all_claims().end(), [](const Claim* one) {
    const auto* there = other_texts().front().find(one->id);
    return there && there->verdict != name(Verdict::holds);
  });
  changed.verdicts = {{Verdict::holds, {above("a number that no rule looks at")}}, otherwise(Verdict::wrong)};
  Answered a{&changed, {}, Verdict::holds, 0, 1e-9, 1e-9};
  ClaimsSummary run = run_of({a});
  run.text_sha256 = "of a text";
  EXPECT_EQ(pages::on_other_texts(a, run),
            text("On ", other_texts().front().what, ": “", other_texts().front().find(changed.id)->verdict,
                 "” by a rule that was changed since."));
}

TEST(Claims, ARunIsToldAgainFromItsJson) {
  const Claim& c = **std::find_if(all_claims().begin(), all_claims().end(),
                                  [](const Claim* one) { return one->id == "004-16"; });
  Experiment experiment(nullptr, false, std::filesystem::temp_directory_path() / "gnomon-claims-test");
  Finding f = c.measure(experiment);
  f.share("s", "a share", {.share = .5, .low = .4, .high = .7, .n = 5});
  f.number("none", "no number", std::nan(""));
  ClaimsSummary run = run_of({{&c, f, judge(c, f, false), 0, std::nan(""), std::nan(""), answer_of(c, f)}});
  const std::string json = pages::claims_json(run, {"a command", "a machine"});
  const auto [again, how] = pages::claims_again(json, "folder/claims.json");
  EXPECT_EQ(pages::claims_json(again, {"a command", "a machine"}), json);
  EXPECT_EQ(how.machine, "a machine, words written again from claims.json");
  EXPECT_EQ(pages::claims_again(pages::claims_json(again, how), "claims.json").how.machine, how.machine)
      << "once";
  std::string earlier = json;
  earlier.replace(json.find("sha256 "), 10, "sha256 ...");
  EXPECT_NE(pages::claims_json(pages::claims_again(earlier, "claims.json").summary, how).find("sha256 ..."),
            std::string::npos)
      << "the rules that its numbers were measured under";
  EXPECT_THROW(pages::claims_again("{}", "claims.json"), Error);

  // Measured later, in the place of what the file has: said on the page, and kept in what is written of it.
  Answered since = run.answers.front();
  since.finding.numbers.front().name = "measured later";
  const auto later = pages::claims_again(earlier, "claims.json", {since}).summary;
  for (const std::string& told : {pages::claims_markdown(later, how), pages::claims_page(later, how)}) {
    EXPECT_NE(told.find("measured later"), std::string::npos);
    EXPECT_NE(told.find("Numbers of 004-16, which train no model, were measured again later."),
              std::string::npos);
  }
  const std::string written = pages::claims_json(later, how);
  EXPECT_EQ(pages::claims_json(pages::claims_again(written, "claims.json").summary, how), written);
}

TEST(Claims, AFullRunTellsItsPsRatesAndBudgets) {
  Claim c{};
  c.question = all_claims().front()->question, c.id = "009-01", c.text.says = "It is so.",
  c.text.method = "a method";
  c.text.expects = "a prediction", c.text.advice = "do it", c.recorded = Verdict::wrong;
  c.verdicts = {{Verdict::holds, {above("x")}}, otherwise(Verdict::wrong)};
  c.recipes = [](const Experiment&) { return std::vector<Recipe>{}; };
  const ClaimsConfig config{{&c}, "folder/book.txt", false};
  std::vector<Answered> answers{found(c, 1, .9)};
  correct(answers);
  const ClaimsSummary summary{.config = config,
                              .text_sha256 = "",
                              .answers = answers,
                              .differing = 1,
                              .seeds = 5,
                              .causal = {.data = "text", .spec = "none", .steps = 1000},
                              .masked = {.data = "text", .spec = "none", .steps = 2000},
                              .rates = {{"rope", .008}},
                              .minutes = 2,
                              .trained = 3,
                              .diverged = {}};
  const std::string page = pages::claims_page(summary, {"a command", "a machine"}),
                    markdown = pages::claims_markdown(summary, {"a command", "a machine"}),
                    json = pages::claims_json(summary, {"a command", "a machine"});
  for (const char* words :
       {"5 seeds decide: p = 0.037. After Holm's correction for 1 statistical verdict, p = 0.037: the "
        "verdict survives.",
        "one text, book.txt", "1,000 steps of 16 windows of 64 bytes, 1.02 MB in all", "encoders 2,000 steps",
        "Each spec and depth has its own learning rate: the best of 0.004, 0.008, 0.016, or for an encoder "
        "of 0.001, 0.002, 0.004.",
        "on held-out windows that are used for nothing else", "1 verdict has one", "1 survives", "0.008",
        "rope", "a prediction"}) {
    EXPECT_NE(page.find(words), page.npos) << words;
    EXPECT_NE(markdown.find(words), markdown.npos) << words;
  }
  EXPECT_NE(page.find("not as recorded (wrong)"), page.npos);
  EXPECT_NE(markdown.find("- the number x: 1.000 ± 0.900 (n = 5)\n"), markdown.npos);
  for (const char* words : {"\"as_recorded\":false", "\"p_holm\":0.03", "\"rope\":0.008", "\"steps\":1000"})
    EXPECT_NE(json.find(words), json.npos) << words;
}

TEST(Claims, RulesAreTheSameWithoutResults) {
  const std::string rules = pages::rules_json();
  for (const char* result : {"\"recorded\"", "\"value\"", "\"answer\""})
    EXPECT_EQ(rules.find(result), rules.npos);
  for (const Claim* c : all_claims()) EXPECT_NE(rules.find(c->id), rules.npos);
  EXPECT_EQ(pages::rules_sha256().size(), 64u);
}

}  // namespace
}  // namespace gnomon::claims
