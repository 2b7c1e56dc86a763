#pragma once
#include <bit>
#include <cmath>
#include <cstdint>

namespace gnomon {

// Sixteen-bit numbers as they are stored; all arithmetic is in float. From float they round to the nearest, ties to
// even; NaN stays NaN.
struct BFloat16 {
  std::uint16_t bits = 0;
  BFloat16() = default;
  explicit BFloat16(float x) {
    const auto b = std::bit_cast<std::uint32_t>(x);
    bits = std::isnan(x) ? 0x7FC0 : std::uint16_t((b + 0x7FFF + (b >> 16 & 1)) >> 16);
  }
  explicit operator float() const { return std::bit_cast<float>(std::uint32_t(bits) << 16); }
};

struct Float16 {
  std::uint16_t bits = 0;
  Float16() = default;
  explicit Float16(float x) {
    const std::uint16_t sign = std::uint16_t(std::bit_cast<std::uint32_t>(x) >> 16 & 0x8000);
    const float size = std::fabs(x);
    if (std::isnan(x)) {
      bits = 0x7E00;
    } else if (size >= 65520.0f) {
      bits = sign | 0x7C00;
    } else if (size < 6.103515625e-05f) {  // below 2^−14 the steps are 2^−24
      bits = std::uint16_t(sign | std::uint16_t(std::nearbyintf(size * 16777216.0f)));
    } else {
      const auto b = std::bit_cast<std::uint32_t>(size);
      bits = std::uint16_t(sign | (((b + 0xFFF + (b >> 13 & 1)) >> 13) - (112u << 10)));
    }
  }
  explicit operator float() const {
    const std::uint32_t sign = std::uint32_t(bits & 0x8000) << 16, size = bits & 0x7FFF;
    if (size >= 0x7C00) return std::bit_cast<float>(sign | (size == 0x7C00 ? 0x7F800000u : 0x7FC00000u));
    if (size < 0x400)
      return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(float(size) / 16777216.0f));
    return std::bit_cast<float>(sign | ((size + (112u << 10)) << 13));
  }
};

}  // namespace gnomon
