#include "gnomon/core/random.h"

#include <cmath>
#include <numbers>

namespace gnomon {

std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> c, std::array<std::uint32_t, 2> k) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53} * c[0], b = std::uint64_t{0xCD9E8D57} * c[2];
    c = {std::uint32_t(b >> 32) ^ c[1] ^ k[0], std::uint32_t(b), std::uint32_t(a >> 32) ^ c[3] ^ k[1],
         std::uint32_t(a)};
    k[0] += 0x9E3779B9;
    k[1] += 0xBB67AE85;
  }
  return c;
}

std::uint64_t name_hash(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const unsigned char c : name) hash = (hash ^ c) * 0x100000001b3;
  return hash;
}

Random::Random(std::uint64_t seed, std::string_view stream) {
  // The seed and the name pass through one Philox block, so that neighbouring seeds share nothing.
  const std::uint64_t name = name_hash(stream);
  const auto mixed = philox({std::uint32_t(name), std::uint32_t(name >> 32), 0x676e6f6d, 0x6f6e},
                            {std::uint32_t(seed), std::uint32_t(seed >> 32)});
  key_ = {mixed[0], mixed[1]};
}

std::uint64_t Random::bits(std::uint64_t n) const {
  const auto r = philox({std::uint32_t(n), std::uint32_t(n >> 32), 0, 0}, key_);
  return std::uint64_t(r[0]) << 32 | r[1];
}

double Random::uniform(std::uint64_t n) const { return (double(bits(n) >> 11) + 0.5) * 0x1p-53; }

double Random::normal(std::uint64_t n) const {
  const auto r = philox({std::uint32_t(n), std::uint32_t(n >> 32), 1, 0}, key_);
  const double u = ((std::uint64_t(r[0]) << 21 ^ r[1] >> 11) + 0.5) * 0x1p-53;
  const double v = (double(r[2]) + 0.5) * 0x1p-32;
  return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
}

std::uint64_t Random::below(std::uint64_t n, std::uint64_t limit) const {
  __extension__ using Wide = unsigned __int128;
  return std::uint64_t(Wide(bits(n)) * limit >> 64);
}

}  // namespace gnomon
