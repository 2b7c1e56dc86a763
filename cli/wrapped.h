#pragma once
#include <cstddef>
#include <string>

namespace gnomon::cli {

// In lines of at most `width` columns, broken at spaces, the first of which begins in column `indent`, as the others do then. A
// list with slashes that is longer than a line (the numbers of an option) is broken after them.
std::string wrapped(const std::string& sentence, std::size_t indent = 0, std::size_t width = 80);

}  // namespace gnomon::cli
