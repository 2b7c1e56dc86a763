#include "gnomon/lab/job.h"

#include <array>

#include "gnomon/checkpoint/sha256.h"
#include "gnomon/core/error.h"
#include "gnomon/core/random.h"
#include "gnomon/core/text.h"
#include "gnomon/kernels/loss.h"
#include "gnomon/lab/task.h"
#include "gnomon/nn/numerics.h"

namespace gnomon {
namespace {

std::string hash(const std::string& content) { return sha256(content).substr(0, 16); }

bool on_text(const Job& job) {
  if (job.data == "text" && !job.text)
    throw Error(Fault::usage, "this needs a text: give one with --text FILE");
  return job.data == "text";
}

// Windows of T tokens from these places of the text.
Sample windows_at(const Job& job, std::span<const std::int64_t> starts, std::int64_t T, const Random& masks) {
  const std::string_view bytes = job.text->bytes();
  const bool causal = job.architecture().causal;
  Sample s{T, {}, {}};
  for (const std::int64_t start : starts) {
    for (std::int64_t t = start; t < start + T; ++t) {
      const auto byte = [&](std::int64_t at) { return std::int32_t((unsigned char)bytes[std::size_t(at)]); };
      const bool masked = !causal && masks.uniform(std::uint64_t(t)) < 0.15;
      s.inputs.push_back(masked ? 0 : byte(t));
      s.targets.push_back(causal ? byte(t + 1) : masked ? byte(t) : kUnscored);
    }
  }
  return s;
}

}  // namespace

Architecture model_of(const RunSettings& settings, const Spec& spec) { return settings.model.with(spec); }

Architecture Job::architecture() const { return model_of(*this, spec); }

// What is as in every study says nothing, so that a study's keys are of its settings alone.
std::string Job::print() const {
  std::string all = gnomon::text("spec ", spec.print(), "\nseed ", seed, "\ntext ",
                                 on_text(*this) ? text->sha256() : "", "\n");
  RunSettings settings = *this;
  const std::string printed = print_toml(fields(settings));
  for (const std::string_view line : split(printed, '\n'))
    all += gnomon::text(line.substr(0, line.find("  #")), "\n");
  constexpr std::array<std::string_view, 3> kHeld{"all", "validation", "test"};
  all += gnomon::text("held out ", kHeld[std::size_t(held)], "\n");
  if (data != "text") all += "task " + data + "\n";
  if (frozen_words) all += "words frozen\n";
  if (keep != Keep())
    all += gnomon::text("keep ", keep.windows, keep.start ? " start" : "", keep.snapshots ? " snapshots" : "",
                        " reach ", keep.reach, "\n");
  return all;
}

RunPlan plan_of(const Job& job, int threads) {
  const std::string asked = hash(job.print()), how = numerics(threads);
  return {
      {job.spec.print(), job.seed, job.train.steps, job.train.learning_rate}, hash(asked + how), asked, how};
}

Sample training_batch(const Job& job, std::int64_t step) {
  const std::int64_t T = job.model.length, B = job.train.batch;
  if (!on_text(job)) {
    const Random here = training_stream(std::uint64_t(job.seed), step);
    const bool varied = job.data == "lengths";
    return make_task(job.data, varied ? 8 + std::int64_t(here.below(1 << 30, std::uint64_t(T - 7))) : T, B,
                     here);
  }
  const Random order(std::uint64_t(job.seed), "data order");
  const std::int64_t available = job.text->training_windows(T);
  std::vector<std::int64_t> starts;
  for (std::int64_t b = 0; b < B; ++b) {
    const auto n = order.below(std::uint64_t(step * B + b), std::uint64_t(available));
    starts.push_back(job.text->training_start(T, std::int64_t(n)));
  }
  return windows_at(job, starts, T, Random(order.bits(std::uint64_t(step)), "masks"));
}

Sample held_out(const Job& job, const Windows& w) {
  if (!on_text(job)) return make_task(job.data, w.tokens, w.count, testing_stream(w.draw));
  const bool causal = job.architecture().causal;
  const std::int64_t reach = w.held == Held::validation ? w.tokens + 1
                             : job.keep.reach           ? job.keep.reach
                                                        : job.longest();
  std::vector<std::int64_t> starts;
  for (const std::int64_t end : job.text->held_out_ends(reach, w.count, w.held))
    starts.push_back(end - w.tokens - (causal ? 1 : 0));
  return windows_at(job, starts, w.tokens, Random(w.draw, "held-out masks"));
}

}  // namespace gnomon
