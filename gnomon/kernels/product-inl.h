// The product of small tiles that live in the nearest caches: included once per SIMD target.
#if defined(GNOMON_KERNELS_PRODUCT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GNOMON_KERNELS_PRODUCT_INL_H_
#undef GNOMON_KERNELS_PRODUCT_INL_H_
#else
#define GNOMON_KERNELS_PRODUCT_INL_H_
#endif
#include <array>
#include <utility>

#include "gnomon/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gnomon::HWY_NAMESPACE {

// Rows that a register tile holds, beside two vectors of columns: 2·kRows accumulators, two vectors of B and
// one broadcast of A must fit into the registers (32 with AVX-512, 16 before).
#if HWY_CAP_GE512
inline constexpr int kRows = 14;
#else
inline constexpr int kRows = 6;
#endif

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
      const V left = hn::Set(d, a.data[i * a.row + p * a.column]);
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
struct RegisterTiles {  // of 1 to kRows rows
  std::array<RegisterTile<Number>, kRows> one_vector, two_vectors;
};
template <class Finish, int W, int... M>
constexpr std::array<RegisterTile<float>, sizeof...(M)> tiles_of(std::integer_sequence<int, M...>) {
  return {&register_tile<M + 1, W, Finish>...};
}

struct ProductExtent {
  std::int64_t m, n, k;
};
// Rows go into tiles of about one size: a small tile reads as much of b as a large one.
template <class Number>
void product_by(const RegisterTiles<Number>& tiles, const ProductExtent& e, LeftOf<Number> a, const Number* b,
                std::int64_t ldb, float* c, std::int64_t ldc, bool accumulate) {
  const std::int64_t N = lanes(), panels = (e.m + kRows - 1) / kRows;
  for (std::int64_t j = 0; j < e.n; j += 2 * N) {
    const auto& of_width = e.n - j > N ? tiles.two_vectors : tiles.one_vector;
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
  static constexpr RegisterTiles<float> kTiles{tiles_of<Finish, 1>(std::make_integer_sequence<int, kRows>()),
                                               tiles_of<Finish, 2>(std::make_integer_sequence<int, kRows>())};
  product_by(kTiles, e, a, b, ldb, c, ldc, accumulate);
}

}  // namespace gnomon::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
