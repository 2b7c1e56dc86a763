// Fused causal attention, forward and backward, as a share of the float32 peak measured in the same run;
// useful operations only: the pairs that the mask leaves. Usage: bench_attend [threads] [n]
#include "gnomon/kernels/attend.h"

#include <cstdlib>

#include "bench/peak.h"
#include "gnomon/core/parallel.h"
#include "gnomon/core/random.h"

using namespace gnomon;

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2, n = argc > 2 ? std::atoi(argv[2]) : 7;
  set_thread_count(threads);
  std::printf("%d threads, peak %.0f GFLOP/s, median of %d [least, most]\n", threads,
              bench::peak_flops(threads) / 1e9, n);
  struct Case {
    std::int64_t B, H, T, D;
  };
  for (const Case& c : {Case{16, 4, 512, 64}, {1, 8, 4096, 64}, {4, 4, 128, 32}}) {
    for (const bool biased : {false, true}) {
      const AttendShape shape{.B = c.B,
                              .H = c.H,
                              .queries = c.T,
                              .keys = c.T,
                              .K = c.D,
                              .D = c.D,
                              .scale = 0.125f,
                              .causal = true};
      Terms terms;
      terms.distances = c.T;
      if (biased) terms.by_distance.assign(c.H * c.T, -0.01f);
      Terms dterms = terms.zeros();
      const std::int64_t size = c.B * c.T * c.H * c.D;
      const Random random(1, "bench");
      Floats q(size), k(size), v(size), g(size), out(size), dq(size), dk(size), dv(size),
          lse(c.B * c.H * c.T);
      for (Floats* x : {&q, &k, &v, &g}) {
        for (std::int64_t i = 0; i < size; ++i) (*x)[i] = float(random.uniform(std::uint64_t(i)) - 0.5);
      }
      const auto heads = [&](auto* p) {
        return Heads<std::remove_pointer_t<decltype(p)>>{p, c.T * c.H * c.D, c.H * c.D, c.D};
      };
      const float *cq = q.data(), *ck = k.data(), *cv = v.data(), *co = out.data(), *cg = g.data();
      const double flops = 6.0 * double(c.B * c.H * c.T) * double(c.T + 1) * double(c.D);
      const auto share = bench::share_of_peak(flops, threads, n, [&] {
        attend(shape, heads(cq), heads(ck), heads(cv), terms, heads(out.data()), lse.data());
        attend_backward(shape, {heads(cq), heads(ck), heads(cv), heads(co), lse.data(), heads(cg)}, terms,
                        {heads(dq.data()), heads(dk.data()), heads(dv.data()), &dterms});
      });
      std::printf("B %2ld, H %ld, T %4ld, D %ld, %-17s %7.1f ms  %4.1f %% of peak [%.1f, %.1f]\n", long(c.B),
                  long(c.H), long(c.T), long(c.D), biased ? "bias by distance" : "no term",
                  share.seconds * 1e3, 100 * share.median, 100 * share.least, 100 * share.most);
    }
  }
}
