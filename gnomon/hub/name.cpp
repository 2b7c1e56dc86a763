#include "gnomon/hub/name.h"

#include <algorithm>

#include "gnomon/core/text.h"

namespace gnomon {
namespace {

constexpr std::size_t kLongestName = 96;  // of a repository, without its owner
constexpr std::size_t kLongestPath = 1024, kLongestPart = 255;

bool is_digit_of_hash(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }
bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// An owner or a name: letters, digits, _ - and . of ASCII, the last two only inside.
bool is_label(std::string_view label) {
  if (label.empty() || !is_word(label.front()) || !is_word(label.back())) return false;
  return std::all_of(label.begin(), label.end(), [](char c) { return is_word(c) || c == '-' || c == '.'; });
}

bool is_repo(std::string_view repo) {
  const auto slash = repo.find('/');
  const std::string_view name = slash == repo.npos ? repo : repo.substr(slash + 1);
  if (slash != repo.npos && !is_label(repo.substr(0, slash))) return false;
  return is_label(name) && name.size() <= kLongestName && repo.find("--") == repo.npos &&
         repo.find("..") == repo.npos && !repo.ends_with(".git");
}

// Where org/name ends in org/name/file.
std::size_t end_of_repo(std::string_view text) {
  const auto first = text.find('/');
  return first == text.npos ? text.npos : text.find('/', first + 1);
}

}  // namespace

bool is_commit(std::string_view text) {
  return text.size() == 40 && std::all_of(text.begin(), text.end(), is_digit_of_hash);
}

bool is_plain_relative(std::string_view path) {
  if (path.size() > kLongestPath || first_invalid_utf8(path) != path.npos) return false;
  const std::vector<std::string_view> parts = split(path, '/');
  return std::all_of(parts.begin(), parts.end(), [](std::string_view part) {
    return !part.empty() && part != "." && part != ".." && part.size() <= kLongestPart && is_one_line(part) &&
           part.find('\\') == part.npos;
  });
}

std::string HubName::print() const {
  return text(repo, file.empty() ? "" : "/", file, revision == "main" ? "" : "@",
              revision == "main" ? "" : revision);
}

std::optional<HubName> parse_hub_name(std::string_view text) {
  const auto at = text.find('@');
  const std::string_view place = text.substr(0, at), repo = place.substr(0, end_of_repo(place));
  HubName name{std::string(repo), "", "main"};
  if (!is_repo(repo)) return {};
  if (repo.size() < place.size()) {
    name.file = place.substr(repo.size() + 1);
    if (!is_plain_relative(name.file)) return {};
  }
  if (at != text.npos) {
    name.revision = text.substr(at + 1);
    if (!is_plain_relative(name.revision)) return {};
  }
  return name;
}

}  // namespace gnomon
