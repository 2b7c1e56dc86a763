#pragma once
#include <string>
#include <vector>

#include "gnomon/pages/made_by.h"
#include "gnomon/pages/study_predictions.h"

namespace gnomon::pages {

// One page of several studies: who has right answers where, within the lengths of training and beyond, what became of
// predictions, and the way to each study's own page, NAME/report.html.
std::string suite_page(const std::vector<Told>& studies, const MadeBy& how);
// The first of it, in sentences.
std::vector<std::string> suite_answers(const std::vector<Told>& studies);

// How an arm did at one length of a task, or over a text.
struct Score {
  std::string length;      // "20", "2×"; empty: there is one length alone
  std::string value = {};  // "0.98", or nats
  double sort = 0;
  std::string seeds = {};  // "4 of 5" that solved it; empty: of a text
};
// Within the lengths of training, and at the longest test beyond them. nullopt: none, or not defined there.
struct SuiteScores {
  std::optional<Score> within, beyond;
};
SuiteScores scores_of(const StudySummary& summary, const ArmSummary& arm);

}  // namespace gnomon::pages
