#pragma once
#include <string>
#include <vector>

#include "gnomon/models/check/check.h"

namespace gnomon::pages {

// What a dump was held against, every number, as JSON in lines of `indent`; -1: one line.
std::string check_json(const Dump& dump, const std::vector<Checked>& checked, int indent);

}  // namespace gnomon::pages
