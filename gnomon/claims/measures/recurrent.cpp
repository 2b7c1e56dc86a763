#include "gnomon/claims/measures/recurrent.h"

#include <cmath>

namespace gnomon::claims {

Matrix elman_state(const Matrix& x, const std::vector<std::int64_t>& order, std::uint64_t seed) {
  const std::int64_t d = x.columns;
  const Matrix w = gaussian(Random(seed, "Elman's network"), d, d);
  Matrix h(1, d);
  for (const std::int64_t t : order) {
    Matrix next = product_transposed(h, w);
    for (std::int64_t c = 0; c < d; ++c)
      next.at(0, c) = std::tanh(next.at(0, c) / std::sqrt(double(d)) + x.at(t, c));
    h = std::move(next);
  }
  return h;
}

Matrix lstm_state(const Matrix& x, const std::vector<std::int64_t>& order, std::uint64_t seed) {
  const std::int64_t d = x.columns;
  const Matrix w = gaussian(Random(seed, "LSTM, from its state"), 4 * d, d),
               u = gaussian(Random(seed, "LSTM, from its input"), 4 * d, d);
  const auto sigmoid = [](double v) { return 1 / (1 + std::exp(-v)); };
  Matrix h(1, d), cell(1, d);
  for (const std::int64_t t : order) {
    const Matrix gates = sum(product_transposed(h, w), product_transposed(x.block(t, 1), u));
    for (std::int64_t c = 0; c < d; ++c) {
      const auto gate = [&](std::int64_t k) { return gates.at(0, k * d + c) / std::sqrt(double(d)); };
      cell.at(0, c) = sigmoid(gate(0)) * cell.at(0, c) + sigmoid(gate(1)) * std::tanh(gate(2));
      h.at(0, c) = sigmoid(gate(3)) * std::tanh(cell.at(0, c));
    }
  }
  return h;
}

}  // namespace gnomon::claims
