#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "gnomon/core/error.h"
#include "gnomon/lens/blocks.h"
#include "gnomon/lens/inspection.h"

namespace gnomon {
namespace {

constexpr double kMost = 0.95;  // of the variance: what "the subspace" of words or positions is
constexpr std::int64_t kNeighbours = 10;

bool has(const Trained& m, std::string_view name) {
  const auto all = m.model.params();
  return std::any_of(all.begin(), all.end(), [&](const Param& p) { return p.spec.name == name; });
}

double length(std::span<const double> row) {
  return std::sqrt(std::inner_product(row.begin(), row.end(), row.begin(), 0.0));
}
double cosine(const std::vector<double>& a, const std::vector<double>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0) / (length(a) * length(b));
}

// A layer norm of the embedding, or what is there instead of one.
struct EmbeddingNorm {
  std::vector<double> gain, bias;  // empty: there is none
  double epsilon = 0;
};
EmbeddingNorm norm_of(const Trained& m) {
  if (!has(m, "embed.norm.gain")) return {};
  EmbeddingNorm n{parameter(m, "embed.norm.gain").values, {}, m.model.architecture().norm.epsilon};
  n.bias = has(m, "embed.norm.bias") ? parameter(m, "embed.norm.bias").values
                                     : std::vector<double>(n.gain.size(), 0.0);
  return n;
}
Matrix normed(const EmbeddingNorm& norm, Matrix rows) {
  for (std::int64_t r = 0; r < rows.rows && !norm.gain.empty(); ++r) {
    const auto row = rows.row(r);
    const double mean = std::accumulate(row.begin(), row.end(), 0.0) / double(row.size());
    double variance = 0;
    for (const double v : row) variance += (v - mean) * (v - mean) / double(row.size());
    for (std::size_t c = 0; c < row.size(); ++c)
      row[c] = norm.gain[c] * (row[c] - mean) / std::sqrt(variance + norm.epsilon) + norm.bias[c];
  }
  return rows;
}

// The words nearest to a row by cosine, but for word `self`, in rising order.
std::vector<std::int64_t> nearest(std::span<const double> scores, std::int64_t self) {
  std::vector<std::int64_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::erase(order, self);
  std::partial_sort(order.begin(), order.begin() + kNeighbours, order.end(),
                    [&](auto a, auto b) { return scores[std::size_t(a)] > scores[std::size_t(b)]; });
  order.resize(std::size_t(kNeighbours));
  std::sort(order.begin(), order.end());
  return order;
}

Matrix unit_rows(Matrix rows) {
  for (std::int64_t r = 0; r < rows.rows; ++r) {
    const auto row = rows.row(r);
    const double size = std::max(length(row), 1e-12);
    for (double& v : row) v /= size;
  }
  return rows;
}

// What stays of a word when a position is added, before or after a norm.
struct Kept {
  double identity = 0, neighbours = 0;
  EntrySizes entries = {};  // of the sums
};
EntrySizes sizes_of(const std::vector<double>& numbers) {
  EntrySizes s{0, 0, 0};
  const double n = double(numbers.size());
  for (const double v : numbers) {
    s.deviation += v * v / n, s.largest = std::max(s.largest, std::abs(v));
    s.within_two += (std::abs(v) <= 2) / n;
  }
  s.deviation = std::sqrt(s.deviation);
  return s;
}
// A table is looked at so many rows at a time: all of it, of a large vocabulary, as float64 and several times over, would be
// gigabytes.
constexpr std::int64_t kRows = 4096;

// What is added to every word before the norm: the token type of plain text; empty: nothing.
Matrix with_type(Matrix rows, std::span<const double> type) {
  for (std::int64_t r = 0; r < rows.rows && !type.empty(); ++r)
    std::transform(type.begin(), type.end(), rows.row(r).begin(), rows.row(r).begin(), std::plus<>());
  return rows;
}

// The cosine of each row (n,C) with every word, each with the type added and behind the norm: (n,V).
Matrix cosines(const Matrix& rows, const Matrix& words, std::span<const double> type,
               const EmbeddingNorm& norm) {
  const Matrix unit = unit_rows(rows);
  Matrix out(rows.rows, words.rows);
  for (std::int64_t first = 0; first < words.rows; first += kRows) {
    const std::int64_t n = std::min(kRows, words.rows - first);
    const Matrix some =
        product_transposed(unit, unit_rows(normed(norm, with_type(words.block(first, n), type))));
    for (std::int64_t r = 0; r < rows.rows; ++r)
      std::copy(some.row(r).begin(), some.row(r).end(), out.row(r).begin() + first);
  }
  return out;
}

Kept kept_of(const Matrix& words, const Matrix& positions, std::span<const double> type,
             const EmbeddingNorm& norm) {
  if (words.rows <= kNeighbours) throw Error(Fault::usage, "neighbours: too few words");
  const std::int64_t asked = std::min(kWordsAsked, words.rows);
  Matrix alone(asked, words.columns), sums(asked, words.columns);
  for (std::int64_t n = 0; n < asked; ++n) {
    const auto word = words.row(n * words.rows / asked),
               position = positions.row((n * 7919 + 1) % positions.rows);  // spread
    std::copy(word.begin(), word.end(), alone.row(n).begin());
    std::transform(word.begin(), word.end(), position.begin(), sums.row(n).begin(), std::plus<>());
  }
  alone = normed(norm, with_type(std::move(alone), type)),
  sums = normed(norm, with_type(std::move(sums), type));
  const Matrix before = cosines(alone, words, type, norm), after = cosines(sums, words, type, norm);
  Kept kept;
  for (std::int64_t n = 0; n < asked; ++n) {
    const std::int64_t w = n * words.rows / asked;
    const auto scores = after.row(n);
    const auto own = nearest(before.row(n), w), seen = nearest(scores, w);
    std::vector<std::int64_t> both;
    std::set_intersection(own.begin(), own.end(), seen.begin(), seen.end(), std::back_inserter(both));
    kept.neighbours += double(both.size()) / double(kNeighbours * asked);
    kept.identity +=
        double(*std::max_element(scores.begin(), scores.end()) <= scores[std::size_t(w)]) / double(asked);
  }
  kept.entries = sizes_of(sums.values);
  return kept;
}

double along(std::span<const double> row, const Matrix& direction) {
  return std::inner_product(row.begin(), row.end(), direction.values.begin(), 0.0);
}
double share_along(const Matrix& rows, const Matrix& direction) {
  return squares(product(centred(rows), direction)) / squares(centred(rows));
}
// Of the mean, in standard deviations along each axis.
void find_apart(TablePlane& plane) {
  const double P = double(plane.positions.size());
  double mean_x = 0, mean_y = 0, x2 = 0, y2 = 0;
  for (const auto& [x, y] : plane.positions) mean_x += x / P, mean_y += y / P;
  const auto squared = [](double from) { return from * from; };
  for (const auto& [x, y] : plane.positions) x2 += squared(x - mean_x) / P, y2 += squared(y - mean_y) / P;
  for (std::size_t p = 0; p < plane.positions.size(); ++p) {
    const auto [x, y] = plane.positions[p];
    const double by =
        std::sqrt((x2 > 0 ? squared(x - mean_x) / x2 : 0) + (y2 > 0 ? squared(y - mean_y) / y2 : 0));
    if (by > plane.apart_by) plane.apart_by = by, plane.apart = std::int64_t(p);
  }
}
TablePlane plane_of(const Matrix& words, const Matrix& positions, const Matrix& x) {
  const Matrix within = product_transposed(product(positions, x), x);
  const Matrix y = spectrum(sum(positions, within, -1)).basis(1);
  const auto point = [&](std::span<const double> row) { return std::pair{along(row, x), along(row, y)}; };
  TablePlane plane{{}, {}, {}, share_along(words, x), share_along(positions, y)};
  const std::int64_t asked = std::min(kWordsAsked, words.rows);
  for (std::int64_t n = 0; n < asked; ++n) plane.words.push_back(point(words.row(n * words.rows / asked)));
  const auto word = plane.words[plane.words.size() / 2];
  for (std::int64_t p = 0; p < positions.rows; ++p) {
    const auto at = plane.positions.emplace_back(point(positions.row(p)));
    plane.cloud.emplace_back(word.first + at.first, word.second + at.second);
  }
  find_apart(plane);
  return plane;
}

double size_of_cosine(const Matrix& words, const Matrix& positions) {
  const Matrix unit = unit_rows(positions);
  double sum = 0;
  for (std::int64_t first = 0; first < words.rows; first += kRows) {
    const Matrix some =
        product_transposed(unit_rows(words.block(first, std::min(kRows, words.rows - first))), unit);
    for (const double c : some.values) sum += std::abs(c);
  }
  return sum / double(words.rows * positions.rows);
}
double mean_length(const Matrix& rows) {
  double sum = 0;
  for (std::int64_t r = 0; r < rows.rows; ++r) sum += length(rows.row(r));
  return sum / double(rows.rows);
}
// The share in the slowest tenth of the frequencies, of which the constant is none; of a long table its beginning.
double slow_share(const Matrix& positions) {
  const auto energy = frequency_energy(positions.block(0, std::min<std::int64_t>(512, positions.rows)));
  const auto tenth = std::max<std::ptrdiff_t>(1, std::ptrdiff_t(energy.size() - 1) / 10);
  return std::accumulate(energy.begin() + 1, energy.begin() + 1 + tenth, 0.0);
}

std::vector<double> type_of_text(const Trained& m) {
  if (!has(m, "embed.type")) return {};
  const Matrix types = parameter(m, "embed.type");
  return {types.row(0).begin(), types.row(0).end()};
}

// Means of the shares over windows, each by itself.
std::vector<TermsLook> shares_by_window(const Trained& m, const std::vector<Matrix>& parts, std::int64_t T) {
  std::vector<std::vector<Matrix>> found;  // [window][head]
  for (std::int64_t first = 0; first < parts.front().rows; first += T) {
    std::vector<Matrix> here;
    for (const Matrix& part : parts) here.push_back(part.block(first, T));
    found.push_back(term_shares(m, 0, here, T));
  }
  std::vector<TermsLook> out;
  for (std::size_t h = 0; h < found.front().size(); ++h) {
    TermsLook look{found.front()[h], found.front()[h]};
    for (std::size_t n = 0; n < look.shares.values.size(); ++n) {
      std::vector<double> windows;
      for (const auto& window : found) windows.push_back(window[h].values[n]);
      const BlockMean mean = over_blocks(windows);
      look.shares.values[n] = mean.mean, look.half_widths.values[n] = mean.half_width;
    }
    out.push_back(std::move(look));
  }
  return out;
}

// Words as positions are added to them.
Matrix words_of(const Trained& m) {
  const auto& narrow = m.model.architecture().narrow;
  Matrix words = parameter(m, "embed.word");
  if (!narrow || narrow->widened != Widened::words) return words;
  words = product_transposed(words, parameter(m, "embed.widen.weight"));
  return has(m, "embed.widen.bias") ? with_type(words, parameter(m, "embed.widen.bias").values) : words;
}

}  // namespace

TableLook look_at_table(const Trained& m) {
  const Matrix words = words_of(m), positions = parameter(m, "position.input.table");
  if (words.columns != positions.columns)
    throw Error(Fault::usage, text("words have ", words.columns, " channels and positions ",
                                   positions.columns, ", so they cannot be added"));
  const Spectrum of_words = spectrum(words), of_positions = spectrum(positions);
  const std::int64_t r = of_words.count(kMost);
  const auto mean = column_means(positions);
  const Matrix apart = centred(positions);
  double others = 0;
  for (std::int64_t p = 1; p < apart.rows; ++p) others += length(apart.row(p)) / double(apart.rows - 1);
  const Matrix gram = product_transposed(positions, positions);
  const Kept bare = kept_of(words, positions, {}, {}),
             behind = kept_of(words, positions, type_of_text(m), norm_of(m));
  return {.words = words.rows,
          .positions = positions.rows,
          .width = positions.columns,
          .norms = norm_ratio(positions, words),
          .word_length = mean_length(words),
          .position_length = mean_length(positions),
          .word_rank = of_words.effective_rank(),
          .position_rank = of_positions.effective_rank(),
          .components = of_positions.count(kMost),
          .word_components = r,
          .within = energy_within(positions, of_words.basis(r)),
          .chance = double(r) / double(words.columns),
          .mean_cosine = cosine(column_means(words), mean),
          .size_of_cosine = size_of_cosine(words, positions),
          .channels = spearman(channels(positions).variance, channels(words).variance),
          .by_distance = offset_share(gram, Diagonal::without),
          .roughness = roughness(positions),
          .slow = slow_share(positions),
          .first_row = length(apart.row(0)) / others,
          .identity = bare.identity,
          .identity_normed = behind.identity,
          .recall = bare.neighbours,
          .recall_normed = behind.neighbours,
          .entries = sizes_of(words.values),
          .entries_normed = behind.entries,
          .plane = plane_of(words, positions, of_words.basis(1))};
}

// With a norm behind the sum, each part is taken with the statistics of the whole: γ·(part − its mean)/σ, exact for these tokens.
std::vector<TermsLook> look_at_terms(const Trained& m, const Sample& sample) {
  const Architecture& a = m.model.architecture();
  const std::int64_t N = std::int64_t(sample.inputs.size()), C = a.embedding_width(), T = sample.T;
  Matrix words(N, C), positions(N, C), whole(N, C), entered(N, a.width);
  watch(m, sample, {"words", "positions", "embedded", "layers.0.resid_pre"},
        [&](std::int64_t w, const std::string& name, TapValue& value) {
          Matrix& to = name == "words"       ? words
                       : name == "positions" ? positions
                       : name == "embedded"  ? whole
                                             : entered;
          if (value.size() != T * to.columns)
            throw Error(Fault::usage, text("terms: ", name, " has ", value.size() / T,
                                           " numbers per token; what is joined has ", to.columns,
                                           ", so they cannot be added"));
          const Floats all = value.read();
          std::copy(all.begin(), all.end(), &to.at(w * T, 0));
        });
  const EmbeddingNorm norm = norm_of(m);
  const auto part = [&](const Matrix& x) {
    if (norm.gain.empty()) return x;
    Matrix out = x;
    for (std::int64_t n = 0; n < N; ++n) {
      const auto all = whole.row(n);
      const double mean = std::accumulate(all.begin(), all.end(), 0.0) / double(C);
      double variance = 0;
      for (const double v : all) variance += (v - mean) * (v - mean) / double(C);
      const auto row = x.row(n);
      const double own = std::accumulate(row.begin(), row.end(), 0.0) / double(C);
      for (std::int64_t c = 0; c < C; ++c)
        out.at(n, c) = norm.gain[std::size_t(c)] * (x.at(n, c) - own) / std::sqrt(variance + norm.epsilon);
    }
    return out;
  };
  const bool widens = a.narrow && a.narrow->widened == Widened::embedding;
  const auto entering = [&](const Matrix& x) {
    return widens ? product_transposed(part(x), parameter(m, "embed.widen.weight")) : part(x);
  };
  const Matrix word = entering(words), position = entering(positions);
  const Matrix rest = sum(sum(entered, word, -1), position, -1);  // types and the norm's bias
  return shares_by_window(m, {word, position, rest}, T);
}

}  // namespace gnomon
