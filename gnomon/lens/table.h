#pragma once
#include <cstdint>
#include <string_view>

#include "gnomon/encodings/encoding.h"
#include "gnomon/lens/matrix.h"

namespace gnomon {

// Measurements on a table of position vectors, a row a position, or on any matrix of logits. Each throws Error(usage)
// where nothing varies, so that there is nothing to measure.

// The vectors (T,C) of positions first .. first+T−1, from the definition of an input encoding without parameters. Throws
// Error(usage) for anything else, and for positions that it has no vectors of.
Matrix position_table(std::string_view spec, const Shape& shape, std::int64_t T, double first = 0);

// How far each channel moves over the positions.
struct Channels {
  std::vector<double> range, variance;  // largest less smallest value; over the rows
  std::int64_t range_above(double threshold) const;
  std::int64_t deviation_above(double threshold) const;
};
Channels channels(const Matrix& table);

// The mean over neighbours of |e_{p+1} − e_p|², over the mean of |e_p − mean|²: 2 for independent rows.
double roughness(const Matrix& table);
// The share of a column's energy about its mean at each whole frequency 0..T/2 (discrete Fourier transform), mean over
// columns weighted by energy.
std::vector<double> frequency_energy(const Matrix& table);

// How much of the variance of a square matrix its offsets i − j explain: 1 − Σ(g − mean of its offset)²/Σ(g − mean)².
// The diagonal alone makes half of it for independent rows: so it is left out unless asked for.
enum class Diagonal { with, without };
double offset_share(const Matrix& g, Diagonal diagonal);
// The same for causal logits: offsets 0 to `reach` < T of the queries that have them all, each row less its mean over them.
double causal_offset_share(const Matrix& g, std::int64_t reach);
double symmetric_share(const Matrix& g);  // |(G+Gᵀ)/2|²/|G|²
// Spearman correlation of g_ij with −|i−j| over 0 < |i−j| <= reach: 1 = falls with the distance.
double monotonicity(const Matrix& g, std::int64_t reach);

// K(k) = Σ_i cos(k·w_i)/n: the similarity of two sinusoidal codes k apart, over that at 0.
double sinusoid_kernel(std::span<const double> frequencies, double k);
// The share of the energy of a map M (C,C) that commutes with all shifts of an interleaved sinusoidal code: its
// projection on blocks [[a,b],[−b,a]] for each pair. 1/C for a random M.
double rotation_share(const Matrix& m);
// The best linear map from e_p to e_{p+k}, 0 < k < T, by least squares: the share of variance it leaves unexplained.
double shift_error(const Matrix& table, std::int64_t k);

// Ratio of lengths: mean |e_p| over mean |x_w|, as they are, and about their means.
struct NormRatio {
  double raw, centred;
};
NormRatio norm_ratio(const Matrix& positions, const Matrix& words);

}  // namespace gnomon
