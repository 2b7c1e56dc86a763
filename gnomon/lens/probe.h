#pragma once
#include <cstdint>
#include <vector>

#include "gnomon/lens/matrix.h"

namespace gnomon {

// Linear probes: what can be read from rows (S·T, C) of S sequences by a ridge regression. Features are standardised;
// the first 60 % of the sequences fit, the next 20 % choose lambda, the last 20 % are told: split by sequence, never by
// token. Throw Error(usage) unless rows are finite, in whole windows of T; positions need T >= 2.

// Which position a row has. Chance: R² 0, mean absolute error T/4 for the constant, T/3 for a uniform guess.
struct PositionProbe {
  double r2, error;  // of the last 20 %; error in tokens
  double accuracy;   // of a classifier over the T positions
  std::vector<double> error_by_position;
};
PositionProbe probe_positions(const Matrix& rows, std::int64_t T);

// R² at positions that the probe never saw: it is fitted on every second one, lambda is chosen on half of the others, and
// the other half is told. Wherever rows have more channels than there are positions, a probe may know each of them by heart
// and read R² 1 from any table; that helps nothing between them. Needs T >= 8.
double probe_new_positions(const Matrix& rows, std::int64_t T);

// Which of the labels a row carries: the accuracy of a one-hot ridge classifier, and the share of the most frequent
// label, which a constant reaches.
struct LabelProbe {
  double accuracy, chance;
};
LabelProbe probe_labels(const Matrix& rows, std::span<const std::int32_t> labels, std::int64_t T);

}  // namespace gnomon
