#pragma once
#include <cstddef>
#include <string_view>

namespace gnomon {

// The line, counted from 1, of the member that Config finds under this key in the same bytes; where it is missing, of the
// object that it would stand in, in the end the document. `json` is what Config::parse() has accepted.
std::size_t line_of(std::string_view json, std::string_view key);

}  // namespace gnomon
