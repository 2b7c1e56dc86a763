#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace gnomon::report {

// A PNG file (RGB, 8 bits) of a matrix (rows, columns): −most is blue, 0 is white, +most is red.
std::string diverging_png(std::size_t rows, std::size_t columns, std::span<const double> values, double most);

std::string base64(std::string_view bytes);  // RFC 4648, section 4

}  // namespace gnomon::report
