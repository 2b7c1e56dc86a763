#pragma once
#include <cstdint>

#include "gnomon/lens/matrix.h"

namespace gnomon {

// How many dimensions a cloud of rows has, about its mean. Rows that do not vary have none: then there are no values, and
// the ratio and the rank throw Error(usage).
struct Spectrum {
  std::vector<double> values;  // of the covariance (divided by the number of rows), descending
  Matrix directions;           // (d, number of values), orthonormal columns

  double variance() const;                 // their sum
  double participation_ratio() const;      // (Σλ)²/Σλ²
  double effective_rank() const;           // exp of the entropy of λ/Σλ (Roy, Vetterli 2007)
  std::int64_t count(double share) const;  // the least number of components with this share of the variance
  Matrix basis(std::int64_t r) const;      // the first r directions (d, r); throws Error(usage) beyond them
};
Spectrum spectrum(const Matrix& rows);

// How two subspaces with orthonormal bases (d,a) and (d,b) lie to each other: s are the cosines of the principal
// angles, the singular values of UᵀV (Björck, Golub 1973). Throws Error(usage) for bases of no columns.
struct Overlap {
  double mean_cos2;  // Σs²/min(a,b): 0 orthogonal, 1 one within the other
  double max_cos;
  double grassmann;  // √Σ acos²s
};
Overlap overlap(const Matrix& u, const Matrix& v);
// The share of the rows' energy about their mean that lies in the subspace.
double energy_within(const Matrix& rows, const Matrix& basis);

// The same for Haar-random subspaces: what chance alone gives. The mean of mean_cos2 is max(a,b)/d. At least two draws,
// and 1 <= a, b <= d, or Error(usage).
struct OverlapNull {
  double mean_cos2, mean_cos2_sd, max_cos, max_cos_sd;
  double z(const Overlap& found) const { return (found.mean_cos2 - mean_cos2) / mean_cos2_sd; }
};
struct SubspaceSizes {
  std::int64_t d, a, b;
};
OverlapNull random_overlap(const SubspaceSizes& sizes, std::int64_t draws, std::uint64_t seed);
// A second null, for clouds that share a few strong directions: the first r directions of `rows` against subspaces of r
// Gaussian vectors with the covariance of `rows`, instead of isotropic ones.
OverlapNull overlap_within(const Matrix& rows, std::int64_t r, std::int64_t draws, std::uint64_t seed);
// A third, for two groups of means of one cloud, such as positions and tokens in what a layer writes: two subspaces, each of r
// Gaussian vectors with the covariance of `rows`. What strong shared directions give without any link between the two.
OverlapNull overlap_of_two(const Matrix& rows, std::int64_t r, std::int64_t draws, std::uint64_t seed);
// Where the largest cosine of large random subspaces lies: √(α(1−β)) + √(β(1−α)), α = a/d, β = b/d; 1 for
// α + β >= 1 (Wachter 1980).
double wachter_edge(const SubspaceSizes& sizes);

}  // namespace gnomon
