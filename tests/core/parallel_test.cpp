// What a loop promises, on whoever's threads: OpenMP's, or our own in a build without it.
#include "gnomon/core/parallel.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include "gnomon/core/error.h"
#include "gnomon/core/shares.h"
#include "tests/support/limited.h"

namespace gnomon {
namespace {

class Parallel : public testing::Test {
 protected:
  void TearDown() override { set_thread_count(before_); }
  const int before_ = thread_count();
};

// True if `n` turns of one loop are under way at the same time: each waits for all.
bool meet(int n) {
  std::atomic<int> there = 0, met = 0;
  parallel_for(n, [&](std::int64_t) {
    ++there;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(2);
    while (there < n && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    met += there == n;
  });
  return met == n;
}

// A few stacks of threads fit, a thousand do not. It comes first: where loops were run, a child of OpenMP's is granted one thread.
TEST_F(Parallel, MoreThreadsThanTheSystemMakesAreAnError) {
  const int many = 1000;
  if (threads_granted(many) < many) GTEST_SKIP() << "limited to " << threads_granted(many);
  EXPECT_EQ(within_more_memory(std::int64_t{128} << 20, [&] { set_thread_count(many); }),
            Ended::out_of_memory);
}

TEST_F(Parallel, EveryTurnIsTakenOnceOnAsManyThreadsAsAreTold) {
  for (const int threads : {1, 2, 5, 3}) {
    set_thread_count(threads);
    ASSERT_EQ(thread_count(), threads);
    for (const std::int64_t n : {0, 1, 2, 3, 1000}) {
      std::vector<std::atomic<int>> turns(static_cast<std::size_t>(n));
      parallel_for(n, [&](std::int64_t i) { ++turns[std::size_t(i)]; });
      for (const auto& t : turns) EXPECT_EQ(t, 1);
    }
    EXPECT_TRUE(meet(threads)) << threads;
  }
  set_thread_count(2);
  EXPECT_FALSE(meet(3));
}

TEST(Shares, AWorkerTakesItsOwnNeighboursThenHelps) {
  Shares shares(10, 3);
  std::vector<std::int64_t> taken;
  for (int n = 0; n < 3; ++n) taken.push_back(shares.next(1));
  EXPECT_EQ(taken, (std::vector<std::int64_t>{3, 4, 5}));
  EXPECT_EQ(shares.next(0), 0);
  taken.clear();
  for (std::int64_t i; (i = shares.next(1)) >= 0;) taken.push_back(i);
  EXPECT_EQ(taken, (std::vector<std::int64_t>{6, 7, 8, 9, 1, 2}));
  for (const std::int64_t worker : {0, 1, 2, 5}) EXPECT_EQ(shares.next(worker), -1) << worker;
}
// Threads that are both at work in one loop after another meet the same turns.
TEST_F(Parallel, AThreadMeetsTheSameTurnsInTheNextLoop) {
  set_thread_count(2);
  const auto who = [] {
    std::vector<std::thread::id> by(100);
    std::atomic<int> there = 0;
    parallel_for(100, [&](std::int64_t i) {
      by[std::size_t(i)] = std::this_thread::get_id();
      if (i == 0 || i == 50) {  // both begin before either ends
        ++there;
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(2);
        while (there < 2 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
      }
    });
    return std::pair(by[0], by[50]);
  };
  const auto first = who();
  EXPECT_NE(first.first, first.second);
  for (int n = 0; n < 20; ++n) EXPECT_EQ(who(), first);
}

TEST_F(Parallel, ALoopInsideALoopIsRunByWhoeverMeetsIt) {
  set_thread_count(3);
  std::atomic<int> turns = 0, counts = 0;
  parallel_for(4, [&](std::int64_t) {
    const auto me = std::this_thread::get_id();
    counts += thread_count();
    parallel_for(5, [&](std::int64_t) { turns += std::this_thread::get_id() == me; });
  });
  EXPECT_EQ(turns, 20);
  EXPECT_EQ(counts, 4);  // 1 each
  EXPECT_EQ(thread_count(), 3);
}

TEST_F(Parallel, TheFirstExceptionComesOutWhenTheOthersAreDone) {
  set_thread_count(2);
  std::atomic<int> done = 0;
  const auto loop = [&] {
    parallel_for(100, [&](std::int64_t i) {
      if (i % 10 == 3) throw std::runtime_error("three");
      ++done;
    });
  };
  EXPECT_THROW(loop(), std::runtime_error);
  EXPECT_EQ(done, 90);
  EXPECT_TRUE(meet(2));  // the team is whole
}

TEST_F(Parallel, ThreadsOfTheCallerHaveTeamsOfTheirOwn) {
  std::atomic<int> turns = 0;
  const auto work = [&](int threads) {
    set_thread_count(threads);
    for (int n = 0; n < 300; ++n) parallel_for(7, [&](std::int64_t) { ++turns; });
    EXPECT_EQ(thread_count(), threads);
  };
  std::vector<std::jthread> callers;
  for (const int threads : {1, 2, 3, 2}) callers.emplace_back(work, threads);
  callers.clear();
  EXPECT_EQ(turns, 4 * 300 * 7);
}

// A child has none of its parent's threads: see parallel.h.
TEST_F(Parallel, AForkedChildRunsItsLoops) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer knows no threads that are made after such a fork";
#endif
  set_thread_count(2);
  EXPECT_TRUE(meet(2));
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    std::atomic<int> turns = 0;
    parallel_for(100, [&](std::int64_t) { ++turns; });
    set_thread_count(2);
    const bool right = thread_library() == "OpenMP" ? thread_count() == 1 : meet(2);
    exit(right && turns == 100 ? 0 : 1);  // and leaves by the front door
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

#ifdef _OPENMP
// The same where the pool of threads was made by the caller's own OpenMP; a process without threads has children that may
// have some.
TEST_F(Parallel, AForkedChildKnowsThreadsThatOthersMade) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer knows no threads that are made after such a fork";
#endif
  for (const bool pool : {false, true}) {
    const pid_t fresh = fork();  // of a process whose threads are its own
    if (fresh == 0) {
      alarm(20);
      execl("/proc/self/exe", "parallel_test", "--gtest_also_run_disabled_tests",
            pool ? "--gtest_filter=Forked.DISABLED_BesideAPool" : "--gtest_filter=Forked.DISABLED_Alone",
            nullptr);
      _exit(3);
    }
    int status = -1;
    ASSERT_EQ(waitpid(fresh, &status, 0), fresh);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0)
        << status << (pool ? " beside a pool" : " alone");
  }
}
int threads_of_a_child(bool pool) {
  std::atomic<int> there = 0;
  if (pool) {
#pragma omp parallel num_threads(2)
    ++there;
  }
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    std::atomic<int> turns = 0;
    parallel_for(100, [&](std::int64_t) { ++turns; });
    _exit(turns == 100 ? thread_count() : 100);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
TEST(Forked, DISABLED_BesideAPool) { EXPECT_EQ(threads_of_a_child(true), 1); }
TEST(Forked, DISABLED_Alone) { EXPECT_EQ(threads_of_a_child(false), 2); }
#endif

}  // namespace
}  // namespace gnomon
