#pragma once
#include <cstddef>
#include <string_view>

namespace gnomon {

// A place in a text, as editors count: lines and characters, both from 1. 0: no place.
struct TextPlace {
  std::size_t line = 0, column = 0;
};
TextPlace place_of_byte(std::string_view text, std::size_t byte);

// The line, counted from 1, of the member that Config finds under this key in the same bytes; where it is missing, of the
// object that it would stand in, in the end the document. An item of a list is found under its number: "exceptions.2". `json` is what Config::parse() has accepted.
std::size_t line_of(std::string_view json, std::string_view key);

}  // namespace gnomon
