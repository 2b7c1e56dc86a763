// A key of five digits somewhere in random letters, and at the end the question for it: is a model blind to what is far away?
// After the passkey of Mohtashami, Jaggi 2023, https://arxiv.org/abs/2305.16300. The key starts at any of the L + 1 places with
// equal chances.
#include "gnomon/study/data/tasks/window.h"

namespace gnomon {
namespace {

constexpr std::int64_t kKey = 5;

std::vector<TaskWindow> write_needle(Draws& draws, std::int64_t L) {
  TaskWindow w;
  const std::int64_t before = draws.below(L + 1);
  for (std::int64_t t = 0; t <= L; ++t) {
    if (t == before) {
      w.give('#');
      for (std::int64_t n = 0; n < kKey; ++n) w.give(std::int32_t('0' + draws.below(10)));
    }
    if (t < L) w.give(std::int32_t('a' + draws.below(26)));
  }
  w.give(kAsk);
  for (std::int64_t n = 0; n < kKey; ++n) {
    const std::int64_t source = before + 1 + n;
    w.answer(w.symbols[std::size_t(source)], source);
  }
  return {w};
}

}  // namespace

std::span<const Task> needle_tasks() {
  static const std::vector<Task> all{
      {.name = "needle",
       .asks = "repeat the five digits that stood somewhere in random letters",
       .isolates = "attention to distant positions; the report shows accuracy by depth",
       .format = "letters, #12345, letters, ?12345",
       .symbols = "0 to 9",
       .payload = "letters around the key",
       .form = AnswerForm::written,
       .metric = Metric::whole,
       .chance = 0,
       .allowed = {0, 1 << 16},
       .trained = {0, 64},
       .tests = {32, 64, 128, 256},
       .per_symbol = 1,
       .others = 2 + 2 * kKey,
       .write = write_needle},
  };
  return all;
}

}  // namespace gnomon
