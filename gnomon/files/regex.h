#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace gnomon {

// A regular expression of a tokenizer.json, written for Oniguruma (github.com/kkos/oniguruma, doc/RE, Ruby's syntax) and run
// by PCRE2, on Unicode 14. Taken is what means the same in both: characters, escapes \t \n \v \f \r, \p{..} and \P{..} of general
// categories, \s and \S (White_Space), classes of these (but \S in a class), groups ( (?: (?= (?!, the two groups (?i: of English
// contractions that are in use, the alternative | and the greedy quantifiers ? * + {n} {n,} {n,m}.
class Regex {
 public:
  // `where` begins the message of every Error(input): for a pattern that is none, is anything else than the above, or
  // matches the empty text.
  Regex(std::string_view pattern, std::string where);

  struct Match {
    std::size_t begin, end;  // bytes
  };
  // The matches in well-formed UTF-8, each as far left as can be after the one before. Throws Error(input) where the pattern
  // tries more than ten million ways for one of them.
  std::vector<Match> matches(std::string_view text) const;

 private:
  struct Compiled;
  std::shared_ptr<const Compiled> compiled_;
  std::string where_;
};

}  // namespace gnomon
