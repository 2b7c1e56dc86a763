// Loops on threads of our own, where gnomon is built without OpenMP. As there, each thread that starts loops has a team for
// itself, which sleeps between two loops, and a loop inside a loop is run by the thread that meets it.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "gnomon/core/error.h"
#include "gnomon/core/parallel.h"
#include "gnomon/core/shares.h"

namespace gnomon {
namespace {

thread_local bool in_loop = false;

// Threads that help the one that made them.
class Team {
 public:
  // Throws Error(resource) when the system refuses; who helps until then is dismissed.
  static std::unique_ptr<Team> of(int threads) {
    auto team = std::make_unique<Team>();
    try {
      while (team->threads() < threads)
        team->helpers_.emplace_back([t = team.get(), w = team->threads()] { t->help(w); });
    } catch (const std::exception& e) {
      throw Error(Fault::resource, text("cannot run on ", threads, " threads: ", e.what(),
                                        "; the system allowed ", team->threads()));
    }
    return team;
  }
  ~Team() {
    f_ = nullptr;  // a loop of nothing: go
    start();
    for (auto& h : helpers_) h.join();
  }

  int threads() const { return int(helpers_.size()) + 1; }
  bool is_of_this_process() const { return process_ == getpid(); }

  void run(std::int64_t n, void (*f)(void*, std::int64_t), void* context) {
    Shares shares(n, threads());
    shares_ = &shares, f_ = f, context_ = context;
    busy_.store(int(helpers_.size()), std::memory_order_relaxed);
    start();
    work(0);
    for (int busy; (busy = busy_.load(std::memory_order_acquire)) > 0;) busy_.wait(busy);
  }

 private:
  void start() {
    loops_.fetch_add(1, std::memory_order_release);
    loops_.notify_all();
  }
  void work(int worker) {
    in_loop = true;
    for (std::int64_t i; (i = shares_->next(worker)) >= 0;) f_(context_, i);
    in_loop = false;
  }
  void help(int worker) {
    for (std::uint32_t seen = 0;;) {
      loops_.wait(seen, std::memory_order_acquire);
      seen = loops_.load(std::memory_order_acquire);
      if (!f_) return;
      work(worker);
      if (busy_.fetch_sub(1, std::memory_order_acq_rel) == 1) busy_.notify_one();
    }
  }

  const pid_t process_ = getpid();
  // One loop: set before loops_ is raised, read after.
  Shares* shares_ = nullptr;
  void (*f_)(void*, std::int64_t) = nullptr;
  void* context_ = nullptr;
  std::atomic<int> busy_ = 0;
  std::atomic<std::uint32_t> loops_ = 0;
  std::vector<std::thread> helpers_;
};

// What the calling thread has: a child that was forked has a copy of the team, but none of its threads, and may not wait for
// them.
struct Mine {
  int wanted = std::max(1, int(std::thread::hardware_concurrency()));
  std::unique_ptr<Team> team;

  ~Mine() { forget_the_parents(); }
  void forget_the_parents() {
    if (team && !team->is_of_this_process()) (void)team.release();
  }
  Team& whole_team() {
    forget_the_parents();
    if (!team || team->threads() != wanted) {
      team.reset();
      team = Team::of(wanted);
    }
    return *team;
  }
};
thread_local Mine mine;

}  // namespace

int threads_granted(int n) { return in_loop ? 1 : std::max(1, n); }
int thread_count() { return threads_granted(mine.wanted); }

void set_thread_count(int n) {
  const int before = std::exchange(mine.wanted, std::max(1, n));
  if (in_loop || mine.wanted == 1) return;
  try {
    mine.whole_team();
  } catch (...) {
    mine.wanted = before;
    throw;
  }
}

std::string thread_library() { return "std::thread"; }

void parallel_calls(std::int64_t n, void (*f)(void*, std::int64_t), void* context) {
  if (n > 1 && thread_count() > 1) return mine.whole_team().run(n, f, context);
  for (std::int64_t i = 0; i < n; ++i) f(context, i);
}

}  // namespace gnomon
