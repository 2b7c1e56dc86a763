#include "gnomon/lens/matrix.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <numeric>

#include "gnomon/core/error.h"

namespace gnomon {
namespace {

using Dense = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using View = Eigen::Map<const Dense>;
View view(const Matrix& m) { return {m.values.data(), Eigen::Index(m.rows), Eigen::Index(m.columns)}; }
Matrix of(const Dense& d) {
  Matrix m(d.rows(), d.cols());
  std::copy_n(d.data(), d.size(), m.values.data());
  return m;
}
void same(bool ok, const char* what) {
  if (!ok) throw Error(Fault::bug, text("matrix: sizes do not fit in ", what));
}

}  // namespace

Matrix Matrix::block(std::int64_t first, std::int64_t count) const {
  same(first >= 0 && count >= 0 && first + count <= rows, "a block of rows");
  Matrix m(count, columns);
  std::copy_n(values.begin() + first * columns, count * columns, m.values.begin());
  return m;
}

Matrix product(const Matrix& a, const Matrix& b) {
  same(a.columns == b.rows, "a product");
  return of(view(a) * view(b));
}
Matrix product_transposed(const Matrix& a, const Matrix& b) {
  same(a.columns == b.columns, "a product");
  return of(view(a) * view(b).transpose());
}
Matrix transpose(const Matrix& a) { return of(view(a).transpose()); }
Matrix sum(const Matrix& a, const Matrix& b, double factor) {
  same(a.rows == b.rows && a.columns == b.columns, "a sum");
  return of(view(a) + factor * view(b));
}
double squares(const Matrix& a) { return view(a).squaredNorm(); }

std::vector<double> column_means(const Matrix& a) {
  std::vector<double> mean(std::size_t(a.columns), 0.0);
  for (std::int64_t r = 0; r < a.rows; ++r) {
    for (std::int64_t c = 0; c < a.columns; ++c) mean[std::size_t(c)] += a.at(r, c) / double(a.rows);
  }
  return mean;
}
Matrix centred(const Matrix& a) {
  const auto mean = column_means(a);
  Matrix out = a;
  for (std::int64_t r = 0; r < a.rows; ++r) {
    for (std::int64_t c = 0; c < a.columns; ++c) out.at(r, c) -= mean[std::size_t(c)];
  }
  return out;
}

void must_vary(double whole, double scale, std::string_view who) {
  if (std::isfinite(whole) && whole > kRounding * scale) return;
  throw Error(Fault::usage, text(who, ": the variance is zero or not finite (", whole, " of ", scale, ")"));
}
double share(double part, double whole, double scale, std::string_view who) {
  must_vary(whole, scale, who);
  return part / whole;
}
std::int64_t windows_of(const Matrix& rows, std::int64_t T, std::int64_t least, std::string_view who) {
  if (T < least || rows.rows < 1 || rows.rows % T != 0) {
    throw Error(Fault::usage, text(who, ": ", rows.rows, " rows are not whole windows of ", T,
                                   " tokens; allowed are whole windows of at least ", least, " tokens"));
  }
  return rows.rows / T;
}

// The eigenvalues of (0 a; aᵀ 0) are ± the singular values of a, exact to rounding of the largest (Golub and
// Kahan 1965). Eigen compiles an SVD of its own for half a minute.
std::vector<double> singular_values(const Matrix& a) {
  const Eigen::Index least = std::min(a.rows, a.columns), n = a.rows + a.columns;
  Dense both = Dense::Zero(n, n);
  both.bottomLeftCorner(a.columns, a.rows) = view(a).transpose();
  const Eigen::SelfAdjointEigenSolver<Dense> solver(both, Eigen::EigenvaluesOnly);
  std::vector<double> all;
  for (Eigen::Index k = 1; k <= least; ++k) all.push_back(std::max(0.0, solver.eigenvalues()[n - k]));
  return all;
}

SymmetricEigen symmetric_eigen(const Matrix& a) {
  same(a.rows == a.columns && a.rows > 0, "an eigenvalue problem");
  const Eigen::SelfAdjointEigenSolver<Dense> solver(view(a));
  SymmetricEigen out;
  const auto& values = solver.eigenvalues();
  out.values.assign(values.data(), values.data() + values.size());
  std::reverse(out.values.begin(), out.values.end());
  out.vectors = of(solver.eigenvectors().rowwise().reverse());
  return out;
}

Matrix orthonormal(const Matrix& a) {
  same(a.columns <= a.rows, "an orthonormal basis");
  const Eigen::HouseholderQR<Dense> qr(view(a));
  return of(qr.householderQ() * Dense::Identity(a.rows, a.columns));
}
Matrix gaussian(const Random& random, std::int64_t rows, std::int64_t columns) {
  Matrix m(rows, columns);
  for (std::size_t n = 0; n < m.values.size(); ++n) m.values[n] = random.normal(n);
  return m;
}
Matrix random_subspace(const Random& random, std::uint64_t draw, std::int64_t d, std::int64_t r) {
  return orthonormal(gaussian(Random(random.bits(draw), "subspace"), d, r));
}

Matrix ridge(const Matrix& x, const Matrix& y, double lambda) {
  same(x.rows == y.rows, "a regression");
  Dense gram = view(x).transpose() * view(x);
  gram.diagonal().array() += lambda;
  return of(gram.llt().solve(view(x).transpose() * view(y)));
}

double pearson(std::span<const double> a, std::span<const double> b) {
  same(a.size() == b.size(), "a correlation");
  const double n = double(a.size()), ma = std::accumulate(a.begin(), a.end(), 0.0) / n,
               mb = std::accumulate(b.begin(), b.end(), 0.0) / n;
  double ab = 0, aa = 0, bb = 0, raw_a = 0, raw_b = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += (a[i] - ma) * (b[i] - mb);
    aa += (a[i] - ma) * (a[i] - ma), bb += (b[i] - mb) * (b[i] - mb);
    raw_a += a[i] * a[i], raw_b += b[i] * b[i];
  }
  must_vary(aa, raw_a, "correlation"), must_vary(bb, raw_b, "correlation");
  return ab / std::sqrt(aa * bb);
}

double spearman(std::span<const double> a, std::span<const double> b) {
  const auto ranks = [](std::span<const double> x) {
    std::vector<std::size_t> order(x.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](auto i, auto j) { return x[i] < x[j]; });
    std::vector<double> rank(x.size());
    for (std::size_t i = 0; i < order.size();) {
      std::size_t end = i;
      while (end < order.size() && x[order[end]] == x[order[i]]) ++end;
      for (std::size_t k = i; k < end; ++k) rank[order[k]] = double(i + end - 1) / 2;
      i = end;
    }
    return rank;
  };
  return pearson(ranks(a), ranks(b));
}

}  // namespace gnomon
