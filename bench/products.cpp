// The three products of a dense layer as shares of the float32 peak measured in the same run, with rows dense
// and row_step apart; and, where the build has oneDNN, the speed of our own products as a ratio to it, measured in turns.
// Usage: bench_products [threads] [n]
#include <cstdlib>

#include "bench/peak.h"
#include "gnomon/core/array.h"
#include "gnomon/core/parallel.h"
#include "gnomon/kernels/multiply.h"

using namespace gnomon;

namespace {

struct Case {
  std::int64_t N, in, out;
  double flops() const { return 2.0 * double(N * in * out); }
};
constexpr Case kCases[] = {{512, 128, 384},  {512, 128, 512},   {512, 512, 128},
                           {4096, 256, 768}, {4096, 256, 1024}, {4096, 1024, 256}};
constexpr const char* kNames[] = {"y = x wT", "dx = dy w", "dw = dyT x"};

// The arrays of a layer, and its three products.
struct Layer {
  Linear shape;
  Floats x, y, w, dw;
  Layer(const Case& c, bool apart)
      : shape{c.N, c.in, c.out, apart ? row_step(c.in) : c.in, apart ? row_step(c.out) : c.out},
        x(c.N * shape.x_step, 0.5f),
        y(c.N * shape.y_step, 0.5f),
        w(c.in * c.out, 0.1f),
        dw(w.size()) {}

  template <class Multiply>
  void product(int which, const Multiply& multiply) {
    const auto& [N, in, out, xs, ys] = shape;
    const Op plain = Op::plain, transposed = Op::transposed;
    if (which == 0)
      multiply({N, out, in, plain, transposed, false, xs, in, ys}, x.data(), w.data(), y.data(), nullptr);
    if (which == 1)
      multiply({N, in, out, plain, plain, false, ys, in, xs}, y.data(), w.data(), x.data(), nullptr);
    if (which == 2)
      multiply({out, in, N, transposed, plain, true, ys, xs, in}, y.data(), x.data(), dw.data(), nullptr);
  }
};

void print_shares(const Case& c, int threads, int n) {
  std::printf("%5ld x %4ld -> %4ld", long(c.N), long(c.in), long(c.out));
  for (int which = 0; which < 3; ++which) {
    double shares[2];
    for (const bool apart : {false, true}) {
      Layer layer(c, apart);
      shares[apart] =
          100 * bench::share_of_peak(c.flops(), threads, n, [&] { layer.product(which, matmul); }).median;
    }
    std::printf("   %s %3.0f -> %3.0f", kNames[which], shares[0], shares[1]);
  }
  std::printf("\n");
}

#ifdef GNOMON_ONEDNN
template <class Work>
double seconds_of(const Work& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return bench::seconds_since(start);
}

// A time of about 20 ms each, so that what happens between two calls does not matter.
void print_ratios(const Case& c, int n) {
  std::printf("%5ld x %4ld -> %4ld", long(c.N), long(c.in), long(c.out));
  for (int which = 0; which < 3; ++which) {
    Layer layer(c, true);
    const int times = std::max(1, int(2e9 / c.flops()));
    const auto by = [&](const auto& multiply) {
      return seconds_of([&] {
        for (int i = 0; i < times; ++i) layer.product(which, multiply);
      });
    };
    std::vector<double> ratios;
    by(onednn::multiply), by(portable::multiply);  // warm
    for (int i = 0; i < n; ++i) ratios.push_back(by(onednn::multiply) / by(portable::multiply));
    std::sort(ratios.begin(), ratios.end());
    std::printf("   %s %.2f [%.2f, %.2f]", kNames[which], ratios[std::size_t(n / 2)], ratios.front(),
                ratios.back());
  }
  std::printf("\n");
}
#endif

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2, n = argc > 2 ? std::atoi(argv[2]) : 9;
  set_thread_count(threads);
  std::printf("%s, %d threads (%s), peak %.0f GFLOP/s, median of %d; %% of peak, dense -> row_step apart\n",
              product_library().c_str(), threads, thread_library().c_str(), bench::peak_flops(threads) / 1e9,
              n);
  for (const Case& c : kCases) print_shares(c, threads, n);
#ifdef GNOMON_ONEDNN
  std::printf("%s by %s: ratio of speeds, median of %d [range], rows row_step apart\n",
              portable::name().c_str(), onednn::name().c_str(), n);
  for (const Case& c : kCases) print_ratios(c, n);
#endif
}
