// The three products of a dense layer as shares of the float32 peak measured in the same run, with rows dense
// and row_step apart. Usage: bench_products [threads] [n]
#include <cstdlib>

#include "bench/peak.h"
#include "gnomon/core/array.h"
#include "gnomon/core/parallel.h"
#include "gnomon/kernels/matmul.h"

using namespace gnomon;

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2, n = argc > 2 ? std::atoi(argv[2]) : 9;
  set_thread_count(threads);
  std::printf("%d threads, peak %.0f GFLOP/s, median of %d; %% of peak, dense -> row_step apart\n", threads,
              bench::peak_flops(threads) / 1e9, n);
  struct Case {
    std::int64_t N, in, out;
  };
  for (const Case& c : {Case{512, 128, 384},
                        {512, 128, 512},
                        {512, 512, 128},
                        {4096, 256, 768},
                        {4096, 256, 1024},
                        {4096, 1024, 256}}) {
    double shares[3][2];
    for (const bool apart : {false, true}) {
      const Linear shape{c.N, c.in, c.out, apart ? row_step(c.in) : c.in, apart ? row_step(c.out) : c.out};
      Floats x(c.N * shape.x_step, 0.5f), y(c.N * shape.y_step, 0.5f), w(c.in * c.out, 0.1f), dw(w.size());
      const double flops = 2.0 * double(c.N * c.in * c.out);
      const auto share = [&](const auto& work) {
        return 100 * bench::share_of_peak(flops, threads, n, work).median;
      };
      shares[0][apart] = share([&] { linear(shape, x.data(), w.data(), nullptr, y.data()); });
      shares[1][apart] = share([&] {
        linear_backward(shape, x.data(), w.data(), y.data(), {x.data(), nullptr, nullptr});
      });
      shares[2][apart] = share([&] {
        linear_backward(shape, x.data(), w.data(), y.data(), {nullptr, dw.data(), nullptr});
      });
    }
    std::printf(
        "%5ld x %4ld -> %4ld   y = x wT %3.0f -> %3.0f   dx = dy w %3.0f -> %3.0f   dw = dyT x %3.0f -> "
        "%3.0f\n",
        long(c.N), long(c.in), long(c.out), shares[0][0], shares[0][1], shares[1][0], shares[1][1],
        shares[2][0], shares[2][1]);
  }
}
