#pragma once
#include <optional>
#include <string>

#include "cli/commands.h"
#include "gnomon/hub/cache.h"

namespace gnomon::cli {

// The path of a model that a command line names, by a path or by its name at the Hub: every command asks here before it opens one.
// A model that is not on this machine is fetched if that is allowed; no other function asks the network. Throws Error(resource) if
// there is neither, and as fetch_model() does.
std::string model_path(const std::string& given, HubPart part, const Download& download = {});
// Nothing if there is neither; fetches nothing.
std::optional<std::string> find_model(const std::string& given, HubPart part);

}  // namespace gnomon::cli
