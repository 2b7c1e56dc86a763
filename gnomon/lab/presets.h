#pragma once
#include <span>
#include <string_view>

#include "gnomon/lab/config.h"

namespace gnomon {

// A study prepared: gnomon/lab/presets/NAME.toml, compiled in.
struct Preset {
  std::string_view name, toml;
  std::string_view title() const;  // its first line
};
std::span<const Preset> presets();
// Reads one into a configuration; throws Error(usage) that lists them for a name that is none.
void read_preset(StudyConfig& config, std::string_view name);

}  // namespace gnomon
