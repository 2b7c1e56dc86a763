#pragma once
#include <string>
#include <vector>

#include "gnomon/study/results/summary.h"

namespace gnomon::pages {

// What a study of a task found of right answers: by length, seed by seed, and by where the answer stands if that is known.
// styles: the colour of each arm of the summary.
std::string study_right_answers(const StudySummary& summary, const std::vector<int>& styles);

}  // namespace gnomon::pages
