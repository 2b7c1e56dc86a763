#pragma once
#include "gnomon/study/data/data.h"

namespace gnomon {

// A task as data: windows without end. A window of training has a length that is drawn from those of the task.
class TaskData : public Data {
 public:
  TaskData(const Task& task, bool causal);  // the task is of the list, which lives for ever

  std::string print() const override;
  Sample training(const StepBatch& batch) const override;  // as wide as the task asks for
  Sample held_out(const Windows& windows) const override;  // of the lengths of training
  std::vector<std::string> describe() const override;
  std::string unit() const override { return "nats per answer symbol"; }
  std::optional<Metric> metric() const override { return task_.metric; }
  double chance() const override { return task_.chance; }
  std::vector<std::int64_t> payloads() const override { return task_.tests; }
  double trained() const override { return double(task_.trained.most); }
  Examples examples(std::int64_t payload, const Windows& windows) const override;
  std::int64_t window_tokens() const { return task_.tokens(task_.trained.most); }

 private:
  const Task& task_;
  const bool causal_;
};

// The tasks of claims: windows for a decoder, of one length. They live for ever. Throws Error(usage) for a name that is none.
const Data& claim_task(std::string_view name);

}  // namespace gnomon
