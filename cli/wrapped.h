#pragma once
#include <string>

namespace gnomon::cli {

// In lines of at most 80 columns, the first of which begins in column `indent`, as the others do then.
std::string wrapped(const std::string& sentence, std::size_t indent = 0);

}  // namespace gnomon::cli
