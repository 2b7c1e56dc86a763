#include "gnomon/study/data/task_data.h"

#include <map>

#include "gnomon/core/error.h"

namespace gnomon {
namespace {

// Numbers of test windows: apart for what chooses and what tells, and for every length.
constexpr std::uint64_t kDrawsOfValidation = 1 << 20, kDrawsOfTest = 2 << 20;

class ClaimTask : public Data {
 public:
  explicit ClaimTask(std::string_view name) : name_(name) { find_task(name); }
  std::string print() const override { return "task " + name_; }
  Sample training(const StepBatch& b) const override {
    const Random here = training_stream(b.seed, b.step);
    const bool varied = name_ == "lengths";
    const std::int64_t T =
        varied ? 8 + std::int64_t(here.below(1 << 30, std::uint64_t(b.tokens - 7))) : b.tokens;
    return make_task(name_, T, b.windows, here);
  }
  Sample held_out(const Windows& w) const override {
    const std::uint64_t draw = w.held == Held::validation ? kDrawsOfValidation : 0;
    return make_task(name_, w.tokens, w.count, testing_stream(draw + w.draw));
  }
  std::vector<std::string> describe() const override { return {std::string(find_task(name_).asks)}; }

 private:
  const std::string name_;
};

}  // namespace

TaskData::TaskData(const Task& task, bool causal) : task_(task), causal_(causal) {}

std::string TaskData::print() const {
  return text("task ", task_.name, " of ", task_.trained.least, " to ", task_.trained.most);
}

Sample TaskData::training(const StepBatch& b) const {
  return task_batch(task_, training_shape(task_, causal_), b.windows, training_stream(b.seed, b.step));
}

Sample TaskData::held_out(const Windows& w) const {
  const std::uint64_t draw = w.held == Held::validation ? kDrawsOfValidation : kDrawsOfTest;
  return task_batch(task_, training_shape(task_, causal_), w.count, testing_stream(draw + w.draw));
}

Examples TaskData::examples(std::int64_t payload, const Windows& w) const {
  const std::uint64_t draw = w.held == Held::validation ? kDrawsOfValidation : kDrawsOfTest;
  return task_batch(task_, testing_shape(task_, payload, causal_), w.count,
                    testing_stream(draw + 1 + std::uint64_t(payload)));
}

std::vector<std::string> TaskData::describe() const {
  const auto [least, most] = task_.trained;
  std::vector<std::string> all{
      text("Task ", task_.name, ": ", task_.asks, ". It needs ", task_.isolates, "."),
      text("Windows: ", task_.format), std::string(how_read(task_.form, causal_)),
      text("Training draws new windows at every step, with ",
           least == most ? text(most) : text(least, " to ", most), " ", task_.payload,
           ". Tests use other random numbers.")};
  if (!task_.seen.empty()) all.push_back(text("Tests may repeat windows of the training: ", task_.seen, "."));
  return all;
}

const Data& claim_task(std::string_view name) {
  static const auto all = [] {
    std::map<std::string, std::unique_ptr<Data>, std::less<>> made;
    for (const Task* task : tasks()) made.emplace(task->name, std::make_unique<ClaimTask>(task->name));
    return made;
  }();
  find_task(name);
  return *all.find(name)->second;
}

}  // namespace gnomon
