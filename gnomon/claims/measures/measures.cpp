#include "gnomon/claims/measures/measures.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "gnomon/core/readable.h"
#include "gnomon/lens/attention.h"
#include "gnomon/lens/probe.h"
#include "gnomon/lens/subspace.h"
#include "gnomon/spec/scheme.h"
#include "gnomon/study/data/answers.h"

namespace gnomon::claims {

std::vector<double> sinusoid_frequencies(std::int64_t d, std::string_view spec) {
  return make_encoding(spec, width_of(d))->frequencies();
}

double dot(std::span<const double> a, std::span<const double> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}
double distance(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(sum);
}

Matrix uniform_words(std::int64_t V, std::int64_t d, std::uint64_t seed) {
  const Random random(seed, "uniform words");
  Matrix x(V, d);
  for (std::size_t n = 0; n < x.values.size(); ++n) x.values[n] = 2 * random.uniform(n) - 1;
  return x;
}
Matrix gaussian_words(std::int64_t V, std::int64_t d, std::uint64_t seed) {
  return gaussian(Random(seed, "gaussian words"), V, d);
}

Matrix scaled(Matrix m, double factor) {
  for (double& v : m.values) v *= factor;
  return m;
}

std::vector<Recipe> additive(const Experiment& experiment) { return {experiment.language("sinusoidal")}; }
Outcome at_start(const Outcome& o) {
  Outcome start = o;
  start.w = o.model->initial(std::uint64_t(o.seed));
  return start;
}
double accuracy(const Outcome& o, const Sample& sample) { return answers(o.look(), sample).symbols.share(); }

double loss_after(const Outcome& o, double share) {
  const auto& c = o.curve;
  const double at = c.empty() ? 0 : share * c.back().first;
  if (c.empty() || !(share <= 1 && at >= c.front().first))
    throw Error(Fault::usage, text("loss_after: the share ", shortest(share), " is outside the curve"));
  if (share == 1) return o.nats;
  if (c.size() == 1) return c.front().second;
  std::size_t n = 1;
  while (n + 1 < c.size() && c[n].first < at) ++n;
  const auto& [from, high] = c[n - 1];
  const auto& [to, low] = c[n];
  return high + (low - high) * (at - from) / (to - from);
}
double tokens_to(const Outcome& o, double nats) {
  for (std::size_t n = 0; n < o.curve.size(); ++n) {
    const auto& [tokens, loss] = o.curve[n];
    if (loss > nats) continue;
    if (n == 0) return tokens;
    const auto& [before, high] = o.curve[n - 1];
    return before + (tokens - before) * (high - nats) / (high - loss);
  }
  return std::numeric_limits<double>::infinity();
}
Estimate loss_difference_at(Experiment& experiment, const Recipe& a, const Recipe& b, double share) {
  std::vector<double> x, y;
  for (const Outcome& one : experiment.models(a)) {
    for (const Outcome& other : experiment.models(b)) {
      if (one.seed == other.seed) x.push_back(loss_after(one, share)), y.push_back(loss_after(other, share));
    }
  }
  return paired_interval(x, y);
}

namespace {
std::vector<std::int32_t> letters_of(const Sample& sample) {
  std::vector<std::int32_t> seen = sample.inputs;
  std::sort(seen.begin(), seen.end());
  seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
  return seen;
}
}  // namespace

void need_letters(const Sample& sample, std::size_t least) {
  const std::size_t found = letters_of(sample).size();
  if (found < least)
    throw NotMeasurable(text("The held-out windows of the text show ", found, " different byte",
                             found == 1 ? "" : "s", ": this measurement needs at least ", least, "."));
}

Matrix letter_directions(const Matrix& by_letter, std::int64_t r) {
  const Spectrum s = spectrum(by_letter);
  if (std::int64_t(s.values.size()) < r)
    throw NotMeasurable(text("The different bytes of the text vary in ", s.values.size(), " direction",
                             s.values.size() == 1 ? "" : "s", ": this measurement needs ", r, "."));
  return s.basis(r);
}

double letters_read(const Matrix& rows, const Sample& sample) {
  need_letters(sample, 2);
  return probe_labels(rows, sample.inputs, sample.T).accuracy;
}

Matrix words_of(const Outcome& o, const Sample& sample) {
  const Written parts = written(o.look(), sample.first(1));
  // One window says how much the table's rows are scaled; the rows themselves come from the table.
  const Matrix words = parameter(o.look(), "embed.word");
  const auto row = words.row(sample.inputs.front());
  const double scale = std::sqrt(dot(parts.word.row(0), parts.word.row(0)) / dot(row, row));
  need_letters(sample, 2);
  const std::vector<std::int32_t> seen = letters_of(sample);
  Matrix out(std::int64_t(seen.size()), words.columns);
  for (std::size_t n = 0; n < seen.size(); ++n) {
    for (std::int64_t c = 0; c < words.columns; ++c)
      out.at(std::int64_t(n), c) = scale * words.at(seen[n], c);
  }
  return out;
}
Matrix positions_of(const Outcome& o, const Sample& sample) {
  return written(o.look(), sample.first(1)).position;
}

double found(const Finding& f, std::string_view key) {
  const auto one =
      std::find_if(f.numbers.begin(), f.numbers.end(), [&](const FoundNumber& n) { return n.key == key; });
  if (one == f.numbers.end()) throw Error(Fault::bug, text("a finding has no number '", key, "'"));
  return one->value;
}
OnTheWay on_the_way(Experiment& experiment, const Recipe& a, const Recipe& b) {
  OnTheWay out{};
  for (std::size_t n = 0; n < out.size(); ++n) out[n] = loss_difference_at(experiment, a, b, kShares[n]);
  return out;
}
void show(Finding& f, std::string_view key, std::string_view name, const OnTheWay& way) {
  constexpr const char* kWhen[] = {"after a quarter of the training", "after half of the training",
                                   "at the end"};
  for (std::size_t n = 0; n < way.size(); ++n)
    f.estimate(text(key, ".at.", kShares[n]), text(name, " (nats per byte), ", kWhen[n]), way[n]);
}
std::vector<double> four_shares(const Outcome& o, const Sample& s) {
  const Written parts = written(o.look(), s);
  const auto heads = term_shares(o.look(), 0, {parts.word, parts.position}, s.T);
  std::vector<double> mean(5, 0.0);
  for (const Matrix& m : heads) {
    for (std::size_t k = 0; k < 4; ++k) mean[k] += m.values[kTerms[k]] / double(heads.size());
    mean[4] += (m.at(2, 0) + m.at(2, 1)) / double(heads.size());
  }
  return mean;
}

report::Table table(const Tabled& t) {
  report::Table out;
  out.head = t.head;
  for (const auto& [name, values] : t.rows) {
    out.rows.push_back({{name}});
    for (const double v : values)
      out.rows.back().push_back({std::isnan(v)                             ? "–"
                                 : v == std::round(v) && std::abs(v) < 1e9 ? grouped(v)
                                                                           : grouped(v, t.digits),
                                 v, true});
  }
  return out;
}

}  // namespace gnomon::claims
