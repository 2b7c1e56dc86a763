// Symbols in their order. Which are there is a matter of content, so in training, and for an encoder at any length, positions
// should not matter (bucket sort in Deletang et al. 2022, https://arxiv.org/abs/2207.02098): a control. A decoder finds the next
// larger symbol; where symbols may repeat it has to count as well.
#include <algorithm>
#include <numeric>

#include "gnomon/study/data/tasks/window.h"

namespace gnomon {
namespace {

constexpr std::int64_t kValues = 50;

// A to Z, then a to x.
std::int32_t letter(std::int64_t value) { return std::int32_t(value < 26 ? 'A' + value : 'a' + value - 26); }

std::vector<TaskWindow> sorted(const std::vector<std::int64_t>& values) {
  TaskWindow w;
  w.give(kBegin);
  for (const std::int64_t value : values) w.give(letter(value));
  w.give(kSeparator);
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  for (const std::size_t n : order) w.answer(letter(values[n]), 1 + std::int64_t(n));
  w.answer(kEnd);
  return {w};
}

std::vector<TaskWindow> write_sort(Draws& draws, std::int64_t L) {
  return sorted(draws.different(L, kValues));
}

std::vector<TaskWindow> write_repeated(Draws& draws, std::int64_t L) {
  std::vector<std::int64_t> values;
  for (std::int64_t n = 0; n < L; ++n) values.push_back(draws.below(kValues));
  return sorted(values);
}

Task sorting(std::string_view name, std::string_view asks,
             std::vector<TaskWindow> (*write)(Draws&, std::int64_t), std::int64_t longest) {
  return {.name = name,
          .asks = asks,
          .isolates =
              "content without order: it is a control in which encodings should be equal within the training "
              "lengths",
          .format = "^x1..xL|y1..yL.",
          .symbols = "50 letters, A to Z before a to x, and the full stop at the end",
          .payload = "letters",
          .form = AnswerForm::written,
          .metric = Metric::whole,
          .chance = 0,
          .allowed = {1, longest},
          .trained = {1, 16},
          .tests = {8, 16, 24, 32},
          .per_symbol = 2,
          .others = 3,
          .write = write};
}

}  // namespace

std::span<const Task> sort_tasks() {
  static const std::vector<Task> all{
      sorting("sort", "sort letters that are all different", write_sort, kValues),
      sorting("sort_repeated", "sort letters that may repeat", write_repeated, 4096),
  };
  return all;
}

}  // namespace gnomon
