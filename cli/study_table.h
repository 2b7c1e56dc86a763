#pragma once
#include "gnomon/study/conduct.h"

namespace gnomon::cli {

// What `study` prints on standard output.
void print_table(const StudySummary& summary);
void print_suite(const std::vector<Told>& studies);
void print_status(const StudySummary& summary);
void print_comparison(const StudySummary& a, const StudySummary& b);

}  // namespace gnomon::cli
