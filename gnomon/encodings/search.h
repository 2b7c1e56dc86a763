#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "gnomon/encodings/entry.h"

namespace gnomon {

// What is asked of an encoding; nothing is asked where nothing stands.
struct EncodingFilter {
  unsigned acts = 0;  // sites (parts.h), at all of which it acts
  std::optional<bool> relative = {}, causal_only = {}, extrapolates = {};  // as the entry says
  std::optional<bool> learned = {};                                        // it has parameters
  bool operator==(const EncodingFilter&) const = default;
};

// The encodings that pass, in the order of the registry. Every one of `words` stands, whatever its case, in the name, an
// alias, the title, the paper, the formula, the pitfall or an option; "rotary" also finds all that turn pairs of channels.
std::vector<const Entry*> search_encodings(std::string_view words, const EncodingFilter& filter = {});

// The bit of a site's name; throws Error(usage).
unsigned site_named(std::string_view name);

}  // namespace gnomon
