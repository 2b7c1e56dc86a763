#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gnomon {

// An option of an encoding or a combination: one typed value. Two kinds: a number within bounds, or one of
// some words.
struct OptionSpec {
  std::string_view name;
  std::string_view help;                     // what it means, with its unit
  std::string_view standard;                 // what a spec means that does not say
  std::vector<std::string_view> words = {};  // the words it may be; empty = a number
  double least = 0, most = 0;                // bounds of a number, inclusive
  bool whole = false;                        // a whole number
  bool list = false;                         // one number, or several with / between them
  // Two conventions are in use and mixing them up gives plausible nonsense: a Spec made in C++ has to name
  // its own; only the text form fills in the standard.
  bool must_be_named = false;
  std::vector<std::string_view> aliases = {};  // what else the field calls it: suggested, never taken
  // The same of its words: another word, and which of them it is.
  std::vector<std::pair<std::string_view, std::string_view>> word_aliases = {};
};

// The options of one spec: every option of its entry has a value, checked.
class Options {
 public:
  // Throws Error(usage) for an unknown name (with the nearest), a bad value (with what is allowed), a missing
  // one.
  Options(std::string_view owner, std::span<const OptionSpec> specs,
          std::span<const std::pair<std::string, std::string>> given);

  // With what a spec means that does not say.
  static Options completed(std::string_view owner, std::span<const OptionSpec> specs,
                           std::vector<std::pair<std::string, std::string>> given);

  double number(std::string_view name) const;
  std::int64_t whole(std::string_view name) const;
  std::vector<double> numbers(std::string_view name) const;  // of a list
  const std::string& word(std::string_view name) const;
  const std::vector<std::pair<std::string, std::string>>& all() const {
    return values_;
  }  // in the order of the specs

 private:
  std::vector<std::pair<std::string, std::string>> values_;
};

}  // namespace gnomon
