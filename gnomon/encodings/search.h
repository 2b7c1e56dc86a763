#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "gnomon/encodings/entry.h"

namespace gnomon {

// Conditions on an encoding; an empty member sets no condition.
struct EncodingFilter {
  unsigned acts = 0;  // sites; the encoding must act at all of them
  std::optional<bool> relative = {}, causal_only = {}, extrapolates = {};  // as the entry says
  std::optional<bool> learned = {};                                        // it has parameters
  bool operator==(const EncodingFilter&) const = default;
};

// The encodings that pass the filter and contain every one of `words`, in the order of the registry. The search covers names,
// aliases, titles, papers, formulas, pitfalls and options, and ignores case. "rotary" also finds all encodings that rotate pairs
// of channels.
std::vector<const Entry*> search_encodings(std::string_view words, const EncodingFilter& filter = {});

// The bit of a site. Throws Error(usage) for an unknown name.
unsigned site_named(std::string_view name);

}  // namespace gnomon
