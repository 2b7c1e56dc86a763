// The product of small tiles with both factors rounded to bfloat16, their sums in float32: included once per SIMD target.
#if defined(GNOMON_KERNELS_PRODUCT_ROUNDED_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GNOMON_KERNELS_PRODUCT_ROUNDED_INL_H_
#undef GNOMON_KERNELS_PRODUCT_ROUNDED_INL_H_
#else
#define GNOMON_KERNELS_PRODUCT_ROUNDED_INL_H_
#endif
#include <vector>

#include "gnomon/core/array.h"
#include "gnomon/kernels/product-inl.h"

// Highway 1.0.3 has no target with these instructions: they are asked for by name, and only intrinsics are used between.
#undef GNOMON_ROUNDS
#if HWY_CAP_GE512 && HWY_ARCH_X86_64 && defined(__GNUC__)
#include <immintrin.h>
#define GNOMON_ROUNDS __attribute__((target("avx512f,avx512bw,avx512bf16")))
#endif

HWY_BEFORE_NAMESPACE();
namespace gnomon::HWY_NAMESPACE {

// Two neighbours along k of a factor, the first one in the lower half.
struct Pair {
  std::uint32_t bits;
};
using Pairs = std::vector<Pair, Aligned<Pair, false>>;
using LeftPairs = LeftOf<Pair>;

#ifdef GNOMON_ROUNDS
inline constexpr bool kRounds = true;  // where the processor does: multiplies_in(Precision::bfloat16)

// Rows of x (rows,k), k side by side: their pairs.
GNOMON_ROUNDS inline void pack_along(const float* x, std::int64_t step, std::int64_t rows, std::int64_t k,
                                     Pair* to) {
  const std::int64_t words = (k + 1) / 2;
  for (std::int64_t i = 0; i < rows; ++i, x += step, to += words) {
    std::int64_t p = 0;
    for (; p + 32 <= k; p += 32)
      _mm512_storeu_si512(to + p / 2, reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(
                                          _mm512_loadu_ps(x + p + 16), _mm512_loadu_ps(x + p))));
    if (p == k) continue;
    const std::uint32_t in = (1u << (k - p)) - 1;
    const __m512bh both = _mm512_cvtne2ps_pbh(_mm512_maskz_loadu_ps(__mmask16(in >> 16), x + p + 16),
                                              _mm512_maskz_loadu_ps(__mmask16(in), x + p));
    const std::uint32_t out = (1u << (words - p / 2)) - 1;
    _mm512_mask_storeu_epi32(to + p / 2, __mmask16(out), reinterpret_cast<__m512i>(both));
  }
}
// x (k,n), n up to whole vectors: the pairs of the rows 2p and 2p + 1, `step_to` apart. Behind the last row are zeros.
GNOMON_ROUNDS inline void pack_across(const float* x, std::int64_t step, std::int64_t k, std::int64_t n,
                                      Pair* to, std::int64_t step_to) {
  alignas(64) static constexpr std::uint16_t kTurns[32] = {0,  16, 1,  17, 2,  18, 3,  19, 4,  20, 5,
                                                           21, 6,  22, 7,  23, 8,  24, 9,  25, 10, 26,
                                                           11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
  const __m512i turns = _mm512_load_si512(kTurns);
  for (std::int64_t p = 0; p < k; p += 2, x += 2 * step, to += step_to) {
    const float* second = p + 1 < k ? x + step : nullptr;
    for (std::int64_t c = 0; c < n; c += 16) {
      const __m512 above = second ? _mm512_loadu_ps(second + c) : _mm512_setzero_ps();
      const __m512bh both = _mm512_cvtne2ps_pbh(above, _mm512_loadu_ps(x + c));
      _mm512_storeu_si512(to + c, _mm512_permutexvar_epi16(turns, reinterpret_cast<__m512i>(both)));
    }
  }
}

// C (M, W vectors) (+)= A (M,k pairs) B (k pairs, W vectors)
template <int M, int W>
GNOMON_ROUNDS void register_tile_of_pairs(std::int64_t k, LeftPairs a, const Pair* b, std::int64_t ldb,
                                          float* c, std::int64_t ldc, bool accumulate) {
  __m512 sum[M][W];
  GNOMON_UNROLL
  for (int i = 0; i < M; ++i) {
    GNOMON_UNROLL
    for (int w = 0; w < W; ++w)
      sum[i][w] = accumulate ? _mm512_loadu_ps(c + i * ldc + w * 16) : _mm512_setzero_ps();
  }
  for (std::int64_t p = 0; p < k; ++p, b += ldb) {
    __m512bh right[W];
    GNOMON_UNROLL
    for (int w = 0; w < W; ++w) right[w] = reinterpret_cast<__m512bh>(_mm512_loadu_si512(b + w * 16));
    GNOMON_UNROLL
    for (int i = 0; i < M; ++i) {
      const auto left =
          reinterpret_cast<__m512bh>(_mm512_set1_epi32(int(a.data[i * a.row + p * a.column].bits)));
      GNOMON_UNROLL
      for (int w = 0; w < W; ++w) sum[i][w] = _mm512_dpbf16_ps(sum[i][w], left, right[w]);
    }
  }
  GNOMON_UNROLL
  for (int i = 0; i < M; ++i) {
    GNOMON_UNROLL
    for (int w = 0; w < W; ++w) _mm512_storeu_ps(c + i * ldc + w * 16, sum[i][w]);
  }
}
template <int W, int... M>
constexpr std::array<RegisterTile<Pair>, sizeof...(M)> tiles_of_pairs(std::integer_sequence<int, M...>) {
  return {&register_tile_of_pairs<M + 1, W>...};
}
inline void product(const ProductExtent& e, LeftPairs a, const Pair* b, std::int64_t ldb, float* c,
                    std::int64_t ldc, bool accumulate) {
  static constexpr RegisterTiles<Pair> kTiles{tiles_of_pairs<1>(std::make_integer_sequence<int, kRows>()),
                                              tiles_of_pairs<2>(std::make_integer_sequence<int, kRows>())};
  product_by(kTiles, e, a, b, ldb, c, ldc, accumulate);
}
#else
inline constexpr bool kRounds = false;
inline void pack_along(const float*, std::int64_t, std::int64_t, std::int64_t, Pair*) {}
inline void pack_across(const float*, std::int64_t, std::int64_t, std::int64_t, Pair*, std::int64_t) {}
inline void product(const ProductExtent&, LeftPairs, const Pair*, std::int64_t, float*, std::int64_t, bool) {}
#endif

// Memory for the pairs of both factors.
struct PackedFactors {
  Pairs left, right;
};

// A product a (m,k) b (k,n), of which parts are asked for: each factor is rounded once. `pairs` null: nothing is rounded. The
// elements of a lie side by side along k (column 1) or along m (row 1).
class ProductInParts {
 public:
  ProductInParts(const ProductExtent& e, Left a, const float* b, std::int64_t ldb, PackedFactors* pairs)
      : a_(a), b_(b), ldb_(ldb), pairs_(pairs) {
    if (!pairs) return;
    const std::int64_t words = (e.k + 1) / 2, wide = round_up(e.n, lanes());
    pairs->right.resize(std::size_t(words * wide));
    pack_across(b, ldb, e.k, e.n, pairs->right.data(), ldb_pairs_ = wide);
    const bool across = a.column != 1;
    const std::int64_t tall = round_up(e.m, lanes());
    pairs->left.resize(std::size_t(words * tall));
    if (across) pack_across(a.data, a.column, e.k, e.m, pairs->left.data(), tall);
    if (!across) pack_along(a.data, a.row, e.m, e.k, pairs->left.data());
    left_ = {pairs->left.data(), across ? 1 : words, across ? tall : 1};
  }
  // c (m,n) (+)= the sum over p..p+k for the rows i..i+m. In pairs, the one before an odd p goes in too.
  struct Part {
    std::int64_t i, m, n, p, k;
  };
  void operator()(const Part& x, float* c, std::int64_t ldc, bool accumulate) const {
    if (!pairs_)
      return product({x.m, x.n, x.k}, {a_.data + x.i * a_.row + x.p * a_.column, a_.row, a_.column},
                     b_ + x.p * ldb_, ldb_, c, ldc, accumulate);
    const std::int64_t from = x.p / 2, to = (x.p + x.k + 1) / 2;
    product({x.m, x.n, to - from},
            {left_.data + x.i * left_.row + from * left_.column, left_.row, left_.column},
            pairs_->right.data() + from * ldb_pairs_, ldb_pairs_, c, ldc, accumulate);
  }

 private:
  const Left a_;
  const float* const b_;
  const std::int64_t ldb_;
  PackedFactors* const pairs_;
  std::int64_t ldb_pairs_ = 0;
  LeftPairs left_{};
};

}  // namespace gnomon::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
