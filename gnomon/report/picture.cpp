#include "gnomon/report/picture.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "gnomon/files/zlib.h"

namespace gnomon::report {
namespace {

std::string big_endian(std::uint32_t x) { return {char(x >> 24), char(x >> 16), char(x >> 8), char(x)}; }

std::string chunk(const std::string& type, const std::string& data) {
  const std::string body = type + data;
  return big_endian(std::uint32_t(data.size())) + body + big_endian(crc32_of(body));
}

// Linear between the ends of ColorBrewer's RdBu, which colour-blind readers can tell apart.
void append_colour(std::string& out, double t) {
  constexpr double blue[] = {33, 102, 172}, white[] = {247, 247, 247}, red[] = {178, 24, 43};
  const double* end = t < 0 ? blue : red;
  const double share = std::isfinite(t) ? std::min(std::abs(t), 1.0) : 0;
  for (int c = 0; c < 3; ++c) out += char(std::lround(white[c] + (end[c] - white[c]) * share));
}

}  // namespace

std::string diverging_png(std::size_t rows, std::size_t columns, std::span<const double> values,
                          double most) {
  std::string pixels;
  for (std::size_t r = 0; r < rows; ++r) {
    pixels += '\0';  // filter: none
    for (std::size_t c = 0; c < columns; ++c) append_colour(pixels, values[r * columns + c] / most);
  }
  const std::string header =
      big_endian(std::uint32_t(columns)) + big_endian(std::uint32_t(rows)) + std::string{8, 2, 0, 0, 0};
  return "\x89PNG\r\n\x1a\n" + chunk("IHDR", header) + chunk("IDAT", zlib_compressed(pixels)) +
         chunk("IEND", "");
}

std::string base64(std::string_view bytes) {
  constexpr char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const auto at = [&](std::size_t k) {
      return i + k < bytes.size() ? std::uint32_t((unsigned char)bytes[i + k]) : 0u;
    };
    const std::uint32_t block = at(0) << 16 | at(1) << 8 | at(2);
    for (int k = 0; k < 4; ++k)
      out += i + std::size_t(k) > bytes.size() ? '=' : digits[block >> (18 - 6 * k) & 63];
  }
  return out;
}

}  // namespace gnomon::report
