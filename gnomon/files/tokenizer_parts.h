#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "gnomon/files/added_tokens.h"
#include "gnomon/files/byte_pairs.h"
#include "gnomon/files/regex.h"
#include "gnomon/files/word_pieces.h"

// What a tokeniser is made of, however it was read.
namespace gnomon {

struct FormC {};
using Normalizer = std::variant<std::monostate, FormC, BertNormalizer>;

// Cuts a text at the matches of a regular expression, and keeps these, what is between them, or both.
struct Split {
  Regex regex;
  bool keeps_matches, keeps_rest;
};

// Byte-level BPE. The names of tokens write each byte as one printable character (github.com/openai/gpt-2, src/encoder.py,
// bytes_to_unicode).
struct BytePairs {
  std::vector<Split> splits;  // one after the other
  // ByteLevel's own: `add_prefix_space`, and GPT-2's expression after it if `use_regex`.
  bool space_first = false;
  std::optional<Split> last;

  Merges merges;
  std::array<std::optional<std::int32_t>, 256>
      bytes{};  // the token of each; one that has none is `unknown`, or nothing
  std::optional<std::int32_t> unknown;
  bool fuses_unknown = false;
  IdsByText whole_words;  // by their bytes: tokens that a word is without any merge (`ignore_merges`)

  void encode(std::string_view text, std::vector<std::int32_t>& to) const;

 private:
  void encode_word(std::string_view word, std::vector<std::int32_t>& to) const;
};

struct TokenizerParts {
  std::map<std::int32_t, std::string> names;  // of all tokens, by id
  IdsByText vocabulary, added;  // what the model makes, and what is found in the text; some are both
  std::set<std::int32_t> special;
  AddedTokens literal{{}, ""}, normalized{{}, ""};  // found before and after normalisation
  Normalizer normalizer;
  std::variant<BytePairs, WordPieces> model;
  bool cleans_up = false;                 // WordPiece's decoder
  std::vector<std::int32_t> first, last;  // before and after each text

  // Both throw Error(input) for a token that is there already, too long or of an id beyond the limit.
  void add_to_vocabulary(const std::string& name, std::int64_t id, std::string_view where);
  void add_token(const std::string& content, std::int64_t id, bool is_special, std::string_view where);
  std::optional<std::int32_t> id(std::string_view name) const;
  bool is_added(std::int32_t id) const;
  std::string normal(std::string_view text) const;

 private:
  void add_name(const std::string& name, std::int64_t id, std::string_view where);
};

// As the name of a token has it: the character of a byte in UTF-8, and the bytes of a name; none where a character is no byte's.
std::string name_of_byte(unsigned char byte);
std::optional<std::string> bytes_of_name(std::string_view name);

// "'s|'t|'re ...": the expression of GPT-2's encoder.py.
extern const std::string_view kGpt2Words;

// A BPE of `merges`, each two names, with the vocabulary that `parts` has. Throws Error(input) for names that are no tokens.
struct NamedMerge {
  std::string_view left, right;
};
Merges merges_of(const TokenizerParts& parts, const std::vector<NamedMerge>& merges, std::string_view where);
void fill_bytes(BytePairs& model, const TokenizerParts& parts, bool whole_words);

}  // namespace gnomon
