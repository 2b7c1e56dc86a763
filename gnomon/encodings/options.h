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
  // Throw Error(bug) where it is of another kind.
  const std::string& word() const;
  double number() const;
  std::vector<double> numbers() const;  // one or several
  // As a spec writes it: halves, 0.25, 16/24/24.
  std::string print() const;
  bool operator==(const OptionValue&) const = default;

 private:
  std::variant<std::string, double, std::vector<double>> value_;
};
using NamedOptions = std::vector<std::pair<std::string, OptionValue>>;

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
  OptionValue standard_value() const;          // of its own kind
  std::vector<std::string_view> aliases = {};  // what else the field calls it: suggested, never taken
  // The same of its words: another word, and which of them it is.
  std::vector<std::pair<std::string_view, std::string_view>> word_aliases = {};
};

// The options of one spec: every option of its entry has a value, checked.
class Options {
 public:
  // A number may be given as the word that stands for it. Throws Error(usage) for an unknown name (with the nearest), a bad
  // value (with what is allowed), a missing one.
  Options(std::string_view owner, std::span<const OptionSpec> specs, const NamedOptions& given);

  // With what a spec means that does not say.
  static Options completed(std::string_view owner, std::span<const OptionSpec> specs, NamedOptions given);

  double number(std::string_view name) const;
  std::int64_t whole(std::string_view name) const;
  std::vector<double> numbers(std::string_view name) const;  // of a list
  const std::string& word(std::string_view name) const;
  const OptionValue& value(std::string_view name) const;
  const NamedOptions& all() const { return values_; }  // in the order of the specs

 private:
  NamedOptions values_;
};

}  // namespace gnomon
