// What a run is known by.
#include <array>

#include "gnomon/core/text.h"
#include "gnomon/files/sha256.h"
#include "gnomon/nn/numerics.h"
#include "gnomon/study/run/job.h"

namespace gnomon {
namespace {

std::string hash(const std::string& content) { return sha256(content).substr(0, 16); }

}  // namespace

// What is as in every study says nothing, so that a study's keys are of its settings alone.
std::string Job::print() const {
  std::string all = gnomon::text("spec ", spec.print(), "\nseed ", seed, "\n", learned().print(), "\n");
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

}  // namespace gnomon
