#include "gnomon/study/run/together.h"

#include <array>
#include <cmath>
#include <new>
#include <vector>

#include "gnomon/core/error.h"
#include "gnomon/study/run/learner.h"

namespace gnomon {
namespace {

enum class Word { finished, stopped, failed };  // how a run ended on rank 0

// Keys are of the settings, the text and the numerics: ranks with the same key compute the same bits.
void expect_same_run(const RunPlan& plan, Ranks& ranks) {
  std::vector<std::array<char, 256>> said(std::size_t(ranks.size()));
  auto& mine = said[std::size_t(ranks.rank())];
  text(plan.key, " ('", plan.arm, "', seed ", plan.seed, ", ", plan.numerics, ")")
      .copy(mine.data(), mine.size() - 1);
  ranks.all_gather(std::span(said));
  for (std::size_t r = 1; r < said.size(); ++r) {
    if (said[r] == said[0]) continue;
    throw Error(Fault::usage,
                text("rank ", r, " has the run ", said[r].data(), ", rank 0 has the run ", said[0].data(),
                     "; all ranks need the same settings, text, program and instruction set"));
  }
}

// What the other ranks do while rank 0 performs: they train, and nothing else.
void follow(const Job& job, const RunHooks& hooks, Ranks& ranks) {
  try {
    Learner learner(job, &ranks);
    learner.trainer.share();
    while (learner.trainer.step < job.train.steps && std::isfinite(learner.step(hooks.stop))) {
    }
  } catch (const Stopped&) {  // by any rank, or because rank 0 has ended
  }
}

}  // namespace

bool perform_together(const Job& job, const RunPlan& plan, const RunFolder& folder, const RunHooks& hooks,
                      Ranks& ranks) {
  expect_same_run(plan, ranks);
  RunHooks checking = hooks;
  checking.stop = [&] {
    ranks.check();
    return hooks.stop();
  };
  Word word = Word::finished;
  try {
    if (ranks.rank() > 0) {
      follow(job, checking, ranks);
    } else if (!perform(job, plan, folder, checking, &ranks)) {
      word = Word::stopped;
    }
  } catch (const Error& e) {
    if (e.fault() != Fault::lost) ranks.close(int(Word::failed));
    throw;
  } catch (const std::bad_alloc&) {
    ranks.close(int(Word::failed));
    throw;
  }
  word = Word(ranks.close(int(word)));
  if (word == Word::failed) throw Error(Fault::resource, "rank 0 has ended with an error");
  return word == Word::finished;
}

}  // namespace gnomon
