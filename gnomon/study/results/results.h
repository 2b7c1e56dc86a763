#pragma once
#include <string>

#include "gnomon/study/results/summary.h"

namespace gnomon {

// What a study found, as files.
std::string results_csv(const StudySummary& summary);  // a row a run
std::string results_json(const StudySummary& summary);
std::string results_json(const std::vector<Told>& studies);

}  // namespace gnomon
