#include "gnomon/files/word_pieces.h"

#include <algorithm>

#include "gnomon/files/unicode.h"

namespace gnomon {
namespace {

constexpr char32_t kReplacement = 0xFFFD;

bool is_continuation(char byte) { return ((unsigned char)byte & 0xC0) == 0x80; }

std::u32string cleaned(std::u32string_view text) {
  std::u32string clean;
  for (const char32_t c : text) {
    const bool is_common_blank = c == '\t' || c == '\n' || c == '\r';
    if (c == 0 || c == kReplacement || (!is_common_blank && is_hidden(c))) continue;
    clean += is_blank(c) ? U' ' : c;
  }
  return clean;
}

std::u32string with_spaces(std::u32string_view text) {
  std::u32string spaced;
  for (const char32_t c : text) {
    if (is_ideograph(c))
      spaced += {U' ', c, U' '};
    else
      spaced += c;
  }
  return spaced;
}

}  // namespace

std::string BertNormalizer::operator()(std::string_view text) const {
  std::u32string all = characters(text);
  if (clean_text) all = cleaned(all);
  if (space_ideographs) all = with_spaces(all);
  if (strip_accents) {
    all = decomposed(all);
    std::erase_if(all, is_nonspacing_mark);
  }
  if (lower_case) {
    std::u32string lower;
    for (const char32_t c : all) append_lower_case(lower, c);
    all = std::move(lower);
  }
  return utf8(all);
}

void WordPieces::encode(std::string_view text, const IdsByText& ids, std::vector<std::int32_t>& to) const {
  std::string word;
  const auto end_word = [&] {
    if (!word.empty()) encode_word(word, ids, to);
    word.clear();
  };
  for (const char32_t c : characters(text)) {
    const bool stands_alone = is_punctuation(c);
    if (stands_alone || is_blank(c)) end_word();
    if (!is_blank(c)) append_utf8(word, c);
    if (stands_alone) end_word();
  }
  end_word();
}

void WordPieces::encode_word(std::string_view word, const IdsByText& ids,
                             std::vector<std::int32_t>& to) const {
  const auto length = std::int64_t(word.size()) - std::count_if(word.begin(), word.end(), is_continuation);
  if (length > most_characters) return to.push_back(unknown);
  const std::size_t first = to.size();
  std::string part;
  for (std::size_t begin = 0; begin < word.size();) {
    part = begin == 0 ? "" : prefix;
    part += word.substr(begin, longest_token);
    const std::size_t least = begin == 0 ? 0 : prefix.size();
    auto found = ids.end();
    for (;; part.pop_back()) {
      if (part.size() == least) break;
      const std::size_t end = begin + part.size() - least;
      if (end < word.size() && is_continuation(word[end])) continue;  // within a character
      if (found = ids.find(part); found != ids.end()) break;
    }
    if (found == ids.end()) {
      to.resize(first);
      return to.push_back(unknown);
    }
    to.push_back(found->second);
    begin += part.size() - least;
  }
}

}  // namespace gnomon
