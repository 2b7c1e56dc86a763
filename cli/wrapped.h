#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace gnomon::cli {

// Columns of the terminal that the output goes to; where it goes elsewhere those that COLUMNS says, or 80. At least 40.
std::size_t screen_width();
// Columns that well-formed UTF-8 takes: characters, not bytes.
std::size_t columns(std::string_view words);

// Printable (core/error.h), in lines of at most `width` columns, broken at spaces, the first of which begins in column `indent`, as the others do then. A
// list with slashes that is longer than a line (the numbers of an option) is broken after them.
std::string wrapped(const std::string& sentence, std::size_t indent = 0, std::size_t width = screen_width());

}  // namespace gnomon::cli
