#include "gnomon/claims/measures/links.h"

#include <algorithm>
#include <cmath>

#include "gnomon/lens/attention.h"
#include "gnomon/lens/subspace.h"

namespace gnomon::claims {

std::vector<double> random_shares(const Start& start, std::int64_t d, std::int64_t draws, Less less) {
  const std::int64_t T = less == Less::nothing ? 64 : 128;
  std::vector<double> out(4, 0.0);
  const Random random(7, "bilinear forms");
  for (std::int64_t n = 0; n < draws; ++n) {
    const auto seed = std::uint64_t(n + 1);
    Matrix x = gaussian_words(T, d, seed),
           e = start.random_code ? gaussian_words(T, d, seed + 100000) : sinusoid(d, T);
    for (double& v : x.values) v *= start.word;
    for (double& v : e.values) v *= start.amplitude;
    if (less == Less::code_mean) e = centred(e);
    // M = Q'K of a head of 64 channels: rank does not change expected shares.
    const Matrix q = gaussian(Random(random.bits(2 * seed), "q"), 64, d),
                 k = gaussian(Random(random.bits(2 * seed + 1), "k"), 64, d);
    Matrix terms[4];
    double total = 0;
    for (int t = 0; t < 4; ++t) {
      terms[t] =
          product_transposed(product_transposed(t / 2 ? e : x, q), product_transposed(t % 2 ? e : x, k));
      if (less == Less::row_mean) terms[t] = row_centred(terms[t], false);
      total += squares(terms[t]);
    }
    for (int t = 0; t < 4; ++t) out[std::size_t(t)] += squares(terms[t]) / total / double(draws);
  }
  return out;
}

double block_energy(const Outcome& o, const Sample& sample, const Matrix* turn) {
  const auto gain = parameter(o.look(), "layers.0.attention.norm.gain").values;
  const Matrix qkv = parameter(o.look(), "layers.0.attention.qkv.weight");
  const Architecture& c = o.model->architecture();
  const std::int64_t D = c.attention.head_dim;
  Matrix word = letter_directions(words_of(o, sample), 16),
         place = spectrum(positions_of(o, sample)).basis(16);
  if (turn) word = product(*turn, word), place = product(*turn, place);
  double logarithm = 0;
  for (std::int64_t h = 0; h < c.attention.heads; ++h) {
    Matrix m = product(transpose(qkv.block(h * D, D)), qkv.block(c.width + h * D, D));
    for (std::int64_t a = 0; a < m.rows; ++a) {
      for (std::int64_t b = 0; b < m.columns; ++b) m.at(a, b) *= gain[std::size_t(a)] * gain[std::size_t(b)];
    }
    const auto energy = [&](const Matrix& left, const Matrix& right) {
      return std::log(squares(product(product(transpose(left), m), right)));
    };
    logarithm += (energy(word, place) + energy(place, word) - energy(word, word) - energy(place, place)) / 2;
  }
  return std::exp(logarithm / double(c.attention.heads));
}

double block_energy_by_chance(const Outcome& o, const Sample& sample, std::int64_t draws) {
  const Random random(17, "turned subspaces");
  const std::int64_t C = o.model->architecture().width;
  double logarithm = 0;
  for (std::int64_t n = 0; n < draws; ++n) {
    const Matrix turn = random_subspace(random, std::uint64_t(n), C, C);
    logarithm += std::log(block_energy(o, sample, &turn)) / double(draws);
  }
  return std::exp(logarithm);
}

Linked linked(const Matrix& rows, const Sample& sample, std::int64_t r, std::int64_t draws) {
  const VarianceParts parts = variance_parts(rows, sample);
  Matrix seen(0, rows.columns);
  for (std::int64_t w = 0; w < parts.token.rows; ++w) {
    if (dot(parts.token.row(w), parts.token.row(w)) == 0) continue;
    seen.values.insert(seen.values.end(), parts.token.row(w).begin(), parts.token.row(w).end());
    ++seen.rows;
  }
  return {overlap(spectrum(parts.position).basis(r), letter_directions(seen, r)).mean_cos2,
          overlap_of_two(rows, r, draws, 13).mean_cos2};
}

namespace {
// Plug-in mutual information of token and position, in nats: (first tokens of) windows at these starts.
double information(const std::vector<std::vector<unsigned char>>& windows) {
  const std::size_t T = windows.front().size();
  std::vector<double> joint(256 * T, 0.0), token(256, 0.0);
  const double n = double(windows.size() * T);
  for (const auto& w : windows) {
    for (std::size_t t = 0; t < T; ++t) joint[w[t] * T + t] += 1 / n, token[w[t]] += 1 / n;
  }
  double sum = 0;
  for (std::size_t k = 0; k < joint.size(); ++k)
    sum += joint[k] > 0 ? joint[k] * std::log(joint[k] / (token[k / T] / double(T))) : 0;
  return sum;
}

Information information_excess(std::vector<std::vector<unsigned char>> windows, std::int64_t shuffles) {
  Information e{information(windows), 0, 0};
  const Random random(8, "shuffled positions");
  std::vector<double> nulls;
  for (std::int64_t s = 0; s < shuffles; ++s) {
    std::uint64_t draw = std::uint64_t(s) * 10000000;
    for (auto& w : windows) {
      for (std::size_t i = w.size() - 1; i > 0; --i) std::swap(w[i], w[random.below(draw++, i + 1)]);
    }
    nulls.push_back(information(windows));
  }
  for (const double v : nulls) e.null += v / double(nulls.size());
  for (const double v : nulls) e.null_sd += (v - e.null) * (v - e.null) / double(nulls.size() - 1);
  e.null_sd = std::sqrt(e.null_sd);
  return e;
}
}  // namespace

LettersAtPlaces letters_at_places(const Experiment& experiment) {
  const std::string_view bytes = experiment.text().content();
  constexpr std::size_t T = 16;
  const std::int64_t wanted = experiment.draws(4000);
  std::vector<std::size_t> line_starts;
  for (std::size_t at = 0; at + T + 1 < bytes.size(); ++at) {
    if (bytes[at] == '\n') line_starts.push_back(at + 1);
  }
  constexpr std::size_t kLines = 100;  // fewer, drawn again and again, would be told by heart
  if (line_starts.size() < kLines)
    throw NotMeasurable(text("The text has ", line_starts.size(), " line", line_starts.size() == 1 ? "" : "s",
                             " that a window can start at: this measurement needs at least ", kLines, "."));
  if (bytes.find_first_not_of(bytes.front()) == bytes.npos)
    throw NotMeasurable("The text repeats one byte, which says nothing about any position.");
  std::vector<std::vector<unsigned char>> lines, anywhere;
  const Random random(4, "places in a text");
  for (std::int64_t n = 0; n < wanted; ++n) {
    const auto take = [&](std::size_t at) {
      return std::vector<unsigned char>(bytes.begin() + std::ptrdiff_t(at),
                                        bytes.begin() + std::ptrdiff_t(at + T));
    };
    lines.push_back(take(line_starts[random.below(std::uint64_t(2 * n), line_starts.size())]));
    anywhere.push_back(take(random.below(std::uint64_t(2 * n + 1), bytes.size() - T - 1)));
  }
  return {information_excess(lines, experiment.draws(100)),
          information_excess(anywhere, experiment.draws(100))};
}

Overlap model_overlap(const Outcome& o, const Sample& sample, std::int64_t r) {
  return overlap(spectrum(positions_of(o, sample)).basis(r), letter_directions(words_of(o, sample), r));
}

}  // namespace gnomon::claims
