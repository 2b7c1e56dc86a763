#pragma once
#include <string>
#include <vector>

#include "gnomon/lab/judge.h"

namespace gnomon::pages {

// What became of what was predicted, as a table with the checksum of the predictions. Empty: there were none.
std::string predictions_section(const StudySummary& summary);
// "Predicted before the run: 7 held, 1 did not hold, 2 are undecided." Empty: nothing was predicted.
std::string predictions_sentence(const std::vector<Judged>& all);
std::string found_text(const Judged& j, int digits);  // "+0.012 ± 0.004"; "–" where it is not measurable

}  // namespace gnomon::pages
