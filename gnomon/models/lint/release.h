#pragma once
#include <array>
#include <compare>
#include <optional>
#include <string_view>

namespace gnomon {

// A version of a program, to be compared: three numbers, and whether it is the release itself. "5.16.0.dev0" and "5.0.0rc1" come
// before "5.16.0" and "5.0.0" (PEP 440).
struct Release {
  std::array<int, 3> numbers{};
  bool final = true;
  constexpr auto operator<=>(const Release&) const = default;
};

// "5.4.0", "5.4", "4.57.6", "5.0.0rc1"; what follows a third number is read as no more than a sign of what comes before the
// release, if it has dev, rc, a or b, and ignored otherwise ("0.28.0+cu130"). Null: no version.
constexpr std::optional<Release> release_of(std::string_view version) {
  Release found;
  std::size_t parts = 0;
  while (parts < found.numbers.size() && !version.empty() && version[0] >= '0' && version[0] <= '9') {
    int number = 0;
    while (!version.empty() && version[0] >= '0' && version[0] <= '9') {
      if (number > 100000) return std::nullopt;
      number = 10 * number + (version[0] - '0');
      version.remove_prefix(1);
    }
    found.numbers[parts++] = number;
    if (version.size() < 2 || version[0] != '.' || version[1] < '0' || version[1] > '9') break;
    version.remove_prefix(1);
  }
  if (parts == 0) return std::nullopt;
  const std::string_view rest = version.substr(0, version.find('+'));
  for (const std::string_view early : {"dev", "rc", "a", "b"})
    if (rest.find(early) != rest.npos && rest.find("post") == rest.npos) found.final = false;
  if (!version.empty() && rest.size() == version.size() && found.final && rest.find("post") == rest.npos &&
      rest != ".")
    return std::nullopt;
  return found;
}

}  // namespace gnomon
