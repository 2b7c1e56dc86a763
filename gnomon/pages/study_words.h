#pragma once
#include <string>
#include <vector>

#include "gnomon/study/results/summary.h"

namespace gnomon::pages {

// What a study found, in sentences: the best, beyond the training length, what cannot be told apart, at which budgets that
// holds, what to do. Every number is of the summary. Empty where nothing has finished.
std::vector<std::string> study_answers(const StudySummary& summary);
// How many comparisons with the baseline are decided as one family: every arm after the largest budget, and at twice the
// training length where it has a loss there.
std::size_t family_size(const StudySummary& summary);
// ", at the training length and at twice it", or nothing.
std::string_view where_compared(const StudySummary& summary);

// Of every loss, in the sentences, on the page and on the terminal.
constexpr int kLossDigits = 3;

// "1.234 ± 0.006", or the mean alone where there is no inference.
std::string interval_text(const Estimate& e, int digits);
std::string signed_text(double x, int digits);   // with + or a true minus
std::string signed_interval(const Estimate& e);  // of a difference: "−0.106 ± 0.010"; "–" of no seeds

}  // namespace gnomon::pages
