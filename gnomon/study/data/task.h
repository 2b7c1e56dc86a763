#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "gnomon/core/random.h"
#include "gnomon/nn/trained.h"

namespace gnomon {

// Algorithmic tasks: questions with known answers, each of which asks for one thing that a model has to do with the places of
// its symbols. A window is a question with its answer, in symbols from 1 to 255; its length L counts the payload alone.
// Tokens stand at 0..T−1. Whatever is no answer has the target kUnscored, padding too.

// How the answer stands in a window.
enum class AnswerForm {
  labelled,  // nowhere: it is said at the symbol that asks. A decoder and an encoder read the same
  written    // among the symbols. A decoder says each as the next one, an encoder where it reads 0 instead
};
std::string_view how_read(AnswerForm form, bool causal);  // the same in a sentence

// What a model is held to: the share of right symbols, of windows without a wrong one (exact match), or of pairs without a
// wrong one: windows 2n and 2n+1, which hold the same symbols in another order.
enum class Metric { symbols, whole, pairs };
std::string_view name(Metric metric);  // "share of right symbols", "exact match", "share of right pairs"

struct Lengths {
  std::int64_t least, most;
};

class Draws;        // tasks/window.h: the random numbers of an example, and
struct TaskWindow;  // the window that is written by them

// One task as data. Its file in tasks/ says where it is from.
struct Task {
  std::string_view name;
  std::string_view asks;       // what is read, and what has to be said: one line
  std::string_view isolates;   // what it takes: one line
  std::string_view format;     // of a window
  std::string_view symbols;    // that answers are made of
  std::string_view payload;    // what L counts
  std::string_view seen = {};  // which tests may be met in training, so few windows are possible; empty: none
  AnswerForm form;
  Metric metric;
  double chance;    // the metric of answers drawn blindly from what can be one, at the shortest of `tests`
  Lengths allowed;  // L that windows can be made of
  Lengths trained;  // L of training, unless a study says otherwise
  std::vector<std::int64_t> tests;  // L of tests, within `trained` and beyond
  std::int64_t per_symbol, others;  // a window of L has at most per_symbol·L + others tokens
  bool one_length = false;          // all windows of a batch have the same length, and no padding
  std::uint64_t draws = 1 << 20;    // random numbers that are set aside for a window
  std::vector<TaskWindow> (*write)(Draws& draws, std::int64_t L);  // one window; of Metric::pairs both

  std::int64_t tokens(std::int64_t L) const { return per_symbol * L + others; }
};
std::span<const Task* const> tasks();          // in the order of tasks/list.def
const Task& find_task(std::string_view task);  // throws Error(usage) that lists what exists

inline constexpr std::int32_t kNowhere = -1;

// Windows of a task.
struct Examples : Sample {
  std::vector<std::int32_t> sources;  // of each target: the place in its window that says it, or kNowhere
};

// What windows are made.
struct WindowShape {
  Lengths lengths;  // L is drawn uniformly from these, for each window
  std::int64_t
      room;  // the L that windows have tokens for: shorter ones are padded. one_length: not looked at
  bool causal = true;  // for a decoder; false: for an encoder
};
WindowShape training_shape(const Task& task, bool causal);
// Of L symbols, as wide as in training where L is not longer.
WindowShape testing_shape(const Task& task, std::int64_t L, bool causal);

// So many windows (one more where pairs ask for it): a function of the arguments, to the bit. Throws Error(usage) for
// lengths that the task has not, and for less room than they need.
Examples task_batch(const Task& task, const WindowShape& made, std::int64_t windows, const Random& random);

// What windows are drawn from: in the steps of a training (from 0), and in tests, whose stream is no step of any training.
Random training_stream(std::uint64_t seed, std::int64_t step);
Random testing_stream(std::uint64_t draw);

// For jobs, which know a task by its name and give no lengths: windows for a decoder, all of the largest L for which T tokens
// are enough; of tasks with one L, of that.
Sample make_task(std::string_view task, std::int64_t T, std::int64_t windows, const Random& random);
std::int64_t task_length(std::string_view task);  // tokens of a window of a task with one L; 0 = T decides

}  // namespace gnomon
