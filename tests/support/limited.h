// What comes to its end in a process that may have a little more memory than it has.
#pragma once
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <functional>

#include "gnomon/core/error.h"

namespace gnomon {

enum class Ended { whole, out_of_memory, otherwise };
// f in a forked child that may map so many bytes more; Error(resource) and std::bad_alloc are an end out of memory.
inline Ended within_more_memory(std::int64_t bytes, const std::function<void()>& f) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(120);
    std::int64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const rlim_t most = rlim_t(pages * sysconf(_SC_PAGESIZE) + bytes);
    const struct rlimit limit { most, most };
    if (setrlimit(RLIMIT_AS, &limit) != 0) _exit(int(Ended::otherwise));
    try {
      f();
      _exit(int(Ended::whole));
    } catch (const Error& e) {
      _exit(int(e.fault() == Fault::resource ? Ended::out_of_memory : Ended::otherwise));
    } catch (const std::bad_alloc&) {
      _exit(int(Ended::out_of_memory));
    } catch (...) {
      _exit(int(Ended::otherwise));
    }
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? Ended(WEXITSTATUS(status)) : Ended::otherwise;
}

}  // namespace gnomon
