#include "gnomon/lens/probe.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "gnomon/core/error.h"

namespace gnomon {
namespace {

constexpr double kLambdas[] = {1e-4, 1e-2, 1e0, 1e2};  // times the number of rows that fit

struct Split {
  Matrix fit, choose, told;  // standardised, with a column of ones
  std::int64_t first_choose, first_told;
};
Split split(const Matrix& rows, std::int64_t T, std::int64_t least) {
  const std::int64_t S = windows_of(rows, T, least, "probe"), a = S * 6 / 10, b = S * 8 / 10;
  if (a < 1 || b <= a || S <= b)
    throw Error(Fault::usage, text("a probe needs at least 5 sequences, found ", S));
  if (!std::isfinite(squares(rows))) throw Error(Fault::usage, "a probe needs finite rows, found others");
  const Matrix fit = rows.block(0, a * T);
  const auto mean = column_means(fit);
  std::vector<double> deviation(mean.size(), 0.0);
  for (std::int64_t n = 0; n < fit.rows; ++n) {
    for (std::size_t c = 0; c < mean.size(); ++c)
      deviation[c] += std::pow(fit.at(n, std::int64_t(c)) - mean[c], 2) / double(fit.rows);
  }
  for (double& d : deviation) d = std::sqrt(d) + 1e-9;
  const auto standardised = [&](std::int64_t first, std::int64_t count) {
    Matrix out(count, rows.columns + 1);
    for (std::int64_t n = 0; n < count; ++n) {
      for (std::size_t c = 0; c < mean.size(); ++c)
        out.at(n, std::int64_t(c)) = (rows.at(first + n, std::int64_t(c)) - mean[c]) / deviation[c];
      out.at(n, rows.columns) = 1;
    }
    return out;
  };
  return {standardised(0, a * T), standardised(a * T, (b - a) * T), standardised(b * T, (S - b) * T), a * T,
          b * T};
}

// The prediction for the told rows, with the lambda that is best on the rows that choose.
template <class Loss>
Matrix best_prediction(const Split& s, const Matrix& y, const Loss& loss) {
  double least = INFINITY;
  Matrix chosen;
  for (const double lambda : kLambdas) {
    const Matrix w = ridge(s.fit, y.block(0, s.fit.rows), lambda * double(s.fit.rows));
    const double found = loss(product(s.choose, w), s.first_choose);
    if (found < least) least = found, chosen = product(s.told, w);
  }
  return chosen;
}

Matrix one_hot(std::span<const std::int32_t> labels, const std::map<std::int32_t, std::int64_t>& kinds) {
  Matrix y(std::int64_t(labels.size()), std::int64_t(kinds.size()));
  for (std::size_t n = 0; n < labels.size(); ++n) y.at(std::int64_t(n), kinds.at(labels[n])) = 1;
  return y;
}

double classified(const Matrix& scores, std::span<const std::int32_t> labels, std::int64_t first,
                  const std::map<std::int32_t, std::int64_t>& kinds) {
  double right = 0;
  for (std::int64_t n = 0; n < scores.rows; ++n) {
    const auto row = scores.row(n);
    right +=
        std::max_element(row.begin(), row.end()) - row.begin() == kinds.at(labels[std::size_t(first + n)]);
  }
  return right / double(scores.rows);
}

double unexplained(const Matrix& found, const Matrix& y, std::int64_t first) {
  const Matrix wanted = y.block(first, found.rows);
  return share(squares(sum(wanted, found, -1)), squares(centred(wanted)), squares(wanted), "probe");
}

LabelProbe labels_by(const Split& s, std::span<const std::int32_t> labels) {
  std::map<std::int32_t, std::int64_t> kinds, count;
  for (const std::int32_t l : labels) kinds.emplace(l, std::int64_t(kinds.size()));
  const Matrix y = one_hot(labels, kinds);
  const Matrix told = best_prediction(s, y, [&](const Matrix& found, std::int64_t first) {
    return -classified(found, labels, first, kinds);
  });
  std::int64_t most = 0;
  for (std::size_t n = std::size_t(s.first_told); n < labels.size(); ++n)
    most = std::max(most, ++count[labels[n]]);
  return {classified(told, labels, s.first_told, kinds), double(most) / double(told.rows)};
}

}  // namespace

PositionProbe probe_positions(const Matrix& rows, std::int64_t T) {
  const Split s = split(rows, T, 2);
  Matrix y(rows.rows, 1);
  std::vector<std::int32_t> labels(std::size_t(rows.rows));
  for (std::int64_t n = 0; n < rows.rows; ++n) {
    y.at(n, 0) = double(n % T) / double(T) - 0.5;
    labels[std::size_t(n)] = std::int32_t(n % T);
  }
  const Matrix told = best_prediction(
      s, y, [&](const Matrix& found, std::int64_t first) { return unexplained(found, y, first); });
  PositionProbe out{1 - unexplained(told, y, s.first_told), 0, labels_by(s, labels).accuracy,
                    std::vector<double>(std::size_t(T), 0.0)};
  for (std::int64_t n = 0; n < told.rows; ++n) {
    const double error = std::abs(told.at(n, 0) - y.at(s.first_told + n, 0)) * double(T);
    out.error += error / double(told.rows);
    out.error_by_position[std::size_t(n % T)] += error / double(told.rows / T);
  }
  return out;
}

double probe_new_positions(const Matrix& rows, std::int64_t T) {
  const Split s = split(rows, T, 8);
  struct Places {
    Matrix x, y;
  };
  const auto places = [&](const Matrix& part, std::int64_t first, std::int64_t every) {
    std::vector<std::int64_t> at;
    for (std::int64_t n = 0; n < part.rows; ++n) {
      if (n % T % every == first) at.push_back(n);
    }
    Places out{Matrix(std::int64_t(at.size()), part.columns), Matrix(std::int64_t(at.size()), 1)};
    for (std::size_t n = 0; n < at.size(); ++n) {
      const auto row = part.row(at[n]);
      std::copy(row.begin(), row.end(), out.x.row(std::int64_t(n)).begin());
      out.y.values[n] = double(at[n] % T) / double(T) - 0.5;
    }
    return out;
  };
  const Places fit = places(s.fit, 0, 2), choose = places(s.choose, 1, 4), told = places(s.told, 3, 4);
  double least = INFINITY, r2 = 0;
  for (const double lambda : kLambdas) {
    const Matrix w = ridge(fit.x, fit.y, lambda * double(fit.x.rows));
    const double found = unexplained(product(choose.x, w), choose.y, 0);
    if (found < least) least = found, r2 = 1 - unexplained(product(told.x, w), told.y, 0);
  }
  return r2;
}

LabelProbe probe_labels(const Matrix& rows, std::span<const std::int32_t> labels, std::int64_t T) {
  if (std::int64_t(labels.size()) != rows.rows)
    throw Error(Fault::usage, text("probe_labels: ", labels.size(), " labels of ", rows.rows, " rows"));
  return labels_by(split(rows, T, 1), labels);
}

}  // namespace gnomon
