#pragma once
#include <span>
#include <string>

#include "gnomon/bench/measure.h"
#include "gnomon/pages/made_by.h"

namespace gnomon::pages {

// Timings as one self-contained HTML page with a roofline: operations a second over operations for each byte that must move.
std::string bench_page(std::span<const bench::Timing> timings, const MadeBy& how);
// A list of {name, what, value, unit, limit, limited_by, share, low, high, n, threads}; value and limit in `unit`.
std::string bench_json(std::span<const bench::Timing> timings);
// Which libraries compute products and run threads here, in words.
std::string bench_libraries();

}  // namespace gnomon::pages
