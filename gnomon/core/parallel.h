#pragma once
#include <cstdint>
#include <exception>
#include <mutex>

namespace gnomon {

// Threads that a parallel loop started here really gets: not what was asked for, but what OpenMP's limits leave of it
// (OMP_THREAD_LIMIT, OMP_MAX_ACTIVE_LEVELS); 1 inside a parallel loop. The pool is OpenMP's, the one oneDNN uses too. A child
// that was forked after the pool's first use has none of its threads, and its first loop waits for them for ever: start other
// processes by posix_spawn (or exec at once), or fork before anything of gnomon is called.
int thread_count();
// The same, if set_thread_count(n) had been called.
int threads_granted(int n);
// Of loops that the calling thread starts from now on. Throws Error(resource) when the system refuses to make so many threads:
// OpenMP itself would end the process.
void set_thread_count(int n);

// While one lives, the calling thread's loops have exactly thread_count() threads, also where OpenMP would choose
// fewer when the machine is busy (OMP_DYNAMIC): compiled products count on it.
class FixedTeam {
 public:
  FixedTeam();
  ~FixedTeam();
  FixedTeam(const FixedTeam&) = delete;
  FixedTeam& operator=(const FixedTeam&) = delete;

 private:
  const int threads_, dynamic_;
};

// Keeps the first exception of a parallel loop, which may not leave it, for the thread that started the loop.
class Rescue {
 public:
  template <class F>
  void run(F&& f) noexcept {
    try {
      f();
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!first_) first_ = std::current_exception();
    }
  }
  void rethrow() const {
    if (first_) std::rethrow_exception(first_);
  }

 private:
  std::mutex mutex_;
  std::exception_ptr first_;
};

// f(i) for i in [0, n), each exactly once, spread over the threads. Whatever f(i) writes must depend on i
// alone and not on the thread: then the result has the same bits for every thread count. What f throws is thrown again
// here when the others are done.
template <class F>
void parallel_for(std::int64_t n, F&& f) {
  if (n == 1) return f(std::int64_t{0});
  Rescue rescue;
#pragma omp parallel for schedule(dynamic, 1)
  for (std::int64_t i = 0; i < n; ++i) rescue.run([&] { f(i); });
  rescue.rethrow();
}

// f(begin, end) over [0, n) in pieces of `grain`: the pieces do not depend on the thread count.
template <class F>
void parallel_ranges(std::int64_t n, std::int64_t grain, F&& f) {
  parallel_for((n + grain - 1) / grain, [&](std::int64_t piece) {
    const std::int64_t begin = piece * grain, end = begin + grain < n ? begin + grain : n;
    f(begin, end);
  });
}

}  // namespace gnomon
