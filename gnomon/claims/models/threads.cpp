#include "gnomon/claims/models/threads.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "gnomon/core/error.h"
#include "gnomon/core/parallel.h"

namespace gnomon {

bool on_threads(std::size_t count, const Work& work) {
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> stopped = false;
  Rescue rescue;
  const std::function<bool()> asked = [&] { return stopped.load(); };
  const auto turn = [&] {
    bool done = false;
    rescue.run([&] {
      set_thread_count(1);
      for (std::size_t n; !stopped && (n = next++) < count;) {
        if (!work(n, asked)) return;
      }
      done = true;
    });
    if (!done) stopped = true;
  };
  std::vector<std::thread> threads;
  try {
    for (std::size_t t = 0; t < std::min(std::size_t(thread_count()), count); ++t) threads.emplace_back(turn);
  } catch (const std::system_error& e) {
    if (threads.empty()) throw Error(Fault::resource, text("cannot start a thread to train on: ", e.what()));
  }
  for (auto& t : threads) t.join();
  rescue.rethrow();
  return !stopped;
}

}  // namespace gnomon
