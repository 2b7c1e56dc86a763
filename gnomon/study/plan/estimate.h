#pragma once
#include <span>

#include "gnomon/study/plan/study.h"

namespace gnomon {

// What a run will need, before it starts. All is computed but the speed, which is that of a small model of this arm
// (one layer, at most 128 channels and 128 tokens) on the threads of this process, scaled by FLOPs.
struct RunEstimate {
  std::int64_t parameters;
  double training_flops, seconds;
  std::int64_t memory_bytes, disk_bytes;
};
RunEstimate estimate(const StudyConfig& config, const Arm& arm,
                     const Data& data);  // of the largest budget
// Bytes that the process of a run of this arm takes at its peak.
std::int64_t memory_of_a_run(const StudyConfig& config, const Arm& arm, const Data& data);
// The arm whose runs take most, and how much, as memory_of_a_run() has it.
struct LargestRun {
  std::string arm;
  std::int64_t bytes = 0;
};
LargestRun largest_run(const StudyConfig& config, const Data& data);
// Throws Error(resource) with the numbers where the runs that go side by side need more memory than there is.
void check_memory(const StudyConfig& config, const Data& data);

}  // namespace gnomon
