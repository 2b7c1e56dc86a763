#include "gnomon/study/data/task.h"

#include <algorithm>

#include "gnomon/core/check.h"
#include "gnomon/core/error.h"
#include "gnomon/core/names.h"
#include "gnomon/core/text.h"
#include "gnomon/study/data/tasks/window.h"

namespace gnomon {

#define TASKS(name) std::span<const Task> name##_tasks();
#include "gnomon/study/data/tasks/list.def"
#undef TASKS

std::span<const Task* const> tasks() {
  static const std::vector<const Task*> all = [] {
    std::vector<const Task*> listed;
#define TASKS(name) \
  for (const Task& task : name##_tasks()) listed.push_back(&task);
#include "gnomon/study/data/tasks/list.def"
#undef TASKS
    return listed;
  }();
  return all;
}

const Task& find_task(std::string_view wanted) {
  std::vector<std::string_view> names;
  for (const Task* task : tasks()) {
    if (task->name == wanted) return *task;
    names.push_back(task->name);
  }
  throw unknown("task", wanted, names);
}

std::string_view how_read(AnswerForm form, bool causal) {
  if (form == AnswerForm::labelled)
    return causal
               ? "A decoder predicts each answer at the symbol that asks for it. The answer is not part of "
                 "the window."
               : "An encoder reads the same window as a decoder and predicts each answer at the same symbol.";
  return causal ? "A decoder predicts each symbol of the answer from the symbols before it."
                : "An encoder reads 0 in place of each symbol of the answer and predicts the symbol there. "
                  "So it sees how long the answer is.";
}

std::string_view name(Metric metric) {
  return metric == Metric::symbols ? "share of right symbols"
         : metric == Metric::whole ? "exact match"
                                   : "share of right pairs";
}

namespace {

constexpr std::uint64_t kLengthDraw = 1 << 30;  // of a batch of one length

// Appends a window as a decoder or an encoder sees it, padded to T tokens.
void append(Examples& s, const TaskWindow& w, bool causal) {
  const std::size_t start = s.inputs.size(), end = start + std::size_t(s.T);
  if (w.size() > s.T)
    throw Error(Fault::bug, text("a window of ", w.size(), " symbols, with room for ", s.T));
  s.inputs.resize(end, kPadding), s.targets.resize(end, kUnscored), s.sources.resize(end, kNowhere);
  for (std::size_t t = 0; t < w.symbols.size(); ++t) {
    const bool hidden = w.answers[t];
    s.inputs[start + t] = hidden && !causal ? kHidden : w.symbols[t];
    if (!hidden && w.labels[t] == kUnscored) continue;
    const std::size_t said = start + t - std::size_t(hidden && causal);
    s.targets[said] = hidden ? w.symbols[t] : w.labels[t];
    s.sources[said] = w.sources[t];
  }
}

}  // namespace

WindowShape training_shape(const Task& task, bool causal) {
  return {task.trained, task.trained.most, causal};
}
WindowShape testing_shape(const Task& task, std::int64_t L, bool causal) {
  return {{L, L}, std::max(L, task.trained.most), causal};
}

Examples task_batch(const Task& task, const WindowShape& made, std::int64_t windows, const Random& random) {
  const auto [least, most] = made.lengths;
  check_extents(task.name, {{"L", least, task.allowed.least, task.allowed.most},
                            {"the largest L", most, least, task.allowed.most},
                            {"windows", windows, 1, kMostTokens}});
  if (!task.one_length) check_extents(task.name, {{"room", made.room, most, kMostTokens}});
  const std::int64_t range = most - least + 1,
                     common = least + std::int64_t(random.below(kLengthDraw, std::uint64_t(range)));
  Examples s{{task.tokens(task.one_length ? common : made.room), {}, {}}, {}};
  while (s.count() < windows) {
    Draws draws(random, task.draws * std::uint64_t(s.count()));
    const std::int64_t L = task.one_length ? common : range == 1 ? least : least + draws.below(range);
    for (const TaskWindow& w : task.write(draws, L)) append(s, w, made.causal);
  }
  return s;
}

Random training_stream(std::uint64_t seed, std::int64_t step) {
  return {Random(seed, "data order").bits(std::uint64_t(step)), "task"};
}
Random testing_stream(std::uint64_t draw) { return {draw, "test of a task"}; }

Sample make_task(std::string_view name, std::int64_t T, std::int64_t windows, const Random& random) {
  const Task& task = find_task(name);
  const std::int64_t L = task_length(name) ? task.allowed.least
                                           : std::min((T - task.others) / task.per_symbol, task.allowed.most);
  return task_batch(task, {{L, L}, L}, windows, random);
}

std::int64_t task_length(std::string_view name) {
  const Task& task = find_task(name);
  return task.allowed.least == task.allowed.most ? task.tokens(task.allowed.least) : 0;
}

}  // namespace gnomon
