// The command line: the only part of gnomon that prints, exits, meets signals and reads the environment.
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <string_view>
#include <system_error>

#include "cli/program.h"
#include "cli/signals.h"
#include "gnomon/core/error.h"
#include "gnomon/core/memory.h"

namespace gnomon::cli {
namespace {

// Where no memory is left an exception may find no way out (a destructor, a thread, a library that promised not to throw).
// Nothing here needs memory.
[[noreturn]] void end_without_memory() {
  if (const std::exception_ptr current = std::current_exception()) {
    try {
      std::rethrow_exception(current);
    } catch (const std::bad_alloc&) {
      struct rusage usage {};
      getrusage(RUSAGE_SELF, &usage);
      char line[100];
      const int n = std::snprintf(line, sizeof line, "gnomon: out of memory: %ld MB were in use\n",
                                  usage.ru_maxrss / 1000);
      [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line, std::size_t(n));
      _exit(int(Fault::resource));
    } catch (...) {
    }
  }
  std::abort();
}

// A run asks for the same arrays over and over. What they leave stays with the program: to get a page back from the system takes
// longer than to fill it.
void keep_memory() {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 256 << 20);
#endif
}

// What was printed is there, or the reader has gone (`| head`), which is quiet; a full disk is an error.
int flushed(int code) {
  if (std::fflush(stdout) == 0 || errno == EPIPE) return code;
  std::fprintf(stderr, "gnomon: standard output: cannot write: %s\n", std::strerror(errno));
  return code ? code : int(Fault::resource);
}

}  // namespace
}  // namespace gnomon::cli

int main(int argc, char** argv) {
  using namespace gnomon;
  std::set_terminate(cli::end_without_memory);
  cli::keep_memory();
  try {
    cli::watch_signals(argc > 1 && std::string_view(argv[1]) == "worker");
    return cli::flushed(cli::run_program(argc, argv));
  } catch (const Error& e) {
    std::fprintf(stderr, "gnomon: %s\n", e.what());
    return int(e.fault());
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "gnomon: out of memory: %s\n", memory_text().c_str());
    return int(Fault::resource);
  } catch (const std::system_error& e) {  // of fmt, when a long answer cannot be written
    if (e.code().value() == EPIPE) return 0;
    std::fprintf(stderr, "gnomon: %s\n", e.what());
    return int(Fault::resource);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "gnomon: this is a bug in gnomon: %s\n", e.what());
    return int(Fault::bug);
  }
}
