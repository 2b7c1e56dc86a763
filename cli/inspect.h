#pragma once
#include <optional>

#include "cli/commands.h"
#include "gnomon/pages/inspect.h"

namespace gnomon::cli {

// The model of these options, looked at as `inspect` does; progress goes to standard error. Nothing: interrupted, which was told.
// The caller waits for signals (Patient).
std::optional<pages::Inspected> look_at_model(const InspectOptions& options);

}  // namespace gnomon::cli
