// Each maker of products by itself, against sums in double: ours, which a build without oneDNN has, is tested in every build.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "gnomon/core/error.h"
#include "gnomon/core/parallel.h"
#include "gnomon/kernels/multiply.h"
#include "tests/support/support.h"

namespace gnomon {
namespace {

class Products : public OnEveryTarget {};
INSTANTIATE_TEST_SUITE_P(Targets, Products, testing::ValuesIn(simd_targets()), target_name);

// A product whose rows lie apart, with numbers between them that nobody may read or write.
struct Case {
  Matmul s;
  Floats a, b, c, bias;
  static constexpr std::int64_t kGap = 3;

  Case(Matmul shape, bool has_bias) : s(shape) {
    const bool ta = s.a_op == Op::transposed, tb = s.b_op == Op::transposed;
    s.lda = (ta ? s.M : s.K) + kGap, s.ldb = (tb ? s.K : s.N) + kGap, s.ldc = s.N + kGap;
    a = with_gaps(ta ? s.K : s.M, s.lda, 1), b = with_gaps(tb ? s.N : s.K, s.ldb, 2);
    c = with_gaps(s.M, s.ldc, 3);
    if (has_bias) bias = normals(s.N, 4);
  }
  static Floats with_gaps(std::int64_t rows, std::int64_t step, std::uint64_t seed) {
    Floats x = normals(rows * step, seed);
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t g = step - kGap; g < step; ++g) x[r * step + g] = std::nanf("");
    return x;
  }
  double sum(std::int64_t i, std::int64_t j) const {
    double sum = (s.accumulate ? c[i * s.ldc + j] : 0.0) + (bias.empty() ? 0.0 : bias[j]);
    for (std::int64_t k = 0; k < s.K; ++k) {
      sum += double(a[s.a_op == Op::plain ? i * s.lda + k : k * s.lda + i]) *
             b[s.b_op == Op::plain ? k * s.ldb + j : j * s.ldb + k];
    }
    return sum;
  }
  Floats by(decltype(portable::multiply)& multiply) const {
    Floats result = c;
    multiply(s, a.data(), b.data(), result.data(), bias.empty() ? nullptr : bias.data());
    return result;
  }
};

void expect_right(const Case& p, const Floats& c) {
  const double bound = 4e-6 * std::sqrt(double(p.s.K)) + 1e-6;
  for (std::int64_t i = 0; i < p.s.M; ++i) {
    for (std::int64_t j = 0; j < p.s.N; ++j)
      ASSERT_NEAR(c[i * p.s.ldc + j], p.sum(i, j), bound) << i << ", " << j;
    for (std::int64_t g = p.s.N; g < p.s.ldc; ++g)
      ASSERT_TRUE(std::isnan(c[i * p.s.ldc + g])) << i << ", " << g;
  }
}

// Every remainder of tiles of rows and vectors of columns, and more than one block of each.
TEST_P(Products, OursAreRightAtEveryRemainder) {
  const int threads = thread_count();
  for (const int team : {1, 3}) {
    set_thread_count(team);
    for (const bool ta : {false, true}) {
      for (const bool tb : {false, true}) {
        for (const std::int64_t M : {1, 2, 6, 13, 15, 97, 200}) {
          for (const std::int64_t N : {1, 3, 8, 17, 33, 65, 300}) {
            const std::int64_t K = M == 13 || N == 33 ? 513 : 1 + (M + N) % 7;
            const bool accumulate = (M + N) % 2;
            const Case p({M, N, K, Op(ta), Op(tb), accumulate}, (M + N) % 3 == 0);
            expect_right(p, p.by(portable::multiply));
          }
        }
      }
    }
  }
  set_thread_count(threads);
}

// Columns are taken 4096 at a time.
TEST_P(Products, OursAreRightWithManyColumns) {
  const Case p({5, 4096 + 70, 300, Op::plain, Op::transposed, true}, true);
  expect_right(p, p.by(portable::multiply));
}

TEST_P(Products, OursHaveTheSameBitsOnEveryNumberOfThreads) {
  const int threads = thread_count();
  for (const bool ta : {false, true}) {
    const Case p({150, 290, 600, Op(ta), Op(!ta), true}, true);
    set_thread_count(1);
    const Floats alone = p.by(portable::multiply);
    for (const int team : {2, 3, 5}) {
      set_thread_count(team);
      const Floats together = p.by(portable::multiply);
      EXPECT_EQ(std::memcmp(alone.data(), together.data(), alone.size() * sizeof(float)), 0) << team;
    }
  }
  set_thread_count(threads);
}

// What is not finite in a row of a or a column of b is in that row or column of c, and nowhere else: the zeros that fill a
// panel up meet no number that counts.
TEST_P(Products, OursKeepNaNAndInfinityWhereTheyBelong) {
  Case p({20, 37, 30, Op::plain, Op::plain, false}, false);
  p.a[7 * p.s.lda + 3] = std::nanf(""), p.b[5 * p.s.ldb + 36] = INFINITY;
  const Floats c = p.by(portable::multiply);
  for (std::int64_t i = 0; i < p.s.M; ++i) {
    for (std::int64_t j = 0; j < p.s.N; ++j)
      EXPECT_EQ(std::isfinite(c[i * p.s.ldc + j]), i != 7 && j != 36) << i << ", " << j;
  }
}

// To bfloat16, the upper half of a float32: to the nearest, and of two as near to the even one.
float rounded(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  return std::bit_cast<float>((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000u);
}
float cut(float x) { return std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) & 0xffff0000u); }
Case with_factors(Case p, float (*f)(float)) {
  for (Floats* x : {&p.a, &p.b}) {
    for (float& number : *x) number = std::isnan(number) ? number : f(number);
  }
  return p;
}
double farthest(const Case& p, const Floats& c) {
  double most = 0;
  for (std::int64_t i = 0; i < p.s.M; ++i) {
    for (std::int64_t j = 0; j < p.s.N; ++j)
      most = std::max(most, std::abs(c[i * p.s.ldc + j] - p.sum(i, j)));
  }
  return most;
}

// Factors are rounded to bfloat16, and neither sums, bias nor what is added to. A product of factors that are not rounded, or
// cut, is another.
TEST(Products, InBfloat16FactorsAreRoundedAndNothingElse) {
  if (!multiplies_in(Precision::bfloat16)) GTEST_SKIP() << product_library(Precision::bfloat16);
  const int threads = thread_count();
  for (const int team : {1, 2}) {
    set_thread_count(team);
    for (int which = 0; which < 8; ++which) {
      for (const auto& [M, N, K] : {std::array<std::int64_t, 3>{1, 7, 5}, {64, 48, 96}, {33, 130, 257}}) {
        Case p({M, N, K, Op(which & 1), Op(which >> 1 & 1), which >= 4}, which % 3 == 0);
        p.s.precision = Precision::bfloat16;
        const Floats c = p.by(matmul);
        expect_right(with_factors(p, rounded), c);
        EXPECT_GT(farthest(p, c), 1e-3);
        EXPECT_GT(farthest(with_factors(p, cut), c), 1e-3);
        const Floats again = p.by(matmul);
        EXPECT_EQ(std::memcmp(c.data(), again.data(), c.size() * sizeof(float)), 0);
      }
    }
  }
  set_thread_count(threads);
}

// The gradients of a layer round dy once; their bits are those of two products that round it each.
TEST(Products, InBfloat16TheGradientsOfALayerAreThoseOfTwoProducts) {
  constexpr std::int64_t kRows = 37, kIn = 21, kOut = 50;
  const Linear layer{kRows, kIn, kOut, kIn + 4, kOut + 2, Precision::bfloat16};
  const Floats x = normals(kRows * layer.x_step, 1), w = normals(kOut * kIn, 2),
               dy = normals(kRows * layer.y_step, 3), other = normals(kRows * layer.y_step, 4);
  Floats dx(x.size()), dx_alone(x.size()), dw(w.size()), dw_alone(w.size()), dw_of_other(w.size());
  linear_backward(layer, x.data(), w.data(), dy.data(), {dx.data(), dw.data(), nullptr});
  linear_backward(layer, x.data(), w.data(), dy.data(), {dx_alone.data(), nullptr, nullptr});
  linear_backward(layer, x.data(), w.data(), other.data(), {nullptr, dw_of_other.data(), nullptr});
  linear_backward(layer, x.data(), w.data(), dy.data(), {nullptr, dw_alone.data(), nullptr});
  EXPECT_EQ(dx, dx_alone);
  EXPECT_EQ(dw, dw_alone);
  EXPECT_NE(dw, dw_of_other);
}

// Where nobody multiplies in bfloat16, the bits are float32's.
TEST(Products, WithoutBfloat16TheyAreThoseOfFloat32) {
  if (multiplies_in(Precision::bfloat16)) GTEST_SKIP() << product_library(Precision::bfloat16);
  Case p({33, 130, 257, Op::plain, Op::transposed, true}, true);
  const Floats plain = p.by(matmul);
  p.s.precision = Precision::bfloat16;
  const Floats asked = p.by(matmul);
  EXPECT_EQ(std::memcmp(plain.data(), asked.data(), plain.size() * sizeof(float)), 0);
}

TEST(Products, ThePrecisionIsNamed) {
  const std::string how = multiplies_in(Precision::bfloat16) ? " in bfloat16" : " in float32 for bfloat16";
  EXPECT_EQ(product_library(Precision::bfloat16), product_library() + how);
  EXPECT_EQ(precision_named("bfloat16", "x"), Precision::bfloat16);
  EXPECT_EQ(precision_named(name_of(Precision::float32), "x"), Precision::float32);
  EXPECT_THROW(precision_named("bf16", "x"), Error);
}

TEST(Products, TheLibraryIsNamedAsItIs) {
#ifdef GNOMON_ONEDNN
  EXPECT_EQ(product_library().rfind("oneDNN ", 0), 0u) << product_library();
  EXPECT_EQ(thread_library(), "OpenMP");
#else
  EXPECT_EQ(product_library().rfind("Highway ", 0), 0u) << product_library();
  use_simd_target(simd_targets().back());
  EXPECT_NE(product_library().find(simd_targets().back()), std::string::npos) << product_library();
  use_simd_target("");
#endif
}

}  // namespace
}  // namespace gnomon
