// At every symbol the one k before it, in random letters: attention to one distance and to nothing else. A bias that is linear
// in the distance puts at most a quarter of its weight on the symbol before; RoPE's frequencies decide which distances
// it can tell apart.
//
//   previous, offset2, offset4, offset8, offset16   k = 1, 2, 4, 8, 16
//   lengths                                         k = 1, in windows of another length each step: a position that is divided by the
//                                                   length moves with it
#include "gnomon/study/data/tasks/window.h"

namespace gnomon {
namespace {

template <std::int64_t k>
std::vector<TaskWindow> write_offset(Draws& draws, std::int64_t L) {
  TaskWindow w;
  for (std::int64_t t = 0; t < L; ++t) {
    w.give(std::int32_t('a' + draws.below(26)));
    if (t >= k) w.label(w.symbols[std::size_t(t - k)], t - k);
  }
  return {w};
}

template <std::int64_t k>
Task at_offset(std::string_view name, std::string_view asks) {
  return {.name = name,
          .asks = asks,
          .isolates = "attention to one distance",
          .format = "x1..xL, with an answer at each",
          .symbols = "a to z",
          .payload = "letters",
          .form = AnswerForm::labelled,
          .metric = Metric::symbols,
          .chance = 1. / 26,
          .allowed = {k + 1, 4096},
          .trained = {64, 64},
          .tests = {64, 128},
          .per_symbol = 1,
          .others = 0,
          .draws = 4096,
          .write = write_offset<k>};
}

Task at_lengths() {
  Task task = at_offset<1>("lengths", "at each letter, name the previous one, in windows of any length");
  task.isolates = "a position that does not depend on the length of the window";
  task.trained = {8, 64}, task.tests = {8, 16, 32, 64, 96, 128}, task.one_length = true;
  return task;
}

}  // namespace

std::span<const Task> offset_tasks() {
  static const std::vector<Task> all{
      at_offset<1>("previous", "at each letter, name the previous one"),
      at_offset<2>("offset2", "at each letter, name the letter two places before"),
      at_offset<4>("offset4", "at each letter, name the letter four places before"),
      at_offset<8>("offset8", "at each letter, name the letter eight places before"),
      at_offset<16>("offset16", "at each letter, name the letter sixteen places before"),
      at_lengths(),
  };
  return all;
}

}  // namespace gnomon
