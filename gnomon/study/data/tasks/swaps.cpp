// Five items and a series of swaps: after each, which item is first? A word problem of the permutations of five, on which no
// shallow circuit of bounded depth is known to answer at every length (Barrington 1989; Merrill, Sabharwal 2023,
// https://arxiv.org/abs/2207.00729). Rotations by a fixed table cannot follow it; products of reflections can (Yang et al. 2025,
// https://arxiv.org/abs/2505.16381).
#include <algorithm>
#include <array>

#include "gnomon/study/data/tasks/window.h"

namespace gnomon {
namespace {

constexpr std::array<std::pair<int, int>, 10> kSwaps{
    {{0, 1}, {0, 2}, {0, 3}, {0, 4}, {1, 2}, {1, 3}, {1, 4}, {2, 3}, {2, 4}, {3, 4}}};

std::vector<TaskWindow> write_swaps(Draws& draws, std::int64_t L) {
  TaskWindow w;
  std::array<std::int64_t, 5> places{};
  const auto order = draws.different(5, 5);
  std::copy(order.begin(), order.end(), places.begin());
  for (const std::int64_t item : places) w.give(std::int32_t('a' + item));
  for (std::int64_t n = 0; n < L; ++n) {
    const std::int64_t which = draws.below(std::int64_t(kSwaps.size()));
    const auto [a, b] = kSwaps[std::size_t(which)];
    std::swap(places[std::size_t(a)], places[std::size_t(b)]);
    w.give(std::int32_t('0' + which)), w.label(std::int32_t('a' + places[0]));
  }
  return {w};
}

}  // namespace

std::span<const Task> swaps_tasks() {
  static const std::vector<Task> all{
      {.name = "swaps",
       .asks = "say after each swap of two of five items which item is first",
       .isolates = "following a state that each symbol changes",
       .format = "i1..i5 x1..xL: the items in their order, then a digit for each pair of places: 0 for 12, "
                 "then 13, 14, 15, 23, 24, 25, 34, "
                 "35, 45",
       .symbols = "a to e",
       .payload = "swaps",
       .form = AnswerForm::labelled,
       .metric = Metric::symbols,
       .chance = .2,
       .allowed = {1, 4096},
       .trained = {1, 20},
       .tests = {10, 20, 30, 40},
       .per_symbol = 1,
       .others = 5,
       .write = write_swaps},
  };
  return all;
}

}  // namespace gnomon
