#pragma once
#include <string>
#include <vector>

#include "gnomon/lab/summary.h"

namespace gnomon::pages {

// What a study found, in sentences: the best, beyond the training length, what cannot be told apart, at which budgets that
// holds, what to do. Every number is of the summary. Empty where nothing has finished.
std::vector<std::string> study_answers(const StudySummary& summary);

// "1.2345 ± 0.0067", or the mean alone where there is no inference.
std::string interval_text(const Estimate& e, int digits);
std::string signed_text(double x, int digits);  // with + or a true minus

}  // namespace gnomon::pages
