#include "gnomon/lens/decode.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "gnomon/core/error.h"
#include "gnomon/lens/subspace.h"

namespace gnomon {
namespace {

void check(const Matrix& x, const Matrix& e) {
  if (x.rows < 1 || e.rows < 1 || x.columns != e.columns) {
    throw Error(Fault::usage, text("decoding: words (", x.rows, ", ", x.columns, ") and positions (", e.rows,
                                   ", ", e.columns, ") must have rows of the same width"));
  }
}

// The share of (word, position) whose nearest row of `among` to x_w + e_p is the right one: argmin |y − a|² is
// argmax of y·a − |a|²/2.
double nearest_share(const Matrix& x, const Matrix& e, bool word) {
  check(x, e);
  const Matrix& among = word ? x : e;
  const Matrix by_word = product_transposed(x, among), by_place = product_transposed(e, among);
  std::vector<double> half(std::size_t(among.rows));
  for (std::int64_t a = 0; a < among.rows; ++a)
    half[std::size_t(a)] =
        std::inner_product(among.row(a).begin(), among.row(a).end(), among.row(a).begin(), 0.0) / 2;
  std::int64_t right = 0;
  for (std::int64_t w = 0; w < x.rows; ++w) {
    for (std::int64_t p = 0; p < e.rows; ++p) {
      const auto score = [&](std::int64_t a) {
        return by_word.at(w, a) + by_place.at(p, a) - half[std::size_t(a)];
      };
      const std::int64_t own = word ? w : p;
      const double best = score(own);
      bool first = true;
      for (std::int64_t a = 0; first && a < among.rows; ++a) first = a == own || score(a) < best;
      right += first;
    }
  }
  return double(right) / double(x.rows * e.rows);
}

// The k rows with the highest scores, without row `self`, sorted by number.
std::vector<std::int64_t> best(std::span<const double> scores, std::int64_t self, std::int64_t k) {
  std::vector<std::int64_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::erase(order, self);
  std::partial_sort(order.begin(), order.begin() + k, order.end(),
                    [&](auto a, auto b) { return scores[std::size_t(a)] > scores[std::size_t(b)]; });
  order.resize(std::size_t(k));
  std::sort(order.begin(), order.end());
  return order;
}
double common(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
  std::vector<std::int64_t> both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return double(both.size());
}

double squared(std::span<const double> row) {
  return std::inner_product(row.begin(), row.end(), row.begin(), 0.0);
}

}  // namespace

// Of the variance of the positions: what "their subspace" is, where it would be the whole space otherwise.
constexpr double kSubspaceShare = 0.999;

WordDecoding decode_words(const Matrix& x, const Matrix& e) {
  WordDecoding out{};
  out.naive = nearest_share(x, e, true);
  out.mean_removed = nearest_share(x, centred(e), true);
  const Spectrum s = spectrum(e);
  const Matrix basis = s.basis(s.count(kSubspaceShare));
  const auto outside = [&](const Matrix& m) {
    return sum(m, product_transposed(product(m, basis), basis), -1);
  };
  out.projected = nearest_share(outside(x), outside(centred(e)), true);
  return out;
}

double decode_positions(const Matrix& x, const Matrix& e) { return nearest_share(x, e, false); }

double neighbour_recall(const Matrix& x, const Matrix& e, std::int64_t k) {
  check(x, e);
  if (k < 1 || k >= x.rows)
    throw Error(Fault::usage, text("neighbour_recall: ", k, " neighbours among ", x.rows, " words"));
  Matrix unit = x;
  for (std::int64_t r = 0; r < x.rows; ++r) {
    const auto row = unit.row(r);
    const double norm = std::sqrt(squared(row));
    for (double& v : row) v = share(v, norm, norm, "neighbour_recall: the length of a word");
  }
  const Matrix by_word = product_transposed(x, unit), by_place = product_transposed(e, unit);
  double found = 0, asked = 0;
  std::vector<double> scores(std::size_t(x.rows));
  for (std::int64_t w = 0; w < x.rows; ++w) {
    const auto own = best(by_word.row(w), w, k);
    for (const std::int64_t p : {e.rows / 4, e.rows - 1}) {
      for (std::int64_t a = 0; a < x.rows; ++a) scores[std::size_t(a)] = by_word.at(w, a) + by_place.at(p, a);
      found += common(own, best(scores, w, k)), asked += double(k);
    }
  }
  return found / asked;
}

namespace {
// y·a/|a| of every word a, both outside the basis: the part of y outside it is all that a product sees, and takes its
// energy in the basis from |a|².
Matrix cosines(const Matrix& words, const Matrix& y, const Matrix& basis) {
  const Matrix outside = basis.columns ? sum(y, product_transposed(product(y, basis), basis), -1) : y;
  const Matrix inside = basis.columns ? product(words, basis) : Matrix(words.rows, 0);
  Matrix scores = product_transposed(outside, words);
  for (std::int64_t a = 0; a < words.rows; ++a) {
    const double whole = squared(words.row(a)), rest = whole - (basis.columns ? squared(inside.row(a)) : 0);
    must_vary(rest, whole, "neighbourhood: the length of a word");
    for (std::int64_t n = 0; n < scores.rows; ++n) scores.at(n, a) /= std::sqrt(rest);
  }
  return scores;
}
}  // namespace

Neighbourhood::Neighbourhood(Matrix words, std::vector<std::int64_t> asked, std::int64_t k)
    : words_(std::move(words)), asked_(std::move(asked)), k_(k) {
  const bool rows =
      std::all_of(asked_.begin(), asked_.end(), [&](std::int64_t w) { return w >= 0 && w < words_.rows; });
  if (k < 1 || k >= words_.rows || asked_.empty() || !rows) {
    throw Error(Fault::usage, text("neighbourhood: ", k, " neighbours of ", asked_.size(), " among ",
                                   words_.rows, " words"));
  }
  Matrix own(std::int64_t(asked_.size()), words_.columns);
  for (std::int64_t n = 0; n < own.rows; ++n) {
    const auto row = words_.row(asked_[std::size_t(n)]);
    std::copy(row.begin(), row.end(), own.row(n).begin());
  }
  const Matrix scores = cosines(words_, own, Matrix(words_.columns, 0));
  for (std::int64_t n = 0; n < own.rows; ++n)
    nearest_.push_back(best(scores.row(n), asked_[std::size_t(n)], k));
}

Neighbourhood::Kept Neighbourhood::kept(const Matrix& y, const Matrix& basis) const {
  const std::int64_t n_asked = std::int64_t(asked_.size());
  if (y.rows < 1 || y.rows % n_asked != 0 || y.columns != words_.columns || basis.rows != words_.columns) {
    throw Error(Fault::usage, text("neighbourhood: rows (", y.rows, ", ", y.columns, ") of ", n_asked,
                                   " words (", words_.rows, ", ", words_.columns, "), outside a basis (",
                                   basis.rows, ", ", basis.columns, ")"));
  }
  const Matrix scores = cosines(words_, y, basis);
  Kept out{0, 0};
  for (std::int64_t n = 0; n < y.rows; ++n) {
    const auto row = scores.row(n);
    const std::int64_t self = asked_[std::size_t(n % n_asked)];
    out.identity += (std::max_element(row.begin(), row.end()) - row.begin() == self) / double(y.rows);
    out.neighbours += common(nearest_[std::size_t(n % n_asked)], best(row, self, k_)) / double(k_ * y.rows);
  }
  return out;
}

}  // namespace gnomon
