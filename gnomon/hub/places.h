#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "gnomon/core/file.h"

namespace gnomon {

// The environment of the process, as std::getenv gives it: null where a variable is not set. The library reads none by itself.
using Environment = std::function<const char*(const char* name)>;

// Where models of the Hub lie on this machine.
struct HubPlaces {
  Path cache;    // that of huggingface_hub
  Path headers;  // gnomon's own, of the same layout: settings, and parts of weights
};

// The cache follows HF_HUB_CACHE, HUGGINGFACE_HUB_CACHE, HF_HOME and XDG_CACHE_HOME, in this order, as huggingface_hub 2.4 reads
// them (constants.py); ~/.cache/huggingface/hub if none is set. `headers` is gnomon/headers in XDG_CACHE_HOME, or in ~/.cache.
HubPlaces hub_places(const Environment& environment);
// HF_HOME, where the client keeps its token, too.
Path hub_home(const Environment& environment);

// `~`, `~user`, `$NAME` and `${NAME}` in a path of the environment, as Python's os.path.expanduser() and then expandvars() replace
// them; what is not known stays.
Path expanded(std::string_view path, const Environment& environment);

}  // namespace gnomon
