#pragma once
#include <atomic>
#include <cstdint>
#include <exception>
#include <string>

namespace gnomon {

// Threads that a parallel loop started here really gets: not what was asked for, but what the system's limits leave of it (of
// OpenMP: OMP_THREAD_LIMIT, OMP_MAX_ACTIVE_LEVELS); 1 inside a parallel loop. A child that was forked beside other threads, whoever
// made them, has none of them: where loops are OpenMP's, which cannot make its threads again, it runs them on one; else it makes
// threads of its own.
int thread_count();
// The same, if set_thread_count(n) had been called.
int threads_granted(int n);
// Of loops that the calling thread starts from now on. Throws Error(resource) when the system refuses to make so many threads:
// OpenMP itself would end the process.
void set_thread_count(int n);
// Whose threads they are: "OpenMP", the pool that oneDNN uses too, or "std::thread", where gnomon was built without it.
std::string thread_library();

// Keeps the first exception of a parallel loop, which may not leave it, for the thread that started the loop.
class Rescue {
 public:
  template <class F>
  void run(F&& f) noexcept {
    try {
      f();
    } catch (...) {
      if (!caught_.test_and_set()) first_ = std::current_exception();
    }
  }
  void rethrow() const {
    if (first_) std::rethrow_exception(first_);
  }

 private:
  std::atomic_flag caught_;
  std::exception_ptr first_;
};

// f(context, i) for i in [0, n): what parallel_for is made of, where the threads are made.
void parallel_calls(std::int64_t n, void (*f)(void* context, std::int64_t i), void* context);

// f(i) for i in [0, n), each exactly once, spread over the threads. Whatever f(i) writes must depend on i
// alone and not on the thread: then the result has the same bits for every thread count. What f throws is thrown again
// here when the others are done.
template <class F>
void parallel_for(std::int64_t n, F&& f) {
  if (n == 1) return f(std::int64_t{0});
  Rescue rescue;
  auto rescued = [&](std::int64_t i) { rescue.run([&] { f(i); }); };
  const auto call = [](void* context, std::int64_t i) { (*static_cast<decltype(rescued)*>(context))(i); };
  parallel_calls(n, call, &rescued);
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
