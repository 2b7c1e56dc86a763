// Highway 1.0.3 has no target with these instructions: they are asked for by name.
#include "gnomon/bench/multiply_bf16.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

namespace gnomon::bench {

bool has_bf16() { return __builtin_cpu_supports("avx512bf16"); }

// 16 chains: two units of a latency of six ask for twelve.
__attribute__((target("avx512f,avx512bf16"))) double multiply_bf16(std::int64_t rounds, float* sink) {
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

}  // namespace gnomon::bench
#else
namespace gnomon::bench {
bool has_bf16() { return false; }
double multiply_bf16(std::int64_t, float*) { return 0; }
}  // namespace gnomon::bench
#endif
