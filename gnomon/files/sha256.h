#pragma once
#include <span>
#include <string>
#include <string_view>

namespace gnomon {

// SHA-256 (FIPS 180-4) of the pieces, one after the other, as 64 hexadecimal digits.
std::string sha256(std::span<const std::string_view> pieces);
std::string sha256(std::string_view bytes);

}  // namespace gnomon
