#include <fmt/core.h>
#include <signal.h>

#include <chrono>

#include "cli/commands.h"
#include "cli/progress.h"
#include "cli/signals.h"
#include "gnomon/core/error.h"
#include "gnomon/core/parallel.h"
#include "gnomon/study/plan/study.h"
#include "gnomon/study/run/ranks.h"
#include "gnomon/study/run/together.h"

namespace gnomon::cli {
namespace {

StudyConfig configure(const RankOptions& o) {
  StudyConfig config;
  if (!o.config.empty()) read_toml(config, o.config);
  if (!o.text.empty()) config.text_path = o.text;
  for (const auto& assignment : o.set) set(config, assignment);
  config.arms = {o.arm}, config.baseline = config.arms.front(), config.budgets = {1}, config.tuning.seeds = 0;
  settle(config);
  return config;
}

int tell_result(const RunResult& result) {
  if (!result.failure.empty()) {
    tell(text("failed: ", result.failure));
    return 1;
  }
  fmt::print("{}, seed {}: {:.4f} nats, {:.0f} tokens/s, weights {}\n", result.plan.arm, result.plan.seed,
             result.nats, result.cost.tokens_per_second, result.weights_sha256.substr(0, 16));
  return 0;
}

}  // namespace

int rank(const RankOptions& o) {
  const StudyConfig config = configure(o);
  const std::unique_ptr<Ranks> ranks = join_ranks();
  set_thread_count(int(config.threads));
  const auto data = open_data(config);
  const Trial trial{Spec::parse(o.arm).print(), o.seed, config.train.steps, config.train.learning_rate};
  const Job job = job_of(config, *data, trial);
  const RunPlan plan = plan_of(config, *data, trial);
  const RunFolder folder{o.out};
  const bool first = ranks->rank() == 0;
  const Patient until_it_is_saved;
  auto last_told = std::chrono::steady_clock::now();
  const auto progress = [&](const RunProgress& p) {
    const auto now = std::chrono::steady_clock::now();
    if (o.quiet || !first || now - last_told < std::chrono::seconds(5)) return;
    last_told = now;
    tell(fmt::format("step {}/{}, {:.3f} nats, {:.0f} tokens/s", p.step, p.steps, p.nats,
                     p.tokens_per_second));
  };
  const bool finished = perform_together(job, plan, folder,
                                         {.stop = [] { return interruptions() > 0; },
                                          .progress = progress,
                                          .note = tell,
                                          .checkpoint_seconds = config.checkpoint_seconds},
                                         *ranks);
  if (finished) return first ? tell_result(result_of(plan, folder)) : 0;
  if (first) tell("stopped; the same command continues where it stopped, on any number of ranks");
  return 128 + (last_signal() ? last_signal() : SIGTERM);
}

}  // namespace gnomon::cli
