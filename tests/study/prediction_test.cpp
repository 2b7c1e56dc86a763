// Predictions: as text, and what becomes of them. Numbers are chosen so that intervals are known in closed form.
#include "gnomon/study/settings/prediction.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/study/results/judge.h"
#include "gnomon/study/results/results.h"
#include "gnomon/study/settings/presets.h"
#include "gnomon/study/suite.h"
#include "tests/study/preset_text.h"

namespace gnomon {
namespace {

constexpr const char* kTwo = R"toml(
[[prediction]]
says = "Wer \"A\" sagt \\ — muß"
measure = "growth"
arm = " alibi "
minus = "rope(theta = 500)"
length = 4
below = 0

[study]
seeds = 2

[[prediction]]
says = "near"
from = "here"
measure = "loss"
arm = "concat(sinusoidal) | parameters"
minus = "sinusoidal"
budget = 0.25
within = 0.01
)toml";

StudyConfig read(const std::string& toml) {
  StudyConfig c;
  read_toml(fields(c), Toml{toml, "a.toml"});
  return c;
}
Prediction of(const char* measure, const char* arm, const char* minus = "") {
  Prediction p;
  p.says = "it", p.measure = measure, p.arm = arm;
  if (*minus) p.minus = minus;
  return p;
}
std::string why(const std::string& toml) {
  try {
    read(toml);
  } catch (const Error& e) {
    EXPECT_EQ(e.fault(), Fault::usage);
    return e.what();
  }
  return "fine";
}

TEST(Prediction, IsReadAndPrintedAndReadsBackEqual) {
  const StudyConfig c = read(kTwo);
  ASSERT_EQ(c.predictions.size(), 2u);
  const Prediction &a = c.predictions[0], &b = c.predictions[1];
  EXPECT_EQ(a.says, "Wer \"A\" sagt \\ — muß");
  EXPECT_EQ(a.from, "");
  EXPECT_TRUE(a.is_growth());
  EXPECT_EQ(a.length, 4);
  EXPECT_EQ(a.below, 0);  // which is a bound, and not nothing
  EXPECT_FALSE(a.above || a.within || a.budget || a.after);
  EXPECT_EQ(b.from, "here");
  EXPECT_EQ(b.budget, 0.25);
  EXPECT_EQ(b.within, 0.01);
  EXPECT_EQ(measured_text(a), "loss at 4× minus loss at 1×, alibi − rope(theta=500)");
  EXPECT_EQ(measured_text(b), "loss after 0.25 of the steps, concat(sinusoidal) | parameters − sinusoidal");
  EXPECT_EQ(bound_text(a), "below 0");
  EXPECT_EQ(bound_text(b), "within ±0.01");
  const std::string printed = print_toml(c);
  EXPECT_EQ(print_toml(read(printed)), printed);
  EXPECT_EQ(fingerprint(read(printed).predictions), fingerprint(c.predictions));
  EXPECT_EQ(read(printed).predictions[0].says, a.says);
  EXPECT_EQ(read(print_toml(StudyConfig())).predictions.size(), 0u);
}

TEST(Prediction, ALaterFileReplacesThoseOfAnEarlierOne) {
  StudyConfig c = read(kTwo);
  read_toml(fields(c), Toml{"[study]\nseeds = 4\n", "b.toml"});
  EXPECT_EQ(c.predictions.size(), 2u);
  read_toml(fields(c), Toml{"[[prediction]]\nsays='x'\nmeasure='loss'\narm='rope'\nabove=1\n", "c.toml"});
  ASSERT_EQ(c.predictions.size(), 1u);
  EXPECT_EQ(c.predictions[0].says, "x");
}

TEST(Prediction, WhatIsWrongIsRefusedWithItsPlace) {
  const std::string good = "\n[[prediction]]\nsays = 'x'\nmeasure = 'growth'\narm = 'rope'\nlength = 2\n";
  EXPECT_EQ(why(good + "above = 0\n"), "fine");
  struct Wrong {
    std::string toml;
    const char* says;
  };
  const std::string at = "a.toml, line ";
  for (const Wrong& w : {
           Wrong{good + "abvoe = 0\n",
                 "7: unknown key 'prediction.abvoe': did you mean 'prediction.above'? Allowed: "
                 "prediction.says, prediction.from,"},
           Wrong{good + "above = '0'\n", "7: prediction.above must be a number"},
           Wrong{good,
                 "2: prediction.above: found no bound, needed is above, below, both, within, or exactly"},
           Wrong{good + "above = nan\n", "2: prediction.above: found nan, allowed are -1000 to 1000"},
           Wrong{good + "above = 1\nbelow = 1\n",
                 "2: prediction.above: found 1, it must be less than below = 1"},
           Wrong{good + "within = 1\nbelow = 1\n",
                 "2: prediction.within: found 1, but within allows no other bound"},
           Wrong{good + "within = 0\n", "2: prediction.within: found 0, allowed are 1e-09 to 1000"},
           Wrong{good + "above = 0\nbudget = 1\n", "2: prediction.budget: found 1, but a length is measured"},
           Wrong{good + "above = 0\nminus = 'rope()'\n",
                 "2: prediction.minus: found rope(), which is the arm itself"},
           Wrong{good + "above = 0\nminus = 'rop'\n",
                 "8: prediction.minus: spec 'rop', column 1: unknown encoding or combination 'rop': did you "
                 "mean "
                 "'rope'?"},
           Wrong{good + "exactly = 0.5\n",
                 "2: prediction.exactly: found 0.5, exactly is only for right or symbols"},
           Wrong{"[[prediction]]\nsays='x'\nmeasure='right'\narm='rope'\nexactly=0.5\nabove=0",
                 "1: prediction.exactly: found 0.5, but exactly allows no other bound"},
           Wrong{"[[prediction]]\nsays='x'\nmeasure='right'\narm='rope'\nabove=0\nbudget=1",
                 "1: prediction.budget: found 1, but right is measured only after the whole training"},
           Wrong{"[[prediction]]\nsays='x'\nmeasure='previous'\narm='rope'\nabove=0\nminus='alibi'",
                 "1: prediction.minus: found alibi, but the measure previous allows no minus"},
           Wrong{good + "above = 0\nafter = 0\n", "2: prediction.after: found 0, allowed are 1 and more"},
           Wrong{good + "above = 0\nfrom = \"a\\nb\"\n",
                 "2: prediction.from: found \"a\\x0Ab\", allowed is one line"},
           Wrong{"[[prediction]]\nsays = 'x'\nmeasure = 'lose'\narm = 'rope'\nabove = 0",
                 "1: unknown prediction.measure 'lose': did you mean 'loss'? Allowed: loss, growth, right, "
                 "symbols, previous"},
           Wrong{"[[prediction]]\nsays = 'x'\nmeasure = 'loss'\narm = 'rpoe'\nabove = 0",
                 "4: prediction.arm: spec 'rpoe', column 1: unknown encoding or combination 'rpoe'"},
           Wrong{"[[prediction]]\nmeasure = 'loss'\narm = 'rope'\nabove = 0",
                 "1: prediction.says: found nothing, a sentence is needed"},
           Wrong{"[[prediction]]\nsays = 'x'\nmeasure = 'growth'\narm = 'rope'\nabove = 0",
                 "1: prediction.length: found nothing, growth needs a length other than 1"},
           Wrong{"[[prediction]]\nsays = 'x'\nmeasure = 'growth'\nlength = 1\narm = 'rope'\nabove = 0",
                 "1: prediction.length: found 1, growth needs a length other than 1"},
           Wrong{"[[prediction]]\nsays = 'x'\nmeasure = 'loss'\narm = 'rope'\nwithin = 1",
                 "1: prediction.within: found 1, within is only for growth or with minus"},
           Wrong{"[[prediction]]\nsays = 'x'\nmeasure = 'loss'\narm = 'rope'\nabove = 1\nbudget = 2",
                 "1: prediction.budget: found 2, allowed are 1e-09 to 1"},
           Wrong{"\n[prediction]\nsays = 'x'\n", "2: prediction must be tables, each under [[prediction]]"},
           Wrong{"[[predicton]]\nsays = 'x'\n", "1: unknown section 'predicton': did you mean 'prediction'?"},
       }) {
    const std::string found = why(w.toml);
    EXPECT_EQ(found.rfind(at + w.says, 0), 0u) << found << "\ninstead of " << w.says;
  }
  StudyConfig c;
  EXPECT_THROW(set(c, "prediction=x"), Error);
  c.text_path = "text";
  c.predictions.push_back(of("loss", "rope"));  // without a bound, and without a file
  EXPECT_THROW(c.check_settings(), Error);
}

TEST(Prediction, AnyChangeChangesTheFingerprint) {
  const std::vector<Prediction> before = read(kTwo).predictions;
  std::set<std::string> seen{fingerprint(before)};
  const auto changed = [&](const std::function<void(std::vector<Prediction>&)>& change) {
    std::vector<Prediction> all = before;
    change(all);
    return seen.insert(fingerprint(all)).second;
  };
  EXPECT_TRUE(changed([](auto& all) { all[0].says += "."; }));
  EXPECT_TRUE(changed([](auto& all) { all[1].from = "there"; }));
  EXPECT_TRUE(changed([](auto& all) { all[0].minus.reset(); }));
  EXPECT_TRUE(changed([](auto& all) { all[0].below = 1e-9; }));
  EXPECT_TRUE(changed([](auto& all) { all[0].above = all[0].below, all[0].below.reset(); }));
  EXPECT_TRUE(changed([](auto& all) { all[1].budget.reset(); }));
  EXPECT_TRUE(changed([](auto& all) { std::swap(all[0], all[1]); }));
  EXPECT_TRUE(changed([](auto& all) { all.pop_back(); }));
  EXPECT_FALSE(
      changed([](auto& all) { all[0].after = 7; }));  // when it was written is no part of what it says
}

// Three arms over three seeds and two blocks of text. What seed and block do to all arms alike is large, so that only what is
// paired by both comes out.
class Judge : public testing::Test {
 protected:
  static double common(std::int64_t seed, int block) { return 10 * double(seed * seed) + 3 * block; }
  // Of a run: the loss less what is common to all arms, over whole windows and over the last bytes at 1x and 2x.
  struct Own {
    double whole, near, far;
  };
  static RunResult run(const std::string& arm, std::int64_t seed, const Own& own, bool defined = true) {
    RunResult r;
    r.plan.arm = arm, r.plan.seed = seed;
    const auto blocks = [&](double x) { return std::vector{x + common(seed, 0), x + common(seed, 1)}; };
    r.by_block = blocks(own.whole);
    r.by_length = {{1, 16, own.near, blocks(own.near)}, {2, 32, own.far, blocks(own.far)}};
    if (!defined) r.by_length[1] = {2, 32, std::nullopt, {}};
    return r;
  }
  void SetUp() override {
    s_.config.arms = {"sinusoidal", "rope", "learned"}, s_.config.baseline = "sinusoidal";
    s_.config.budgets = {0.5, 1}, s_.config.lengths = {1, 2};
    for (const char* arm : {"rope", "learned", "sinusoidal"}) {  // as they rank
      ArmSummary a;
      a.arm = arm, a.budgets = {{0.5, 8, 1, {}, {}, {}, {}}, {1, 16, 2, {}, {}, {}, {}}};
      s_.arms.push_back(a);
    }
    for (std::int64_t seed = 1; seed <= 3; ++seed) {
      const double spread = 0.1 * double(seed - 2);  // of differences: -0.1, 0, 0.1
      runs("sinusoidal", 1).push_back(run("sinusoidal", seed, {0, 0, 0}));
      runs("rope", 1).push_back(run("rope", seed, {0.5 + spread, 0, 2 + spread}));
      runs("learned", 1).push_back(run("learned", seed, {0, 0, 0}, false));
      runs("sinusoidal", 0).push_back(run("sinusoidal", seed, {0, 0, 0}));
      runs("rope", 0).push_back(run("rope", seed, {-1 + spread, 0, 0}));
    }
  }
  std::vector<RunResult>& runs(const std::string& arm, std::size_t budget) {
    for (ArmSummary& a : s_.arms) {
      if (a.arm == arm) return a.budgets[budget].runs;
    }
    throw std::logic_error(arm);
  }
  Judged judged(const Prediction& p) {
    s_.config.predictions = {p};
    return judge(s_).at(0);
  }
  StudySummary s_;
  // A mean of three with deviation 0.1 has t_0.975(2) · 0.1/√3 on each side (t from a printed table).
  const double half_ = 4.302653 * 0.1 / std::sqrt(3.0);  // 0.2484
  const Prediction difference_ = of("loss", "rope", "sinusoidal");
};

TEST_F(Judge, NumbersArePairedBySeedAndBlock) {
  const auto expect = [&](const Prediction& p, double mean) {
    Prediction bounded = p;
    bounded.above = -100;
    const Judged j = judged(bounded);
    EXPECT_NEAR(j.found.mean, mean, 1e-12) << measured_text(p);
    EXPECT_NEAR(j.found.half_width, half_, 1e-6) << measured_text(p);
    EXPECT_EQ(j.found.n, 3);
    EXPECT_EQ(j.outcome, Judgement::held);
  };
  expect(difference_, 0.5);
  Prediction p = difference_;
  p.budget = 0.5;
  expect(p, -1);
  p = difference_, p.length = 2;
  expect(p, 2);
  p.measure = "growth", p.minus.reset();
  expect(p, 2);
  p.minus = "sinusoidal";
  expect(p, 2);
  p.arm = "sinusoidal", p.minus = "rope";
  expect(p, -2);
}

TEST_F(Judge, ALossAloneVariesAsSeedsAndTextDo) {
  Prediction p = of("loss", "sinusoidal");
  p.above = 0;
  const Judged j = judged(p);
  EXPECT_NEAR(j.found.mean, 10 * 14.0 / 3 + 1.5, 1e-12);
  EXPECT_GT(j.found.half_width, 50);
  EXPECT_EQ(j.outcome, Judgement::undecided);
  p.above = -100;
  EXPECT_EQ(judged(p).outcome, Judgement::held);
}

// The interval of the difference is 0.2516 to 0.7484.
TEST_F(Judge, TheIntervalDecides) {
  struct Case {
    std::optional<double> above, below, within;
    Judgement outcome;
  };
  const std::optional<double> no;
  for (const Case& c : {Case{0.25, no, no, Judgement::held}, Case{0.26, no, no, Judgement::undecided},
                        Case{0.74, no, no, Judgement::undecided}, Case{0.75, no, no, Judgement::not_held},
                        Case{no, 0.75, no, Judgement::held}, Case{no, 0.74, no, Judgement::undecided},
                        Case{no, 0.26, no, Judgement::undecided}, Case{no, 0.25, no, Judgement::not_held},
                        Case{0.25, 0.75, no, Judgement::held}, Case{0.25, 0.74, no, Judgement::undecided},
                        Case{0.26, 0.75, no, Judgement::undecided}, Case{0.4, 0.6, no, Judgement::undecided},
                        Case{0.75, 0.9, no, Judgement::not_held}, Case{0.1, 0.25, no, Judgement::not_held},
                        Case{no, no, 0.75, Judgement::held}, Case{no, no, 0.74, Judgement::undecided},
                        Case{no, no, 0.26, Judgement::undecided}, Case{no, no, 0.25, Judgement::not_held}}) {
    Prediction p = difference_;
    p.above = c.above, p.below = c.below, p.within = c.within;
    EXPECT_EQ(judged(p).outcome, c.outcome) << bound_text(p);
    std::swap(p.arm, p.minus);  // mirrored: -0.7484 to -0.2516
    p.above.reset(), p.below.reset();
    if (c.above) p.below = -*c.above;
    if (c.below) p.above = -*c.below;
    EXPECT_EQ(judged(p).outcome, c.outcome) << "mirrored: " << bound_text(p);
  }
}

TEST_F(Judge, OneSeedDecidesNothing) {
  for (ArmSummary& a : s_.arms) {
    for (AtBudget& b : a.budgets) b.runs.resize(std::min<std::size_t>(b.runs.size(), 1));
  }
  Prediction p = difference_;
  p.above = -100;
  EXPECT_EQ(judged(p).outcome, Judgement::undecided);
  EXPECT_EQ(judged(p).found.n, 1);
  EXPECT_NEAR(judged(p).found.mean, 0.4, 1e-12);
}

TEST_F(Judge, WhatHasNoNumberSaysWhy) {
  const auto reason = [&](Prediction p) {
    p.above = 0;
    const Judged j = judged(p);
    EXPECT_EQ(j.outcome, Judgement::not_measurable);
    EXPECT_EQ(j.found.n, 0);
    return j.why;
  };
  Prediction p = difference_;
  p.minus = "t5";
  EXPECT_EQ(reason(p), "'t5' is not an arm of this study");
  EXPECT_EQ(unmeasurable(p, s_.config), reason(p));
  p = difference_, p.length = 4;
  EXPECT_EQ(reason(p), "evaluate.lengths has no 4");
  p = difference_, p.budget = 0.25;
  EXPECT_EQ(reason(p), "study.budgets has no 0.25");
  p = difference_, p.arm = "learned", p.length = 2;
  EXPECT_EQ(unmeasurable(p, s_.config), "");
  EXPECT_EQ(reason(p), "'learned' is not defined in windows of 2 times the training length");
  p.measure = "growth", p.minus.reset();
  EXPECT_EQ(reason(p), "'learned' is not defined in windows of 2 times the training length");
  p = difference_, p.arm = "learned", p.budget = 0.5;
  EXPECT_EQ(reason(p), "no run of 'learned' has finished");
  RunResult lost;
  lost.failure = "the loss was not finite at step 3";
  s_.arms[1].budgets[0].failed = {lost};
  EXPECT_EQ(reason(p), "no run of 'learned' has finished: the loss was not finite at step 3");
  runs("rope", 1).erase(runs("rope", 1).begin() + 1, runs("rope", 1).end());
  runs("sinusoidal", 1).erase(runs("sinusoidal", 1).begin());
  EXPECT_EQ(reason(difference_), "'rope' and 'sinusoidal' have no finished seed in common");
}

// Answers of a task: 40 asked of each of three seeds.
class JudgeAnswers : public Judge {
 protected:
  void SetUp() override {
    Judge::SetUp();
    s_.config.data = "parity", s_.config.lengths = {1};
    answer("rope", {30, 32, 34});
    answer("sinusoidal", {20, 20, 20});
    answer("learned", {0, 0, 0}, false);
  }
  void answer(const std::string& arm, const std::vector<std::int64_t>& right, bool defined = true) {
    for (std::size_t n = 0; n < right.size(); ++n) {
      RunResult& r = runs(arm, 1)[n];
      r.by_length = {{20, 21, 0.5, {}, Tally{40, 40}, Tally{40, 40}}, {40, 41, std::nullopt, {}}};
      if (defined) r.by_length[1] = {40, 41, 0.5, {}, Tally{right[n], 40}, Tally{right[n] / 2, 40}};
    }
  }
  static Prediction share(const char* measure, const char* arm, double length) {
    Prediction p = of(measure, arm);
    p.length = length;
    return p;
  }
};

TEST_F(JudgeAnswers, SharesHaveTheIntervalOfTheirLogits) {
  Prediction p = share("right", "rope", 40);
  p.above = 0.5;
  const Judged j = judged(p);
  EXPECT_EQ(j.outcome, Judgement::held);
  EXPECT_NEAR(j.found.mean, 0.8, 1e-12);
  // logits of 30, 32, 34 of 40, counted with halves: 1.06635, 1.34117, 1.66916; t_0.975(2) = 4.302653
  ASSERT_TRUE(j.share);
  EXPECT_NEAR(j.share->low, 0.64776, 1e-5);
  EXPECT_NEAR(j.share->high, 0.89174, 1e-5);
  p.above = 0.65;
  EXPECT_EQ(judged(p).outcome, Judgement::undecided);
  p.above = 0.9;
  EXPECT_EQ(judged(p).outcome, Judgement::not_held);
  p.measure = "symbols", p.above = 0.2;
  EXPECT_NEAR(judged(p).found.mean, 0.4, 1e-12);
  p = share("right", "rope", 40), p.minus = "sinusoidal", p.above = 0;
  EXPECT_NEAR(judged(p).found.mean, 0.3, 1e-12);
  EXPECT_NEAR(judged(p).found.half_width, 4.302653 * 0.05 / std::sqrt(3.0), 1e-6);
  EXPECT_EQ(judged(p).outcome, Judgement::held);
}

TEST_F(JudgeAnswers, ExactlyIsOfEveryRun) {
  Prediction p = share("right", "sinusoidal", 40);
  p.exactly = 0.5;
  EXPECT_EQ(judged(p).outcome, Judgement::held);
  runs("sinusoidal", 1)[2].by_length[1].right->right = 21;
  EXPECT_EQ(judged(p).outcome, Judgement::not_held);
  runs("sinusoidal", 1).resize(1);  // one seed is enough where nothing varies
  EXPECT_EQ(judged(p).outcome, Judgement::held);
}

TEST_F(JudgeAnswers, WhatATaskDoesNotAskSaysWhy) {
  const auto reason = [&](Prediction p) {
    p.above = 0;
    return judged(p).why;
  };
  EXPECT_EQ(reason(share("right", "rope", 25)), "the task has no test of length 25");
  EXPECT_EQ(reason(share("right", "learned", 40)), "'learned' is not defined in windows of 40 symbols");
  EXPECT_EQ(reason(share("loss", "rope", 40)),
            "data with answers has no losses by length; use measure = right");
  s_.config.data = "bytes";
  EXPECT_EQ(reason(share("right", "rope", 40)), "this data has no right answers, only losses");
}

// Slopes of eight heads begin with 1/2: r(1 − r) with r = e^-1/2 is 0.2387, of an endless window; of four with 1/4: 0.1723.
TEST_F(Judge, WeightOnTheTokenBeforeIsOfTheEncodingAlone) {
  s_.config.arms = {"alibi", "rope", "rope+alibi", "t5", "cope"}, s_.config.model.length = 64;
  s_.config.model.layers = 1, s_.config.model.width = 64, s_.config.model.heads = 8;
  const auto weight = [&](const char* arm) {
    Prediction p = of("previous", arm);
    p.below = 0.25;
    return judged(p);
  };
  EXPECT_NEAR(weight("alibi").found.mean, 0.23865, 1e-5);
  EXPECT_EQ(weight("alibi").outcome, Judgement::held);
  EXPECT_NEAR(weight("rope+alibi").found.mean, 0.23865, 1e-5);
  EXPECT_NEAR(weight("rope").found.mean, 1.0 / 64, 1e-12);
  EXPECT_EQ(weight("t5").why, "the encoding is learned, or depends on the words");
  EXPECT_EQ(weight("cope").outcome, Judgement::not_measurable);
  s_.config.model.heads = 4;
  EXPECT_NEAR(weight("alibi").found.mean, 0.17227, 1e-5);
}

TEST_F(Judge, TheResultsHaveThem) {
  Prediction p = difference_;
  p.above = 0.25, p.after = 3;
  s_.config.predictions = {p};
  const std::string json = results_json(s_);
  for (const char* part : {"\"verdict\": \"held\"", "\"written_after_runs\": 3", "\"above\": 0.25",
                           "\"below\": null", "\"measured\": \"loss, rope − sinusoidal\""})
    EXPECT_NE(json.find(part), std::string::npos) << part;
  EXPECT_NE(json.find(text("\"predictions_sha256\": \"", fingerprint({p}), "\"")), std::string::npos);
  s_.config.predictions[0].above = 0.75;
  EXPECT_NE(results_json(s_).find("\"verdict\": \"not held\""), std::string::npos);
}

TEST(Presets, TheirPredictionsCanBeMeasuredAndSayWhereTheyComeFrom) {
  std::size_t with = 0;
  for (const Preset& p : presets()) {
    for (Part& part : read_suite(preset(p.name), {})) {
      StudyConfig& c = part.config;
      c.text_path = text_for(c);
      settle(c);
      with += !c.predictions.empty();
      std::set<std::string> said;
      for (const Prediction& one : c.predictions) {
        EXPECT_EQ(unmeasurable(one, c), "") << p.name << " " << part.name << ": " << one.says;
        EXPECT_GT(one.from.size(), 10u) << p.name << ": " << one.says;
        EXPECT_TRUE(said.insert(one.says).second) << p.name << " says twice: " << one.says;
      }
    }
  }
  EXPECT_GE(with, 4u);
  std::size_t files = 0;
  for (const auto& file :
       std::filesystem::directory_iterator(Path(GNOMON_ROOT) / "gnomon/study/settings/presets"))
    files += file.path().extension() == ".toml";
  EXPECT_EQ(files, presets().size());  // each is compiled in
}

}  // namespace
}  // namespace gnomon
