#include "gnomon/study/run/job.h"

#include "gnomon/core/error.h"

namespace gnomon {

Architecture Job::architecture() const { return model_of(*this, spec); }

const Data& Job::learned() const {
  if (!data) throw Error(Fault::usage, "this needs a text: give one with --text FILE");
  return *data;
}

Sample training_batch(const Job& job, std::int64_t step) {
  return job.learned().training(
      {std::uint64_t(job.seed), step, job.model.length, job.train.batch, job.architecture().causal});
}

// Every length ends where the longest has room; the choice of a rate looks at one length only.
Windows windows_of(const Job& job, std::int64_t T, std::int64_t count, Held held) {
  const std::int64_t reach = held == Held::validation ? 0 : job.keep.reach ? job.keep.reach : job.longest();
  return {T, count, held, job.architecture().causal, 0, reach};
}

Sample held_out(const Job& job, std::int64_t T, std::int64_t count, Held held) {
  return job.learned().held_out(windows_of(job, T, count, held));
}

}  // namespace gnomon
