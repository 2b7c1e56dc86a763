// Letters, and the same letters again, or backwards. After Kazemnejad et al. 2023, https://arxiv.org/abs/2305.19466:
// the end has to be written too, at the right time.
//
//   copy        ^abc|abc.
//   copy_same   ^aaa|aaa.    one letter: what is asked is when to stop. An encoder sees where the answer ends, so for it there
//                            is little to find
//   reverse     ^abc|cba.    what is read moves back by two for each symbol that is written: no distance stays
#include "gnomon/study/data/tasks/window.h"

namespace gnomon {
namespace {

enum class Order { forwards, backwards };

std::vector<TaskWindow> repeated(const std::vector<std::int32_t>& letters, Order order) {
  TaskWindow w;
  w.give(kBegin);
  for (const std::int32_t letter : letters) w.give(letter);
  w.give(kSeparator);
  const auto L = std::int64_t(letters.size());
  for (std::int64_t n = 0; n < L; ++n) {
    const std::int64_t from = order == Order::forwards ? n : L - 1 - n;
    w.answer(letters[std::size_t(from)], 1 + from);
  }
  w.answer(kEnd);
  return {w};
}

template <Order order>
std::vector<TaskWindow> write_copy(Draws& draws, std::int64_t L) {
  std::vector<std::int32_t> letters;
  for (std::int64_t n = 0; n < L; ++n) letters.push_back(std::int32_t('a' + draws.below(26)));
  return repeated(letters, order);
}

std::vector<TaskWindow> write_same(Draws& draws, std::int64_t L) {
  const auto letter = std::int32_t('a' + draws.below(26));
  return repeated(std::vector<std::int32_t>(std::size_t(L), letter), Order::forwards);
}

Task copying(std::string_view name, std::string_view asks, std::string_view isolates) {
  return {.name = name,
          .asks = asks,
          .isolates = isolates,
          .format = "^x1..xL|x1..xL.",
          .symbols = "a to z, and the full stop at the end",
          .payload = "letters",
          .form = AnswerForm::written,
          .metric = Metric::whole,
          .chance = 0,
          .allowed = {1, 4096},
          .trained = {1, 20},
          .tests = {10, 20, 30, 40},
          .per_symbol = 2,
          .others = 3,
          .write = write_copy<Order::forwards>};
}

}  // namespace

std::span<const Task> copy_tasks() {
  static const std::vector<Task> all = [] {
    std::vector<Task> list{
        copying("copy", "copy a string of letters", "attention at a distance that depends on the length"),
        copying("copy_same", "repeat one letter as often as it was given", "counting"),
        copying("reverse", "write a string of letters backwards",
                "arithmetic with positions, because the distance changes at every step")};
    list[0].tests.push_back(60);
    list[1].tests.push_back(60);
    list[1].seen = "all within the training lengths, because each length has only 26 windows";
    list[1].write = write_same;
    list[2].format = "^x1..xL|xL..x1.";
    list[2].write = write_copy<Order::backwards>;
    return list;
  }();
  return all;
}

}  // namespace gnomon
