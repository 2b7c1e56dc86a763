#include "gnomon/study/plan/agenda.h"

#include "gnomon/core/error.h"

namespace gnomon {
namespace {

bool somebody_works_on(const RunFolder& run) {
  std::error_code none;
  if (!std::filesystem::exists(run.lock(), none)) return false;
  try {
    const FileLock lock(run.lock(), "a run");
    return false;
  } catch (const Error& e) {
    if (e.fault() != Fault::busy) throw;
    return true;
  }
}

}  // namespace

Agenda::Agenda(const StudyConfig& config, const Data& data, const StudyFolder& folder)
    : config_(config), data_(data), folder_(folder), plan_(plan_runs(config, data, {})) {
  look();
}

// A result may be the last that the choice of a rate waited for, and then more runs follow.
void Agenda::look() {
  for (bool news = true; news;) {
    news = false;
    for (const RunPlan& run : plan_) {
      if (found_.count(run.key) || !std::filesystem::exists(folder_.run(run).result())) continue;
      found_.emplace(run.key, result_of(run, folder_.run(run)));
      news = true;
    }
    if (news) plan_ = plan_runs(config_, data_, found_);
  }
}

Agenda::Next Agenda::next(Which which) {
  look();
  bool wait = false;
  for (const RunPlan& run : plan_) {
    if (found_.count(run.key) || given_.count(run.key)) continue;
    if (which == Which::extending && !extends(config_, run)) continue;
    const bool busy = somebody_works_on(folder_.run(run));
    if (std::filesystem::exists(folder_.run(run).result())) return next(which);  // somebody ended it just now
    if (busy) {
      wait = true;
      continue;
    }
    if (std::filesystem::exists(folder_.run(run).result())) return next(which);  // finished since we looked
    given_.insert(run.key);
    return {run, false};
  }
  return {std::nullopt, wait};
}

Work Agenda::done() const {
  Work work{found_.size(), 0};
  for (const auto& [key, result] : found_) work.steps += double(result.plan.steps);
  return work;
}

Work Agenda::planned() const {
  Work work = to_come(config_, data_, found_);
  work.runs += plan_.size();
  for (const RunPlan& run : plan_) work.steps += double(run.steps);
  return work;
}

}  // namespace gnomon
