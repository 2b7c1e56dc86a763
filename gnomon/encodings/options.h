#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "gnomon/core/standard.h"

namespace gnomon {

// The value of an option: a word, a number, or several numbers.
class OptionValue {
 public:
  OptionValue(std::string_view word) : value_(std::string(word)) {}
  OptionValue(const std::string& word) : value_(word) {}
  OptionValue(const char* word) : value_(std::string(word)) {}
  template <class Number>
  requires std::is_arithmetic_v<Number> OptionValue(Number x) : value_(double(x)) {}
  OptionValue(std::vector<double> list) : value_(std::move(list)) {}

  bool is_word() const { return std::holds_alternative<std::string>(value_); }
  // Throw Error(bug) for a value of another kind.
  const std::string& word() const;
  double number() const;
  std::vector<double> numbers() const;  // one or several
  // The value as in a spec: halves, 0.25, 16/24/24.
  std::string print() const;
  bool operator==(const OptionValue&) const = default;

 private:
  std::variant<std::string, double, std::vector<double>> value_;
};
using NamedOptions = std::vector<std::pair<std::string, OptionValue>>;

// An option of an encoding or a combination: a number within bounds, or one of several words.
struct OptionSpec {
  std::string_view name;
  std::string_view help;                     // what it means, with its unit
  std::string_view standard;                 // the value if a spec does not give one
  std::vector<std::string_view> words = {};  // the allowed words; empty = a number
  double least = 0, most = 0;                // bounds of a number, inclusive
  bool whole = false;                        // a whole number
  bool list = false;                         // one number, or several separated by /
  // Two conventions are in use, and mixing them up gives plausible but wrong results. A Spec made in C++ must name one of them;
  // only the text form fills in the standard.
  bool must_be_named = false;
  OptionValue standard_value() const;          // `standard` as a value of its kind
  std::vector<std::string_view> aliases = {};  // other names: suggested in errors, never accepted
  // The same for words: another word, and the word that it means.
  std::vector<std::pair<std::string_view, std::string_view>> word_aliases = {};
};

// The options of one spec: a checked value for every option of its entry.
class Options {
 public:
  // A number may be given as text. Throws Error(usage) for an unknown name (with the nearest one), a bad value (with the allowed
  // ones), or a missing value.
  Options(std::string_view owner, std::span<const OptionSpec> specs, const NamedOptions& given);

  // The same, with the standard value of each option that is not given.
  static Options completed(std::string_view owner, std::span<const OptionSpec> specs, NamedOptions given);

  double number(std::string_view name) const;
  std::int64_t whole(std::string_view name) const;
  std::vector<double> numbers(std::string_view name) const;  // for options that take a list
  const std::string& word(std::string_view name) const;
  const OptionValue& value(std::string_view name) const;
  const NamedOptions& all() const { return values_; }  // in the order of the specs

 private:
  NamedOptions values_;
};

}  // namespace gnomon
