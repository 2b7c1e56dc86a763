#include "gnomon/study/data/answers.h"

#include <algorithm>
#include <cmath>

#include "gnomon/core/array.h"
#include "gnomon/core/check.h"
#include "gnomon/kernels/loss.h"

namespace gnomon {
namespace {

constexpr std::int64_t kAtOnce = 16;  // windows in one forward pass

// What the targets of a window say of it.
struct Whole {
  bool asked = false, right = true;
};
Whole whole(const Sample& sample, const std::vector<std::uint8_t>& right, std::int64_t window) {
  Whole w;
  for (std::int64_t n = window * sample.T; n < (window + 1) * sample.T; ++n) {
    if (sample.targets[std::size_t(n)] == kUnscored) continue;
    w.asked = true, w.right &= right[std::size_t(n)] != 0;
  }
  return w;
}

}  // namespace

double Tally::share() const { return asked ? double(right) / double(asked) : std::nan(""); }

double Answers::share(Metric metric) const {
  return (metric == Metric::symbols ? symbols : metric == Metric::whole ? whole : pairs).share();
}

Answers answers(Session& session, std::span<const float> w, const Sample& sample, const Answering& how) {
  sample.check();
  const auto V = std::size_t(session.architecture().vocabulary);
  Answers a;
  a.right.resize(sample.targets.size());
  Floats logits;
  for (std::int64_t first = 0; first < sample.count(); first += kAtOnce) {
    Tokens tokens = sample.tokens(first, std::min(kAtOnce, sample.count() - first));
    tokens.draw = std::uint64_t(first), tokens.drop_positions = how.drop_positions, tokens.stop = how.stop;
    logits.resize(tokens.inputs.size() * V);
    session.logits(tokens, w, logits);
    for (std::size_t n = 0; n < tokens.targets.size(); ++n) {
      if (tokens.targets[n] == kUnscored) continue;
      const auto row = std::span<const float>(logits).subspan(n * V, V);
      const bool met = std::max_element(row.begin(), row.end()) - row.begin() == tokens.targets[n];
      a.right[std::size_t(first * sample.T) + n] = met;
      a.symbols.add(met);
    }
  }
  Whole before;
  for (std::int64_t n = 0; n < sample.count(); ++n) {
    const Whole now = whole(sample, a.right, n);
    if (now.asked) a.whole.add(now.right);
    if (n % 2 == 1 && now.asked && before.asked) a.pairs.add(now.right && before.right);
    before = now;
  }
  return a;
}

Answers answers(const Trained& model, const Sample& sample) {
  Session session(model.model);
  return answers(session, model.w, sample);
}

std::vector<Tally> by_depth(const Answers& answers, const Examples& examples, std::int64_t bins) {
  check_extents("by_depth", {{"bins", bins, 1, kMostTokens}});
  check_size("by_depth", "the answers", answers.right.size(), std::int64_t(examples.targets.size()));
  std::vector<Tally> tallies(static_cast<std::size_t>(bins));
  for (std::int64_t window = 0; window < examples.count(); ++window) {
    for (std::int64_t t = 0; t < examples.T; ++t) {
      const auto n = std::size_t(window * examples.T + t);
      if (examples.targets[n] == kUnscored) continue;
      const std::int64_t source = examples.sources[n];
      if (source != kNowhere && source < t)
        tallies[std::size_t(source * bins / t)].add(whole(examples, answers.right, window).right);
      break;
    }
  }
  return tallies;
}

std::vector<Tally> by_distance(const Answers& answers, const Examples& examples) {
  check_size("by_distance", "the answers", answers.right.size(), std::int64_t(examples.targets.size()));
  std::vector<Tally> tallies(std::size_t(examples.T));
  for (std::size_t n = 0; n < examples.targets.size(); ++n) {
    if (examples.targets[n] == kUnscored || examples.sources[n] == kNowhere) continue;
    const std::int64_t t = std::int64_t(n) % examples.T;
    tallies[std::size_t(std::abs(t - examples.sources[n]))].add(answers.right[n] != 0);
  }
  return tallies;
}

}  // namespace gnomon
