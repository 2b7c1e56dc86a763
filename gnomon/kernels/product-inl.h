// The product of small tiles that live in the nearest caches: included once per SIMD target.
#if defined(GNOMON_KERNELS_PRODUCT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GNOMON_KERNELS_PRODUCT_INL_H_
#undef GNOMON_KERNELS_PRODUCT_INL_H_
#else
#define GNOMON_KERNELS_PRODUCT_INL_H_
#endif
#include <algorithm>
#include <array>
#include <utility>

#include "gnomon/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gnomon::HWY_NAMESPACE {

// A register tile: at most kRows rows beside kVectors vectors of columns. kRows·kVectors accumulators, kVectors vectors of B and
// one number of A must fit into the registers: 32 with AVX-512 and on 64-bit ARM, 16 elsewhere. ARM's vectors are the shortest:
// four of them make as much of each load as they can.
#if HWY_CAP_GE512
inline constexpr int kRows = 14, kVectors = 2;
#elif HWY_ARCH_ARM_A64
inline constexpr int kRows = 6, kVectors = 4;
#else
inline constexpr int kRows = 6, kVectors = 2;
#endif

// A number that several vectors are multiplied by. ARM multiplies by one lane of a register for nothing. Left to itself clang
// loads the number into all lanes, which takes the turn of a multiplication.
HWY_INLINE V factor(float x) {
#if HWY_ARCH_ARM_A64 && HWY_COMPILER_CLANG
  asm("" : "+w"(x));
#endif
  return set(x);
}

// A matrix whose elements are read one by one: element (i,p) at data[i·row + p·column]; so its transpose is
// free.
template <class Number>
struct LeftOf {
  const Number* data;
  std::int64_t row, column;
};
using Left = LeftOf<float>;

// What becomes of a vector of sums before it is written to c, which holds what it held before.
struct AsItIs {
  HWY_INLINE V operator()(V sum, const float* /*c*/) const { return sum; }
};

// C (M, W vectors) (+)= A (M,k) B (k, W vectors)
template <int M, int W, class Finish>
void register_tile(std::int64_t k, Left a, const float* b, std::int64_t ldb, float* c, std::int64_t ldc,
                   bool accumulate) {
  const F d;
  const std::int64_t N = lanes();
  V sum[M][W];
  GNOMON_UNROLL
  for (int i = 0; i < M; ++i) {
    GNOMON_UNROLL
    for (int w = 0; w < W; ++w) sum[i][w] = accumulate ? hn::LoadU(d, c + i * ldc + w * N) : hn::Zero(d);
  }
  for (std::int64_t p = 0; p < k; ++p, b += ldb) {
    V right[W];
    GNOMON_UNROLL
    for (int w = 0; w < W; ++w) right[w] = hn::LoadU(d, b + w * N);
    GNOMON_UNROLL
    for (int i = 0; i < M; ++i) {
      const V left = factor(a.data[i * a.row + p * a.column]);
      GNOMON_UNROLL
      for (int w = 0; w < W; ++w) sum[i][w] = hn::MulAdd(left, right[w], sum[i][w]);
    }
  }
  GNOMON_UNROLL
  for (int i = 0; i < M; ++i) {
    GNOMON_UNROLL
    for (int w = 0; w < W; ++w) {
      float* to = c + i * ldc + w * N;
      hn::StoreU(Finish()(sum[i][w], to), d, to);
    }
  }
}

template <class Number>
using RegisterTile = void (*)(std::int64_t, LeftOf<Number>, const Number*, std::int64_t, float*, std::int64_t,
                              bool);
template <class Number>
using RegisterTiles =
    std::array<std::array<RegisterTile<Number>, kRows>, kVectors>;  // [vectors − 1][rows − 1]
template <class Finish, int W, int... M>
constexpr std::array<RegisterTile<float>, kRows> tiles_of_width(std::integer_sequence<int, M...>) {
  return {&register_tile<M + 1, W, Finish>...};
}
template <class Finish, int... W>
constexpr RegisterTiles<float> tiles_of(std::integer_sequence<int, W...>) {
  return {tiles_of_width<Finish, W + 1>(std::make_integer_sequence<int, kRows>())...};
}

struct ProductExtent {
  std::int64_t m, n, k;
};
// Rows go into tiles of about one size: a small tile reads as much of b as a large one.
template <class Number>
void product_by(const RegisterTiles<Number>& tiles, const ProductExtent& e, LeftOf<Number> a, const Number* b,
                std::int64_t ldb, float* c, std::int64_t ldc, bool accumulate) {
  const std::int64_t N = lanes(), panels = (e.m + kRows - 1) / kRows;
  for (std::int64_t j = 0; j < e.n; j += kVectors * N) {
    const auto vectors = std::min<std::int64_t>(kVectors, (e.n - j + N - 1) / N);
    const auto& of_width = tiles[std::size_t(vectors - 1)];
    for (std::int64_t i = 0, rows, left = panels; i < e.m; i += rows, --left) {
      rows = (e.m - i + left - 1) / left;
      of_width[rows - 1](e.k, {a.data + i * a.row, a.row, a.column}, b + j, ldb, c + i * ldc + j, ldc,
                         accumulate);
    }
  }
}
// c (m,n) (+)= a (m,k) b (k,n), finished; b and c row-major; n is rounded up to whole vectors, which b and c must hold.
template <class Finish = AsItIs>
inline void product(const ProductExtent& e, Left a, const float* b, std::int64_t ldb, float* c,
                    std::int64_t ldc, bool accumulate) {
  static constexpr RegisterTiles<float> kTiles =
      tiles_of<Finish>(std::make_integer_sequence<int, kVectors>());
  product_by(kTiles, e, a, b, ldb, c, ldc, accumulate);
}

}  // namespace gnomon::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
