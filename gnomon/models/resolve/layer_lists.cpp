#include "gnomon/models/resolve/layer_lists.h"

#include <nlohmann/json.hpp>

#include "gnomon/core/text.h"

namespace gnomon {
namespace {

constexpr std::int64_t kMostTokens = 1'000'000'000;
constexpr std::size_t kMostWords = 4096;

}  // namespace

std::vector<std::string> repeated_words(FileReading& file, std::string_view key) {
  constexpr std::string_view kAllowed = "lists of layer types, each with how often it comes";
  if (file.kind(key) != Config::Kind::list) file.wrong(key, kAllowed);
  std::vector<std::string> words;
  for (const auto& item : nlohmann::json::parse(file.config().json(file.at(key)))) {
    const bool pair = item.is_array() && item.size() == 2 && item[0].is_array() && !item[0].empty();
    if (!pair || !item[1].is_number_unsigned()) file.wrong(key, kAllowed);
    for (std::uint64_t n = item[1].get<std::uint64_t>(); n > 0; --n) {
      for (const auto& word : item[0]) {
        if (!word.is_string() || words.size() == kMostWords) file.wrong(key, kAllowed);
        words.push_back(word.get<std::string>());
      }
    }
  }
  return words;
}

std::optional<std::int64_t> said_window(FileReading& file, const WindowRule& rule, std::size_t l,
                                        std::size_t layers) {
  if (!rule.other_key.empty() && file.kind(rule.key) == Config::Kind::absent) {
    const auto other = file.whole(rule.other_key, rule.other_divisor, kMostTokens);
    return other ? std::optional(*other / rule.other_divisor) : std::nullopt;
  }
  if (file.kind(rule.key) != Config::Kind::list) return file.whole(rule.key, 1, kMostTokens);
  const auto list = *file.wholes(rule.key);
  if (list.size() != layers)
    file.wrong(rule.key, text("a number, or a list of ", layers, " numbers, one for each layer"));
  if (list[l] < 1 || list[l] > kMostTokens) file.wrong(rule.key, text("numbers from 1 to ", kMostTokens));
  return list[l];
}

}  // namespace gnomon
