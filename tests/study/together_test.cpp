// A run on several ranks: the bits of the run in one process, whoever stops, is lost or fails. The ranks are threads here;
// tests/cluster has them over MPI.
#include "gnomon/study/run/together.h"

#include <atomic>
#include <optional>
#include <set>

#include "gnomon/study/data/corpus.h"
#include "gnomon/study/plan/study.h"
#include "tests/nn/thread_ranks.h"
#include "tests/support/files.h"

namespace gnomon {
namespace {

class Together : public Files {
 protected:
  void SetUp() override {
    Files::SetUp();
    std::string words;
    const Random random(1, "words");
    for (std::uint64_t i = 0; words.size() < 20000; ++i)
      words += random.below(i, 3) ? "the cat sat. " : "a dog ran far. ";
    write_file(folder_ / "text.txt", words);
    config_.text_path = (folder_ / "text.txt").string();
    config_.model.layers = 1, config_.model.width = 16, config_.model.heads = 2, config_.model.length = 16;
    config_.train.steps = 12, config_.train.batch = 4, config_.train.shards = 4;
    config_.score = 8, config_.windows = 8, config_.points = 4, config_.baseline = "none";
    corpus_.emplace(config_.text_path, config_.longest() + 1);
    job_ = job_of(config_, *corpus_, {"rope", 1, config_.train.steps, config_.train.learning_rate});
    plan_ = plan_of(job_, 1);
  }
  static RunHooks hooks(std::function<bool()> stop = [] { return false; }) {
    return {std::move(stop), [](const RunProgress&) {}, [](const std::string&) {}, 1e9};
  }
  RunFolder run(const std::string& name) const { return {folder_ / name}; }
  // What is fixed to the bit: everything but the cost.
  std::string bits(const RunFolder& folder) const {
    RunResult result = result_of(plan_, folder);
    result.cost = {};
    return result_json(result);
  }
  std::string alone(const std::string& folder = "alone") {
    (void)perform(job_, plan_, run(folder), hooks());
    return bits(run(folder));
  }

  StudyConfig config_;
  std::optional<Corpus> corpus_;
  Job job_;
  RunPlan plan_;
};

TEST_F(Together, AnyNumberOfRanksLeavesTheSameResult) {
  const std::string want = alone();
  for (const int ranks : {1, 2, 3, 4}) {
    const RunFolder folder = run(text("ranks-", ranks));
    for (int again = 0; again < 2; ++again) {  // the second time it is there already
      for (const std::string& error : on_ranks(ranks, [&](ThreadRank& rank) {
             EXPECT_TRUE(perform_together(job_, plan_, folder, hooks(), rank));
           }))
        EXPECT_EQ(error, "");
      EXPECT_EQ(bits(folder), want) << ranks;
    }
  }
}

TEST_F(Together, WhatIsFixedStaysOnEveryRank) {
  for (const Fixed fixed : {Fixed::words, Fixed::feed_forward}) {
    job_.fixed = fixed;
    plan_ = plan_of(job_, 1);
    const std::string want = alone(text("alone ", int(fixed)));
    const RunFolder folder = run(text("two ", int(fixed)));
    for (const std::string& error :
         on_ranks(2, [&](ThreadRank& rank) { perform_together(job_, plan_, folder, hooks(), rank); }))
      EXPECT_EQ(error, "");
    EXPECT_EQ(bits(folder), want);
  }
}

// Stopped by one rank or another in the middle of passes, points of the curve and evaluations, and continued by other numbers of
// ranks, each session a little longer than the one before.
TEST_F(Together, StoppedRunsGoOnOnOtherNumbersOfRanks) {
  const std::string want = alone();
  int sessions = 0;
  for (std::atomic<bool> finished = false; !finished; ++sessions) {
    const int ranks = 1 + sessions * 3 % 4, who = sessions % ranks;
    std::atomic<int> stopped = 0;
    const auto errors = on_ranks(ranks, [&](ThreadRank& rank) {
      int asked = 2 + sessions;
      const auto stop = [&] { return rank.rank() == who && --asked <= 0; };
      perform_together(job_, plan_, run("pieces"), hooks(stop), rank) ? finished = true : ++stopped;
    });
    for (const std::string& error : errors) ASSERT_EQ(error, "");
    EXPECT_EQ(stopped, finished ? 0 : ranks);  // all or none
    ASSERT_LT(sessions, 200);
  }
  EXPECT_GT(sessions, 8);
  EXPECT_EQ(bits(run("pieces")), want);
}

// Whoever is lost, the others end; what was done until then is in the checkpoint, if it is not rank 0 that is lost.
TEST_F(Together, ALostRankEndsTheOthersAndTheRunGoesOn) {
  const std::string want = alone();
  for (const int victim : {0, 2}) {
    const RunFolder folder = run(text("lost-", victim));
    const auto errors = on_ranks(3, [&](ThreadRank& rank) {
      int asked = 0;
      const auto die = [&]() -> bool {
        if (rank.rank() != victim || ++asked < 12) return false;
        rank.die();
      };
      perform_together(job_, plan_, folder, hooks(die), rank);
    });
    for (int r = 0; r < 3; ++r) {
      EXPECT_EQ(errors[std::size_t(r)], r == victim ? "killed" : text("75: rank ", victim, " is lost"));
    }
    EXPECT_FALSE(std::filesystem::exists(folder.result()));
    EXPECT_EQ(std::filesystem::exists(folder.checkpoint()), victim != 0);
    on_ranks(2, [&](ThreadRank& rank) { perform_together(job_, plan_, folder, hooks(), rank); });
    EXPECT_EQ(bits(folder), want) << victim;
  }
}

TEST_F(Together, AFailureOfRankZeroEndsTheOthersWithIt) {
  write_file(folder_ / "file", "no folder");
  const RunFolder folder = run("file");
  const auto errors =
      on_ranks(3, [&](ThreadRank& rank) { perform_together(job_, plan_, folder, hooks(), rank); });
  EXPECT_EQ(errors[0].substr(0, 3), "4: ");
  EXPECT_NE(errors[0].find(folder.folder.string()), std::string::npos) << errors[0];
  EXPECT_EQ(errors[1], "4: rank 0 has ended with an error");
  EXPECT_EQ(errors[2], errors[1]);
}

TEST_F(Together, ARunThatDivergesEndsOnAllRanks) {
  config_.train.learning_rate = 1000, config_.train.weight_decay = 100, config_.train.warmup = 0;
  config_.train.steps = 40;
  job_ = job_of(config_, *corpus_, {"none", 1, config_.train.steps, config_.train.learning_rate}),
  plan_ = plan_of(job_, 1);
  const std::string want = alone();
  for (const std::string& error : on_ranks(4, [&](ThreadRank& rank) {
         EXPECT_TRUE(perform_together(job_, plan_, run("four"), hooks(), rank));
       }))
    EXPECT_EQ(error, "");
  EXPECT_EQ(bits(run("four")), want);
  EXPECT_NE(result_of(plan_, run("four")).failure.find("not finite at step"), std::string::npos);
}

TEST_F(Together, RanksThatWouldDoOtherRunsAreRefused) {
  Job other = job_;
  other.seed = 2;
  const RunPlan plan = plan_of(other, 1);
  const auto errors = on_ranks(3, [&](ThreadRank& rank) {
    const bool odd = rank.rank() == 2;
    perform_together(odd ? other : job_, odd ? plan : plan_, run("never"), hooks(), rank);
  });
  for (const std::string& error : errors) {
    EXPECT_EQ(error.find(text("2: rank 2 has the run ", plan.key, " ('rope', seed 2, numerics ")), 0u)
        << error;
    EXPECT_NE(error.find(text("rank 0 has the run ", plan_.key)), std::string::npos);
  }
  EXPECT_FALSE(std::filesystem::exists(run("never").folder));
}

// A batch in one piece has the key that it had before there were shards; any other number has its own.
TEST_F(Together, ShardsAreInTheKey) {
  std::set<std::string> prints{job_.print()};
  EXPECT_NE(job_.print().find("\nshards = 4\n"), std::string::npos);
  for (const std::int64_t shards : {1, 2}) {
    job_.train.shards = shards;
    EXPECT_TRUE(prints.insert(job_.print()).second);
  }
}

}  // namespace
}  // namespace gnomon
