#pragma once
#include <span>
#include <string_view>

#include "gnomon/study/settings/config.h"

namespace gnomon {

// A study prepared: gnomon/study/settings/presets/NAME.toml, compiled in.
struct Preset {
  std::string_view name, toml;
  std::string_view title() const;  // its first line
};
std::span<const Preset> presets();
// Throws Error(usage) that lists them for a name that is none.
Toml preset(std::string_view name);

}  // namespace gnomon
