#pragma once
#include <optional>
#include <string>
#include <vector>

#include "gnomon/study/plan/study.h"

namespace gnomon {

// One study of several that belong together, as tasks do: they are done one after the other and told of on one page.
struct Part {
  std::string name;  // of its folder; empty: a study by itself
  StudyConfig config;
};
using Suite = std::vector<Part>;

// What a preset and a file say, the file on top. Either may have [[part]] tables, which make a suite. Empty: not given. Throws
// Error(usage) as they are read, and where both have parts.
Suite read_suite(const std::optional<Toml>& preset, const std::optional<Toml>& file);
// Shares out what the whole may cost, as the minutes of its parts are to each other.
void set_minutes(Suite& suite, double minutes);

// A suite in its folder: suite.toml, report.html, results.json, and a folder for each part.
struct SuiteFolder {
  Path folder;
  Path names() const { return folder / "suite.toml"; }
  Path report() const { return folder / "report.html"; }
  Path json() const { return folder / "results.json"; }
  StudyFolder part(const std::string& name) const { return {name.empty() ? folder : folder / name}; }
  // Of its parts; one without a name where the folder is that of a study by itself, or of nothing.
  std::vector<std::string> parts() const;
  // Writes down which parts there are. Throws Error(usage) where something else stands in the folder, unless `replace`.
  void begin(const Suite& suite, bool replace) const;
};

}  // namespace gnomon
