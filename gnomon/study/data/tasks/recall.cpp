// What stood after a symbol when it was read before: the circuit of two layers, one that looks one symbol back and one that looks
// for equal symbols. Olsson et al. 2022, https://arxiv.org/abs/2209.11895.
//
//   recall   k1 v1 .. kL vL | k v k v ..   pairs of a key and a value, then the same pairs in another order, whose values are
//                                          asked for. Arora et al. 2023, https://arxiv.org/abs/2312.04927
//   repeat   x1..xL four times             different symbols; all from the second of the second copy on are answers, and follow
//                                          from the one before. An encoder reads one copy and the first symbol of another
#include "gnomon/study/data/tasks/window.h"

namespace gnomon {
namespace {

constexpr std::int64_t kCopies = 4;

std::vector<TaskWindow> write_recall(Draws& draws, std::int64_t L) {
  TaskWindow w;
  for (const std::int64_t key : draws.different(L, kBeyondCount))
    w.give(std::int32_t(kBeyond + key)), w.give(std::int32_t('a' + draws.below(26)));
  w.give(kSeparator);
  for (const std::int64_t pair : draws.different(L, L)) {
    const std::int64_t key = 2 * pair, value = key + 1;
    w.give(w.symbols[std::size_t(key)]), w.answer(w.symbols[std::size_t(value)], value);
  }
  return {w};
}

std::vector<TaskWindow> write_repeat(Draws& draws, std::int64_t L) {
  TaskWindow w;
  for (const std::int64_t symbol : draws.different(L, kBeyondCount)) w.give(std::int32_t(kBeyond + symbol));
  w.give(w.symbols[0]);
  for (std::int64_t t = L + 1; t < kCopies * L; ++t) w.answer(w.symbols[std::size_t(t - L)], t - L);
  return {w};
}

}  // namespace

std::span<const Task> recall_tasks() {
  static const std::vector<Task> all{
      {.name = "recall",
       .asks = "name the value of each key, after a list of pairs of a key and a value",
       .isolates = "an induction circuit: two layers that find what followed the same symbol before",
       .format = "k1 v1..kL vL|k v.. (the pairs in another order)",
       .symbols = "values a to z; keys are 128 other symbols",
       .payload = "pairs",
       .form = AnswerForm::written,
       .metric = Metric::symbols,
       .chance = 1. / 26,
       .allowed = {1, kBeyondCount},
       .trained = {8, 32},
       .tests = {8, 16, 32, 64},
       .per_symbol = 4,
       .others = 1,
       .write = write_recall},
      {.name = "repeat",
       .asks = "predict the next symbol in four copies of random symbols",
       .isolates = "an induction circuit: two layers that find what followed the same symbol before",
       .format = "x1..xL four times",
       .symbols = "128 symbols, different within a copy",
       .payload = "symbols in each copy",
       .form = AnswerForm::written,
       .metric = Metric::symbols,
       .chance = .1,
       .allowed = {2, kBeyondCount},
       .trained = {5, 25},
       .tests = {10, 25, 50},
       .per_symbol = kCopies,
       .others = 0,
       .write = write_repeat},
  };
  return all;
}

}  // namespace gnomon
