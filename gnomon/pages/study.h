#pragma once
#include <string>

#include "gnomon/pages/made_by.h"
#include "gnomon/study/results/summary.h"

namespace gnomon::pages {

// The report of a study: one self-contained HTML page. Pictures show the parameters that stand in the run folders, or
// those that arms start with. Throws Error(input) for a damaged model.
std::string study_page(const StudySummary& summary, const Data& data, const StudyFolder& folder,
                       const MadeBy& how);

}  // namespace gnomon::pages
