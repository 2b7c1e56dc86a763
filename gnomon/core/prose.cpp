#include "gnomon/core/prose.h"

namespace gnomon {

std::string filled(std::string_view form, const std::string_view* names, const std::string* values,
                   std::size_t n) {
  std::string out;
  for (std::size_t at = 0; at < form.size(); ++at) {
    const char c = form[at];
    if (c != '{' && c != '}') {
      out += c;
      continue;
    }
    if (at + 1 < form.size() && form[at + 1] == c) {  // doubled: the brace itself
      out += c, ++at;
      continue;
    }
    const std::size_t end = form.find('}', at);
    for (std::size_t k = 0; k < n; ++k)
      if (names[k] == form.substr(at + 1, end - at - 1)) out += values[k];
    at = end;
  }
  return out;
}

}  // namespace gnomon
