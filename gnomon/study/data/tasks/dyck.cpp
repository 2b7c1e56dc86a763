// Round and square brackets, at most four of them open: Dyck-(2,4). After each closing bracket inside others, the one that may
// close now, which is far back. After an opening one the answer stands there, so it is not asked for. Hewitt et al. 2020,
// https://arxiv.org/abs/2010.07515; Yao et al. 2021, https://arxiv.org/abs/2105.11115.
//
// A window is the beginning of such a word: nothing has to be closed at its end.
#include "gnomon/study/data/tasks/window.h"

namespace gnomon {
namespace {

constexpr std::size_t kDepth = 4;

// Brackets open or close with equal chances where both are possible.
TaskWindow brackets(Draws& draws, std::int64_t L, bool& asked) {
  TaskWindow w;
  std::vector<std::int64_t> open;  // places
  const auto closes = [&](std::int64_t place) { return w.symbols[std::size_t(place)] == '(' ? ')' : ']'; };
  for (std::int64_t t = 0; t < L; ++t) {
    if (open.empty() || (open.size() < kDepth && draws.coin())) {
      open.push_back(t);
      w.give(draws.coin() ? '(' : '[');
      continue;
    }
    w.give(closes(open.back()));
    open.pop_back();
    if (!open.empty()) w.label(closes(open.back()), open.back()), asked = true;
  }
  return w;
}

std::vector<TaskWindow> write_dyck(Draws& draws, std::int64_t L) {
  for (bool asked = false;;) {
    const TaskWindow w = brackets(draws, L, asked);
    if (asked) return {w};  // a window that asks for nothing is drawn again
  }
}

}  // namespace

std::span<const Task> dyck_tasks() {
  static const std::vector<Task> all{
      {.name = "dyck",
       .asks = "name the bracket that may close next, after each closing bracket inside others",
       .isolates = "attention to a hierarchy, without an index of positions",
       .format = "brackets; answers at closing brackets",
       .symbols = ") and ]",
       .payload = "brackets",
       .form = AnswerForm::labelled,
       .metric = Metric::symbols,
       .chance = .5,
       .allowed = {4, 4096},
       .trained = {4, 40},
       .tests = {40, 80, 120},
       .per_symbol = 1,
       .others = 0,
       .write = write_dyck},
  };
  return all;
}

}  // namespace gnomon
