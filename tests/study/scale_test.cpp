// Which sizes a study gets that sets some of them, and what it says about the others.
#include "gnomon/study/settings/scale.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/nn/model.h"
#include "gnomon/study/plan/estimate.h"
#include "gnomon/study/run/job.h"

namespace gnomon {
namespace {

StudyConfig settled(const std::vector<std::string>& assignments) {
  StudyConfig c;
  c.text_path = "text";
  for (const auto& a : assignments) set(c, a);
  settle(c);
  return c;
}

using Sizes = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t>;
Sizes sizes(const StudyConfig& c) { return {c.model.layers, c.model.width, c.model.heads, c.train.batch}; }

std::string told(const StudyConfig& c) {
  std::string all;
  for (const auto& sentence : c.derived) all += sentence + "\n";
  return all;
}

double minutes_of(const StudyConfig& c) {  // by the speeds that the rule was given
  const double tokens = double(c.train.steps * c.train.batch * c.model.length);
  const double flops = Model(model_of(c, Spec::parse("none"))).training_flops_per_token(c.model.length) *
                       tokens * runs_an_arm(c) * double(c.arms.size());
  return flops / core_speed(c.model.width) / 2 / 60 / 0.85;
}

TEST(Scale, MoreMinutesBuyALargerModelOrMoreTokens) {
  double before = 1e9, tokens_before = 0;
  std::int64_t width = 0;
  for (const double minutes : {1.0, 8.0, 30.0, 120.0, 600.0}) {
    StudyConfig c;
    c.text_path = "text", c.minutes = minutes;
    settle(c);
    const double tokens = double(c.train.steps * c.train.batch * c.model.length);
    const double loss = expected_loss(double(Model(model_of(c, Spec::parse("none"))).param_count()), tokens);
    EXPECT_LT(loss, before);
    EXPECT_GT(tokens, tokens_before);
    EXPECT_GE(c.model.width, width);
    EXPECT_EQ(c.train.steps % 16, 0);
    // What it costs by the speeds that the rule was given is what was asked for.
    const double flops = Model(model_of(c, Spec::parse("none"))).training_flops_per_token(c.model.length) *
                         tokens * runs_an_arm(c) * double(c.arms.size());
    EXPECT_NEAR(flops / core_speed(c.model.width) / 2 / 60 / minutes, 0.85, 0.15) << minutes;
    before = loss, tokens_before = tokens, width = c.model.width;
  }
}

TEST(Scale, StepsThatAreSetLeaveTheSizes) {
  // Few, as many as the rule would take, many; alone and beside what changes the sizes.
  const std::vector<std::vector<std::string>> beside{
      {},
      {"study.minutes=1.5"},
      {"study.minutes=120"},
      {"model.length=512"},
      {"model.length=32", "train.batch=16"},
      {"study.budgets=1", "study.seeds=1"},
      {"study.arms=none, rope", "tune.seeds=0"},
      {"model.block=llama", "study.minutes=30"},
      {"model.layers=3"},
      {"model.width=96", "study.minutes=40"},
  };
  for (std::vector<std::string> settings : beside) {
    const StudyConfig free = settled(settings);
    for (const char* steps : {"1", "60", "3280", "100000"}) {
      settings.push_back(text("train.steps=", steps));
      const StudyConfig c = settled(settings);
      settings.pop_back();
      EXPECT_EQ(sizes(c), sizes(free)) << told(c);
      EXPECT_EQ(c.tuning.rates, free.tuning.rates);
      EXPECT_EQ(text(c.train.steps), steps);
      EXPECT_NE(told(c).find(text("train.steps = ", steps, " is set")), std::string::npos) << told(c);
    }
  }
  EXPECT_EQ(sizes(settled({"train.steps=60"})), (Sizes{2, 64, 4, 4}));
}

TEST(Scale, SizesThatAreSetKeepTheMinutes) {
  for (const std::vector<std::string>& settings :
       std::vector<std::vector<std::string>>{{"model.width=32"},
                                             {"model.width=320"},
                                             {"model.layers=8"},
                                             {"model.layers=1"},
                                             {"model.layers=6", "model.width=48"},
                                             {"model.width=80", "study.minutes=30"},
                                             {"model.width=128", "train.batch=16"},
                                             {"model.layers=4", "model.length=512", "study.minutes=60"},
                                             {"model.width=64", "study.budgets=0.5, 1", "study.seeds=3"}}) {
    const StudyConfig c = settled(settings);
    // To half of the sixteen steps that steps are whole multiples of.
    EXPECT_NEAR(minutes_of(c) / c.minutes, 1, 0.02 + 8.0 / double(c.train.steps)) << told(c);
    EXPECT_NE(told(c).find("train.steps = "), std::string::npos);
    for (const auto& s : settings) {
      const std::string key = s.substr(0, s.find('='));
      EXPECT_EQ(told(c).find(key + " = "),
                key == "study.minutes" ? told(c).find(key + " = ") : std::string::npos)
          << key << " was set: " << told(c);
    }
  }
}

// With one of the two set, no value that the rule has for the other is expected to end lower in the same minutes.
TEST(Scale, TheOtherSizeIsTheBestOfTheRules) {
  const auto expected = [](const StudyConfig& c) {
    return expected_loss(double(Model(model_of(c, Spec::parse("none"))).param_count()),
                         double(c.train.steps * c.train.batch * c.model.length));
  };
  for (const char* layers : {"2", "4", "8"}) {
    const StudyConfig c = settled({text("model.layers=", layers)});
    for (const char* width : {"32", "48", "64", "96", "128", "192", "256", "320"})
      EXPECT_LE(expected(c),
                expected(settled({text("model.layers=", layers), text("model.width=", width)})) + 1e-12)
          << layers << " layers, " << width << " and not " << c.model.width;
  }
  for (const char* width : {"32", "64", "128", "256"}) {
    const StudyConfig c = settled({text("model.width=", width), "study.minutes=60"});
    for (const char* layers : {"2", "3", "4", "6", "8"})
      EXPECT_LE(expected(c), expected(settled({text("model.layers=", layers), text("model.width=", width),
                                               "study.minutes=60"})) +
                                 1e-12)
          << width << " wide, " << layers << " and not " << c.model.layers;
  }
}

TEST(Scale, HeadsDivideTheWidth) {
  for (std::int64_t width = 4; width <= 256; width += 2) {
    const StudyConfig c = settled({text("model.width=", width), "train.steps=16", "study.arms=none, rope"});
    EXPECT_EQ(width % c.model.heads, 0) << width;
    EXPECT_EQ(width / c.model.heads % 2, 0) << width;
    EXPECT_LE(c.model.heads, 8);
  }
  for (const std::int64_t heads : {1, 3, 5, 7, 8, 12, 48}) {
    const StudyConfig c = settled({text("model.heads=", heads), "study.arms=none, rope"});
    EXPECT_EQ(c.model.width % (2 * heads), 0) << heads << " heads, " << c.model.width;
  }
  const StudyConfig shared = settled({"model.kv_heads=3", "study.arms=none, rope"});
  EXPECT_EQ(shared.model.heads % 3, 0);
  EXPECT_EQ(shared.model.width % (2 * shared.model.heads), 0);
}

TEST(Scale, ShortWindowsAreScoredWhole) {
  const StudyConfig c = settled({"model.length=16"});
  EXPECT_EQ(c.score, 16);
  EXPECT_NE(told(c).find("evaluate.score = 16"), std::string::npos);
  EXPECT_EQ(settled({"model.length=33"}).score, 32);
  EXPECT_THROW(settled({"model.length=16", "evaluate.score=17"}), Error);
}

TEST(Scale, WhatIsSetIsNotToldAsDerived) {
  const StudyConfig all = settled({"model.layers=2", "model.width=48", "model.heads=2", "train.steps=70",
                                   "train.batch=3", "tune.rates=0.001, 0.004"});
  EXPECT_EQ(told(all), "");
  // A plan that is read again has everything set, and keeps what it said only where nothing settles it again.
  const StudyConfig once = settled({"model.length=64"});
  EXPECT_EQ(once.derived.size(), 5u) << told(once);
  StudyConfig again = once;
  settle(again);
  EXPECT_EQ(told(again), "");
  EXPECT_EQ(sizes(again), sizes(once));
}

}  // namespace
}  // namespace gnomon
