// What a study does with its runs: rates that are tuned, budgets, arms that are matched, several workers.
#include "gnomon/study/plan/study.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <set>
#include <thread>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/study/conduct.h"
#include "gnomon/study/data/corpus.h"
#include "gnomon/study/plan/slurm.h"
#include "gnomon/study/results/results.h"
#include "gnomon/study/settings/presets.h"
#include "gnomon/study/suite.h"
#include "tests/study/preset_text.h"

namespace gnomon {
namespace {

// The choice that ends with these losses as a function of the rate, and the rates that it tried, in order.
struct Chosen {
  std::vector<double> tried;
  Tuned end;
};
Chosen choose(const Tuning& how, const std::function<double(double rate, std::int64_t seed)>& loss) {
  Chosen c;
  std::vector<TriedRate> found;
  for (;;) {
    c.end = tune(how, found);
    if (c.end.open.empty()) return c;
    for (const double rate : c.end.open) {
      c.tried.push_back(rate);
      found.push_back({rate, {}});
      for (std::int64_t n = 0; n < how.seeds; ++n) found.back().nats.push_back(loss(rate, n));
    }
  }
}
double valley(double rate, double best) { return std::pow(std::log(rate / best), 2); }

TEST(Tuning, TheBestOfTheGridIsTakenAndItsEdgesAreWidened) {
  const Tuning how{{0.004, 0.008, 0.016}};
  using Rates = std::vector<double>;
  const auto with_best = [&](double best) {
    return choose(how, [&](double rate, std::int64_t) { return valley(rate, best); });
  };
  Chosen c = with_best(0.008);
  EXPECT_EQ(c.tried, (Rates{0.004, 0.008, 0.016}));
  EXPECT_EQ(c.end.chosen, 0.008);
  c = with_best(0.016);  // the next one shows that it was the best
  EXPECT_EQ(c.tried, (Rates{0.004, 0.008, 0.016, 0.032}));
  EXPECT_EQ(c.end.chosen, 0.016);
  EXPECT_FALSE(c.end.at_edge);
  c = with_best(0.002);
  EXPECT_EQ(c.tried, (Rates{0.004, 0.008, 0.016, 0.002, 0.001}));
  EXPECT_EQ(c.end.chosen, 0.002);
  c = with_best(1e9);  // three times up, and no further
  EXPECT_EQ(c.tried, (Rates{0.004, 0.008, 0.016, 0.032, 0.064, 0.128}));
  EXPECT_TRUE(c.end.at_edge);
  EXPECT_EQ(c.end.chosen, 0.128);
}

TEST(Tuning, SeedsAreAveragedAndADivergedRunIsNeverTheBest) {
  const Tuning how{{1, 2, 4}, 2};
  // Alone, the first seed would choose 1 and the second 4.
  const Chosen c = choose(how, [](double rate, std::int64_t seed) {
    return rate == 2 ? 1.0 : (rate == 1) == (seed == 0) ? 0.5 : 2.0;
  });
  EXPECT_EQ(c.end.chosen, 2);
  const Chosen d = choose(how, [](double rate, std::int64_t seed) {
    return rate >= 2 && seed == 1 ? INFINITY : valley(rate, 4) + 0.1;
  });
  EXPECT_LT(*d.end.chosen, 2);
  const Chosen none = choose(how, [](double, std::int64_t) { return INFINITY; });
  EXPECT_TRUE(none.end.at_edge);
}

class Study : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / text("gnomon-study-", getpid());
    std::filesystem::create_directories(folder_);
    std::string words;
    const Random random(1, "words");
    for (std::uint64_t i = 0; words.size() < 20000; ++i)
      words += random.below(i, 3) ? "the cat sat. " : "a dog ran far. ";
    write_file(folder_ / "text.txt", words);
    config_.text_path = (folder_ / "text.txt").string();
    config_.model.layers = 1, config_.model.width = 16, config_.model.heads = 2, config_.model.length = 16;
    config_.train.steps = 32, config_.train.batch = 2, config_.threads = 1;
    config_.score = 8, config_.windows = 8, config_.points = 5, config_.seeds = 2, config_.workers = 2;
    config_.arms = {"sinusoidal", "rope"};
    config_.tuning.rates = {0.004, 0.008, 0.016};
    settle(config_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  Corpus corpus() const { return Corpus(config_.text_path, config_.longest() + 1); }
  // A result with these losses, as if it had been trained.
  static RunResult result(const RunPlan& plan, double nats) {
    RunResult r;
    r.plan = plan, r.nats = nats, r.by_block = {nats, nats};
    return r;
  }
  static RunHooks quiet() {
    return {[] { return false; }, [](const RunProgress&) {}, [](const std::string&) {}};
  }
  Path folder_;
  StudyConfig config_;
};

TEST_F(Study, RunsFollowFromWhatWasFound) {
  const Corpus c = corpus();
  Found found;
  const auto plan = plan_runs(config_, c, found);
  ASSERT_EQ(plan.size(), 6u);  // two arms, three rates
  std::set<std::string> keys;
  for (const RunPlan& run : plan) {
    EXPECT_TRUE(tunes(run));
    EXPECT_EQ(run.steps, 8);
    EXPECT_TRUE(keys.insert(run.key).second);
    const Job job = job_of(config_, c, run);
    EXPECT_EQ(job.held, Held::validation);
    EXPECT_TRUE(job.lengths.empty());
  }
  EXPECT_EQ(to_come(config_, c, found).runs, 12u);
  for (const RunPlan& run : plan) {
    if (run.arm == "rope") found.emplace(run.key, result(run, valley(run.learning_rate, 0.008)));
  }
  const auto more = plan_runs(config_, c, found);
  ASSERT_EQ(more.size(), 12u);  // rope's rate is chosen: three budgets, two seeds
  EXPECT_EQ(to_come(config_, c, found).runs, 6u);
  std::vector<std::int64_t> steps;
  for (std::size_t i = 6; i < more.size(); ++i) {
    EXPECT_EQ(more[i].arm, "rope");
    EXPECT_EQ(more[i].learning_rate, 0.008);
    EXPECT_EQ(more[i].seed, i < 9 ? 1 : 2);
    EXPECT_EQ(job_of(config_, c, more[i]).held, Held::test);
    EXPECT_EQ(job_of(config_, c, more[i]).lengths.empty(), more[i].steps != 32);
    steps.push_back(more[i].steps);
  }
  EXPECT_EQ(steps, (std::vector<std::int64_t>{32, 8, 2, 32, 8, 2}));
  for (const RunPlan& run : plan) {
    if (run.arm == "sinusoidal") found.emplace(run.key, result(run, valley(run.learning_rate, 0.032)));
  }
  EXPECT_EQ(plan_runs(config_, c, found).size(), 13u);  // one more rate is tried
}

// Validation text decides the rate; the test must not have been looked at.
TEST_F(Study, ValidationAndTestShareNoByte) {
  const Corpus c = corpus();
  std::set<std::int64_t> looked_at;
  for (const auto end : c.parts().ends(17, 200, Held::validation)) {
    for (std::int64_t at = end - 18; at < end; ++at) looked_at.insert(at);
  }
  const std::int64_t longest = config_.longest();
  for (const auto end : c.parts().ends(longest, 200, Held::test)) {
    for (std::int64_t at = end - longest - 1; at < end; ++at) ASSERT_EQ(looked_at.count(at), 0u);
  }
}

TEST_F(Study, WaysOfJoiningAreMatchedInParametersAndInFlops) {
  config_.model.width = 64, config_.model.heads = 4, config_.model.layers = 2, config_.train.steps = 1000;
  const Spec baseline = Spec::parse("sinusoidal");
  const Model base(model_of(config_, baseline));
  const auto flops = [&](const RunSettings& s, const Spec& spec) {
    return Model(model_of(s, spec)).training_flops_per_token(s.model.length) * double(s.train.steps);
  };
  for (const char* words : {"project(sinusoidal)", "mixture(sinusoidal)"}) {
    const Arm wide(words), by_parameters(text(words, " | parameters")), by_flops(text(words, "|flops"));
    EXPECT_EQ(Arm(by_flops.print()), by_flops);
    EXPECT_EQ(by_parameters.print(), text(words, " | parameters"));
    const double unmatched =
        double(Model(model_of(settings_of(wide, config_, baseline), wide.spec)).param_count());
    EXPECT_GT(std::abs(unmatched / double(base.param_count()) - 1), 0.01) << words;
    const RunSettings p = settings_of(by_parameters, config_, baseline),
                      f = settings_of(by_flops, config_, baseline);
    EXPECT_NEAR(double(Model(model_of(p, wide.spec)).param_count()) / double(base.param_count()), 1, 0.01)
        << words;
    EXPECT_EQ(p.train.steps, config_.train.steps);
    EXPECT_NEAR(flops(f, wide.spec) / flops(config_, baseline), 1, 0.02) << words;
    EXPECT_EQ(model_of(f, wide.spec).feed_forward.hidden, model_of(config_, wide.spec).feed_forward.hidden);
  }
  for (const char* nothing : {"rope | parameters", "concat(sinusoidal) | flops"})  // it has them anyway
    EXPECT_THROW(settings_of(Arm(nothing), config_, baseline), Error) << nothing;
}

TEST_F(Study, TwoWhoJoinShareTheRunsAndFindWhatOneFinds) {
  const StudyFolder one{folder_ / "one"}, two{folder_ / "two"};
  for (const StudyFolder& f : {one, two}) {
    make_folders(f.folder);
    write_file(f.config(), print_toml(config_));
  }
  const auto ignore = [](const RunResult&) {};
  const std::size_t all = join(one, {}, quiet(), ignore);
  std::size_t first = 0, second = 0;
  std::thread other([&] { first = join(two, {}, quiet(), ignore); });
  second = join(two, {}, quiet(), ignore);
  other.join();
  EXPECT_EQ(first + second, all);
  EXPECT_GT(std::min(first, second), 0u);
  const auto bits = [](const StudyFolder& f) {
    std::string print;
    Opened study = open_study(f);
    for (auto& [key, r] : study.found) r.cost = {}, print += result_json(r);
    return print;
  };
  EXPECT_EQ(bits(one), bits(two));
  EXPECT_EQ(join(two, {}, quiet(), ignore), 0u);
  EXPECT_THROW(join({folder_ / "none"}, {}, quiet(), ignore), Error);
}

// As many joiners as planned runs, one after the other, find all runs due, also at rates that no plan named: the best of two
// rates is at an edge.
TEST_F(Study, WhoDoesOneRunDoesTheRatesThatItCallsForAsWell) {
  config_.tuning.rates = {0.004, 0.008}, config_.tuning.seeds = 2;
  const StudyFolder f{folder_ / "study"};
  make_folders(f.folder);
  write_file(f.config(), print_toml(config_));
  const SlurmJobs jobs = slurm_jobs(config_, corpus(), "gnomon");
  EXPECT_EQ(jobs.tuning, 8u);
  EXPECT_EQ(jobs.following, 12u);
  std::size_t beyond = 0, done = 0;
  const auto count = [&](const RunResult& r) { beyond += extends(config_, r.plan); };
  const Share one{1, false};
  for (std::size_t n = 0; n < jobs.tuning; ++n) done += join(f, one, quiet(), count);
  EXPECT_GE(beyond, 4u);
  EXPECT_EQ(done, jobs.tuning + beyond);
  for (const RunPlan& run : plan_runs(config_, corpus(), open_study(f).found))
    EXPECT_EQ(std::filesystem::exists(f.run(run).result()), tunes(run))
        << run.arm << " " << run.learning_rate;
  for (std::size_t n = 0; n < jobs.following; ++n) EXPECT_EQ(join(f, one, quiet(), count), 1u);
  EXPECT_EQ(join(f, one, quiet(), count), 0u);
  EXPECT_EQ(open_study(f).found.size(), jobs.tuning + beyond + jobs.following);
}

TEST_F(Study, ARunThatSomebodyWorksOnIsLeftToThem) {
  const Corpus c = corpus();
  const StudyFolder f{folder_ / "study"};
  make_folders(f.folder);
  write_file(f.config(), print_toml(config_));
  const auto plan = plan_runs(config_, c, {});
  make_folders(f.run(plan[0]).folder);
  const FileLock held(f.run(plan[0]).lock(), "the first run");
  Agenda agenda(config_, c, f);
  EXPECT_EQ(agenda.next().run->key, plan[1].key);
  EXPECT_FALSE(agenda.next(Agenda::Which::extending).run);
  for (std::size_t n = 2; n < plan.size(); ++n) EXPECT_EQ(agenda.next().run->key, plan[n].key);
  const Agenda::Next none = agenda.next();
  EXPECT_FALSE(none.run);
  EXPECT_TRUE(none.wait);
  std::vector<std::string> done;
  EXPECT_EQ(join(f, {2, false}, quiet(), [&](const RunResult& r) { done.push_back(r.plan.key); }), 2u);
  EXPECT_EQ(done, (std::vector{plan[1].key, plan[2].key}));
}

// An arm waits for them.
TEST_F(Study, RatesBeyondTheGivenOnesComeFirst) {
  const Corpus c = corpus();
  Found found;
  for (const RunPlan& run : plan_runs(config_, c, {})) {
    if (run.arm == "rope") found.emplace(run.key, result(run, valley(run.learning_rate, 0.032)));
  }
  const auto plan = plan_runs(config_, c, found);
  ASSERT_EQ(plan.size(), 7u);
  EXPECT_EQ(plan[0].learning_rate, 0.032);
  for (std::size_t n = 0; n < plan.size(); ++n) EXPECT_EQ(extends(config_, plan[n]), n == 0) << n;
}

// What is predicted counts by when it was written: before the runs it may be changed, and that is said; afterwards it stays,
// and what is new says how late it came.
TEST_F(Study, PredictionsStandFromBeforeTheRuns) {
  const Corpus c = corpus();
  const StudyFolder folder{folder_ / "p"};
  const auto predict = [&](const std::vector<const char*>& all) {
    config_.predictions.clear();
    for (const char* says : all) {
      Prediction p;
      p.says = says, p.measure = "loss", p.arm = "rope", p.above = 0;
      config_.predictions.push_back(p);
    }
  };
  const auto begin = [&](bool replace = false) { return StudyConduct(config_, c, folder, replace).said(); };
  const auto written = [&] {
    StudyConfig found;
    read_toml(found, folder.config());
    std::string all;
    for (const Prediction& p : found.predictions) all += text(p.says, " ", p.after.value_or(0), ", ");
    return all;
  };
  const auto one_more_run = [&] { ASSERT_EQ(join(folder, {1}, quiet(), [](const RunResult&) {}), 1u); };
  predict({"first"});
  EXPECT_TRUE(begin().empty());
  predict({"second"});
  const auto replaced = begin();
  ASSERT_EQ(replaced.size(), 1u);
  EXPECT_NE(replaced[0].find("(\"first\", ...): they are replaced"), std::string::npos) << replaced[0];
  one_more_run();
  EXPECT_TRUE(begin().empty());
  EXPECT_EQ(written(), "second 0, ");
  predict({"third", "second"});
  const auto late = begin();
  ASSERT_EQ(late.size(), 1u);
  EXPECT_NE(late[0].find(": 1 prediction was added after 1 run had finished"), std::string::npos) << late[0];
  one_more_run();
  config_.predictions[1].after = 5;  // what a file says of that counts for nothing
  EXPECT_TRUE(begin().empty());
  EXPECT_EQ(written(), "third 1, second 0, ");
  predict({"third"});
  try {
    begin();
    FAIL() << "a prediction was lost";
  } catch (const Error& e) {
    EXPECT_EQ(e.fault(), Fault::usage);
    for (const char* part : {"(\"second\", ...)", "2 runs have finished", "--out", "--replace"})
      EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
  }
  EXPECT_EQ(written(), "third 1, second 0, ");
  EXPECT_EQ(begin(true).size(), 1u);
  EXPECT_EQ(written(), "third 1, ");
}

TEST_F(Study, EachBudgetHasTheRateThatWasChosenForIt) {
  const Corpus c = corpus();
  const Arm arm = config_.arms[0];
  config_.tuning.budgets = {0.25, 1};
  Found found;
  const auto try_rate = [&](double share, double rate, double nats) {
    const RunPlan plan = plan_of(config_, c, tuning_trial(config_, arm, share, rate, 0));
    found.emplace(plan.key, result(plan, nats));
  };
  const auto rate = [&](double share) { return followed(tuned(config_, c, arm, found), share).chosen; };
  for (const double r : config_.tuning.rates) try_rate(1, r, std::abs(std::log(r / 0.008)));
  EXPECT_EQ(rate(1), 0.008);
  EXPECT_EQ(rate(0.25), std::nullopt) << "which waits for trainings of its own length";
  for (const double r : config_.tuning.rates) try_rate(0.25, r, 2 + std::abs(std::log(r / 0.016)));
  EXPECT_EQ(rate(0.25), std::nullopt) << "the best of three is the last of them";
  try_rate(0.25, 0.032, 3);
  EXPECT_EQ(rate(0.25), 0.016);
  EXPECT_EQ(rate(0.0625), 0.016) << "as the nearest";
  for (const RunPlan& run : plan_runs(config_, c, found)) {
    if (run.arm != arm.print() || tunes(run)) continue;
    EXPECT_EQ(run.learning_rate, *rate(double(run.steps) / double(config_.train.steps))) << run.steps;
  }
  EXPECT_EQ(to_come(config_, c, found).runs, 3u * std::size_t(config_.seeds) * (config_.arms.size() - 1));
}

TEST_F(Study, RatesThatAreGivenAreThoseOfTheArmAndTheBudget) {
  const Corpus c = corpus();
  config_.budgets = {0.25, 1};
  config_.tuning.seeds = 0;
  for (std::size_t i = 0; i < 2 * config_.arms.size(); ++i)
    config_.tuning.given.push_back(0.001 * double(i + 1));
  config_.check();
  const std::vector<RunPlan> runs = plan_runs(config_, c, {});
  EXPECT_EQ(runs.size(), 2 * config_.arms.size() * std::size_t(config_.seeds));
  for (const RunPlan& run : runs) {
    const auto arm = std::find(config_.arms.begin(), config_.arms.end(), Arm(run.arm)) - config_.arms.begin();
    const bool largest = run.steps == config_.train.steps;
    EXPECT_EQ(run.learning_rate, 0.001 * double(2 * arm + largest + 1)) << run.arm << " " << run.steps;
  }
  config_.tuning.given.pop_back();
  EXPECT_THROW(config_.check(), Error) << "one is missing";
  config_.tuning.given.clear(), config_.check();
  config_.tuning.given.assign(2 * config_.arms.size(), 0.001);
  config_.tuning.seeds = 1;
  EXPECT_THROW(config_.check(), Error) << "tuned and given";
}

TEST_F(Study, WhatTuningTriedStandsInTheResults) {
  const Corpus c = corpus();
  const StudyFolder folder{folder_ / "s"};
  make_folders(folder.folder);
  write_file(folder.config(), print_toml(config_));
  join(folder, {}, quiet(), [](const RunResult&) {});
  const StudySummary s = summarise(config_, c, open_study(folder).found);
  EXPECT_EQ(s.finished, s.planned);
  EXPECT_GT(s.tuning_flops, 0);
  EXPECT_LT(s.tuning_flops, s.flops);
  for (const ArmSummary& a : s.arms) {
    ASSERT_EQ(a.budgets.size(), 3u);
    ASSERT_EQ(a.rates.size(), 1u);
    const std::vector<TriedRate>& tried = a.rates[0].tried;
    EXPECT_EQ(a.tuning.size(), tried.size());
    for (const TriedRate& t : tried)
      EXPECT_GE(t.mean(), std::find_if(tried.begin(), tried.end(), [&](const TriedRate& x) {
                            return x.rate == *a.rates[0].chosen;
                          })->mean());
    for (const AtBudget& b : a.budgets) {
      EXPECT_EQ(b.runs.size(), 2u);
      EXPECT_EQ(b.nats.n, 2);
      for (const RunResult& r : b.runs) EXPECT_EQ(r.plan.learning_rate, *a.rates[0].chosen);
    }
    EXPECT_EQ(a.budgets[0].tokens * 16, a.budgets[2].tokens);
  }
  const std::string json = results_json(s);
  for (const char* key :
       {"\"learning_rate\"", "\"rates\"", "\"budgets\"", "\"tokens\"", "\"flops\"", "\"half_width_95\""})
    EXPECT_NE(json.find(key), std::string::npos) << key;
}

TEST(Presets, AreReadAndHold) {
  EXPECT_GE(presets().size(), 2u);
  for (const Preset& p : presets()) {
    for (Part& part : read_suite(preset(p.name), {})) {
      part.config.text_path = text_for(part.config);
      settle(part.config);
    }
    EXPECT_GT(p.title().size(), 20u) << p.name;
  }
  EXPECT_THROW(preset("defalut"), Error);
}

}  // namespace
}  // namespace gnomon
