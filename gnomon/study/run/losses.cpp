#include "gnomon/study/run/losses.h"

#include <algorithm>
#include <cmath>

#include "gnomon/kernels/loss.h"
#include "gnomon/study/run/run.h"

namespace gnomon {
namespace {

struct Means {
  explicit Means(std::int64_t n) : sums(std::size_t(n)), counts(std::size_t(n)) {}
  std::vector<double> sums, counts;
  void add(std::int64_t at, double x, double weight) {
    sums[std::size_t(at)] += x, counts[std::size_t(at)] += weight;
  }
  std::vector<double> means() const {
    std::vector<double> all;
    for (std::size_t i = 0; i < sums.size(); ++i)
      all.push_back(counts[i] > 0 ? sums[i] / counts[i] : std::nan(""));
    return all;
  }
};

// What the curve is of.
Held watched(const Job& job) {
  return job.held == Held::test && !job.keep.test_on_the_way ? Held::validation : job.held;
}

}  // namespace

Losses losses_over(const Job& job, Trainer& trainer, const Sample& windows, std::int64_t score,
                   const std::function<bool()>& stop) {
  const std::int64_t T = windows.T, count = windows.count(),
                     at_once =
                         std::max<std::int64_t>(1, job.train.batch / job.train.shards * job.model.length / T);
  Means by_position(T), by_block(std::min(count, kBlocks)), all(1);
  Floats losses;
  for (std::int64_t first = 0; first < count; first += at_once) {
    const std::int64_t B = std::min(at_once, count - first);
    Tokens tokens = windows.tokens(first, B);
    std::vector<std::int32_t> targets(tokens.targets.begin(), tokens.targets.end());
    for (std::int64_t n = 0; n < B * T; ++n) {
      if (n % T < T - score) targets[n] = kUnscored;
    }
    losses.resize(B * T);
    tokens.targets = targets;
    tokens.draw = std::uint64_t(first),
    tokens.drop_positions = trainer.dropped();  // samplers that draw in evaluation too
    tokens.stop = &stop;
    trainer.session.loss(tokens, trainer.w, losses);
    for (std::int64_t n = 0; n < B * T; ++n) {
      if (targets[n] == kUnscored) continue;
      const double bytes = job.learned().bytes(targets[n]);
      by_position.add(n % T, losses[n], bytes);
      by_block.add((first + n / T) * std::int64_t(by_block.sums.size()) / count, losses[n], bytes);
    }
  }
  for (std::int64_t t = 0; t < T; ++t)
    all.sums[0] += by_position.sums[t], all.counts[0] += by_position.counts[t];
  return {all.means()[0], by_position.means(), by_block.means()};
}

Sample curve_windows(const Job& job) {
  return held_out(job, job.model.length, std::min(job.windows, job.keep.windows), watched(job));
}

}  // namespace gnomon
