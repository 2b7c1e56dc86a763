// Two threads of an OpenMP region add to one number: `race racing` at the same time, `race waiting` one before and one
// after a barrier, which only a ThreadSanitizer that knows OpenMP (archer) takes for an order.
#include <omp.h>

#include <cstdio>
#include <string_view>

int main(int argc, char** argv) {
  const bool waiting = argc > 1 && std::string_view(argv[1]) == "waiting";
  long sum = 0;
#pragma omp parallel num_threads(2)
  {
    for (int turn = 0; turn < 2; ++turn) {
      if (!waiting || omp_get_thread_num() == turn) {
        for (int i = 0; i < 100000; ++i) sum += i & 1;
      }
#pragma omp barrier
    }
  }
  std::printf("%ld by %d threads\n", sum, omp_get_max_threads());
  return 0;
}
