#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "gnomon/study/data/data.h"

namespace gnomon {

// A row of symbols cut into parts: some for training, between them some that are held out, each of which is for validation first
// and for the test then.
struct Parts {
  using Part = std::pair<std::int64_t, std::int64_t>;  // [begin, end)
  struct HeldOut {
    std::int64_t begin, third, end;  // validation is before `third`
  };
  std::vector<Part> training;
  std::vector<HeldOut> held_out;

  std::int64_t training_tokens() const;
  std::vector<Part> held(Held which) const;
  // The n-th of the windows of T+1 symbols that lie in one training part; n below training_windows(T).
  std::int64_t training_windows(std::int64_t T) const;
  std::int64_t training_start(std::int64_t T, std::int64_t n) const;
  // `count` ends of held-out windows, evenly spread: symbol end−longest−1 .. end−1 lie in one held-out part.
  std::vector<std::int64_t> ends(std::int64_t longest, std::int64_t count, Held which) const;
};
// The parts of n symbols, for windows of up to `longest`: 10 % held out in up to 16 evenly spaced parts, the first third of each
// for validation.
Parts cut(std::int64_t n, std::int64_t longest);

// Windows of a row of symbols: a training's, in an order that the seed fixes, and held-out ones. `symbol(at)` is that at a place.
// Causal: the target is the next one. Encoder: 15 % of them, chosen by their place, are replaced by 0 and are the targets (Devlin
// et al. 2018, arXiv 1810.04805, section 3.1, with all of them masked).
using SymbolAt = std::function<std::int32_t(std::int64_t at)>;
Sample training_windows(const Parts& parts, const SymbolAt& symbol, const StepBatch& batch);
Sample held_out_windows(const Parts& parts, const SymbolAt& symbol, const Windows& windows);

}  // namespace gnomon
