#include "gnomon/study/run/job.h"

#include <array>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/files/sha256.h"
#include "gnomon/nn/numerics.h"

namespace gnomon {
namespace {

std::string hash(const std::string& content) { return sha256(content).substr(0, 16); }

const Data& data_of(const Job& job) {
  if (!job.data) throw Error(Fault::usage, "this needs a text: give one with --text FILE");
  return *job.data;
}

}  // namespace

Architecture Job::architecture() const { return model_of(*this, spec); }

// What is as in every study says nothing, so that a study's keys are of its settings alone.
std::string Job::print() const {
  std::string all = gnomon::text("spec ", spec.print(), "\nseed ", seed, "\n", data_of(*this).print(), "\n");
  RunSettings settings = *this;
  const std::string printed = print_toml(fields(settings));
  const std::string usual = gnomon::text("precision = \"", name_of(Precision::float32), "\"");
  for (const std::string_view line : split(printed, '\n')) {
    if (line.starts_with(usual)) continue;
    all += gnomon::text(line.substr(0, line.find("  #")), "\n");
  }
  constexpr std::array<std::string_view, 3> kHeld{"all", "validation", "test"};
  all += gnomon::text("held out ", kHeld[std::size_t(held)], "\n");
  if (fixed == Fixed::words) all += "words frozen\n";
  if (fixed == Fixed::feed_forward) all += "no feed-forward\n";
  if (keep != Keep())
    all += gnomon::text("keep ", keep.windows, keep.start ? " start" : "", keep.snapshots ? " snapshots" : "",
                        keep.test_on_the_way ? " test" : "", " reach ", keep.reach, "\n");
  return all;
}

RunPlan plan_of(const Job& job, int threads) {
  const std::string asked = hash(job.print()), how = numerics(threads, job.train.precision);
  return {
      {job.spec.print(), job.seed, job.train.steps, job.train.learning_rate}, hash(asked + how), asked, how};
}

Sample training_batch(const Job& job, std::int64_t step) {
  return data_of(job).training(
      {std::uint64_t(job.seed), step, job.model.length, job.train.batch, job.architecture().causal});
}

// Every length ends where the longest has room; the choice of a rate looks at one length only.
Windows windows_of(const Job& job, std::int64_t T, std::int64_t count, Held held) {
  const std::int64_t reach = held == Held::validation ? 0 : job.keep.reach ? job.keep.reach : job.longest();
  return {T, count, held, job.architecture().causal, 0, reach};
}

Sample held_out(const Job& job, std::int64_t T, std::int64_t count, Held held) {
  return data_of(job).held_out(windows_of(job, T, count, held));
}

}  // namespace gnomon
