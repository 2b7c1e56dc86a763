#pragma once
#include <span>
#include <vector>

#include "gnomon/models/lint/lint.h"

namespace gnomon {

// What the paths of a LintRequest mean.
struct LintTargets {
  std::vector<LintTarget> files;         // each once; "-" among them
  std::vector<Path> folders;             // that were walked
  std::vector<std::string> passed_over;  // files of a model without a config.json beside them
};
// Throws Error(resource) for a path that does not exist, and for a folder without a model.
LintTargets lint_targets(std::span<const Path> paths);

// The path without "." and "..", from the root. Links stay.
Path whole_path(const Path& path);
// Whether the path is the folder, or is in it; both whole.
bool is_within(const Path& path, const Path& folder);

}  // namespace gnomon
