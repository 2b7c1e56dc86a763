#include "gnomon/claims/measures/index.h"

#include <algorithm>

#include "gnomon/encodings/definition.h"
#include "gnomon/lens/probe.h"

namespace gnomon::claims {

void normalise(std::span<double> row) {
  double mean = 0, square = 0;
  for (const double v : row) mean += v / double(row.size());
  for (double& v : row) v -= mean, square += v * v;
  for (double& v : row) v /= std::sqrt(square);
}
double word_after_norm(const Matrix& x, const Matrix& u, double p) {
  const auto normed = [&](std::int64_t w, double place) {
    std::vector<double> h(x.row(w).begin(), x.row(w).end());
    for (std::size_t c = 0; c < h.size(); ++c) h[c] += place * u.values[c];
    normalise(h);
    return h;
  };
  Matrix words(x.rows, x.columns), sums(x.rows, x.columns);
  for (std::int64_t w = 0; w < x.rows; ++w) {
    const auto a = normed(w, 0), b = normed(w, p);
    std::copy(a.begin(), a.end(), words.row(w).begin()), std::copy(b.begin(), b.end(), sums.row(w).begin());
  }
  const Matrix scores = product_transposed(sums, words);
  double right = 0;
  for (std::int64_t w = 0; w < x.rows; ++w)
    right += std::max_element(scores.row(w).begin(), scores.row(w).end()) - scores.row(w).begin() == w;
  return right / double(x.rows);
}
Places look_at_places(const Outcome& o, const Sample& sample, std::int64_t first) {
  const std::int64_t d = o.model->architecture().width;
  const Matrix words = scaled(parameter(o.look(), "embed.word"), std::sqrt(double(d))),
               u = parameter(o.look(), "position.input.direction");
  Matrix rows(sample.count() * kPlaces, d);
  std::vector<std::int32_t> letters;
  double part = 0;
  for (std::int64_t n = 0; n < rows.rows; ++n) {
    const std::int64_t p = first + n % kPlaces;
    letters.push_back(sample.inputs[std::size_t(n / kPlaces * sample.T + p)]);
    const auto word = words.row(letters.back());
    for (std::int64_t c = 0; c < d; ++c)
      rows.at(n, c) = word[std::size_t(c)] + double(p) * u.values[std::size_t(c)];
    part += std::sqrt(dot(word, word) / dot(rows.row(n), rows.row(n))) / double(rows.rows);
    normalise(rows.row(n));
  }
  need_letters(sample, 2);
  return {part, probe_labels(rows, letters, kPlaces).accuracy};
}

std::vector<double> normalised_positions(std::int64_t L) {
  const auto encoding = make_encoding("normalised", width_of(4, L));
  const std::vector<double> w(std::size_t(encoding->param_count()), 1.0);
  const Placement place = Placement::consecutive(0, L);
  const Scene scene{place, {}, {}, w};
  std::vector<double> out;
  for (std::int64_t t = 0; t < L; ++t) out.push_back(part<InputPart>(*encoding)->input(scene, t, 0));
  return out;
}
double most_before(std::int64_t T) {
  double most = 0;
  for (double r = .001; r < 1; r += .001)
    most = std::max(most, weight_before(T, 1, [&](std::int64_t j) { return -std::log(r) * double(j); }));
  return most;
}
double error_of_difference(std::int64_t T) {
  const Matrix turn = [] {
    Matrix m(2, 2);
    m.at(0, 1) = 1, m.at(1, 0) = -1;
    return m;
  }();
  Matrix rows(T, 2);
  for (std::int64_t p = 0; p < T; ++p) rows.at(p, 0) = double(p), rows.at(p, 1) = 1;
  const Matrix products = product_transposed(product(rows, turn), rows);
  double worst = 0;
  for (std::int64_t p = 0; p < T; ++p) {
    for (std::int64_t q = 0; q < T; ++q) worst = std::max(worst, std::abs(products.at(p, q) - double(p - q)));
  }
  return worst;
}
double random_offset_share(std::int64_t d, std::int64_t draws) {
  const Random random(12, "random maps");
  const Matrix e = sinusoid(d, 64);
  double mean = 0;
  for (std::int64_t n = 0; n < draws; ++n) {
    const Matrix m = gaussian(Random(random.bits(std::uint64_t(n)), "map"), d, d);
    mean += offset_share(product_transposed(product(e, m), e), Diagonal::with) / double(draws);
  }
  return mean;
}
}  // namespace gnomon::claims
