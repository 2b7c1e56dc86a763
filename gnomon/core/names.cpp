#include "gnomon/core/names.h"

#include <algorithm>

#include "gnomon/core/text.h"

namespace gnomon {
namespace {

constexpr std::size_t kMostListed = 16, kMostSuggested = 3;

// Inserted, left out, exchanged characters, and neighbours that changed places.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before, above, row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before = std::move(above), above = row;
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

// Without case, and with one sign between words.
std::string folded(std::string_view word) {
  std::string out(word);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c += 'a' - 'A';
    if (c == '-' || c == ' ') c = '_';
  }
  return out;
}

// How far `word` is from a name: 0 for an alias as well, which is no name to be mistyped otherwise.
std::size_t distance(const std::string& word, const Name& name) {
  const bool called = std::any_of(name.aliases.begin(), name.aliases.end(),
                                  [&](std::string_view alias) { return folded(alias) == word; });
  return called ? 0 : edit_distance(word, folded(name.name));
}

bool is_part(const std::string& word, std::string_view name) {
  return word.size() > 2 && folded(name).find(word) != std::string::npos;
}

}  // namespace

std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates) {
  std::string_view best;
  std::size_t least = word.size() / 2 + 2;
  for (const auto candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < least) best = candidate, least = distance;
  }
  return best;
}

std::vector<std::string> meant(std::string_view word, std::span<const Name> names) {
  const std::string asked = folded(word);
  std::size_t least = std::max<std::size_t>(1, asked.size() / 3);
  std::vector<std::string> near, containing;
  for (const Name& name : names) {
    const std::size_t away = distance(asked, name);
    if (away < least) near.clear(), least = away;
    if (away == least) near.emplace_back(name.name);
    if (is_part(asked, name.name)) containing.emplace_back(name.name);
  }
  std::vector<std::string>& all = near.empty() ? containing : near;
  if (all.size() > kMostSuggested) all.resize(kMostSuggested);
  return std::move(all);
}

std::string did_you_mean(std::span<const std::string> suggestions) {
  std::string out;
  for (std::size_t i = 0; i < suggestions.size(); ++i)
    out += text(i == 0                        ? "did you mean "
                : i + 1 == suggestions.size() ? " or "
                                              : ", ",
                "'", suggestions[i], "'");
  return out.empty() ? out : out + "?";
}

Error unknown(std::string_view kind, std::string_view word, std::span<const Name> names,
              std::string_view lister) {
  std::vector<std::string_view> plain;
  for (const Name& name : names) plain.push_back(name.name);
  const bool listed = plain.size() <= kMostListed || lister.empty();
  const std::string all = listed ? join(plain, ", ") : std::string(lister);
  const std::vector<std::string> suggestions = meant(word, names);
  const std::string question = did_you_mean(suggestions);
  const std::string message = text("unknown ", kind, " '", word, "'", question.empty() ? "." : ": ", question,
                                   listed ? " Allowed: " : " ", all, listed ? "" : ".");
  return Error(Fault::usage, message,
               {.found = std::string(word), .allowed = all, .suggestions = suggestions});
}

Error unknown(std::string_view kind, std::string_view word, std::span<const std::string_view> names,
              std::string_view lister) {
  std::vector<Name> all;
  for (const std::string_view name : names) all.push_back({name});
  return unknown(kind, word, all, lister);
}

}  // namespace gnomon
