#include "gnomon/claims/measures/family.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "gnomon/claims/measures/measures.h"

namespace gnomon::claims {
namespace {

constexpr std::int64_t kLetters = 5, kWindows = 48;

// Weights in a row, read as one matrix after the other.
struct Reader {
  std::span<const double> left;
  Matrix take(std::int64_t rows, std::int64_t columns) {
    Matrix m(rows, columns);
    const std::size_t n = m.values.size();
    m.values.assign(left.begin(), left.begin() + std::ptrdiff_t(n));
    left = left.subspan(n);
    return m;
  }
};

std::int64_t weights_of(const SmallDecoder& m) {
  const std::int64_t d = m.width, inner = d + d / 2;
  const std::int64_t joins =
      m.joined == Joined::sum ? 0 : (m.joined == Joined::projection ? d : m.length) * d;
  return 2 * kLetters * d + 4 * d * d + 2 * d * inner + joins;
}

Matrix normed(Matrix h, std::optional<Norm> norm) {
  if (!norm) return h;
  for (std::int64_t r = 0; r < h.rows; ++r) {
    const auto row = h.row(r);
    double mean = 0, square = 0;
    for (const double v : row) mean += v / double(row.size());
    if (norm == Norm::rms) mean = 0;
    for (double& v : row) v -= mean, square += v * v / double(row.size());
    for (double& v : row) v /= std::sqrt(square);
  }
  return h;
}

Matrix causal_softmax(Matrix scores, std::int64_t width) {
  for (std::int64_t t = 0; t < scores.rows; ++t) {
    double total = 0;
    for (std::int64_t s = 0; s < scores.columns; ++s) {
      double& a = scores.at(t, s);
      a = s <= t ? std::exp(a / std::sqrt(double(width))) : 0;
      total += a;
    }
    for (double& a : scores.row(t)) a /= total;
  }
  return scores;
}

// The logits of all windows, one after the other.
std::vector<double> logits(const SmallDecoder& m, std::span<const double> weights,
                           const std::vector<std::int64_t>& letters) {
  const std::int64_t d = m.width, inner = d + d / 2;
  Reader w{weights};
  const Matrix words = w.take(kLetters, d), query = w.take(d, d), key = w.take(d, d), value = w.take(d, d),
               out = w.take(d, d), up = w.take(d, inner), down = w.take(inner, d), head = w.take(d, kLetters);
  // Waves of a few windows at most: the paper's slowest would be a constant here, and the code has to span all channels.
  Matrix position = sinusoid(d, m.length, 0, "sinusoidal(base=20)");
  if (m.joined == Joined::projection) position = product(position, w.take(d, d));
  if (m.joined == Joined::table) position = w.take(m.length, d);
  std::vector<double> all;
  for (std::size_t first = 0; first < letters.size(); first += std::size_t(m.length)) {
    Matrix h = position;
    for (std::int64_t t = 0; t < m.length; ++t) {
      for (std::int64_t c = 0; c < d; ++c) h.at(t, c) += words.at(letters[first + std::size_t(t)], c);
    }
    Matrix n = normed(h, m.norm);
    const Matrix weight = causal_softmax(product_transposed(product(n, query), product(n, key)), d);
    h = sum(h, product(product(weight, product(n, value)), out));
    n = product(normed(h, m.norm), up);
    for (double& v : n.values) v = std::tanh(v);
    h = sum(h, product(n, down));
    const Matrix y = product(normed(h, m.norm), head);
    all.insert(all.end(), y.values.begin(), y.values.end());
  }
  return all;
}

}  // namespace

FamilySize family_size(const SmallDecoder& m, std::uint64_t seed) {
  const std::int64_t count = weights_of(m);
  std::vector<double> w = scaled(gaussian(Random(seed, "weights of a family"), 1, count), .7).values;
  const Random draw(seed, "letters of a family");
  std::vector<std::int64_t> letters;
  for (std::int64_t i = 0; i < kWindows * m.length; ++i)
    letters.push_back(std::int64_t(draw.below(std::uint64_t(i), kLetters)));
  // Central differences: with steps of 1e-5 their error is near 1e-10 of a derivative, far below what counts.
  constexpr double kStep = 1e-5;
  Matrix jacobian(count, kWindows * m.length * kLetters);
  for (std::int64_t k = 0; k < count; ++k) {
    double& at = w[std::size_t(k)];
    const double middle = at;
    at = middle + kStep;
    const auto above = logits(m, w, letters);
    at = middle - kStep;
    const auto below = logits(m, w, letters);
    at = middle;
    double square = 0;
    for (std::size_t i = 0; i < above.size(); ++i) square += (above[i] - below[i]) * (above[i] - below[i]);
    for (std::size_t i = 0; i < above.size(); ++i)
      jacobian.at(k, std::int64_t(i)) = (above[i] - below[i]) / std::sqrt(square);
  }
  // Its rows in a basis of the space that they span: a square with the same singular values.
  const auto values = singular_values(product(jacobian, orthonormal(transpose(jacobian))));
  FamilySize size{count, 0, 0, 0};
  constexpr double kCounts = 1e-7;
  for (const double v : values) {
    const double share = v / values.front();
    if (share > kCounts)
      ++size.dimension, size.kept = share;
    else
      size.dropped = std::max(size.dropped, share);
  }
  return size;
}

}  // namespace gnomon::claims
