#include "gnomon/study/run/learner.h"

#include <algorithm>

namespace gnomon {

namespace {
bool stays(const std::string& name, Fixed fixed) {
  if (fixed == Fixed::words) return name == "embed.word";
  return fixed == Fixed::feed_forward && name.find("feed_forward.down.") != name.npos;
}
}  // namespace

Learner::Learner(const Job& job, Ranks* ranks)
    : trainer(job.architecture(), job.train, std::uint64_t(job.seed), ranks), job_(job) {
  for (const Param& p : trainer.model.params()) {
    if (!stays(p.spec.name, job.fixed)) continue;
    const float* start = &trainer.w[p.offset];
    kept_.push_back({p.offset, job.fixed == Fixed::words ? std::vector(start, start + p.spec.size())
                                                         : std::vector<float>(p.spec.size())});
  }
  restore();
}

double Learner::step(const std::function<bool()>& stop) {
  const Sample batch = training_batch(job_, trainer.step);
  Tokens tokens = batch.tokens(0, batch.count());
  tokens.stop = &stop;
  const double loss = trainer.train(tokens);
  restore();
  return loss;
}

void Learner::restore() {
  for (const Kept& k : kept_) std::copy(k.values.begin(), k.values.end(), &trainer.w[k.offset]);
}

}  // namespace gnomon
