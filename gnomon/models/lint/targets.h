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
// A path that does not exist may be a pattern of a shell, as glob(7) has it. Throws Error(resource) for a path that does not
// exist, for a pattern without a match, and for a folder without a model.
LintTargets lint_targets(std::span<const Path> paths);

// Whether the path has a wildcard: *, ? or [.
bool is_pattern(const Path& path);

// The path without "." and "..", from the root. Links stay.
Path whole_path(const Path& path);
// Whether the path is the folder, or is in it; both whole.
bool is_within(const Path& path, const Path& folder);

}  // namespace gnomon
