#pragma once
#include <string>

#include "gnomon/lab/study.h"

namespace gnomon::cli {

// The report of a study: one self-contained HTML page.
std::string study_page(const StudySummary& summary, const Corpus& corpus, const StudyFolder& folder,
                       const std::string& command);

}  // namespace gnomon::cli
