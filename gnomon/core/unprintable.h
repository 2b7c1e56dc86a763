#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace gnomon {

// What a screen obeys instead of showing it: control characters (U+0000 to U+001F, U+007F to U+009F), and those that turn the
// direction of writing (Unicode's Bidi_Control), with which a line can read as another.
struct Unprintable {
  char32_t character;
  std::size_t bytes;  // 0: none is there
};

// The one that well-formed UTF-8 begins with.
Unprintable unprintable(std::string_view utf8);

// A document in which they stand as \u202e, as JSON may write them too; line ends and tabs stay. For one line: printable()
// (core/error.h).
std::string without_unprintables(std::string_view document);

// Lower-case digits after a prefix, such as \u and 4 of them.
std::string hexadecimal(std::string_view prefix, std::uint32_t value, int digits);

}  // namespace gnomon
