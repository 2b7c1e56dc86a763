#pragma once
#include <array>
#include <cstdint>
#include <string_view>

namespace gnomon {

// Counter-based random numbers: the n-th number of a stream is a function of (seed, stream, n) and of nothing
// else, so streams need no state, can be read in any order, and resume by their counter.
// Philox 4x32 with 10 rounds: Salmon, Moraes, Dror, Shaw 2011, "Parallel random numbers: as easy as 1, 2, 3".
std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key);

class Random {
 public:
  // Streams with different names are independent; the same seed and name give the same numbers everywhere.
  Random(std::uint64_t seed, std::string_view stream);

  std::uint64_t bits(std::uint64_t n) const;                        // 64 random bits
  double uniform(std::uint64_t n) const;                            // in (0, 1), never an end point
  double normal(std::uint64_t n) const;                             // mean 0, variance 1 (Box-Muller)
  std::uint64_t below(std::uint64_t n, std::uint64_t limit) const;  // in [0, limit), limit > 0

 private:
  std::array<std::uint32_t, 2> key_;
};

// 64-bit FNV-1a of a name; stable across machines and versions.
std::uint64_t name_hash(std::string_view name);

}  // namespace gnomon
