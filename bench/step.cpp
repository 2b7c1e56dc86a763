// A training step as a share of the float32 peak measured in the same run. Usage: bench_step [threads] [n]
#include <cstdlib>

#include "bench/peak.h"
#include "gnomon/core/parallel.h"
#include "gnomon/core/random.h"
#include "gnomon/nn/block.h"
#include "gnomon/nn/train.h"

using namespace gnomon;

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2, n = argc > 2 ? std::atoi(argv[2]) : 7;
  set_thread_count(threads);
  std::printf("%d threads, peak %.0f GFLOP/s, median of %d [least, most]\n", threads,
              bench::peak_flops(threads) / 1e9, n);
  struct Case {
    const char* name;
    std::int64_t width, heads, T, batch;
    const char* spec;
  };
  for (const Case& c : {Case{"A: d 256, 4 layers, 4 heads, T 512, batch 8", 256, 4, 512, 8, "learned"},
                        {"A with rope", 256, 4, 512, 8, "rope"},
                        {"A with alibi", 256, 4, 512, 8, "alibi"},
                        {"A with t5", 256, 4, 512, 8, "t5"},
                        {"A without position", 256, 4, 512, 8, "none"},
                        {"d 128, 4 layers, 4 heads, T 128, batch 4", 128, 4, 128, 4, "learned"}}) {
    Trainer trainer(
        make_block("gpt", {.width = c.width, .heads = c.heads, .length = c.T}, Spec::parse(c.spec)), {}, 1);
    const Random random(1, "bench");
    std::vector<std::int32_t> inputs(c.batch * c.T), targets(inputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i)
      inputs[i] = std::int32_t(random.below(2 * i, 256)),
      targets[i] = std::int32_t(random.below(2 * i + 1, 256));
    const double flops = trainer.model.training_flops_per_token(c.T) * double(inputs.size());
    const auto share = bench::share_of_peak(flops, threads, n, [&] {
      trainer.train({c.batch, c.T, inputs, targets});
    });
    std::printf("%-46s %5.1f GFLOP  %7.1f ms  %7.0f tokens/s  %4.1f %% of peak [%.1f, %.1f]\n", c.name,
                flops / 1e9, share.seconds * 1e3, double(inputs.size()) / share.seconds, 100 * share.median,
                100 * share.least, 100 * share.most);
  }
}
