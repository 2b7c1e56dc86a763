// The most frequent of nine letters out of three, the topic of a text in small. Order does not matter, so every encoding should
// do as well as none: a control. A tie has no answer.
#include <algorithm>
#include <array>

#include "gnomon/study/data/tasks/window.h"

namespace gnomon {
namespace {

std::vector<TaskWindow> write_majority(Draws& draws, std::int64_t L) {
  TaskWindow w;
  std::array<std::int64_t, 3> count{};
  for (std::int64_t n = 0; n < L; ++n) {
    const std::int64_t letter = draws.below(3);
    ++count[std::size_t(letter)];
    w.give(std::int32_t('a' + letter));
  }
  w.give(kAsk);
  const auto most = std::max_element(count.begin(), count.end());
  if (std::count(count.begin(), count.end(), *most) == 1) w.label(std::int32_t('a' + (most - count.begin())));
  return {w};
}

}  // namespace

std::span<const Task> majority_tasks() {
  static const std::vector<Task> all{
      {.name = "majority",
       .asks = "find the most frequent of nine letters",
       .isolates = "no order: it is a control in which all encodings should be equal",
       .format = "x1..x9 ?",
       .symbols = "a, b, c",
       .payload = "letters",
       .seen = "all of them, because only 19,683 windows exist",
       .form = AnswerForm::labelled,
       .metric = Metric::symbols,
       .chance = 1. / 3,
       .allowed = {9, 9},
       .trained = {9, 9},
       .tests = {9},
       .per_symbol = 1,
       .others = 1,
       .draws = 16,
       .write = write_majority},
  };
  return all;
}

}  // namespace gnomon
