#pragma once
#include <memory>
#include <optional>
#include <string>

#include "gnomon/nn/sample.h"
#include "gnomon/study/plan/study.h"

namespace gnomon {

// A run of a study that finished, with the model it left.
struct FinishedRun {
  RunResult result;
  Model model;
  Floats w;
  std::unique_ptr<Data> data;  // whose symbols are no bytes; null: they are
};

// The run of this arm and seed in a study's folder. Without an arm: that with the lowest held-out loss; without a seed: the
// first. The text of a study of bytes need not be there any more. Throws Error(input) for a folder that is none or damaged, and
// Error(usage) that lists the arms, or the seeds of an arm, that finished.
FinishedRun finished_run(const StudyFolder& folder, const std::string& arm, std::optional<std::int64_t> seed);

// What the model writes after `prompt`, which is not empty: how.count bytes. Throws as sample() does, and Data::encode().
std::string continuation(const FinishedRun& run, std::string_view prompt, const Sampling& how);

}  // namespace gnomon
