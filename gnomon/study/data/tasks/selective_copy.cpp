// Sixteen letters among blanks, which have to be copied without the blanks: a position that counts what is read, not tokens.
// Golovneva et al. 2024, https://arxiv.org/abs/2405.18719, at an eighth of their size: as many blanks as letters in
// training, fewer (dense) and more (sparse) in tests. All orders of letters and blanks are equally likely.
#include <algorithm>

#include "gnomon/study/data/tasks/window.h"

namespace gnomon {
namespace {

constexpr std::int64_t kCopied = 16, kAlphabet = 16;

std::vector<TaskWindow> write_selective_copy(Draws& draws, std::int64_t L) {
  std::vector<std::int64_t> places = draws.different(kCopied, kCopied + L);
  std::sort(places.begin(), places.end());
  TaskWindow w;
  std::size_t next = 0;
  for (std::int64_t t = 0; t < kCopied + L; ++t) {
    const bool blank = next == places.size() || places[next] != t;
    w.give(blank ? '-' : std::int32_t('a' + draws.below(kAlphabet)));
    next += !blank;
  }
  w.give(kSeparator);
  for (const std::int64_t place : places) w.answer(w.symbols[std::size_t(place)], place);
  return {w};
}

}  // namespace

std::span<const Task> selective_copy_tasks() {
  static const std::vector<Task> all{
      {.name = "selective_copy",
       .asks = "copy sixteen letters without the blanks between them",
       .isolates = "a position that counts some symbols and not others",
       .format = "16 letters among L blanks, |, the letters",
       .symbols = "a to p",
       .payload = "blanks",
       .form = AnswerForm::written,
       .metric = Metric::whole,
       .chance = 0,
       .allowed = {0, 4096},
       .trained = {16, 16},
       .tests = {8, 16, 32, 64},
       .per_symbol = 1,
       .others = 2 * kCopied + 1,
       .write = write_selective_copy},
  };
  return all;
}

}  // namespace gnomon
