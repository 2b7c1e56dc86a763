#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace gnomon {

// Texts by number, found by views too.
struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view s) const { return std::hash<std::string_view>()(s); }
};
using IdsByText = std::unordered_map<std::string, std::int32_t, TextHash, std::equal_to<>>;

// How BERT makes characters alike (github.com/google-research/bert, tokenization.py, BasicTokenizer; as in `tokenizers`,
// normalizers/bert.rs), in this order.
struct BertNormalizer {
  bool clean_text;        // every blank is a space; NUL, U+FFFD, controls, formats and private characters go
  bool space_ideographs;  // a space on both sides of each
  bool strip_accents;     // form D without nonspacing marks
  bool lower_case;
  std::string operator()(std::string_view text) const;
};

// WordPiece (Schuster, Nakajima 2012; Wu et al. 2016, arXiv 1609.08144, section 4.1) as BERT uses it: words end at blanks and
// on both sides of each punctuation mark; of each word the longest token that begins it, then, with the prefix before it, the
// longest that goes on. A word of which some part is no token, or that is longer than most_characters, is `unknown`.
struct WordPieces {
  std::string prefix;  // "##"
  std::int64_t most_characters;
  std::int32_t unknown;
  std::size_t longest_token;  // bytes

  void encode(std::string_view text, const IdsByText& ids, std::vector<std::int32_t>& to) const;

 private:
  void encode_word(std::string_view word, const IdsByText& ids, std::vector<std::int32_t>& to) const;
};

}  // namespace gnomon
