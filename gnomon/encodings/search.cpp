#include "gnomon/encodings/search.h"

#include <algorithm>

#include "gnomon/core/names.h"
#include "gnomon/core/text.h"
#include "gnomon/encodings/rotary.h"

namespace gnomon {
namespace {

std::unique_ptr<Encoding> standard_of(const Entry& entry) {
  return entry.make(Options::completed(entry.name, entry.options, {}), {128, 4, 32, 128, true});
}

bool passes(const Entry& entry, const Encoding& encoding, const EncodingFilter& filter) {
  const auto agrees = [](const std::optional<bool>& asked, bool is) { return asked.value_or(is) == is; };
  return (entry.acts & filter.acts) == filter.acts && agrees(filter.relative, entry.relative) &&
         agrees(filter.causal_only, entry.causal_only) && agrees(filter.extrapolates, entry.extrapolates) &&
         agrees(filter.learned, encoding.param_count() > 0);
}

std::string lower(std::string_view words) {
  std::string out(words);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; });
  return out;
}

// All that is said of it. What a class is told the encoding to be, it is: no list says which are rotary.
std::string said_of(const Entry& entry, const Encoding& encoding) {
  std::string all = text(entry.name, "\n", join(entry.aliases, "\n"), "\n", entry.title, "\n", entry.paper,
                         "\n", entry.formula, "\n", entry.pitfall);
  for (const OptionSpec& option : entry.options)
    all += text("\n", option.name, "\n", option.help, "\n", join(option.words, "\n"));
  if (dynamic_cast<const Rotary*>(&encoding)) all += "\nrotary";
  return lower(all);
}

}  // namespace

std::vector<const Entry*> search_encodings(std::string_view words, const EncodingFilter& filter) {
  const std::string asked = lower(words);
  std::vector<const Entry*> found;
  for (const Entry* entry : encodings()) {
    const auto encoding = standard_of(*entry);
    const std::string said = said_of(*entry, *encoding);
    const auto parts = split(asked, ' ');
    const bool fits = std::all_of(parts.begin(), parts.end(), [&](std::string_view word) {
      return said.find(trim(word)) != std::string::npos;
    });
    if (fits && passes(*entry, *encoding, filter)) found.push_back(entry);
  }
  return found;
}

unsigned site_named(std::string_view name) {
  const auto all = sites();
  const auto found = std::find(all.begin(), all.end(), name);
  if (found == all.end()) throw unknown("site", name, all);
  return 1u << (found - all.begin());
}

}  // namespace gnomon
