#pragma once
#include <string>

#include "gnomon/models/extend/extend.h"

namespace gnomon::pages {

inline constexpr int kExtendSchema = 1;

// The plan as JSON with `indent`, with every number of every pair; -1: one line.
std::string extend_json(const ExtensionPlan& plan, int indent);

}  // namespace gnomon::pages
