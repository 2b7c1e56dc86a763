#pragma once
#include <cstddef>
#include <optional>
#include <string>
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

// The same text with this value under the key: instead of the one that is there, else as the last member of its object, spaced as the
// member before. Every other byte stays. nullopt: the key has no object to stand in. `value` is JSON.
std::optional<std::string> with_value(std::string_view json, std::string_view key, std::string_view value);

// The same text with the member under this key called `name`, at its place. Every other byte stays. nullopt: there is no such member,
// or its object has one of that name already.
std::optional<std::string> with_name(std::string_view json, std::string_view key, std::string_view name);

}  // namespace gnomon
