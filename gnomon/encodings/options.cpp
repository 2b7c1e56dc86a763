#include "gnomon/encodings/options.h"

#include <algorithm>
#include <cmath>

#include "gnomon/core/error.h"
#include "gnomon/core/names.h"
#include "gnomon/core/text.h"

namespace gnomon {
namespace {

std::vector<std::string_view> parts_of(std::string_view list) {
  std::vector<std::string_view> parts;
  while (true) {
    const auto end = list.find('/');
    parts.push_back(list.substr(0, end));
    if (end == std::string_view::npos) return parts;
    list.remove_prefix(end + 1);
  }
}

// Of every switch.
constexpr std::pair<std::string_view, std::string_view> kSwitch[] = {
    {"true", "on"}, {"yes", "on"}, {"false", "off"}, {"no", "off"}};

std::vector<Name> words_of(const OptionSpec& spec) {
  std::vector<Name> words;
  for (const std::string_view word : spec.words) {
    words.push_back({word});
    for (const auto& [alias, meant] : spec.word_aliases) {
      if (meant == word) words.back().aliases.push_back(alias);
    }
    for (const auto& [alias, meant] : kSwitch) {
      if (meant == word) words.back().aliases.push_back(alias);
    }
  }
  return words;
}

// A number as it was given: as it is, or as the word that stands for it.
double number_in(const OptionValue& value, std::string_view place) {
  return value.is_word() ? number(value.word(), place) : value.number();
}

double checked_number(const OptionSpec& spec, const OptionValue& value, const std::string& place) {
  const double x = number_in(value, place);
  const bool ok = x >= spec.least && x <= spec.most && (!spec.whole || x == std::floor(x));  // NaN is not ok
  if (ok) return x;
  const std::string allowed = text("a ", spec.whole ? "whole " : "", "number from ", shortest(spec.least),
                                   " to ", shortest(spec.most));
  throw Error(Fault::usage, text(place, ": found ", value.print(), ", allowed is ", allowed),
              {place, value.print(), allowed, {}});
}

// The value in the kind that its option has: a word as it is, numbers as numbers.
OptionValue checked(std::string_view owner, const OptionSpec& spec, const OptionValue& value) {
  const std::string place = text(owner, ": option '", spec.name, "'");
  if (!spec.words.empty()) {
    const std::string word = value.print();
    if (std::find(spec.words.begin(), spec.words.end(), word) != spec.words.end()) return word;
    throw unknown("value", word, words_of(spec)).at(place);
  }
  if (!spec.list) return checked_number(spec, value, place);
  std::vector<double> all;
  if (value.is_word()) {
    for (const std::string_view part : parts_of(value.word()))
      all.push_back(checked_number(spec, part, place));
  } else {
    for (const double x : value.numbers()) all.push_back(checked_number(spec, x, place));
  }
  return all;
}

}  // namespace

const std::string& OptionValue::word() const {
  if (const auto* word = std::get_if<std::string>(&value_)) return *word;
  throw Error(Fault::bug, text("an option with the value ", print(), " is not a word"));
}
double OptionValue::number() const {
  const auto* list = std::get_if<std::vector<double>>(&value_);
  if (const auto* x = std::get_if<double>(&value_)) return *x;
  if (list && list->size() == 1) return list->front();
  throw Error(Fault::bug, text("an option with the value ", print(), " is not a number"));
}
std::vector<double> OptionValue::numbers() const {
  if (const auto* list = std::get_if<std::vector<double>>(&value_)) return *list;
  return {number()};
}
std::string OptionValue::print() const {
  if (is_word()) return word();
  std::string all;
  for (const double x : numbers()) all += (all.empty() ? "" : "/") + shortest(x);
  return all;
}

OptionValue OptionSpec::standard_value() const { return checked("its entry", *this, standard); }

Options::Options(std::string_view owner, std::span<const OptionSpec> specs, const NamedOptions& given) {
  std::vector<Name> names;
  for (const auto& spec : specs) names.push_back({spec.name, spec.aliases});
  for (const auto& option : given) {
    const std::string& name = option.first;
    if (std::any_of(names.begin(), names.end(), [&](const Name& known) { return known.name == name; }))
      continue;
    if (names.empty())
      throw Error(Fault::usage, text(owner, " has no options; found '", name, "'"),
                  {std::string(owner), name, "no option", {}});
    throw unknown(text("option of ", owner), name, names);
  }
  for (const auto& spec : specs) {
    const OptionValue* found = nullptr;
    for (const auto& [name, value] : given) {
      if (name != spec.name) continue;
      if (found)
        throw Error(Fault::usage, text(owner, ": option '", name, "' is given twice"),
                    {text(owner, ": option '", name, "'"), value.print(), "to be given once", {}});
      found = &value;
    }
    if (!found && spec.must_be_named) {
      throw Error(Fault::usage,
                  text(owner, ": option '", spec.name,
                       "' has no default here; give one of: ", join(spec.words, ", ")),
                  {text(owner, ": option '", spec.name, "'"), "nothing", join(spec.words, ", "), {}});
    }
    values_.emplace_back(spec.name, checked(owner, spec, found ? *found : OptionValue(spec.standard)));
  }
}

Options Options::completed(std::string_view owner, std::span<const OptionSpec> specs, NamedOptions given) {
  for (const OptionSpec& spec : specs) {
    const bool present =
        std::any_of(given.begin(), given.end(), [&](const auto& pair) { return pair.first == spec.name; });
    if (!present) given.emplace_back(spec.name, spec.standard);
  }
  return Options(owner, specs, given);
}

const OptionValue& Options::value(std::string_view name) const {
  for (const auto& [key, value] : values_) {
    if (key == name) return value;
  }
  throw Error(Fault::bug, text("no option '", name, "'"));
}
const std::string& Options::word(std::string_view name) const { return value(name).word(); }
double Options::number(std::string_view name) const { return value(name).number(); }
std::vector<double> Options::numbers(std::string_view name) const { return value(name).numbers(); }
std::int64_t Options::whole(std::string_view name) const { return std::int64_t(number(name)); }

}  // namespace gnomon
