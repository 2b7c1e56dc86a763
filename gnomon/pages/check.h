#pragma once
#include <string>
#include <vector>

#include "gnomon/models/check/check.h"

namespace gnomon::pages {

// The result of a check with every number, as JSON with `indent`; -1: one line.
std::string check_json(const Dump& dump, const std::vector<Checked>& checked, int indent);

}  // namespace gnomon::pages
