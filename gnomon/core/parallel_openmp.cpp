// Loops on OpenMP's threads, and the door to it. Its twin without OpenMP is parallel_threads.cpp: a build has one of them.
#include <omp.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <system_error>
#include <thread>
#include <vector>

#include "gnomon/core/error.h"
#include "gnomon/core/fixed_team.h"
#include "gnomon/core/parallel.h"
#include "gnomon/core/shares.h"

namespace gnomon {
namespace {

// Makes n threads that live at the same time, and lets them go.
void try_threads(int n) {
  std::mutex mutex;
  std::condition_variable all_there;
  bool done = false;
  std::vector<std::thread> threads;
  std::string refusal;
  try {
    while (int(threads.size()) < n) {
      threads.emplace_back([&] {
        std::unique_lock lock(mutex);
        all_there.wait(lock, [&] { return done; });
      });
    }
  } catch (const std::exception& e) {
    refusal =
        text("cannot run on ", n + 1, " threads: ", e.what(), "; the system allowed ", threads.size() + 1);
  }
  {
    const std::lock_guard lock(mutex);
    done = true;
  }
  all_there.notify_all();
  for (auto& t : threads) t.join();
  if (!refusal.empty()) throw Error(Fault::resource, refusal);
}

// A child that was forked has none of its parent's threads, and OpenMP, which does not know, would wait for them for ever. So the
// child of a process that had threads, whoever made them, runs loops on one, without OpenMP.
std::atomic<bool> forked_beside_threads = false, child_of_a_team = false;
bool has_threads() {
  std::error_code failed;
  std::filesystem::directory_iterator tasks("/proc/self/task", failed);
  std::size_t n = 0;
  for (; !failed && tasks != std::filesystem::directory_iterator() && n < 2; tasks.increment(failed)) ++n;
  return failed || n > 1;
}
[[maybe_unused]] const int watched =
    pthread_atfork([] { forked_beside_threads = has_threads(); }, nullptr,
                   [] { child_of_a_team = child_of_a_team || forked_beside_threads; });

}  // namespace

int threads_granted(int n) {
  if (child_of_a_team || omp_in_parallel() || omp_get_max_active_levels() < 1) return 1;
  return std::max(1, std::min(n, omp_get_thread_limit()));
}
int thread_count() { return threads_granted(omp_get_max_threads()); }

void set_thread_count(int n) {
  static std::atomic<int> had = 1;  // so many were made before
  if (const int granted = threads_granted(n); granted > had) {
    try_threads(granted - 1);
    had = granted;
  }
  omp_set_num_threads(n);
}

std::string thread_library() { return "OpenMP"; }

void parallel_calls(std::int64_t n, void (*f)(void*, std::int64_t), void* context) {
  const int threads = int(std::min<std::int64_t>(n, thread_count()));
  if (threads <= 1) {
    for (std::int64_t i = 0; i < n; ++i) f(context, i);
    return;
  }
  Shares shares(n, threads);
#pragma omp parallel
  for (std::int64_t i; (i = shares.next(omp_get_thread_num())) >= 0;) f(context, i);
}

FixedTeam::FixedTeam() : threads_(omp_get_max_threads()), dynamic_(omp_get_dynamic()) {
  omp_set_num_threads(thread_count());
  omp_set_dynamic(0);
}
FixedTeam::~FixedTeam() {
  omp_set_num_threads(threads_);
  omp_set_dynamic(dynamic_);
}

}  // namespace gnomon
