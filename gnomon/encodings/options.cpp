#include "gnomon/encodings/options.h"

#include <algorithm>
#include <cmath>

#include "gnomon/core/error.h"
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

// The value in the form that prints and compares: numbers in their shortest form.
std::string checked(std::string_view owner, const OptionSpec& spec, std::string_view value) {
  const std::string place = text(owner, ": option '", spec.name, "'");
  if (!spec.words.empty()) {
    if (std::find(spec.words.begin(), spec.words.end(), value) != spec.words.end()) return std::string(value);
    throw Error(Fault::usage, text(place, ": ", unknown("value", value, spec.words)));
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
  const bool ok = x >= spec.least && x <= spec.most && (!spec.whole || x == std::floor(x));  // NaN is not ok
  if (!ok) {
    throw Error(Fault::usage, text(place, ": found ", value, ", allowed is a ", spec.whole ? "whole " : "",
                                   "number from ", shortest(spec.least), " to ", shortest(spec.most)));
  }
  return shortest(x);
}

}  // namespace

Options::Options(std::string_view owner, std::span<const OptionSpec> specs,
                 std::span<const std::pair<std::string, std::string>> given) {
  std::vector<std::string_view> names;
  for (const auto& spec : specs) names.push_back(spec.name);
  for (const auto& [name, value] : given) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    if (names.empty()) throw Error(Fault::usage, text(owner, " has no options; found '", name, "'"));
    throw Error(Fault::usage, unknown(text("option of ", owner), name, names));
  }
  for (const auto& spec : specs) {
    const std::string* found = nullptr;
    for (const auto& [name, value] : given) {
      if (name != spec.name) continue;
      if (found) throw Error(Fault::usage, text(owner, ": option '", name, "' is given twice"));
      found = &value;
    }
    if (!found && spec.must_be_named) {
      throw Error(Fault::usage, text(owner, ": option '", spec.name,
                                     "' has no silent default; name one of: ", join(spec.words, ", ")));
    }
    values_.emplace_back(spec.name, checked(owner, spec, found ? std::string_view(*found) : spec.standard));
  }
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
