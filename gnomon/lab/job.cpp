#include "gnomon/lab/job.h"

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

// What is as in every study says nothing, so that a study's keys are of its settings alone; nor does a batch in one piece,
// so that they are those of versions without shards.
std::string Job::print() const {
  std::string all = gnomon::text("arm ", spec.print(), "\nseed ", seed, "\ntext ",
                                 on_text(*this) ? text->sha256() : "", "\n");
  StudyConfig of_a_study;
  static_cast<RunSettings&>(of_a_study) = *this;
  const std::string settings = print_toml(of_a_study);
  for (const std::string_view line : split(settings, '\n')) {
    if (const auto setting = line.substr(0, line.find("  #")); setting != "shards = 1")
      all += gnomon::text(setting, "\n");
  }
  if (data != "text") all += "task " + data + "\n";
  if (frozen_words) all += "words frozen\n";
  if (keep != Keep())
    all += gnomon::text("keep ", keep.windows, keep.start ? " start" : "", keep.snapshots ? " snapshots" : "",
                        " reach ", keep.reach, "\n");
  return all;
}

RunPlan plan_of(const Job& job, int threads) {
  const std::string asked = hash(job.print()), how = numerics(threads);
  return {hash(asked + how), job.spec.print(), job.seed, asked, how};
}

Sample training_batch(const Job& job, std::int64_t step) {
  const Random order(std::uint64_t(job.seed), "data order");
  const std::int64_t T = job.model.length, B = job.train.batch;
  if (!on_text(job)) {
    const Random here(order.bits(std::uint64_t(step)), "task");
    const bool varied = job.data == "lengths";
    return make_task(job.data, varied ? 8 + std::int64_t(here.below(1 << 30, std::uint64_t(T - 7))) : T, B,
                     here);
  }
  const std::int64_t available = job.text->training_windows(T);
  std::vector<std::int64_t> starts;
  for (std::int64_t b = 0; b < B; ++b) {
    const auto n = order.below(std::uint64_t(step * B + b), std::uint64_t(available));
    starts.push_back(job.text->training_start(T, std::int64_t(n)));
  }
  return windows_at(job, starts, T, Random(order.bits(std::uint64_t(step)), "masks"));
}

Sample held_out(const Job& job, std::int64_t T, std::int64_t count, std::uint64_t draw) {
  if (!on_text(job)) return make_task(job.data, T, count, Random(draw, "test of a task"));
  const bool causal = job.architecture().causal;
  std::vector<std::int64_t> starts;
  for (const std::int64_t end :
       job.text->held_out_ends(job.keep.reach ? job.keep.reach : job.longest(), count))
    starts.push_back(end - T - (causal ? 1 : 0));
  return windows_at(job, starts, T, Random(draw, "held-out masks"));
}

}  // namespace gnomon
