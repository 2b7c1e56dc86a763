#include "gnomon/core/unprintable.h"

namespace gnomon {

Unprintable unprintable(std::string_view utf8) {
  if (utf8.empty()) return {0, 0};
  const auto byte = [&](std::size_t i) { return std::uint32_t(static_cast<unsigned char>(utf8[i])); };
  const auto follows = [&](std::size_t i) { return i < utf8.size() && byte(i) >> 6 == 2; };
  if (byte(0) < 0x20 || byte(0) == 0x7F) return {byte(0), 1};
  if (byte(0) >> 5 == 6 && follows(1)) {
    const std::uint32_t c = (byte(0) & 0x1F) << 6 | (byte(1) & 0x3F);
    if (c < 0xA0 || c == 0x61C) return {c, 2};
  }
  if (byte(0) >> 4 == 14 && follows(1) && follows(2)) {
    const std::uint32_t c = (byte(0) & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F);
    if (c == 0x200E || c == 0x200F || (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069))
      return {c, 3};
  }
  return {0, 0};
}

std::string hexadecimal(std::string_view prefix, std::uint32_t value, int digits) {
  std::string out(prefix);
  while (digits-- > 0) out += "0123456789abcdef"[value >> 4 * digits & 15];
  return out;
}

std::string without_unprintables(std::string_view document) {
  std::string out;
  out.reserve(document.size());
  for (std::size_t i = 0; i < document.size();) {
    const Unprintable found = unprintable(document.substr(i));
    if (found.bytes == 0 || document[i] == '\n' || document[i] == '\t') {
      out += document[i++];
    } else {
      out += hexadecimal("\\u", found.character, 4), i += found.bytes;
    }
  }
  return out;
}

}  // namespace gnomon
