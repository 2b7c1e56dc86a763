#include "gnomon/hub/places.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

namespace gnomon {
namespace {

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

std::optional<std::string> home_of(const std::string& user, const Environment& environment) {
  if (user.empty()) {
    if (const char* home = environment("HOME")) return home;
  }
  const passwd* entry = user.empty() ? ::getpwuid(::getuid()) : ::getpwnam(user.c_str());
  return entry ? std::optional<std::string>(entry->pw_dir) : std::nullopt;
}

std::string with_home(std::string_view path, const Environment& environment) {
  if (!path.starts_with('~')) return std::string(path);
  const std::size_t end = std::min(path.find('/'), path.size());
  std::optional<std::string> home = home_of(std::string(path.substr(1, end - 1)), environment);
  if (!home) return std::string(path);
  while (home->ends_with('/')) home->pop_back();
  const std::string all = *home + std::string(path.substr(end));
  return all.empty() ? "/" : all;
}

// What `$` stands before: NAME or {NAME}; its name and its length. A length of 0: none.
struct Reference {
  std::string name;
  std::size_t length = 0;
};
Reference reference_at(std::string_view text) {
  if (text.starts_with('{')) {
    const std::size_t end = text.find('}');
    return end == text.npos ? Reference{} : Reference{std::string(text.substr(1, end - 1)), end + 1};
  }
  const auto end = std::find_if_not(text.begin(), text.end(), is_word);
  return {std::string(text.begin(), end), std::size_t(end - text.begin())};
}

std::string with_variables(std::string_view path, const Environment& environment) {
  std::string all;
  while (!path.empty()) {
    const std::size_t dollar = std::min(path.find('$'), path.size());
    all += path.substr(0, dollar), path.remove_prefix(dollar);
    if (path.empty()) break;
    const Reference reference = reference_at(path.substr(1));
    const char* value = reference.length ? environment(reference.name.c_str()) : nullptr;
    const std::size_t taken = 1 + reference.length;
    all += value ? std::string_view(value) : path.substr(0, taken);
    path.remove_prefix(taken);
  }
  return all;
}

// A variable that is set to nothing is set.
std::string value_of(const Environment& environment, const char* name, const std::string& otherwise) {
  const char* value = environment(name);
  return value ? value : otherwise;
}

Path user_cache(const Environment& environment) {
  return value_of(environment, "XDG_CACHE_HOME", (Path(with_home("~", environment)) / ".cache").string());
}

}  // namespace

Path expanded(std::string_view path, const Environment& environment) {
  return with_variables(with_home(path, environment), environment);
}

Path hub_home(const Environment& environment) {
  const std::string standard = (user_cache(environment) / "huggingface").string();
  return expanded(value_of(environment, "HF_HOME", standard), environment);
}

HubPlaces hub_places(const Environment& environment) {
  const std::string standard = (hub_home(environment) / "hub").string(),
                    before = value_of(environment, "HUGGINGFACE_HUB_CACHE", standard);
  return {expanded(value_of(environment, "HF_HUB_CACHE", before), environment),
          expanded((user_cache(environment) / "gnomon" / "headers").string(), environment)};
}

}  // namespace gnomon
