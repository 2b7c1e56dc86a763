#include "gnomon/lens/table.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "gnomon/core/error.h"
#include "gnomon/spec/scheme.h"

namespace gnomon {

Matrix position_table(std::string_view spec, const Shape& shape, std::int64_t T, double first) {
  const Spec parsed = Spec::parse(spec);
  Spec alone = Spec::parse("none");
  alone.input = parsed.input;
  if (!parsed.input || !(parsed == alone) || T < 1) {
    throw Error(Fault::usage, text("position_table: ", T, " vectors of '", spec,
                                   "'; allowed are at least 1 vector and an input encoding alone"));
  }
  const auto encoding = make_encoding(*parsed.input, shape);
  if (encoding->param_count() > 0)
    throw Error(Fault::usage,
                text("position_table: '", spec, "' has parameters, so it has no table of its own"));
  const Placement placement = Placement::consecutive(first, T);
  const Scene scene{placement, {}, {}, {}};
  Matrix table(T, shape.C);
  for (std::int64_t t = 0; t < T; ++t) {
    for (std::int64_t c = 0; c < shape.C; ++c)
      table.at(t, c) = part<InputPart>(*encoding)->input(scene, t, c);
  }
  return table;
}

namespace {

void check_square(const Matrix& g, std::string_view who) {
  if (g.rows != g.columns || g.rows < 1)
    throw Error(Fault::usage,
                text(who, ": found (", g.rows, ", ", g.columns, "); allowed are square matrices"));
}

}  // namespace

std::int64_t Channels::range_above(double threshold) const {
  return std::count_if(range.begin(), range.end(), [&](double r) { return r > threshold; });
}
std::int64_t Channels::deviation_above(double threshold) const {
  return std::count_if(variance.begin(), variance.end(), [&](double v) { return std::sqrt(v) > threshold; });
}

Channels channels(const Matrix& table) {
  if (table.rows < 1) throw Error(Fault::usage, "channels: a table without rows");
  Channels out;
  const Matrix x = centred(table);
  for (std::int64_t c = 0; c < x.columns; ++c) {
    double low = INFINITY, high = -INFINITY, energy = 0;
    for (std::int64_t r = 0; r < x.rows; ++r) {
      low = std::min(low, x.at(r, c)), high = std::max(high, x.at(r, c));
      energy += x.at(r, c) * x.at(r, c);
    }
    out.range.push_back(high - low), out.variance.push_back(energy / double(x.rows));
  }
  return out;
}

double roughness(const Matrix& table) {
  double steps = 0;
  for (std::int64_t r = 1; r < table.rows; ++r) {
    for (std::int64_t c = 0; c < table.columns; ++c) {
      const double step = table.at(r, c) - table.at(r - 1, c);
      steps += step * step;
    }
  }
  const double rows = double(table.rows);
  return share(steps / (rows - 1), squares(centred(table)) / rows, squares(table) / rows, "roughness");
}

std::vector<double> frequency_energy(const Matrix& table) {
  const Matrix x = centred(table);
  const std::int64_t T = x.rows;
  std::vector<double> energy(std::size_t(T / 2 + 1), 0.0);
  for (std::int64_t f = 0; f <= T / 2; ++f) {
    const double weight = f == 0 || 2 * f == T ? 1 : 2;
    std::vector<double> wave_cos(std::size_t(T), 0.0), wave_sin(std::size_t(T), 0.0);
    for (std::int64_t t = 0; t < T; ++t) {
      const double angle = 2 * std::numbers::pi * double(f) * double(t) / double(T);
      wave_cos[std::size_t(t)] = std::cos(angle), wave_sin[std::size_t(t)] = std::sin(angle);
    }
    for (std::int64_t c = 0; c < x.columns; ++c) {
      double re = 0, im = 0;
      for (std::int64_t t = 0; t < T; ++t)
        re += x.at(t, c) * wave_cos[std::size_t(t)], im += x.at(t, c) * wave_sin[std::size_t(t)];
      energy[std::size_t(f)] += weight * (re * re + im * im) / double(T);
    }
  }
  const double total = squares(x);
  for (double& e : energy) e = share(e, total, squares(table), "frequency_energy");
  return energy;
}

double offset_share(const Matrix& g, Diagonal diagonal) {
  check_square(g, "offset_share");
  const std::int64_t T = g.rows;
  const auto counts = [&](std::int64_t i, std::int64_t j) { return diagonal == Diagonal::with || i != j; };
  std::vector<double> sums(std::size_t(2 * T - 1), 0.0), number(std::size_t(2 * T - 1), 0.0);
  double total = 0, n = 0;
  for (std::int64_t i = 0; i < T; ++i) {
    for (std::int64_t j = 0; j < T; ++j) {
      if (!counts(i, j)) continue;
      sums[std::size_t(i - j + T - 1)] += g.at(i, j), number[std::size_t(i - j + T - 1)] += 1;
      total += g.at(i, j), n += 1;
    }
  }
  double rest = 0, all = 0;
  for (std::int64_t i = 0; i < T; ++i) {
    for (std::int64_t j = 0; j < T; ++j) {
      if (!counts(i, j)) continue;
      const std::size_t offset = std::size_t(i - j + T - 1);
      const double own = g.at(i, j) - sums[offset] / number[offset], whole = g.at(i, j) - total / n;
      rest += own * own, all += whole * whole;
    }
  }
  return 1 - share(rest, all, squares(g), "offset_share");
}

double causal_offset_share(const Matrix& g, std::int64_t reach) {
  check_square(g, "causal_offset_share");
  const std::int64_t T = g.rows;
  if (reach < 1 || reach >= T)
    throw Error(Fault::usage, text("causal_offset_share: a reach of ", reach, " in ", T, " tokens"));
  Matrix x = g;
  for (std::int64_t i = 0; i < T; ++i) {
    double mean = 0;
    const std::int64_t first = std::max<std::int64_t>(0, i - reach);
    for (std::int64_t j = first; j <= i; ++j) mean += x.at(i, j) / double(i - first + 1);
    for (std::int64_t j = first; j <= i; ++j) x.at(i, j) -= mean;
  }
  std::vector<double> sums(std::size_t(reach + 1), 0.0), number(sums);
  for (std::int64_t i = reach; i < T; ++i) {  // rows with all offsets: their means are comparable
    for (std::int64_t k = 0; k <= reach; ++k)
      sums[std::size_t(k)] += x.at(i, i - k), number[std::size_t(k)] += 1;
  }
  double rest = 0, all = 0;
  for (std::int64_t i = reach; i < T; ++i) {
    for (std::int64_t k = 0; k <= reach; ++k) {
      const double value = x.at(i, i - k), own = value - sums[std::size_t(k)] / number[std::size_t(k)];
      rest += own * own, all += value * value;
    }
  }
  return 1 - share(rest, all, squares(g), "causal_offset_share");
}

double symmetric_share(const Matrix& g) {
  check_square(g, "symmetric_share");
  Matrix half = sum(g, transpose(g));
  return share(squares(half) / 4, squares(g), squares(g), "symmetric_share");
}

double monotonicity(const Matrix& g, std::int64_t reach) {
  check_square(g, "monotonicity");
  std::vector<double> values, nearness;
  for (std::int64_t i = 0; i < g.rows; ++i) {
    for (std::int64_t j = 0; j < g.rows; ++j) {
      if (i == j || std::abs(i - j) > reach) continue;
      values.push_back(g.at(i, j)), nearness.push_back(-double(std::abs(i - j)));
    }
  }
  return spearman(values, nearness);
}

double sinusoid_kernel(std::span<const double> frequencies, double k) {
  if (frequencies.empty()) throw Error(Fault::usage, "sinusoid_kernel: no frequencies");
  double sum = 0;
  for (const double w : frequencies) sum += std::cos(k * w);
  return sum / double(frequencies.size());
}

double rotation_share(const Matrix& m) {
  check_square(m, "rotation_share");
  double captured = 0;
  for (std::int64_t c = 0; c + 1 < m.rows; c += 2) {
    const double a = (m.at(c, c) + m.at(c + 1, c + 1)) / 2, b = (m.at(c, c + 1) - m.at(c + 1, c)) / 2;
    captured += 2 * (a * a + b * b);
  }
  return share(captured, squares(m), squares(m), "rotation_share");
}

double shift_error(const Matrix& table, std::int64_t k) {
  if (k < 1 || k >= table.rows)
    throw Error(Fault::usage,
                text("shift_error: a shift by ", k, " in a table of ", table.rows, " positions"));
  const std::int64_t n = table.rows - k;
  const Matrix from = table.block(0, n), to = table.block(k, n);
  // A least-squares fit by the singular directions that carry anything: slow channels are nearly collinear.
  const SymmetricEigen e = symmetric_eigen(product(transpose(from), from));
  std::int64_t rank = 0;
  while (rank < from.columns && e.values[std::size_t(rank)] > 1e-11 * e.values.front()) ++rank;
  Matrix basis(from.columns, rank);
  for (std::int64_t i = 0; i < basis.rows; ++i)
    std::copy_n(e.vectors.row(i).begin(), rank, basis.row(i).begin());
  const Matrix scores = product(from, basis);
  Matrix fit = product(transpose(scores), to);
  for (std::int64_t r = 0; r < rank; ++r) {
    for (double& v : fit.row(r)) v /= e.values[std::size_t(r)];
  }
  return share(squares(sum(to, product(scores, fit), -1)), squares(centred(to)), squares(to), "shift_error");
}

NormRatio norm_ratio(const Matrix& positions, const Matrix& words) {
  const auto mean_length = [](const Matrix& m) {
    double total = 0;
    for (std::int64_t r = 0; r < m.rows; ++r)
      total += std::sqrt(std::inner_product(m.row(r).begin(), m.row(r).end(), m.row(r).begin(), 0.0));
    return total / double(m.rows);
  };
  if (positions.rows < 1) throw Error(Fault::usage, "norm_ratio: no positions");
  const double raw = mean_length(words), about_mean = mean_length(centred(words));
  for (const double length : {raw, about_mean})
    must_vary(length * length, raw * raw, "norm_ratio: the words");
  return {mean_length(positions) / raw, mean_length(centred(positions)) / about_mean};
}

}  // namespace gnomon
