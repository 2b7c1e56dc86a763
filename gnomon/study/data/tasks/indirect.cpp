// The letter k places after (k < 0: before) a given one: where to look follows from a match of content and from a distance that
// is content too. Indirect indexing of Gopalakrishnan et al. 2025, https://arxiv.org/abs/2509.10534: 20 to 40 letters, k from
// −15 to 15, as one symbol. The letters are different; the given one and a k that stays among them are drawn uniformly.
#include <algorithm>

#include "gnomon/study/data/tasks/window.h"

namespace gnomon {
namespace {

constexpr std::int64_t kLetters = 52, kReach = 15;

std::int32_t letter(std::int64_t n) { return std::int32_t(n < 26 ? 'A' + n : 'a' + n - 26); }

std::vector<TaskWindow> write_indirect(Draws& draws, std::int64_t L) {
  TaskWindow w;
  for (const std::int64_t n : draws.different(L, kLetters)) w.give(letter(n));
  const std::int64_t from = draws.below(L), least = std::max(-kReach, -from),
                     most = std::min(kReach, L - 1 - from), k = least + draws.below(most - least + 1);
  w.give(w.symbols[std::size_t(from)]);
  w.give(std::int32_t(kBeyond + kReach + k));
  w.label(w.symbols[std::size_t(from + k)], from + k);
  return {w};
}

}  // namespace

std::span<const Task> indirect_tasks() {
  static const std::vector<Task> all{
      {.name = "indirect",
       .asks = "find the letter that stands k places after or before a given letter",
       .isolates = "attention by content and by distance at once",
       .format = "x1..xL c k",
       .symbols = "A to Z and a to z; k is one of 31 symbols",
       .payload = "letters",
       .form = AnswerForm::labelled,
       .metric = Metric::symbols,
       .chance = 1. / 20,
       .allowed = {1, kLetters},
       .trained = {20, 40},
       .tests = {20, 30, 40, 50},
       .per_symbol = 1,
       .others = 2,
       .write = write_indirect},
  };
  return all;
}

}  // namespace gnomon
