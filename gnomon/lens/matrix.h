#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "gnomon/core/random.h"

namespace gnomon {

// A dense matrix in double, row-major: what analyses compute with. Never in a hot path.
struct Matrix {
  std::int64_t rows = 0, columns = 0;
  std::vector<double> values;

  Matrix() = default;
  Matrix(std::int64_t r, std::int64_t c) : rows(r), columns(c), values(std::size_t(r * c)) {}
  double& at(std::int64_t r, std::int64_t c) { return values[std::size_t(r * columns + c)]; }
  double at(std::int64_t r, std::int64_t c) const { return values[std::size_t(r * columns + c)]; }
  std::span<double> row(std::int64_t r) { return {&values[std::size_t(r * columns)], std::size_t(columns)}; }
  std::span<const double> row(std::int64_t r) const {
    return {&values[std::size_t(r * columns)], std::size_t(columns)};
  }
  // The rows [first, first + count).
  Matrix block(std::int64_t first, std::int64_t count) const;
};

Matrix product(const Matrix& a, const Matrix& b);             // a·b
Matrix product_transposed(const Matrix& a, const Matrix& b);  // a·bᵀ
Matrix transpose(const Matrix& a);
Matrix sum(const Matrix& a, const Matrix& b, double factor = 1);  // a + factor·b
double squares(const Matrix& a);                                  // Σ a², the squared Frobenius norm

std::vector<double> column_means(const Matrix& a);
Matrix centred(const Matrix& a);  // every column less its mean

std::vector<double> singular_values(const Matrix& a);  // descending
// Of a symmetric matrix: values descending; vectors in columns.
struct SymmetricEigen {
  std::vector<double> values;
  Matrix vectors;
};
SymmetricEigen symmetric_eigen(const Matrix& a);
Matrix orthonormal(const Matrix& a);  // an orthonormal basis of the columns of a: the Q of its QR
// A basis of a Haar-random subspace of dimension r in d dimensions (d, r): Q of a Gaussian matrix; `draw` numbers them.
Matrix random_subspace(const Random& random, std::uint64_t draw, std::int64_t d, std::int64_t r);
Matrix gaussian(const Random& random, std::int64_t rows, std::int64_t columns);

// argmin_W |X·W − Y|² + lambda·|W|², by the normal equations and a Cholesky factorisation.
Matrix ridge(const Matrix& x, const Matrix& y, double lambda);

// What the lenses refuse, with Error(usage) that names `who`: a share of nothing, and rows that are no windows.
//
// `whole` is what remains of the sum of squares `scale` when means are taken from it: 0, or no more than the rounding of
// that, is no variance, and share() = part/whole would be noise. 10^4 sums, each rounded to 10^-16 of its size; squared:
inline constexpr double kRounding = 1e-24;
void must_vary(double whole, double scale, std::string_view who);
double share(double part, double whole, double scale, std::string_view who);
// The number of windows of T rows, at least one and whole; T is at least `least`.
std::int64_t windows_of(const Matrix& rows, std::int64_t T, std::int64_t least, std::string_view who);

double pearson(std::span<const double> a, std::span<const double> b);
double spearman(std::span<const double> a, std::span<const double> b);  // ties share their mean rank

}  // namespace gnomon
