#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <unordered_set>

#include "gnomon/claims/models/recipe.h"
#include "gnomon/core/error.h"
#include "gnomon/files/sha256.h"
#include "gnomon/kernels/loss.h"
#include "gnomon/study/data/task.h"
#include "tests/study/task_solvers.h"

namespace gnomon {
namespace {

// Inputs and targets of a sample as one hash.
std::string hash(const Sample& s) {
  const auto bytes = [](const std::vector<std::int32_t>& v) {
    return std::string(reinterpret_cast<const char*>(v.data()), v.size() * sizeof(std::int32_t));
  };
  return sha256(bytes(s.inputs) + bytes(s.targets)).substr(0, 16);
}

// Models of claims are kept by the key of their job, which does not know how windows are made: these bits may not change.
TEST(Tasks, WindowsOfClaimsStayAsTheyWere) {
  struct Known {
    const char *task, *made, *trained, *tested;
  };
  for (const Known& k : {Known{"order", "6333d8f351ebf905", "daf79d8c9097f9db", "715cd0cf77228937"},
                         {"binding", "b8855132e2428663", "179ddf43b5bd7c39", "9034eb1502c038ee"},
                         {"majority", "bc7f417c646d44c6", "cf9c7f18715734f8", "34ad3b0efea9f774"},
                         {"previous", "12c85863aec29994", "551812d2999f5b8f", "1f414ccdee2fd28d"},
                         {"offset8", "9ce0d47d1c2c478f", "9ce78f17cedb4188", "c8fd28f616a93b2b"},
                         {"lengths", "12c85863aec29994", "5621e244120073f2", "1f414ccdee2fd28d"}}) {
    const Job job = Recipe{.data = k.task, .spec = "none", .length = 32, .batch = 6}.job(3, nullptr);
    EXPECT_EQ(hash(make_task(k.task, 24, 50, Random(1, "t"))), k.made) << k.task;
    EXPECT_EQ(hash(training_batch(job, 7)), k.trained) << k.task;
    EXPECT_EQ(hash(job.data->held_out({40, 10, Held::all, true, 2, 0})), k.tested) << k.task;
  }
}

const Random& stream() {
  static const Random random(11, "tests of tasks");
  return random;
}

// A window without its padding.
std::string window(const Sample& s, std::int64_t n) {
  std::string all;
  for (std::int64_t t = n * s.T; t < (n + 1) * s.T; ++t) all += char(s.inputs[std::size_t(t)]);
  return all.substr(0, all.find_last_not_of('_') + 1);
}
// The lengths of training, and each that is tested.
std::vector<WindowShape> all_windows(const Task& task, bool causal) {
  std::vector<WindowShape> all{training_shape(task, causal)};
  for (const std::int64_t L : task.tests) all.push_back(testing_shape(task, L, causal));
  return all;
}
// Symbols of a decoder's windows with another target than the solver's, or a source that does not hold it.
std::int64_t mistakes(const Task& task, const Examples& s) {
  const Solver solver = solvers().find(task.name)->second;
  std::int64_t wrong = 0;
  for (std::int64_t n = 0; n < s.count(); ++n) {
    const std::string all = window(s, n);
    for (std::int64_t t = 0; t < s.T; ++t) {
      const auto at = std::size_t(n * s.T + t), read = std::size_t(t + 1);
      const bool last_written = task.form == AnswerForm::written && read >= all.size();
      const auto said = read <= all.size() && !last_written ? solver.say(all.substr(0, read)) : std::nullopt;
      const std::int32_t target = said ? std::int32_t(static_cast<unsigned char>(*said)) : kUnscored;
      wrong += s.targets[at] != target;
      if (s.sources[at] == kNowhere) continue;
      const std::int32_t source = s.inputs[std::size_t(n * s.T + s.sources[at])];
      wrong += !said || s.sources[at] > t || (source != target && task.name != "dyck");
      if (task.name == "dyck") wrong += target != (source == '(' ? ')' : ']');
    }
  }
  return wrong;
}

TEST(Tasks, EveryTaskIsSolvedByAnIndependentSolver) {
  EXPECT_EQ(tasks().size(), solvers().size());
  for (const Task* task : tasks()) {
    ASSERT_TRUE(solvers().count(task->name)) << task->name << ": write a solver";
    for (const WindowShape& made : all_windows(*task, true)) {
      Examples s = task_batch(*task, made, 200, stream());
      EXPECT_EQ(mistakes(*task, s), 0) << task->name << " L " << made.lengths.most;
      // A wrong answer is noticed, and one too many.
      const auto scored = std::find_if(s.targets.begin(), s.targets.end(), [](auto t) { return t >= 0; });
      ASSERT_NE(scored, s.targets.end()) << task->name;
      *scored += *scored == 'a' ? 1 : -1;
      EXPECT_GE(mistakes(*task, s), 1) << task->name;
      *scored = kUnscored;
      EXPECT_GE(mistakes(*task, s), 1) << task->name;
    }
  }
}

TEST(Tasks, AnEncoderReadsTheSameWindowsWithoutTheAnswers) {
  for (const Task* task : tasks()) {
    WindowShape made = training_shape(*task, true);
    const Examples decoder = task_batch(*task, made, 100, stream());
    made.causal = false;
    Examples encoder = task_batch(*task, made, 100, stream());
    std::int64_t hidden = 0;
    std::vector<std::int32_t> asked;  // of the decoder, in order
    for (std::size_t n = 0; n < encoder.inputs.size(); ++n) {
      if (decoder.targets[n] != kUnscored) asked.push_back(decoder.targets[n]);
      if (encoder.inputs[n] != 0) continue;
      ++hidden;
      ASSERT_NE(encoder.targets[n], kUnscored) << task->name << ": hidden, but not asked for";
      encoder.inputs[n] = encoder.targets[n];
    }
    EXPECT_EQ(encoder.inputs, decoder.inputs) << task->name;
    std::erase(encoder.targets, kUnscored);
    EXPECT_EQ(encoder.targets, asked) << task->name;
    EXPECT_EQ(hidden, task->form == AnswerForm::written ? std::int64_t(asked.size()) : 0) << task->name;
    EXPECT_EQ(std::count(decoder.inputs.begin(), decoder.inputs.end(), 0), 0) << task->name;
    for (const std::int32_t symbol : decoder.inputs) ASSERT_TRUE(symbol > 0 && symbol < kVocabulary);
  }
}

TEST(Tasks, LengthsAndRoomAreKept) {
  for (const Task* task : tasks()) {
    const Solver solver = solvers().find(task->name)->second;
    for (const WindowShape& made : all_windows(*task, true)) {
      const auto [least, most] = made.lengths;
      std::map<std::int64_t, std::int64_t> times;  // of each length
      std::size_t largest = 0;
      const std::int64_t batches = task->one_length ? 3000 : 1, windows = task->one_length ? 1 : 3000;
      for (std::int64_t batch = 0; batch < batches; ++batch) {
        const Examples s = task_batch(*task, made, windows, training_stream(1, batch));
        ASSERT_EQ(s.inputs.size(), s.targets.size());
        ASSERT_EQ(s.inputs.size(), s.sources.size());
        ASSERT_EQ(s.T, task->one_length ? s.T : task->tokens(made.room)) << task->name;
        for (std::int64_t n = 0; n < s.count(); ++n) {
          const std::string all = window(s, n);
          const std::int64_t L = solver.length(all);
          ++times[L];
          ASSERT_LE(std::int64_t(all.size()), task->tokens(L)) << task->name;
          largest = std::max(largest, all.size());
          ASSERT_EQ(all.find('_'), std::string::npos) << task->name << ": padding stands at the end alone";
        }
      }
      EXPECT_EQ(std::int64_t(largest), task->tokens(most)) << task->name << ": more room than is needed";
      EXPECT_EQ(times.begin()->first, least) << task->name;
      EXPECT_EQ(times.rbegin()->first, most) << task->name;
      const double expected = 3000. / double(most - least + 1);  // Poisson: 5 standard deviations
      for (const auto& [L, n] : times)
        EXPECT_NEAR(double(n), expected, least == most ? 1 : 5 * std::sqrt(expected))
            << task->name << " L " << L;
    }
  }
}

TEST(Tasks, PairsHoldBothOrders) {
  for (const Task* task : tasks()) {
    if (task->metric != Metric::pairs) continue;
    const Examples s = task_batch(*task, training_shape(*task, true), 400, stream());
    for (std::int64_t n = 0; n < s.count(); n += 2) {
      std::string a = window(s, n), b = window(s, n + 1);
      EXPECT_NE(a, b);
      EXPECT_NE(s.targets[std::size_t((n + 1) * s.T - 1)], s.targets[std::size_t((n + 2) * s.T - 1)]);
      std::sort(a.begin(), a.end()), std::sort(b.begin(), b.end());
      EXPECT_EQ(a, b) << task->name;
    }
  }
}

// Ten thousand windows of training and of tests have none in common, but for the tasks that say so.
TEST(Tasks, TestsAreNotMetInTraining) {
  for (const Task* task : tasks()) {
    std::unordered_set<std::string> trained;
    for (std::int64_t step = 0; step < 100; ++step) {
      const Examples s = task_batch(*task, training_shape(*task, true), 100, training_stream(1, step));
      for (std::int64_t n = 0; n < s.count(); ++n) trained.insert(window(s, n));
    }
    std::int64_t met = 0;
    for (const std::int64_t L : task->tests) {
      const Examples s = task_batch(*task, testing_shape(*task, L, true), 10000, testing_stream(1));
      for (std::int64_t n = 0; n < s.count(); ++n) met += std::int64_t(trained.count(window(s, n)));
    }
    EXPECT_EQ(met > 0, !task->seen.empty()) << task->name << ": " << met << " windows were met";
  }
}

// Streams are functions of seed and step, or of the draw, and of nothing else.
TEST(Tasks, StreamsDiffer) {
  std::set<std::uint64_t> first;
  for (const std::uint64_t seed : {1, 2, 3}) {
    for (const std::int64_t step : {0, 1, 1000000}) first.insert(training_stream(seed, step).bits(0));
    first.insert(testing_stream(seed).bits(0));
  }
  EXPECT_EQ(first.size(), 12u);
  EXPECT_EQ(training_stream(2, 5).bits(3), training_stream(2, 5).bits(3));
}

TEST(Tasks, TheRegistryIsWhole) {
  std::set<std::string_view> names;
  for (const Task* task : tasks()) {
    EXPECT_TRUE(names.insert(task->name).second) << task->name;
    EXPECT_EQ(&find_task(task->name), task);
    for (const auto& words : {task->asks, task->isolates, task->format, task->symbols, task->payload})
      EXPECT_FALSE(words.empty()) << task->name;
    EXPECT_TRUE(task->chance >= 0 && task->chance <= .5) << task->name;
    const auto [least, most] = task->trained;
    EXPECT_TRUE(least <= most && least >= task->allowed.least && most <= task->allowed.most) << task->name;
    ASSERT_FALSE(task->tests.empty()) << task->name;
    EXPECT_TRUE(std::is_sorted(task->tests.begin(), task->tests.end())) << task->name;
    EXPECT_GE(task->tests.front(), task->allowed.least) << task->name;
    EXPECT_LE(task->tests.front(), most) << task->name << ": no test within the lengths of training";
    EXPECT_LE(task->tests.back(), task->allowed.most) << task->name;
    const bool one = task->allowed.least == task->allowed.most;
    EXPECT_EQ(task->tests.back() > most, !one) << task->name << ": a test beyond the lengths of training";
    EXPECT_LT(task->tokens(task->tests.back()), 400) << task->name;
  }
}

// The same answer everywhere is right no more often than chance, which is told for the shortest tests.
TEST(Tasks, ChanceIsWhatOneAnswerReaches) {
  for (const Task* task : tasks()) {
    const Examples s =
        task_batch(*task, testing_shape(*task, task->tests.front(), true), 4000, testing_stream(2));
    std::map<std::int32_t, double> right, whole;
    double asked = 0;
    for (std::int64_t n = 0; n < s.count(); ++n) {
      std::set<std::int32_t> said;
      for (std::int64_t t = n * s.T; t < (n + 1) * s.T; ++t) {
        const std::int32_t target = s.targets[std::size_t(t)];
        if (target != kUnscored) said.insert(target), ++right[target], ++asked;
      }
      if (said.size() == 1) ++whole[*said.begin()];
    }
    const auto best = [](const auto& counts) {
      double most = 0;
      for (const auto& [symbol, count] : counts) most = std::max(most, count);
      return most;
    };
    const double share =
        task->metric == Metric::symbols ? best(right) / asked : best(whole) / double(s.count());
    EXPECT_LT(share, task->chance + .02) << task->name;
  }
}

TEST(Tasks, WhatCannotBeMadeIsRefused) {
  EXPECT_THROW(find_task("copie"), Error);
  const auto refuses = [](const char* task, WindowShape made, std::int64_t windows) {
    EXPECT_THROW(task_batch(find_task(task), made, windows, stream()), Error) << task;
  };
  refuses("copy", {{0, 4}, 4}, 1), refuses("copy", {{4, 3}, 4}, 1), refuses("copy", {{1, 5}, 4}, 1);
  refuses("copy", {{1, 4}, 4}, 0), refuses("sort", {{51, 51}, 51}, 1), refuses("order", {{4, 4}, 4}, 1);
  refuses("indirect", {{53, 53}, 53}, 1), refuses("recall", {{1, 129}, 129}, 1);
}

// A window of one task may not change unnoticed: results of studies are told by its name.
TEST(Tasks, EveryWindowStaysAsItWas) {
  const std::map<std::string_view, std::pair<const char*, const char*>> known{
      {"order", {"ed651782c532", "ed651782c532"}},
      {"binding", {"f6ef33236367", "f6ef33236367"}},
      {"majority", {"5a961109c70b", "5a961109c70b"}},
      {"previous", {"9a1c45f20ff0", "9a1c45f20ff0"}},
      {"offset2", {"fab194276feb", "fab194276feb"}},
      {"offset4", {"ad000c58d3a5", "ad000c58d3a5"}},
      {"offset8", {"fb7fb4aa4f2b", "fb7fb4aa4f2b"}},
      {"offset16", {"21c90e7fe61b", "21c90e7fe61b"}},
      {"lengths", {"ffed58331bc1", "ffed58331bc1"}},
      {"metre", {"f8987ee1dfd7", "f8987ee1dfd7"}},
      {"copy", {"fbfa2f62a612", "7394abf48718"}},
      {"copy_same", {"e6a6063dd812", "cccc48a041f0"}},
      {"reverse", {"078e552966ed", "4a53b37a60d0"}},
      {"addition", {"1158e2c9850b", "ab65ba9b0a3f"}},
      {"addition_reversed", {"961174db3bbb", "3843c37ca92d"}},
      {"addition_padded", {"a9453933cf97", "492688a246fe"}},
      {"recall", {"36e7acf1d98b", "1277b8991dec"}},
      {"repeat", {"f52ad2888977", "bf411db1b45a"}},
      {"sort", {"3de12d6261af", "608f0ad33da6"}},
      {"sort_repeated", {"cba0ac204cd5", "130cfa6035c2"}},
      {"parity", {"7f32b8cd948b", "7f32b8cd948b"}},
      {"swaps", {"585faffea471", "585faffea471"}},
      {"dyck", {"6a74ddbe42b5", "6a74ddbe42b5"}},
      {"needle", {"b86e23076b1d", "9baa5d9dbca4"}},
      {"indirect", {"fd530e2885da", "fd530e2885da"}},
      {"selective_copy", {"420213fb4d32", "a5b1ba3192c2"}}};
  for (const Task* task : tasks()) {
    const auto bits = [&](bool causal) {
      std::string all;
      for (const WindowShape& made : all_windows(*task, causal))
        all += hash(task_batch(*task, made, 20, Random(5, "fixed")));
      return sha256(all).substr(0, 12);
    };
    const auto recorded = known.find(task->name);
    const bool there = recorded != known.end();
    EXPECT_EQ(bits(true), there ? recorded->second.first : "") << task->name << ", decoder";
    EXPECT_EQ(bits(false), there ? recorded->second.second : "") << task->name << ", encoder";
  }
}

}  // namespace
}  // namespace gnomon
