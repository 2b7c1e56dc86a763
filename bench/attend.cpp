// Fused causal attention, forward and backward, as a share of the float32 peak measured in the same run;
// useful operations only: the pairs that the mask leaves. And one decoded token against a key cache, as a multiple of the
// time in which the same threads read the cache's bytes once. Usage: bench_attend [threads] [n]
#include "gnomon/kernels/attend.h"

#include <cstdlib>

#include "bench/peak.h"
#include "gnomon/core/parallel.h"
#include "gnomon/core/random.h"
#include "gnomon/kernels/attend_cached.h"

using namespace gnomon;

namespace {

Floats uniform(std::int64_t size) {
  const Random random(1, "bench");
  Floats x(size);
  for (std::int64_t i = 0; i < size; ++i) x[i] = float(random.uniform(std::uint64_t(i)) - 0.5);
  return x;
}

void decode(int threads, int n) {
  constexpr std::int64_t T = 4096, H = 32, G = 8, D = 128;
  KeyCache cache({1, G, D, D, T});
  const Floats rows = uniform(T * G * D), q = uniform(H * D), other = uniform(2 * T * G * D);
  const Heads<const float> keys{rows.data(), 0, G * D, D};
  cache.append({T, keys, keys});
  Floats out(H * D), lse(H);
  AttendShape shape{.B = 1, .H = H, .queries = 1, .keys = T, .K = D, .D = D, .scale = 0.09f, .causal = true};
  shape.kv_heads = G;
  const auto token = [&] {
    attend_cached(shape, {{q.data(), 0, 0, D}}, cache, {}, {}, {out.data(), 0, 0, D}, lse.data());
  };
  const int turns = 15 * n;  // each is short
  std::vector<double> times, ratios;
  token();  // warm
  for (int i = 0; i < turns; ++i) {
    const auto start = std::chrono::steady_clock::now();
    token();
    times.push_back(bench::seconds_since(start));
    ratios.push_back(times.back() / bench::read_seconds(other.data(), std::int64_t(other.size()), threads));
  }
  std::sort(times.begin(), times.end()), std::sort(ratios.begin(), ratios.end());
  std::printf(
      "a decoded token, %ld keys, H %ld, kv %ld, D %ld  %7.2f ms  %4.2f times reading the cache [%.2f, "
      "%.2f]\n",
      long(T), long(H), long(G), long(D), times[std::size_t(turns / 2)] * 1e3, ratios[std::size_t(turns / 2)],
      ratios.front(), ratios.back());
}

}  // namespace

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
  decode(threads, n);
}
