#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "gnomon/spec/combination.h"

// What the registries say of every encoding and combination, as documents.
namespace gnomon::pages {

std::string encodings_markdown();                              // docs/encodings.md
std::string encodings_json(const std::vector<const Entry*>&);  // a list of objects
std::string combinations_json();
std::string encoding_json(std::string_view);  // of one encoding or combination; throws Error(usage)

// What an option takes: its words, or its range.
std::string allowed(const OptionSpec& option);

}  // namespace gnomon::pages
