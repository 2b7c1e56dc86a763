#include "gnomon/lens/erase.h"

#include <algorithm>
#include <cmath>

#include "gnomon/core/error.h"
#include "gnomon/lens/subspace.h"

namespace gnomon {

Matrix position_directions(const Matrix& rows, const Sample& sample, double share, std::int64_t most) {
  const Spectrum means = spectrum(variance_parts(rows, sample).position);
  must_vary(means.variance(), squares(rows) / double(rows.rows), "position_directions");
  return means.basis(std::min(most, means.count(share)));
}

Matrix erased(const Matrix& rows, const Matrix& basis) {
  return sum(rows, product_transposed(product(centred(rows), basis), basis), -1);
}

Matrix matched_directions(const Matrix& rows, const Matrix& basis, std::uint64_t draw) {
  const Spectrum others = spectrum(erased(rows, basis));
  const std::int64_t r = basis.columns, left = std::int64_t(others.values.size());
  if (left < r)
    throw Error(Fault::usage,
                text("matched_directions: found ", r, " directions; the rest varies in ", left));
  const Matrix mixture = gaussian(Random(draw, "matched directions"), left, r);
  // Columns of V·Λ^(a/2)·G: isotropic at a = 0, as the rows lie at 1, the strongest directions alone for large a.
  const auto tilted = [&](double a) {
    Matrix m = mixture;
    for (std::int64_t k = 0; k < left; ++k) {
      const double weight = std::pow(others.values[std::size_t(k)] / others.values.front(), a / 2);
      for (double& v : m.row(k)) v *= weight;
    }
    return orthonormal(product(others.directions, m));
  };
  const double wanted = energy_within(rows, basis);
  double low = -8, high = 8;
  for (int n = 0; n < 40; ++n) {
    const double middle = (low + high) / 2;
    (energy_within(rows, tilted(middle)) < wanted ? low : high) = middle;
  }
  return tilted(high);
}

}  // namespace gnomon
