#pragma once
#include <cmath>

#include "gnomon/encodings/encoding.h"

namespace gnomon {

// f(token in the positions, head, offset of the row) for every row, in order.
template <class Body>
void each_row(const RowLayout& at, const Positions& positions, const Body& f) {
  for (std::int64_t n = 0; n < at.B * at.T; ++n) {
    const std::int64_t token = positions.rows > 1 ? n : n % at.T;
    for (std::int64_t h = 0; h < at.H; ++h)
      f(token, h, n / at.T * at.batch + n % at.T * at.token + h * at.head);
  }
}

inline double softplus(double x) { return x > 30 ? x : std::log1p(std::exp(x)); }
inline double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

}  // namespace gnomon
