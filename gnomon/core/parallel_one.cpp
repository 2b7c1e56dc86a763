// Loops where there is one thread, whatever number is asked for: in WebAssembly.
#include "gnomon/core/parallel.h"

namespace gnomon {

int threads_granted(int) { return 1; }
int thread_count() { return 1; }
void set_thread_count(int) {}
std::string thread_library() { return "none"; }

void parallel_calls(std::int64_t n, void (*f)(void*, std::int64_t), void* context) {
  for (std::int64_t i = 0; i < n; ++i) f(context, i);
}

}  // namespace gnomon
