#include "gnomon/models/resolve/place.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

namespace gnomon {
namespace {

struct Span {
  std::size_t begin, end;
};
// A member of an object, as it is spaced.
struct Member {
  Span name, value;
  std::size_t before;  // where the spaces before its name begin
  std::size_t object;  // where its object begins
};

// Walks over well-formed JSON. No recursion deeper than the document, which is at most kDeepestJson deep.
class Scanner {
 public:
  explicit Scanner(std::string_view json, std::size_t at = 0) : json_(json), at_(at) {}

  // In the object that begins here: the offset of the member `key`, or of the nearest object around it.
  std::size_t find(std::string_view key) {
    space();
    std::size_t best = at_;
    if (next() == '[') return item(key);
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
      if (within && (next() == '{' || next() == '[') && !exact) {
        const std::size_t value_at = at_;
        const std::size_t inner = Scanner(*this).find(key.substr(name.size() + 1));
        best = inner == value_at ? name_at : inner;
        exact = inner != value_at;
      }
      value();
    }
    return best;
  }

  // The member `key` of the object that begins here, or of one within it.
  std::optional<Member> member(std::string_view key) {
    std::optional<Member> found;
    each_member([&](const Member& m, const std::string& name) {
      if (name == key) {
        found = m;
      } else if (!found && key.size() > name.size() && key.starts_with(name) && key[name.size()] == '.') {
        found = Scanner(json_, m.value.begin).member(key.substr(name.size() + 1));
      }
    });
    return found;
  }
  std::optional<Span> value_of(std::string_view key) {
    const auto found = member(key);
    return found ? std::optional(found->value) : std::nullopt;
  }
  // The last member of the object that begins here.
  std::optional<Member> last_member() {
    std::optional<Member> last;
    each_member([&](const Member& m, const std::string&) { last = m; });
    return last;
  }
  std::size_t object_at() {
    space();
    return at_;
  }

 private:
  // Nothing, if no object begins here.
  template <class Do>
  void each_member(const Do& action) {
    space();
    if (next() != '{') return;
    const std::size_t object = at_;
    for (++at_;;) {
      Member m{{}, {}, at_, object};
      space();
      if (next() == '}') return;
      m.name.begin = at_;
      const std::string name = string();
      m.name.end = at_;
      space(), ++at_, space();
      m.value.begin = at_;
      value();
      m.value.end = at_;
      action(m, name);
      space();
      if (next() == ',') ++at_;
    }
  }
  // The same in the list that begins here.
  std::size_t item(std::string_view key) {
    const std::size_t begin = at_, dot = std::min(key.find('.'), key.size());
    ++at_, space();
    for (std::size_t n = 0; at_ < json_.size() && next() != ']'; ++n) {
      if (key.substr(0, dot) == std::to_string(n))
        return dot == key.size() ? at_ : Scanner(*this).find(key.substr(dot + 1));
      value(), space();
      if (next() == ',') ++at_, space();
    }
    return begin;
  }
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
  std::size_t at_;
};

}  // namespace

TextPlace place_of_byte(std::string_view text, std::size_t byte) {
  const std::string_view before = text.substr(0, byte);
  const std::size_t end = before.rfind('\n');
  const std::string_view line = before.substr(end == before.npos ? 0 : end + 1);
  const auto begins_character = [](unsigned char c) { return (c & 0xC0) != 0x80; };
  return {std::size_t(std::count(before.begin(), before.end(), '\n')) + 1,
          std::size_t(std::count_if(line.begin(), line.end(), begins_character)) + 1};
}

std::size_t line_of(std::string_view json, std::string_view key) {
  return place_of_byte(json, Scanner(json).find(key)).line;
}

namespace {

std::string with_member(std::string_view json, std::size_t object, std::string_view name,
                        std::string_view value) {
  Scanner scanner(json.substr(object));
  const auto last = scanner.last_member();
  const std::string quoted = nlohmann::json(name).dump();
  std::string all(json);
  if (!last) return all.insert(object + 1, quoted + ": " + std::string(value));
  const auto part = [&](std::size_t from, std::size_t to) {
    return std::string(json.substr(object + from, to - from));
  };
  return all.insert(object + last->value.end, "," + part(last->before, last->name.begin) + quoted +
                                                  part(last->name.end, last->value.begin) +
                                                  std::string(value));
}

}  // namespace

std::optional<std::string> with_value(std::string_view json, std::string_view key, std::string_view value) {
  if (const auto there = Scanner(json).value_of(key)) {
    std::string all(json);
    return all.replace(there->begin, there->end - there->begin, value);
  }
  const std::size_t dot = key.rfind('.');
  if (dot == key.npos) return with_member(json, Scanner(json).object_at(), key, value);
  const auto object = Scanner(json).value_of(key.substr(0, dot));
  if (!object || json[object->begin] != '{') return std::nullopt;
  return with_member(json, object->begin, key.substr(dot + 1), value);
}

std::optional<std::string> with_name(std::string_view json, std::string_view key, std::string_view name) {
  const auto there = Scanner(json).member(key);
  if (!there || Scanner(json, there->object).member(name)) return std::nullopt;
  std::string all(json);
  return all.replace(there->name.begin, there->name.end - there->name.begin, nlohmann::json(name).dump());
}

}  // namespace gnomon
