// Whether the ones are odd. No encoding reaches beyond the lengths of training: attention alone cannot count without bound (Hahn
// 2020, https://arxiv.org/abs/1906.06755; Deletang et al. 2022, https://arxiv.org/abs/2207.02098). A control.
#include "gnomon/study/data/tasks/window.h"

namespace gnomon {
namespace {

std::vector<TaskWindow> write_parity(Draws& draws, std::int64_t L) {
  TaskWindow w;
  bool odd = false;
  for (std::int64_t n = 0; n < L; ++n) {
    const bool one = draws.coin();
    odd ^= one;
    w.give(one ? '1' : '0');
  }
  w.give(kAsk), w.label(odd ? '1' : '0');
  return {w};
}

}  // namespace

std::span<const Task> parity_tasks() {
  static const std::vector<Task> all{
      {.name = "parity",
       .asks = "say whether the number of ones in a string of bits is odd",
       .isolates = "counting without bound: it is a control in which all fail beyond the training lengths",
       .format = "x1..xL ?",
       .symbols = "1 for odd, 0 for even",
       .payload = "bits",
       .seen = "those of up to 20 bits, because each length has at most a million windows",
       .form = AnswerForm::labelled,
       .metric = Metric::symbols,
       .chance = .5,
       .allowed = {1, 4096},
       .trained = {1, 20},
       .tests = {10, 20, 30, 40},
       .per_symbol = 1,
       .others = 1,
       .write = write_parity},
  };
  return all;
}

}  // namespace gnomon
