#pragma once
#include <optional>

#include "gnomon/models/inspect/inspect.h"

namespace gnomon::cli {

// inspect() with its progress on standard error, unless `quiet`, and signals as what stops it. Nothing: interrupted, which was told.
// The caller waits for signals (Patient).
std::optional<Inspected> inspect_or_stop(const InspectFiles& files, const InspectOptions& options,
                                         bool quiet);

}  // namespace gnomon::cli
