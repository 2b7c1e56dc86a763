#include "gnomon/lens/subspace.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace gnomon {

double Spectrum::variance() const { return std::accumulate(values.begin(), values.end(), 0.0); }
double Spectrum::participation_ratio() const {
  double second = 0;
  for (const double v : values) second += v * v;
  return variance() * variance() / second;
}
double Spectrum::effective_rank() const {
  const double total = variance();
  double entropy = 0;
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
  Matrix out(directions.rows, r);
  for (std::int64_t i = 0; i < out.rows; ++i) std::copy_n(directions.row(i).begin(), r, out.row(i).begin());
  return out;
}

// By the smaller of the two Gram matrices; directions of no variance are left out.
Spectrum spectrum(const Matrix& rows) {
  const Matrix x = centred(rows), xt = transpose(x);
  const bool wide = x.columns > x.rows;
  SymmetricEigen e = symmetric_eigen(wide ? product(x, xt) : product(xt, x));
  Spectrum out;
  for (const double v : e.values) {
    if (v > 1e-12 * e.values.front()) out.values.push_back(v / double(x.rows));
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
  return squares(product(x, basis)) / squares(x);
}

OverlapNull random_overlap(const SubspaceSizes& sizes, std::int64_t draws, std::uint64_t seed) {
  const Random random(seed, "overlap null");
  std::vector<double> means, largest;
  for (std::int64_t n = 0; n < draws; ++n) {
    // One of the two may stay fixed: only their relative position counts.
    const Matrix v = random_subspace(random, std::uint64_t(n), sizes.d, std::max(sizes.a, sizes.b));
    Matrix s(std::min(sizes.a, sizes.b), v.columns);  // Uᵀ·V of the first coordinate directions
    for (std::int64_t i = 0; i < s.rows; ++i) std::copy_n(v.row(i).begin(), v.columns, s.row(i).begin());
    const auto cosines = singular_values(s);
    means.push_back(squares(s) / double(s.rows));
    largest.push_back(cosines.front());
  }
  const auto mean_sd = [](const std::vector<double>& x) {
    const double mean = std::accumulate(x.begin(), x.end(), 0.0) / double(x.size());
    double sum = 0;
    for (const double v : x) sum += (v - mean) * (v - mean);
    return std::pair(mean, std::sqrt(sum / double(std::max<std::size_t>(x.size() - 1, 1))));
  };
  const auto [m, msd] = mean_sd(means);
  const auto [l, lsd] = mean_sd(largest);
  return {m, msd, l, lsd};
}

double wachter_edge(const SubspaceSizes& sizes) {
  const double a = double(sizes.a) / double(sizes.d), b = double(sizes.b) / double(sizes.d);
  return a + b >= 1 ? 1 : std::sqrt(a * (1 - b)) + std::sqrt(b * (1 - a));
}

}  // namespace gnomon
