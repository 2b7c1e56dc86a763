#include "gnomon/study/run/job.h"

#include <algorithm>

#include "gnomon/core/error.h"
#include "gnomon/spec/scheme.h"

namespace gnomon {
namespace {

// Where no encoding takes the coordinates of the data, tokens count one after the other.
template <class Windows>
Windows placed(const Job& job, Windows made) {
  if (!made.placement) return made;
  const Scheme scheme = make_scheme(job.spec, job.architecture().shape());
  std::int64_t axes = scheme.input ? scheme.input->axes() : 1;
  for (const auto& in : scheme.attention) axes = std::max(axes, in.encoding->axes());
  if (axes != made.placement->axes) made.placement = nullptr;
  return made;
}

}  // namespace

Architecture Job::architecture() const { return model_of(*this, spec); }

const Data& Job::learned() const {
  if (!data) throw Error(Fault::usage, "this needs a text: give one with --text FILE");
  return *data;
}

Sample training_batch(const Job& job, std::int64_t step) {
  return placed(job, job.learned().training({std::uint64_t(job.seed), step, job.model.length, job.train.batch,
                                             job.architecture().causal}));
}

// Every length ends where the longest has room; the choice of a rate looks at one length only.
Windows windows_of(const Job& job, std::int64_t T, std::int64_t count, Held held) {
  const std::int64_t reach = held == Held::validation ? 0 : job.keep.reach ? job.keep.reach : job.longest();
  return {T, count, held, job.architecture().causal, 0, reach};
}

Sample held_out(const Job& job, std::int64_t T, std::int64_t count, Held held) {
  return placed(job, job.learned().held_out(windows_of(job, T, count, held)));
}

Examples examples(const Job& job, std::int64_t payload) {
  return placed(job,
                job.learned().examples(payload, windows_of(job, job.model.length, job.windows, job.held)));
}

}  // namespace gnomon
