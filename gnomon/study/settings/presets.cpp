#include "gnomon/study/settings/presets.h"

#include <vector>

#include "gnomon/core/error.h"
#include "gnomon/core/names.h"
#include "gnomon/core/text.h"

namespace gnomon {
namespace {

constexpr Preset kPresets[] = {
#include "presets.inc"
};

}  // namespace

std::string_view Preset::title() const { return trim(toml.substr(1, toml.find('\n'))); }

std::span<const Preset> presets() { return kPresets; }

Toml preset(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Preset& p : kPresets) {
    if (p.name == name) return {std::string(p.toml), text("preset ", name)};
    names.push_back(p.name);
  }
  throw unknown("preset", name, names);
}

}  // namespace gnomon
