#include "gnomon/lens/subspace.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "gnomon/core/error.h"

namespace gnomon {

double Spectrum::variance() const { return std::accumulate(values.begin(), values.end(), 0.0); }
double Spectrum::participation_ratio() const {
  double second = 0;
  for (const double v : values) second += v * v;
  return share(variance() * variance(), second, second, "participation ratio");
}
double Spectrum::effective_rank() const {
  const double total = variance();
  double entropy = 0;
  must_vary(total, total, "effective rank");
  for (const double v : values) entropy -= v > 0 ? v / total * std::log(v / total) : 0;
  return std::exp(entropy);
}
std::int64_t Spectrum::count(double share) const {
  const double wanted = share * variance();
  double so_far = 0;
  for (std::size_t n = 0; n < values.size(); ++n) {
    so_far += values[n];
    if (so_far >= wanted) return std::int64_t(n) + 1;
  }
  return std::int64_t(values.size());
}
Matrix Spectrum::basis(std::int64_t r) const {
  if (r < 0 || r > directions.columns) {
    throw Error(Fault::usage,
                text("found a basis of ", r, " directions; the rows vary in ", directions.columns));
  }
  Matrix out(directions.rows, r);
  for (std::int64_t i = 0; i < out.rows; ++i) std::copy_n(directions.row(i).begin(), r, out.row(i).begin());
  return out;
}

// By the smaller of the two Gram matrices; directions of no variance are left out.
Spectrum spectrum(const Matrix& rows) {
  if (rows.rows < 1 || rows.columns < 1)
    throw Error(Fault::usage, text("spectrum: found ", rows.rows, " rows of ", rows.columns, " numbers"));
  const Matrix x = centred(rows), xt = transpose(x);
  const bool wide = x.columns > x.rows;
  SymmetricEigen e = symmetric_eigen(wide ? product(x, xt) : product(xt, x));
  Spectrum out;
  const double rounding = std::max(1e-12 * e.values.front(), kRounding * squares(rows));
  for (const double v : e.values) {
    if (v > rounding) out.values.push_back(v / double(x.rows));
  }
  const std::int64_t kept = std::int64_t(out.values.size());
  out.directions = Matrix(x.columns, kept);
  const Matrix directions = wide ? product(xt, e.vectors) : e.vectors;
  for (std::int64_t c = 0; c < kept; ++c) {
    double norm = 0;
    for (std::int64_t i = 0; i < x.columns; ++i) norm += directions.at(i, c) * directions.at(i, c);
    for (std::int64_t i = 0; i < x.columns; ++i)
      out.directions.at(i, c) = directions.at(i, c) / std::sqrt(norm);
  }
  return out;
}

Overlap overlap(const Matrix& u, const Matrix& v) {
  if (u.columns < 1 || v.columns < 1 || u.rows != v.rows) {
    throw Error(Fault::usage, text("overlap: bases (", u.rows, ", ", u.columns, ") and (", v.rows, ", ",
                                   v.columns, "); allowed are columns of one length, at least one"));
  }
  const auto s = singular_values(product(transpose(u), v));
  Overlap o{0, s.front(), 0};
  for (const double x : s) {
    o.mean_cos2 += x * x / double(s.size());
    const double angle = std::acos(std::clamp(x, 0.0, 1.0));
    o.grassmann += angle * angle;
  }
  o.grassmann = std::sqrt(o.grassmann);
  return o;
}

double energy_within(const Matrix& rows, const Matrix& basis) {
  const Matrix x = centred(rows);
  return share(squares(product(x, basis)), squares(x), squares(rows), "energy within a subspace");
}

namespace {

// Means and deviations over draws of the cosines that draw(n) returns.
template <class Draw>
OverlapNull over_draws(std::int64_t draws, const Draw& draw) {
  if (draws < 2) throw Error(Fault::usage, text("a chance overlap needs at least 2 draws, found ", draws));
  std::vector<double> means, largest;
  for (std::int64_t n = 0; n < draws; ++n) {
    const Overlap o = draw(std::uint64_t(n));
    means.push_back(o.mean_cos2), largest.push_back(o.max_cos);
  }
  const auto mean_sd = [](const std::vector<double>& x) {
    const double mean = std::accumulate(x.begin(), x.end(), 0.0) / double(x.size());
    double sum = 0;
    for (const double v : x) sum += (v - mean) * (v - mean);
    return std::pair(mean, std::sqrt(sum / double(std::max<std::size_t>(x.size() - 1, 1))));
  };
  const auto [m, m_sd] = mean_sd(means);
  const auto [l, l_sd] = mean_sd(largest);
  return {m, m_sd, l, l_sd};
}

}  // namespace

OverlapNull random_overlap(const SubspaceSizes& sizes, std::int64_t draws, std::uint64_t seed) {
  if (std::min(sizes.a, sizes.b) < 1 || std::max(sizes.a, sizes.b) > sizes.d) {
    throw Error(Fault::usage, text("subspaces of ", sizes.a, " and ", sizes.b, " dimensions in ", sizes.d));
  }
  const Random random(seed, "overlap null");
  Matrix fixed(sizes.d,
               std::min(sizes.a, sizes.b));  // one of the two may stay: only their relative position counts
  for (std::int64_t i = 0; i < fixed.columns; ++i) fixed.at(i, i) = 1;
  return over_draws(draws, [&](std::uint64_t n) {
    return overlap(fixed, random_subspace(random, n, sizes.d, std::max(sizes.a, sizes.b)));
  });
}

OverlapNull overlap_within(const Matrix& rows, std::int64_t r, std::int64_t draws, std::uint64_t seed) {
  const Random random(seed, "anisotropic null");
  const Matrix x = centred(rows), basis = spectrum(rows).basis(r);
  return over_draws(draws, [&](std::uint64_t n) {
    const Matrix mixed = product(gaussian(Random(random.bits(n), "mixture"), r, x.rows), x);
    return overlap(basis, orthonormal(transpose(mixed)));
  });
}

OverlapNull overlap_of_two(const Matrix& rows, std::int64_t r, std::int64_t draws, std::uint64_t seed) {
  const Random random(seed, "anisotropic null of two");
  const Spectrum s = spectrum(rows);
  const std::int64_t rank = std::int64_t(s.values.size());
  if (r < 1 || r > rank)
    throw Error(Fault::usage, text("overlap_of_two: found ", r, " directions; the rows vary in ", rank));
  Matrix roots =
      transpose(s.directions);  // (rank, d): standard normal numbers times it have the rows' covariance
  for (std::int64_t k = 0; k < rank; ++k) {
    for (double& v : roots.row(k)) v *= std::sqrt(s.values[std::size_t(k)]);
  }
  const auto subspace = [&](std::uint64_t n) {
    return orthonormal(transpose(product(gaussian(Random(random.bits(n), "mixture"), r, rank), roots)));
  };
  return over_draws(draws, [&](std::uint64_t n) { return overlap(subspace(2 * n), subspace(2 * n + 1)); });
}

double wachter_edge(const SubspaceSizes& sizes) {
  const double a = double(sizes.a) / double(sizes.d), b = double(sizes.b) / double(sizes.d);
  return a + b >= 1 ? 1 : std::sqrt(a * (1 - b)) + std::sqrt(b * (1 - a));
}

}  // namespace gnomon
