#include "cli/study_page.h"
namespace gnomon::cli {
std::string study_page(const StudySummary&, const Corpus&, const std::string&) { return ""; }
}
