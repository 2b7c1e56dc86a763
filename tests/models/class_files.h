// The files that classes of transformers 5.23 save (tests/golden/make_classes.py).
#pragma once
#include <algorithm>
#include <string>
#include <string_view>

#include "gnomon/core/file.h"
#include "gnomon/core/text.h"
#include "tests/models/resolver_support.h"

namespace gnomon {

inline const Json& recorded_classes() {
  static const Json all = Json::parse(read_file(Path(GNOMON_TESTS) / "golden" / "classes.json"));
  return all;
}
// Without the keys that the class has the same value for by itself, as older files are.
inline Json without_defaults(const Json& c) {
  Json file = c.at("config");
  for (const std::string key : c.at("defaults")) file.erase(key);
  return file;
}
// The file of a larger model, `outer`, which keeps this one under `key`: "text_config", "thinker_config.text_config".
inline Json wrapped(const std::string& outer, std::string key, Json file) {
  for (auto dot = key.rfind('.'); dot != std::string::npos; dot = key.rfind('.'))
    file = Json{{key.substr(dot + 1), file}}, key.resize(dot);
  return {{"model_type", outer}, {key, file}};
}

}  // namespace gnomon
