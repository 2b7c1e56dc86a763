#pragma once
#include <string>

#include "gnomon/models/extend/extend.h"

namespace gnomon::pages {

inline constexpr int kExtendSchema = 1;

// The plan with every number of every pair as JSON, in lines of `indent`; -1: one line.
std::string extend_json(const ExtensionPlan& plan, int indent);

}  // namespace gnomon::pages
