#pragma once
#include <string>
#include <vector>

#include "gnomon/study/plan/estimate.h"

namespace gnomon::cli {

// What a study will do and cost, before anything runs: `study --dry-run`.
struct StudyPlan {
  struct OfArm {
    std::string arm;
    RunEstimate run;
  };
  std::string name, folder;  // name: of a part; empty: a study by itself
  StudyConfig config;
  std::vector<OfArm> arms;
  std::size_t runs = 0;                     // or more, where rates beyond the given ones are tried
  double seconds = 0, flops = 0;            // of all runs
  double memory_bytes = 0, disk_bytes = 0;  // at once; in the end
  double tokens = 0, epochs = 0,
         expected = 0;            // of a run of the largest budget; epochs 0: of data without end
  std::vector<std::string> data;  // sentences about it
};
StudyPlan plan_study(const std::string& name, const StudyConfig& config, const Data& data,
                     const StudyFolder& folder);
void print(const StudyPlan& plan);
// Of a study by itself an object; of parts {"parts": [...]}.
std::string plans_json(const std::vector<StudyPlan>& plans);

}  // namespace gnomon::cli
