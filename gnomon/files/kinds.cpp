#include "gnomon/files/kinds.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "gnomon/core/half.h"
#include "gnomon/core/text.h"

namespace gnomon {
namespace {

static_assert(std::endian::native == std::endian::little, "both formats are little-endian");

// The bytes of strangers lie at any address: they are copied, never pointed at.
template <class T>
T load(const char* from) {
  T x;
  std::memcpy(&x, from, sizeof x);
  return x;
}
float half(const char* from) { return float(load<Float16>(from)); }
unsigned byte(const char* from, int n) { return static_cast<unsigned char>(from[n]); }
int low(const char* from, int n) { return int(byte(from, n) & 15); }
int high(const char* from, int n) { return int(byte(from, n) >> 4); }

// --- One number a block

template <class T>
void widen(const char* from, std::int64_t n, float* to) {
  for (std::int64_t i = 0; i < n; ++i) to[i] = float(load<T>(from + i * std::int64_t(sizeof(T))));
}

struct Bool {
  std::uint8_t bits;
  explicit operator float() const { return bits != 0; }
};
// Sign, 5 bits of exponent, 2 of fraction: the upper half of a Float16.
struct Float8E5M2 {
  std::uint8_t bits;
  explicit operator float() const {
    Float16 x;
    x.bits = std::uint16_t(bits << 8);
    return float(x);
  }
};
// Sign, 4 bits of exponent (less 7), 3 of fraction; no infinities, S.1111.111 is NaN (arXiv 2209.05433, table 1).
struct Float8E4M3 {
  std::uint8_t bits;
  explicit operator float() const {
    const int exponent = bits >> 3 & 15, fraction = bits & 7;
    float size = exponent ? std::ldexp(float(8 + fraction), exponent - 10) : std::ldexp(float(fraction), -9);
    if ((bits & 0x7F) == 0x7F) size = std::numeric_limits<float>::quiet_NaN();
    return bits & 0x80 ? -size : size;
  }
};

// --- 32 numbers a block: number j and number j + 16 share a byte

template <void (*block)(const char*, float*), int bytes, int numbers>
void blocks(const char* from, std::int64_t n, float* to) {
  for (std::int64_t b = 0; b < n; ++b) block(from + b * bytes, to + b * numbers);
}

void q8_0(const char* from, float* to) {
  const float d = half(from);
  for (int j = 0; j < 32; ++j) to[j] = float(load<std::int8_t>(from + 2 + j)) * d;
}
void q4_0(const char* from, float* to) {
  const float d = half(from);
  for (int j = 0; j < 16; ++j) {
    to[j] = float(low(from + 2, j) - 8) * d;
    to[j + 16] = float(high(from + 2, j) - 8) * d;
  }
}
void q4_1(const char* from, float* to) {
  const float d = half(from), m = half(from + 2);
  for (int j = 0; j < 16; ++j) {
    to[j] = float(low(from + 4, j)) * d + m;
    to[j + 16] = float(high(from + 4, j)) * d + m;
  }
}
// The fifth bit of number j is bit j of a word of its own.
void q5_0(const char* from, float* to) {
  const float d = half(from);
  const auto fifth = load<std::uint32_t>(from + 2);
  for (int j = 0; j < 16; ++j) {
    to[j] = float((low(from + 6, j) | int(fifth >> j & 1) << 4) - 16) * d;
    to[j + 16] = float((high(from + 6, j) | int(fifth >> (j + 16) & 1) << 4) - 16) * d;
  }
}
void q5_1(const char* from, float* to) {
  const float d = half(from), m = half(from + 2);
  const auto fifth = load<std::uint32_t>(from + 4);
  for (int j = 0; j < 16; ++j) {
    to[j] = float(low(from + 8, j) | int(fifth >> j & 1) << 4) * d + m;
    to[j + 16] = float(high(from + 8, j) | int(fifth >> (j + 16) & 1) << 4) * d + m;
  }
}

// One byte of exponent e, 16 of numbers: E2M1 times 2^(e − 127), here doubled and halved. No e means NaN, as in ggml.
void mxfp4(const char* from, float* to) {
  constexpr float kTwice[] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
  const float half_step = std::ldexp(1.0F, int(byte(from, 0)) - 128);
  for (int j = 0; j < 16; ++j) {
    to[j] = half_step * kTwice[low(from + 1, j)];
    to[j + 16] = half_step * kTwice[high(from + 1, j)];
  }
}

// --- 256 numbers a block, in groups with scales of their own

// Of the kinds that begin with d, m (f16) and 12 bytes of scales: eight groups of 32, scale · d · q − least · m. Six bits of each
// scale and each least: those of groups 0 to 3 whole in bytes 0 to 7; of groups 4 to 7 the low four in bytes 8 to 11, the high two
// above those of groups 0 to 3.
struct GroupOfK {
  float step, zero;
};
GroupOfK group_of_k(const char* from, int g) {
  const char* scales = from + 4;
  const int k = g % 4;
  const unsigned scale =
      g < 4 ? byte(scales, k) & 63 : (byte(scales, 8 + k) & 15) | (byte(scales, k) >> 6) << 4;
  const unsigned least =
      g < 4 ? byte(scales, 4 + k) & 63 : (byte(scales, 8 + k) >> 4) | (byte(scales, 4 + k) >> 6) << 4;
  return {half(from) * float(scale), half(from + 2) * float(least)};
}
// Two groups share their bytes.
int four_bits_of_k(const char* q, int g, int j) {
  const int n = 32 * (g / 2) + j;
  return g % 2 ? high(q, n) : low(q, n);
}
// Scales, then 128 bytes of numbers.
void q4_k(const char* from, float* to) {
  for (int g = 0; g < 8; ++g) {
    const GroupOfK group = group_of_k(from, g);
    for (int j = 0; j < 32; ++j)
      to[32 * g + j] = group.step * float(four_bits_of_k(from + 16, g, j)) - group.zero;
  }
}
// Scales, 32 bytes of fifth bits, one bit of each byte for each group, then 128 bytes of the lower four.
void q5_k(const char* from, float* to) {
  for (int g = 0; g < 8; ++g) {
    const GroupOfK group = group_of_k(from, g);
    for (int j = 0; j < 32; ++j) {
      const int fifth = int(byte(from + 16, j) >> g & 1) << 4;
      to[32 * g + j] = group.step * float(four_bits_of_k(from + 48, g, j) | fifth) - group.zero;
    }
  }
}
// 128 bytes of low four bits, 64 of high two, 16 scales (i8), d (f16). Sixteen groups of 16: d · scale · (q − 32). Within
// each half of 128 numbers, number j and j + 64 share a byte of low bits, and j, j + 32, j + 64, j + 96 one of high bits.
void q6_k(const char* from, float* to) {
  const float d = half(from + 208);
  for (int i = 0; i < 256; ++i) {
    const int part = i / 128, j = i % 128, n = 64 * part + j % 64;
    const int low_bits = j < 64 ? low(from, n) : high(from, n);
    const unsigned high_bits = byte(from + 128, 32 * part + j % 32) >> (2 * (j / 32)) & 3;
    const float step = d * float(load<std::int8_t>(from + 192 + i / 16));
    to[i] = step * float((low_bits | int(high_bits << 4)) - 32);
  }
}

constexpr NumberKind kKinds[] = {
    {"F64", 1, 8, true, 28, widen<double>},
    {"F32", 1, 4, true, 0, widen<float>},
    {"F16", 1, 2, true, 1, widen<Float16>},
    {"BF16", 1, 2, true, 30, widen<BFloat16>},
    {"I64", 1, 8, true, 27, widen<std::int64_t>},
    {"I32", 1, 4, true, 26, widen<std::int32_t>},
    {"I16", 1, 2, true, 25, widen<std::int16_t>},
    {"I8", 1, 1, true, 24, widen<std::int8_t>},
    {"U64", 1, 8, true, -1, widen<std::uint64_t>},
    {"U32", 1, 4, true, -1, widen<std::uint32_t>},
    {"U16", 1, 2, true, -1, widen<std::uint16_t>},
    {"U8", 1, 1, true, -1, widen<std::uint8_t>},
    {"BOOL", 1, 1, true, -1, widen<Bool>},
    {"F8_E4M3", 1, 1, true, -1, widen<Float8E4M3>},
    {"F8_E5M2", 1, 1, true, -1, widen<Float8E5M2>},
    {"F8_E8M0", 1, 1, true, -1, nullptr},
    {"F8_E4M3FNUZ", 1, 1, true, -1, nullptr},
    {"F8_E5M2FNUZ", 1, 1, true, -1, nullptr},
    {"F6_E2M3", 4, 3, true, -1, nullptr},
    {"F6_E3M2", 4, 3, true, -1, nullptr},
    {"F4", 2, 1, true, -1, nullptr},
    {"C64", 1, 8, true, -1, nullptr},
    {"Q8_0", 32, 34, false, 8, blocks<q8_0, 34, 32>},
    {"Q4_0", 32, 18, false, 2, blocks<q4_0, 18, 32>},
    {"Q4_1", 32, 20, false, 3, blocks<q4_1, 20, 32>},
    {"Q5_0", 32, 22, false, 6, blocks<q5_0, 22, 32>},
    {"Q5_1", 32, 24, false, 7, blocks<q5_1, 24, 32>},
    {"Q4_K", 256, 144, false, 12, blocks<q4_k, 144, 256>},
    {"Q6_K", 256, 210, false, 14, blocks<q6_k, 210, 256>},
    {"Q8_1", 32, 40, false, 9, nullptr},
    {"Q2_K", 256, 84, false, 10, nullptr},
    {"Q3_K", 256, 110, false, 11, nullptr},
    {"Q5_K", 256, 176, false, 13, blocks<q5_k, 176, 256>},
    {"Q8_K", 256, 292, false, 15, nullptr},
    {"IQ2_XXS", 256, 66, false, 16, nullptr},
    {"IQ2_XS", 256, 74, false, 17, nullptr},
    {"IQ3_XXS", 256, 98, false, 18, nullptr},
    {"IQ1_S", 256, 50, false, 19, nullptr},
    {"IQ4_NL", 32, 18, false, 20, nullptr},
    {"IQ3_S", 256, 110, false, 21, nullptr},
    {"IQ2_S", 256, 82, false, 22, nullptr},
    {"IQ4_XS", 256, 136, false, 23, nullptr},
    {"IQ1_M", 256, 56, false, 29, nullptr},
    {"TQ1_0", 256, 54, false, 34, nullptr},
    {"TQ2_0", 256, 66, false, 35, nullptr},
    {"MXFP4", 32, 17, false, 39, blocks<mxfp4, 17, 32>},
    {"NVFP4", 64, 36, false, 40, nullptr},
    {"Q1_0", 128, 18, false, 41, nullptr},
};

template <class Is>
const NumberKind* first_that(const Is& is) {
  for (const NumberKind& kind : kKinds) {
    if (is(kind)) return &kind;
  }
  return nullptr;
}

}  // namespace

const NumberKind* find_kind(std::string_view name) {
  return first_that([&](const NumberKind& k) { return k.name == name; });
}
const NumberKind* find_safetensors_kind(std::string_view name) {
  return first_that([&](const NumberKind& k) { return k.in_safetensors && k.name == name; });
}
const NumberKind* find_ggml_kind(std::int32_t type) {
  return first_that([&](const NumberKind& k) { return type >= 0 && k.ggml_type == type; });
}

std::string readable_kinds() {
  std::vector<std::string_view> names;
  for (const NumberKind& kind : kKinds) {
    if (kind.widen) names.push_back(kind.name);
  }
  return join(names, ", ");
}

std::int64_t bytes_of_shape(const NumberKind& kind, std::span<const std::int64_t> shape) {
  std::int64_t product = 1, bytes = 0;
  bool empty = false;
  for (const std::int64_t extent : shape) {
    if (extent == 0) empty = true;
    if (extent != 0 && __builtin_mul_overflow(product, extent, &product)) return -1;
  }
  // Of no numbers too: so the product of any extents can be taken without another look.
  if (__builtin_mul_overflow(product, std::max(kind.bytes, std::int64_t{4}), &bytes)) return -1;
  if (empty) return 0;
  return product % kind.numbers == 0 ? product / kind.numbers * kind.bytes : -1;
}

}  // namespace gnomon
