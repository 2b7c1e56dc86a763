// The exponential of a matrix, and steps where no encoding reaches them.
#include "gnomon/kernels/steps.h"

#include <gtest/gtest.h>

#include <cmath>

#include "gnomon/core/error.h"
#include "gnomon/kernels/exponential.h"
#include "tests/support/support.h"

namespace gnomon {
namespace {

using Matrix = std::vector<double>;

Matrix random_matrix(std::int64_t n, std::uint64_t seed, double size) {
  const Floats x = normals(n * n, seed, size);
  return {x.begin(), x.end()};
}

TEST(Exponential, OfAPlaneIsATurn) {
  Exponential exponential(2);
  for (const double angle : {0.0, 1e-9, 0.3, -2.5, 50.0, 1e5}) {
    const Matrix& e = exponential.of({0, -angle, angle, 0});
    const double bound = 1e-15 * std::max(1.0, std::abs(angle));
    EXPECT_NEAR(e[0], std::cos(angle), bound) << angle;
    EXPECT_NEAR(e[1], -std::sin(angle), bound) << angle;
    EXPECT_NEAR(e[2], std::sin(angle), bound) << angle;
    EXPECT_NEAR(e[3], std::cos(angle), bound) << angle;
  }
}

// Rodrigues: exp(X) = 1 + sin(s)/s·X + (1 − cos(s))/s²·X² about an axis of length s.
TEST(Exponential, OfASkewMatrixInSpaceIsRodriguesFormula) {
  const double a = 0.7, b = -2.1, c = 1.3, s = std::sqrt(a * a + b * b + c * c);
  const Matrix x{0, -c, b, c, 0, -a, -b, a, 0};
  Exponential exponential(3);
  const Matrix& e = exponential.of(x);
  for (std::size_t i = 0; i < 9; ++i) {
    double square = 0;
    for (std::size_t k = 0; k < 3; ++k) square += x[i / 3 * 3 + k] * x[k * 3 + i % 3];
    const double want = (i % 4 == 0 ? 1 : 0) + std::sin(s) / s * x[i] + (1 - std::cos(s)) / (s * s) * square;
    EXPECT_NEAR(e[i], want, 4e-15) << i;
  }
}

TEST(Exponential, OfATriangleAndOfNoNumber) {
  Exponential exponential(2);
  EXPECT_EQ(exponential.of({0, 3, 0, 0}), (Matrix{1, 3, 0, 1}));
  const Matrix& e = exponential.of({std::log(2.0), 0, 0, -40});
  EXPECT_NEAR(e[0] / 2, 1, 40 * 1e-15);
  EXPECT_NEAR(e[3] / std::exp(-40.0), 1, 40 * 1e-15);
  for (const double bad : {double(NAN), double(INFINITY)})
    for (const double x : exponential.of({0, bad, 0, 0})) EXPECT_TRUE(std::isnan(x)) << bad;
}

TEST(Exponential, GradientIsCentralDifferences) {
  for (const auto& [n, size] : {std::pair{1, 0.5}, {2, 0.1}, {5, 1.0}, {8, 2.0}}) {
    Matrix x = random_matrix(n, 3, size);
    for (std::int64_t i = 0; i < n * n; ++i) {  // skew, and a little more: no other symmetry hides an error
      if (i / n > i % n) x[std::size_t(i)] = -x[std::size_t(i % n * n + i / n)];
    }
    x[std::size_t(n - 1)] += 0.2;
    const Matrix g = random_matrix(n, 4, 1);
    Exponential exponential(n);
    const Matrix dx = exponential.backward(x, g);
    const auto loss = [&] {
      double sum = 0;
      const Matrix& e = exponential.of(x);
      for (std::size_t i = 0; i < g.size(); ++i) sum += g[i] * e[i];
      return sum;
    };
    expect_gradient(x, Floats(dx.begin(), dx.end()), loss, 1, 1e-6);
  }
}

// Blocks of three channels of rows of seven, in two heads; the third row of `rows` is the second token of four.
struct Blocks {
  std::int64_t heads, tokens;
  MultiplyBlocks what{3, 2, heads, tokens, normals(heads* tokens * 2 * 9, 5)};
  RowLayout layout{2, 3, 2, 3 * 2 * 7, 2 * 7, 7};
  StepRows rows{layout, 1, 4};
  // Of role q, in double; `out` by the transposed matrices.
  std::vector<double> by_definition(const Floats& x, Role role) const {
    std::vector<double> y(x.begin(), x.end());
    for (std::int64_t n = 0; n < 2 * 3 * 2 * 6; ++n) {
      const std::int64_t row = n / 6, h = row % 2, t = row / 2 % 3 + 1, b = row / 6, c = n % 6;
      const std::int64_t token = tokens == 1 ? 0 : tokens == 4 ? t : b * 4 + t;
      const float* m = &what.matrices[std::size_t((((heads > 1 ? h : 0) * tokens + token) * 2 + c / 3) * 9)];
      double sum = 0;
      for (std::int64_t k = 0; k < 3; ++k)
        sum += double(role == Role::out ? m[k * 3 + c % 3] : m[c % 3 * 3 + k]) *
               double(x[std::size_t(row * 7 + c / 3 * 3 + k)]);
      y[std::size_t(row * 7 + c)] = sum;
    }
    return y;
  }
};

TEST(Steps, BlocksAreMultipliedAndTheirGradientsAreCentralDifferences) {
  for (const Role role : {Role::q, Role::out}) {
    for (const auto& [heads, tokens] : {std::pair{1, 1}, {2, 1}, {1, 4}, {2, 4}, {2, 8}}) {
      Blocks blocks{heads, tokens};
      Step step{Role::q | Role::out, blocks.what, true};
      Floats x = normals(2 * 3 * 2 * 7, 6), y = x, g = normals(std::int64_t(x.size()), 7), dx = g;
      apply(step, role, blocks.rows, y.data());
      const auto want = blocks.by_definition(x, role);
      for (std::size_t i = 0; i < y.size(); ++i) ASSERT_NEAR(y[i], want[i], 1e-6) << i;
      Step grad = step.zeros();
      ASSERT_TRUE(step.needs_input());
      apply_backward(step, role, blocks.rows, x.data(), dx.data(), grad);
      const auto loss = [&] {
        double sum = 0;
        const auto now = blocks.by_definition(x, role);
        for (std::size_t i = 0; i < now.size(); ++i) sum += now[i] * double(g[i]);
        return sum;
      };
      expect_gradient(x, dx, loss, 1, 1e-4);
      expect_gradient(blocks.what.matrices, std::get<MultiplyBlocks>(grad.what).matrices, loss, 1, 1e-4);
    }
  }
  Blocks blocks{2, 4};
  blocks.what.matrices.pop_back();
  const Step step{unsigned(Role::q), blocks.what};
  Floats x(2 * 3 * 2 * 7);
  EXPECT_THROW(apply(step, Role::q, blocks.rows, x.data()), Error);
}

}  // namespace
}  // namespace gnomon
