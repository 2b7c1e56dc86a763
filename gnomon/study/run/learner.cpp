#include "gnomon/study/run/learner.h"

#include <algorithm>

namespace gnomon {

Learner::Learner(const Job& job, Ranks* ranks)
    : trainer(job.architecture(), job.train, std::uint64_t(job.seed), ranks), job_(job) {
  if (!job.frozen_words) return;
  const Param& words = trainer.model.param("embed.word");
  words_.assign(&trainer.w[words.offset], &trainer.w[words.offset] + words.spec.size());
}

double Learner::step(const std::function<bool()>& stop) {
  const Sample batch = training_batch(job_, trainer.step);
  Tokens tokens = batch.tokens(0, batch.count());
  tokens.stop = &stop;
  const double loss = trainer.train(tokens);
  if (!words_.empty())
    std::copy(words_.begin(), words_.end(), &trainer.w[trainer.model.param("embed.word").offset]);
  return loss;
}

}  // namespace gnomon
