// Highway 1.0.3 has no target with these instructions: they are asked for by name.
#include "gnomon/bench/multiply_bf16.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <cpuid.h>
#include <immintrin.h>
#ifdef __linux__
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace gnomon::bench {
namespace {

// Tiles of 16 rows of 64 bytes (AMX_TILE, AMX_BF16), which Linux lends to a process that asks for them.
bool asks_for_tiles() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(d >> 22 & 1) || !(d >> 24 & 1)) return false;
#ifdef __linux__
  constexpr long kAsk = 0x1023, kTiles = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kAsk, kTiles) == 0;
#else
  return false;
#endif
}
bool has_tiles() {
  static const bool has = asks_for_tiles();
  return has;
}

struct TileShape {
  std::uint8_t palette = 1, start = 0, reserved[14] = {};
  std::uint16_t bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
// Two tiles by two, whose products add up in four. What they hold, 0, does not change the time.
__attribute__((target("amx-tile,amx-bf16"))) double multiply_tiles(std::int64_t rounds) {
  // Static, because g++ 12 thinks that the instruction reads eight bytes, and leaves the others out of a local one.
  alignas(64) static constexpr TileShape kShape;
  _tile_loadconfig(&kShape);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  _tile_zero(4);
  _tile_zero(5);
  _tile_zero(6);
  _tile_zero(7);
  for (std::int64_t i = 0; i < rounds; ++i) {
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  _tile_release();
  return 2.0 * 4 * 16 * 16 * 32 * double(rounds);
}

// 16 chains: two units of a latency of six ask for twelve.
__attribute__((target("avx512f,avx512bf16"))) double multiply_vectors(std::int64_t rounds, float* sink) {
  constexpr int kChains = 16;
  __m512 sums[kChains];
  for (int c = 0; c < kChains; ++c) sums[c] = _mm512_set1_ps(*sink + float(c));
  const __m512bh a = _mm512_cvtne2ps_pbh(_mm512_set1_ps(0.999f), _mm512_set1_ps(0.998f));
  const __m512bh b = _mm512_cvtne2ps_pbh(_mm512_set1_ps(1e-3f), _mm512_set1_ps(2e-3f));
  for (std::int64_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 16
    for (int c = 0; c < kChains; ++c) sums[c] = _mm512_dpbf16_ps(sums[c], a, b);
  }
  __m512 all = sums[0];
  for (int c = 1; c < kChains; ++c) all = _mm512_add_ps(all, sums[c]);
  float lanes[16];
  _mm512_storeu_ps(lanes, all);
  for (const float x : lanes) *sink += x;
  return 2.0 * 32 * kChains * double(rounds);
}

}  // namespace

bool has_bf16() { return __builtin_cpu_supports("avx512bf16"); }

double multiply_bf16(std::int64_t rounds, float* sink) {
  return has_tiles() ? multiply_tiles(rounds) : multiply_vectors(rounds, sink);
}

}  // namespace gnomon::bench
#else
namespace gnomon::bench {
bool has_bf16() { return false; }
double multiply_bf16(std::int64_t, float*) { return 0; }
}  // namespace gnomon::bench
#endif
