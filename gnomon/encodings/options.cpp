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

// The value in the form that prints and compares: numbers in their shortest form.
std::string checked(std::string_view owner, const OptionSpec& spec, std::string_view value) {
  const std::string place = text(owner, ": option '", spec.name, "'");
  if (!spec.words.empty()) {
    if (std::find(spec.words.begin(), spec.words.end(), value) != spec.words.end()) return std::string(value);
    throw unknown("value", value, words_of(spec)).at(place);
  }
  if (spec.list && value.find('/') != std::string_view::npos) {
    OptionSpec one = spec;
    one.list = false;
    std::string all;
    for (const std::string_view part : parts_of(value))
      all += (all.empty() ? "" : "/") + checked(owner, one, part);
    return all;
  }
  const double x = number(value, place);
  const std::string allowed = text("a ", spec.whole ? "whole " : "", "number from ", shortest(spec.least),
                                   " to ", shortest(spec.most));
  const bool ok = x >= spec.least && x <= spec.most && (!spec.whole || x == std::floor(x));  // NaN is not ok
  if (!ok) {
    throw Error(Fault::usage, text(place, ": found ", value, ", allowed is ", allowed),
                {place, std::string(value), allowed, {}});
  }
  return shortest(x);
}

}  // namespace

Options::Options(std::string_view owner, std::span<const OptionSpec> specs,
                 std::span<const std::pair<std::string, std::string>> given) {
  std::vector<Name> names;
  for (const auto& spec : specs) names.push_back({spec.name, spec.aliases});
  for (const auto& [name, value] : given) {
    if (std::any_of(names.begin(), names.end(), [&](const Name& known) { return known.name == name; }))
      continue;
    if (names.empty())
      throw Error(Fault::usage, text(owner, " has no options; found '", name, "'"),
                  {std::string(owner), name, "no option", {}});
    throw unknown(text("option of ", owner), name, names);
  }
  for (const auto& spec : specs) {
    const std::string* found = nullptr;
    for (const auto& [name, value] : given) {
      if (name != spec.name) continue;
      if (found)
        throw Error(Fault::usage, text(owner, ": option '", name, "' is given twice"),
                    {text(owner, ": option '", name, "'"), value, "to be given once", {}});
      found = &value;
    }
    if (!found && spec.must_be_named) {
      throw Error(Fault::usage,
                  text(owner, ": option '", spec.name,
                       "' has no silent default; name one of: ", join(spec.words, ", ")),
                  {text(owner, ": option '", spec.name, "'"), "nothing", join(spec.words, ", "), {}});
    }
    values_.emplace_back(spec.name, checked(owner, spec, found ? std::string_view(*found) : spec.standard));
  }
}

Options Options::completed(std::string_view owner, std::span<const OptionSpec> specs,
                           std::vector<std::pair<std::string, std::string>> given) {
  for (const OptionSpec& spec : specs) {
    const bool present =
        std::any_of(given.begin(), given.end(), [&](const auto& pair) { return pair.first == spec.name; });
    if (!present) given.emplace_back(spec.name, spec.standard);
  }
  return Options(owner, specs, given);
}

const std::string& Options::word(std::string_view name) const {
  for (const auto& [key, value] : values_) {
    if (key == name) return value;
  }
  throw Error(Fault::bug, text("no option '", name, "'"));
}
double Options::number(std::string_view name) const { return gnomon::number(word(name), name); }
std::vector<double> Options::numbers(std::string_view name) const {
  std::vector<double> all;
  for (const std::string_view part : parts_of(word(name))) all.push_back(gnomon::number(part, name));
  return all;
}
std::int64_t Options::whole(std::string_view name) const { return std::int64_t(number(name)); }

}  // namespace gnomon
