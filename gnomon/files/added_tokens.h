#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gnomon {

// A token that is looked for in the text itself before anything else is done to it.
struct AddedToken {
  std::string content;
  std::int32_t id;
  bool takes_blanks_before = false, takes_blanks_after = false;  // `lstrip`, `rstrip`
};

class AddedTokens {
 public:
  static constexpr std::size_t kLongest = 1000;  // bytes

  // Of different contents, none of them empty or longer than kLongest. Throws Error(input), which begins with `where`.
  AddedTokens(std::vector<AddedToken> tokens, std::string_view where);

  struct Piece {
    std::string_view text;
    const AddedToken* token;  // null: the text between two of them
  };
  // The pieces of a text; at each place the longest token counts (tokenizers, added_vocabulary.rs, find_matches).
  std::vector<Piece> split(std::string_view text) const;

 private:
  const AddedToken* longest_at(std::string_view text) const;

  std::vector<AddedToken> tokens_;  // by content
};

}  // namespace gnomon
