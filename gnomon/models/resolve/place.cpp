#include "gnomon/models/resolve/place.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

namespace gnomon {
namespace {

// Walks over well-formed JSON. No recursion deeper than the document, which is at most kDeepestJson deep.
class Scanner {
 public:
  explicit Scanner(std::string_view json) : json_(json) {}

  // In the object that begins here: the offset of the member `key`, or of the nearest object around it.
  std::size_t find(std::string_view key) {
    space();
    std::size_t best = at_;
    if (next() != '{') return best;
    bool exact = false;
    ++at_;
    for (space(); next() != '}'; space()) {
      if (next() == ',') ++at_, space();
      const std::size_t name_at = at_;
      const std::string name = string();
      space(), ++at_, space();
      if (name == key) return name_at;
      const bool within = key.size() > name.size() && key.starts_with(name) && key[name.size()] == '.';
      if (within && next() == '{' && !exact) {
        const std::size_t value_at = at_;
        const std::size_t inner = Scanner(*this).find(key.substr(name.size() + 1));
        best = inner == value_at ? name_at : inner;
        exact = inner != value_at;
      }
      value();
    }
    return best;
  }

 private:
  char next() const { return at_ < json_.size() ? json_[at_] : '}'; }
  void space() { at_ = std::min(json_.find_first_not_of(" \t\r\n", at_), json_.size()); }
  std::string string() {
    const std::size_t begin = at_++;
    for (; at_ < json_.size() && json_[at_] != '"'; ++at_)
      if (json_[at_] == '\\') ++at_;
    ++at_;
    return nlohmann::json::parse(json_.substr(begin, at_ - begin)).get<std::string>();
  }
  void value() {
    std::size_t depth = 0;
    do {
      const char c = next();
      if (c == '"') {
        string();
        continue;
      }
      if (c == '{' || c == '[') ++depth;
      if (c == '}' || c == ']') --depth;
      if (c == '{' || c == '[' || c == '}' || c == ']' || c == ',' || c == ':') {
        ++at_;
      } else {
        at_ = std::min(json_.find_first_of(" \t\r\n,:[]{}\"", at_), json_.size());
      }
      if (depth) space();
    } while (depth && at_ < json_.size());
  }

  std::string_view json_;
  std::size_t at_ = 0;
};

}  // namespace

std::size_t line_of(std::string_view json, std::string_view key) {
  const std::string_view before = json.substr(0, Scanner(json).find(key));
  return std::size_t(std::count(before.begin(), before.end(), '\n')) + 1;
}

}  // namespace gnomon
