#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "gnomon/study/data/task.h"

namespace gnomon {

struct Tally {
  std::int64_t right = 0, asked = 0;
  double share() const;  // NaN where nothing was asked
  void add(bool is_right) { right += is_right, ++asked; }
};

// What a model answered: at every scored target the symbol of its largest logit, the first of equal ones. The true answers
// stand in a decoder's window (teacher forcing). Greedy decoding reads the model's own instead: they are the same up to the
// first wrong one, so a window is whole in the one sense exactly if it is in the other.
struct Answers {
  std::vector<std::uint8_t> right;  // of each target: 1 = met; 0 where unscored
  Tally symbols;                    // scored targets
  Tally whole;                      // windows that ask for something, with all their targets met
  Tally pairs;                      // windows 2n and 2n+1, both whole
  double share(Metric metric) const;
};

struct Answering {
  bool drop_positions = false;  // as in Tokens
  const std::function<bool()>* stop = nullptr;
};
// Throws Error(usage) as Sample::check() and Session::logits() do.
Answers answers(Session& session, std::span<const float> w, const Sample& sample, const Answering& how = {});
Answers answers(const Trained& model, const Sample& sample);

// The same by where the first answer of a window is read from: windows with a source, in `bins` equal parts of the way
// from the start of the window (the first part) to the symbol that asks. Counts are of whole windows. Throws Error(usage) for
// less than one part, and for answers to other windows.
std::vector<Tally> by_depth(const Answers& answers, const Examples& examples, std::int64_t bins);
// Scored targets with a source by their distance to it, from 0 to T−1 tokens. Throws as by_depth does.
std::vector<Tally> by_distance(const Answers& answers, const Examples& examples);

}  // namespace gnomon
