#include "gnomon/models/resolve/layer_lists.h"

#include <nlohmann/json.hpp>

#include "gnomon/core/text.h"
#include "gnomon/models/resolve/sizes.h"

namespace gnomon {
namespace {

constexpr std::size_t kMostWords = 4096;

}  // namespace

// configuration_utils.py, _LEGACY_LAYER_TYPE_REMAP, and Recurrent Gemma's, Jamba's and GPT-Neo's own words.
std::string current_word(const std::string& word) {
  if (word == "attention" || word == "global") return "full_attention";
  if (word == "local") return "sliding_attention";
  if (word == "mamba" || word == "recurrent") return "linear_attention";
  return word == "deepseek_sparse_attention" || word == "qwen_sparse_attention" ? "indexed_attention" : word;
}

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

namespace {

std::string_view window_key(FileReading& file, const WindowRule& rule) {
  if (!rule.beside_key.empty() && file.has(rule.beside_key)) return rule.beside_key;
  const bool spare = !rule.spare_key.empty() && !file.has(rule.key);
  return spare && file.has(rule.spare_key) ? rule.spare_key : rule.key;
}

}  // namespace

SaidWindow said_window(FileReading& file, const WindowRule& rule, std::size_t l, std::size_t layers) {
  const std::string_view key = window_key(file, rule);
  const std::int64_t divisor = key == rule.spare_key ? rule.spare_divisor : 1;
  if (file.kind(key) != Config::Kind::list) {
    const bool said = file.kind(key) != Config::Kind::absent;  // null: none
    return {key, file.whole(key, divisor, most::tokens).value_or(0) / divisor, said};
  }
  const auto list = *file.wholes(key);
  if (list.size() != layers)
    file.wrong(key, text("a number, or a list of ", layers, " numbers, one for each layer"));
  if (list[l] < 1 || list[l] > most::tokens) file.wrong(key, text("numbers from 1 to ", most::tokens));
  return {key, list[l], true};
}

}  // namespace gnomon
