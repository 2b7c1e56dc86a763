#include "gnomon/files/gguf_parts.h"

#include <algorithm>
#include <charconv>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"

namespace gnomon {
namespace {

// Five digits, none of which is left out.
std::optional<int> five_digits(std::string_view digits) {
  int value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size() || digits.front() == '-') return {};
  return value;
}

std::string padded(int number) {
  const std::string digits = std::to_string(number);
  return std::string(5 - std::min<std::size_t>(digits.size(), 5), '0') + digits;
}

}  // namespace

Path GgufPart::part(int other) const {
  return folder / text(name, "-", padded(other), "-of-", padded(count), ".gguf");
}

std::optional<GgufPart> gguf_part(const Path& path) {
  constexpr std::string_view pattern = "-00000-of-00000.gguf";
  const std::string name = path.filename().string();
  if (name.size() <= pattern.size()) return {};
  const std::size_t begin = name.size() - pattern.size();
  const std::string_view end = std::string_view(name).substr(begin);
  if (end[0] != '-' || end.substr(6, 4) != "-of-" || end.substr(15) != ".gguf") return {};
  const auto number = five_digits(end.substr(1, 5)), count = five_digits(end.substr(10, 5));
  if (!number || !count || *number < 1 || *number > *count) return {};
  return GgufPart{path.parent_path(), name.substr(0, begin), *number, *count};
}

bool follows_a_part(const Path& path) {
  const auto part = gguf_part(path);
  return part && part->number > 1 && std::filesystem::exists(part->part(1));
}

std::vector<Path> ggufs_in(const Path& folder) {
  std::vector<Path> found;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error))
    if (entry->path().extension() == ".gguf" && !follows_a_part(entry->path()))
      found.push_back(entry->path());
  if (error)
    throw Error(Fault::resource, text(folder.string(), ": cannot list the folder: ", error.message()));
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace gnomon
