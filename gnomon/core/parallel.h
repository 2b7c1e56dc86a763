#pragma once
#include <omp.h>

#include <cstdint>

namespace gnomon {

// Threads that parallel_for may use; the pool is OpenMP's, the one oneDNN uses too. A child that was forked after the
// pool's first use has none of its threads, and its first loop waits for them for ever: start other processes
// by posix_spawn (or exec at once), or fork before anything of gnomon is called.
inline int thread_count() { return omp_get_max_threads(); }
inline void set_thread_count(int n) { omp_set_num_threads(n); }

// f(i) for i in [0, n), each exactly once, spread over the threads. Whatever f(i) writes must depend on i
// alone and not on the thread: then the result has the same bits for every thread count. f must not throw.
template <class F>
void parallel_for(std::int64_t n, F&& f) {
  if (n == 1) return f(std::int64_t{0});
#pragma omp parallel for schedule(dynamic, 1)
  for (std::int64_t i = 0; i < n; ++i) f(i);
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
