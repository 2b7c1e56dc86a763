#pragma once
#include <string>
#include <vector>

#include "gnomon/study/results/judge.h"

namespace gnomon::pages {

// What became of what was predicted of some studies. Empty: there was nothing.
std::string predictions_table(const std::vector<Told>& told);
// The same of one, with the checksum of the predictions.
std::string predictions_section(const StudySummary& summary);
// "Predicted before the run: 7 held, 1 did not hold, 2 are undecided." Empty: nothing was predicted.
std::string predictions_sentence(const std::vector<Judged>& all);
std::string found_text(const Judged& j, int digits);  // "+0.012 ± 0.004"; "–" where it is not measurable

}  // namespace gnomon::pages
