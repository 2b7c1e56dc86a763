#include "gnomon/study/plan/estimate.h"

#include <algorithm>
#include <chrono>

#include "gnomon/core/error.h"
#include "gnomon/core/memory.h"
#include "gnomon/core/text.h"
#include "gnomon/nn/memory.h"
#include "gnomon/nn/train.h"
#include "gnomon/study/statistics/statistics.h"

namespace gnomon {
namespace {

// Of a worker beside its arrays: libraries and compiled products. Measured: 26 MB with the kernels of AVX2, 29 MB with
// those of AVX-512.
constexpr std::int64_t kProcessBytes = 28'000'000;

// FLOP a second of a small model of the arm, over a few steps; of one without position where the arm cannot be so small.
double measured_speed(const RunSettings& c, const Spec& arm) {
  RunSettings small = c;
  const std::int64_t head_dim = c.model.width / c.model.heads;
  small.model.layers = 1, small.model.kv_heads = 0, small.train.shards = 1;
  small.model.heads = std::clamp<std::int64_t>(256 / head_dim, 1, c.model.heads);
  small.model.width = head_dim * small.model.heads;
  small.model.length = std::min<std::int64_t>(c.model.length, 128);
  try {
    Trainer trainer(model_of(small, arm), small.train, 1);
    const std::int64_t T = small.model.length, B = std::min<std::int64_t>(c.train.batch, 4);
    const std::vector<std::int32_t> tokens(std::size_t(B * T), 'e');
    std::vector<double> seconds;
    for (int i = 0; i < 4; ++i) {
      const auto start = std::chrono::steady_clock::now();
      trainer.train({B, T, tokens, tokens});
      if (i)
        seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    return trainer.model.training_flops_per_token(T) * double(B * T) / std::max(median(seconds), 1e-9);
  } catch (const Error&) {
    const Spec none = Spec::parse("none");
    if (arm == none) throw;
    return measured_speed(c, none);
  }
}

}  // namespace

std::int64_t memory_of_a_run(const StudyConfig& config, const Arm& arm, const Data& data) {
  const RunSettings c = settings_of(arm, config, config.base());
  const Architecture model = model_of(c, arm.spec);
  const PassSize shard{c.train.batch / c.train.shards, c.model.length};
  std::int64_t most = 0;
  for (const double factor : c.lengths) {
    const std::int64_t T = c.tokens_at(factor),
                       windows = std::clamp<std::int64_t>(shard.windows * shard.tokens / T, 1, c.windows);
    most = std::max(most, trainer_bytes(model, shard, {windows, T}, int(config.threads), c.train.shards));
  }
  const std::int64_t held_out = c.windows * c.longest() * 2 * std::int64_t(sizeof(std::int32_t));
  return most + held_out + data.memory_bytes() + kProcessBytes;
}

LargestRun largest_run(const StudyConfig& c, const Data& data) {
  LargestRun largest;
  for (const Arm& arm : c.arms) {
    if (const std::int64_t bytes = memory_of_a_run(c, arm, data); bytes > largest.bytes)
      largest = {arm.written, bytes};
  }
  return largest;
}

void check_memory(const StudyConfig& c, const Data& data) {
  const auto [arm, most] = largest_run(c, data);
  const AvailableMemory there = available_memory();
  const std::int64_t side_by_side = std::max<std::int64_t>(c.workers, 1);
  const auto refuse = [](std::int64_t needed, const std::string& by, std::int64_t found,
                         const std::string& what) {
    throw Error(Fault::resource,
                text("not enough memory: ", by, " would need about ", bytes_text(double(needed)), "; ",
                     bytes_text(double(found)), " are ", what,
                     "; lower study.workers, train.batch, model.length, model.width or evaluate.lengths"));
  };
  if (most > there.own_bytes) refuse(most, text("a run of '", arm, "'"), there.own_bytes, there.own_by);
  if (most > there.shared_bytes / side_by_side)
    refuse(most * side_by_side, text(side_by_side, " runs side by side"), there.shared_bytes,
           there.shared_by);
}

RunEstimate estimate(const StudyConfig& config, const Arm& arm, const Data& data) {
  const RunSettings c = settings_of(arm, config, config.base());
  const Model model(model_of(c, arm.spec));
  const std::int64_t T = c.model.length, tokens = c.train.batch * T;
  double evaluated = double(c.windows * T + c.points * std::min<std::int64_t>(c.windows, 32) * T);
  for (const double factor : c.lengths) evaluated += double(c.windows * c.tokens_at(factor));
  const double a_token = model.training_flops_per_token(T);
  RunEstimate e{};
  e.parameters = model.param_count();
  e.training_flops = a_token * double(tokens) * double(c.train.steps);
  e.seconds = (e.training_flops + a_token * evaluated / 3) /
              measured_speed(c, arm.spec);  // forward is a third of a step
  e.memory_bytes = memory_of_a_run(config, arm, data);
  e.disk_bytes = 4 * e.parameters + (1 << 16);
  return e;
}

}  // namespace gnomon
