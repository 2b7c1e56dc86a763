#include "gnomon/claims/measures/meaning.h"

#include <algorithm>
#include <cmath>

#include "gnomon/claims/measures/measures.h"
#include "gnomon/claims/recorded.h"
#include "gnomon/core/readable.h"
#include "gnomon/lens/decode.h"
#include "gnomon/lens/probe.h"
#include "gnomon/lens/subspace.h"

namespace gnomon::claims {
namespace {
constexpr std::int64_t kVocabularySize = 2000, kPositions = 64;
// As the text imagines them, and in clusters: of a word and its ten nearest, or larger ones.
Matrix made_up(std::int64_t V, std::int64_t d, double spread, std::int64_t size = kCluster) {
  return std::isnan(spread) ? uniform_words(V, d, 21) : clustered_words(V, d, {size, spread}, 22);
}
const double kIndependent = std::nan("");
// How long a position is beside a word, in them.
double made_up_ratio(std::int64_t d) {
  return norm_ratio(sinusoid(d, kPositions), made_up(kVocabularySize, d, kIndependent)).raw;
}
}  // namespace

Matrix clustered_words(std::int64_t V, std::int64_t d, const Clusters& clusters, std::uint64_t seed) {
  const auto [of_one, spread] = clusters;
  const Matrix centres = gaussian(Random(seed, "centres"), (V + of_one - 1) / of_one, d);
  Matrix x = gaussian(Random(seed, "within clusters"), V, d);
  const double size = std::sqrt(1 / (3 * (1 + spread * spread)));
  for (std::int64_t w = 0; w < V; ++w) {
    const auto centre = centres.row(w / of_one);
    const auto row = x.row(w);
    for (std::size_t c = 0; c < row.size(); ++c) row[c] = size * (centre[c] + spread * row[c]);
  }
  return x;
}

MeaningLeft meaning_left(const Matrix& x, const Matrix& e, const AskedOfMeaning& asked) {
  constexpr std::int64_t kNeighbours = kCluster - 1;
  constexpr double kShare = .999;
  std::vector<std::int64_t> words;
  for (std::int64_t n = 0; n < std::min(asked.words, x.rows); ++n)
    words.push_back(n * x.rows / std::min(asked.words, x.rows));
  const Matrix moving = centred(e);
  const auto sums = [&](const Matrix& position) {
    Matrix y(asked.positions * std::int64_t(words.size()), x.columns);
    for (std::int64_t r = 0; r < y.rows; ++r) {
      const auto word = x.row(words[std::size_t(r) % words.size()]);
      const auto place =
          position.row((2 * (r / std::int64_t(words.size())) + 1) * e.rows / (2 * asked.positions));
      for (std::size_t c = 0; c < word.size(); ++c) y.at(r, std::int64_t(c)) = word[c] + place[c];
    }
    return y;
  };
  const Matrix y = sums(e), less_mean = sums(moving);
  Matrix none(x.columns, 0), mean_channel(x.columns, 1);
  for (double& v : mean_channel.values) v = 1 / std::sqrt(double(x.columns));
  const Spectrum s = spectrum(e);
  const Matrix basis = s.basis(s.count(kShare));
  const Neighbourhood near(x, words, kNeighbours);
  // A LayerNorm takes the mean channel out and scales: by cosine only the former is seen.
  const auto plain = near.kept(y, none), outside = near.kept(less_mean, basis),
             normed = near.kept(y, mean_channel);
  return {plain.identity,    plain.neighbours,   near.kept(less_mean, none).neighbours,
          outside.identity,  outside.neighbours, normed.identity,
          normed.neighbours, basis.columns,      norm_ratio(e, x).raw};
}

namespace {
// Of the ten words nearest to word + position, by cosine, the word itself apart: the share of the word's own cluster.
double inside_clusters(std::int64_t d, std::int64_t size, const AskedOfMeaning& asked) {
  constexpr std::int64_t kNeighbours = kCluster - 1;
  const Matrix x = made_up(kVocabularySize, d, .3, size), e = sinusoid(d, kPositions);
  std::vector<double> lengths;
  for (std::int64_t w = 0; w < x.rows; ++w) lengths.push_back(std::sqrt(dot(x.row(w), x.row(w))));
  double inside = 0;
  for (std::int64_t n = 0; n < asked.words; ++n) {
    const std::int64_t self = n * x.rows / asked.words;
    for (std::int64_t p = 0; p < asked.positions; ++p) {
      const auto word = x.row(self), place = e.row((2 * p + 1) * e.rows / (2 * asked.positions));
      std::vector<double> sum(word.begin(), word.end());
      for (std::size_t c = 0; c < sum.size(); ++c) sum[c] += place[c];
      std::vector<std::pair<double, std::int64_t>> all;
      for (std::int64_t w = 0; w < x.rows; ++w) {
        if (w != self) all.emplace_back(-dot(sum, x.row(w)) / lengths[std::size_t(w)], w);
      }
      std::partial_sort(all.begin(), all.begin() + kNeighbours, all.end());
      for (std::int64_t k = 0; k < kNeighbours; ++k)
        inside += all[std::size_t(k)].second / size == self / size;
    }
  }
  return inside / double(asked.words * asked.positions * kNeighbours);
}
}  // namespace

double position_by_counting(std::int64_t V, std::int64_t d, std::int64_t windows) {
  const Matrix x = gaussian_words(V, d, 51), e = sinusoid(d, kPositions);
  const Random random(51, "words of windows");
  Matrix rows(windows * kPositions, d);
  for (std::int64_t n = 0; n < rows.rows; ++n) {
    const auto word = x.row(std::int64_t(random.below(std::uint64_t(n), std::uint64_t(V))));
    const auto place = e.row(n % kPositions);
    for (std::size_t c = 0; c < word.size(); ++c) rows.at(n, std::int64_t(c)) = word[c] + place[c];
  }
  return probe_positions(rows, kPositions).r2;
}

void nearest_words(const Experiment& experiment, Finding& f) {
  struct Row {
    std::int64_t d;
    double naive, mean_removed, projected, position;
  };
  const double skip = std::nan("");
  const Row rows[] = {
      {4, .008, .022, .012, skip}, {8, .016, .068, 1, skip}, {16, .17, .69, 1, .46}, {32, .76, 1, 1, .70},
      {64, .99, 1, 1, .80},        {128, 1, 1, 1, .91},      {512, 1, 1, 1, 1}};
  const std::int64_t V = experiment.quick ? 1000 : kVocabularySize;
  for (const Row& r : rows) {
    const Matrix x = uniform_words(V, r.d, 21), e = sinusoid(r.d, kPositions);
    const WordDecoding w = decode_words(x, e);
    const auto found = [&](const char* group, const char* what, double value, double expected) {
      const std::string key = text(group, ".", r.d), name = text(what, ", d = ", r.d);
      if (experiment.quick || std::isnan(expected)) {  // the expected shares are for 2,000 words
        f.number(key, name, value, 3);
      } else {
        f.near(key, name, value, expected, .05, 3);
      }
    };
    found("word", "word found", w.naive, r.naive);
    found("word_less_mean", "word found after subtracting the mean position", w.mean_removed, r.mean_removed);
    found("word_projected", "word found outside the position's directions", w.projected, r.projected);
    found("position", "position found, the word ignored", decode_positions(x, e), r.position);
  }
}

void nearest_neighbours(const Experiment& experiment, Finding& f) {
  std::vector<std::pair<std::string, std::vector<double>>> shown;
  const auto left = [&](std::int64_t V, std::int64_t d, double spread, const AskedOfMeaning& asked) {
    const MeaningLeft m = meaning_left(made_up(V, d, spread), sinusoid(d, kPositions), asked);
    shown.push_back({text(V, std::isnan(spread) ? " independent words" : " words in clusters of spread ",
                          std::isnan(spread) ? "" : shortest(spread), ", d = ", d),
                     {m.word, m.near, m.near_less_mean, m.word_outside, m.near_outside, m.near_normed}});
    return m;
  };
  const std::vector<double> widths =
      experiment.quick ? std::vector<double>{16, 64, 768} : std::vector<double>{16, 64, 128, 512, 768};
  report::LineChart chart{"Words found again under a position, and neighbours that stay",
                          text(kVocabularySize, " words, ", kPositions, " positions. A position is ",
                               fixed(made_up_ratio(768), 2),
                               " times as long as a word, whose entries are uniform in [−1, 1]. The spread "
                               "of a cluster is 0.3 times "
                               "that of the centres. In a cluster of 11 the ten nearest are all the others."),
                          {"width d", true, widths},
                          {"share"},
                          {}};
  chart.series = {{"independent words, plain sum", {}, 0, false, true},
                  {"independent words, outside the position's directions", {}, 1, false, true},
                  {"words in clusters of 11, plain sum", {}, 2, false, true},
                  {"the word itself, in clusters of 11", {}, 3, false, true},
                  {"words in clusters of 101, plain sum", {}, 4, false, true}};
  const AskedOfMeaning asked{experiment.quick ? 40 : 100, experiment.quick ? 2 : 3};
  for (const double width : widths) {
    const auto d = std::int64_t(width);
    const MeaningLeft alone = left(kVocabularySize, d, kIndependent, asked);
    f.number(text("ratio.", d), text("|position| / |word| of independent words, d = ", d), made_up_ratio(d),
             2);
    f.number(text("near.", d), text("share of the ten nearest words that the sum keeps, d = ", d), alone.near,
             3);
    f.number(text("near_less_mean.", d), text("share kept after subtracting the mean position, d = ", d),
             alone.near_less_mean, 3);
    f.number(text("near_outside.", d), text("share kept outside the position's directions, d = ", d),
             alone.near_outside, 3);
    f.number(text("near_normed.", d), text("share kept after a LayerNorm, d = ", d), alone.near_normed, 3);
    f.number(text("directions.", d), text("directions with 99.9 % of the position's variance, d = ", d),
             double(alone.directions), 0);
    for (const double spread : {.1, .3, 1.0}) {
      if (spread != .3 && experiment.quick) continue;
      const MeaningLeft m = left(kVocabularySize, d, spread, asked);
      if (spread != .3) continue;
      f.number(text("cluster_word.", d), text("words found in clusters of spread 0.3, d = ", d), m.word, 3);
      f.number(text("cluster_near.", d),
               text("share of the ten nearest words kept in clusters of spread 0.3, d = ", d), m.near, 3);
      f.number(text("cluster_near_outside.", d),
               text("share kept in clusters of spread 0.3 outside the position's directions, d = ", d),
               m.near_outside, 3);
      chart.series[2].points.emplace_back(width, m.near), chart.series[3].points.emplace_back(width, m.word);
    }
    for (const std::int64_t size : {31, 101}) {
      const MeaningLeft m =
          meaning_left(made_up(kVocabularySize, d, .3, size), sinusoid(d, kPositions), asked);
      f.number(text("cluster_", size, "_near.", d),
               text("share of the ten nearest words kept in clusters of ", size, ", d = ", d), m.near, 3);
      f.number(
          text("cluster_", size, "_inside.", d),
          text("share of the ten nearest of a sum that are of the word's own cluster of ", size, ", d = ", d),
          inside_clusters(d, size, asked), 3);
      if (size == 101) chart.series[4].points.emplace_back(width, m.near);
    }
    chart.series[0].points.emplace_back(width, alone.near);
    chart.series[1].points.emplace_back(width, alone.near_outside);
  }
  for (const std::int64_t size : {31, 101})
    f.number(text("cluster_", size, "_chance"),
             text("share of the ten nearest kept by chance in clusters of ", size,
                  ", if the sum stays in the cluster"),
             double(kCluster - 1) / double(size - 1), 3);
  const std::int64_t many = experiment.quick ? 5000 : 30000;
  for (const std::int64_t d : {std::int64_t{128}, std::int64_t{768}}) {
    const MeaningLeft alone = left(many, d, kIndependent, {48, 2}), m = left(many, d, .3, {48, 2});
    if (d != 768) continue;
    f.number("many", text("number of words, many more than channels"), double(many), 0);
    f.number("many.near", "many words: share of the ten nearest that the sum keeps, d = 768", alone.near, 3);
    f.number("many.outside", "many words: share kept outside the position's directions, d = 768",
             alone.near_outside, 3);
    f.number("many.cluster_near", "many words: share kept in clusters of spread 0.3, d = 768", m.near, 3);
  }
  f.figures = {chart, table({{"", "word found", "ten nearest kept", "kept, mean subtracted",
                              "word found outside", "kept outside", "kept after a norm"},
                             shown,
                             3})};
}

double told_tokens(const Sample& s) { return double(s.count() / 5 * s.T); }
std::vector<double> letters_from_sum(Experiment& experiment, const Recipe& r, const Sample& sample,
                                     When when) {
  return each(experiment, r, [&](const Outcome& o) {
    return letters_read(streams((when == When::start ? at_start(o) : o).look(), sample)[0], sample);
  });
}
std::vector<double> positions_from_sum(Experiment& experiment, const Recipe& r, const Sample& sample,
                                       When when) {
  return each(experiment, r, [&](const Outcome& o) {
    return probe_positions(streams((when == When::start ? at_start(o) : o).look(), sample)[0], sample.T).r2;
  });
}
void count_room(Experiment& experiment, Finding& f, const Recipe& r, const Sample& sample) {
  const Outcome& o = experiment.models(r).front();
  const Spectrum s = spectrum(positions_of(o, sample));
  const double letters = double(words_of(o, sample).rows), directions = double(s.count(.999));
  f.number("room.channels", "channels of the models", double(r.width), 0);
  f.number("room.letters", "different letters in the held-out text", letters, 0);
  f.number("room.directions", "directions with 99.9 % of the position's variance", directions, 0);
  f.number("room.needed", "directions of letters, about their mean, and of positions together",
           letters - 1 + directions, 0);
}
MeaningLeft letters_left(const Outcome& o, const Sample& sample) {
  need_letters(sample, 2 * kCluster);
  return meaning_left(words_of(o, sample), positions_of(o, sample), {256, 8});
}

void pieces_left(Experiment& experiment, Finding& f, std::int64_t width) {
  const Recipe r = experiment.pieces("sinusoidal", width);
  const std::string group = width == 64 ? "pieces." : text("pieces_", width, "."),
                    of = text("byte-pair words, ", width, " channels: ");
  const auto& models = experiment.models(r);
  const Sample sample = experiment.held_out(r, experiment.quick ? 100 : 400);
  const double words = double(words_of(models.front(), sample).rows);
  f.number(group + "words", of + "how many there are in the held-out text", words, 0);
  std::vector<MeaningLeft> trained, start;
  for (const Outcome& o : models)
    trained.push_back(letters_left(o, sample)), start.push_back(letters_left(at_start(o), sample));
  const auto add = [&](const char* key, const char* what, const std::vector<MeaningLeft>& all,
                       double MeaningLeft::*which) {
    std::vector<double> values;
    for (const MeaningLeft& m : all) values.push_back(m.*which);
    f.estimate(group + key, of + what, mean_interval(values), 3);
  };
  add("ratio", "|position| / |word|", trained, &MeaningLeft::ratio);
  add("start_ratio", "|position| / |word|, before training", start, &MeaningLeft::ratio);
  add("word", "the right word is the nearest to the sum", trained, &MeaningLeft::word);
  add("near", "share of the ten nearest that the sum keeps", trained, &MeaningLeft::near);
  add("near_outside", "share kept outside the position's directions", trained, &MeaningLeft::near_outside);
  add("start_near", "share of the ten nearest that the sum keeps, before training", start,
      &MeaningLeft::near);
  const auto read = [&](const char* key, const char* when, When which) {
    f.estimate(group + key, text(of, "R² of the position read from the sum, ", when),
               mean_interval(positions_from_sum(experiment, r, sample, which)), 3);
  };
  read("position", "trained", When::trained), read("start_position", "before training", When::start);
}

void nearest_by_ratio(const Experiment& experiment, Finding& f) {
  const std::int64_t V = experiment.quick ? 500 : kVocabularySize;
  report::LineChart chart{
      "Neighbours that stay, by the length of a position",
      text("Of a word's ten nearest, those nearest to its sum with a position. ", V, " words, ", kPositions,
           " positions of the sinusoid. Independent words, and words in clusters of spread 0.3. Published "
           "models: their own tables, the whole vocabulary."),
      {"|position| / |word|", true, {.125, .25, .5, 1, 2, 4}},
      {"share of the ten nearest"},
      {}};
  const auto recall = [&](const Matrix& x, double ratio) {
    const Matrix e = sinusoid(x.columns, kPositions);
    return meaning_left(x, scaled(e, ratio / norm_ratio(e, x).raw),
                        {experiment.quick ? 40 : 100, experiment.quick ? 2 : 3});
  };
  int style = 0;
  for (const std::int64_t d : {64, 256, 768}) {
    for (const double spread : {kIndependent, .3}) {
      const bool clusters = !std::isnan(spread);
      report::Series s{text("d = ", d, clusters ? ", clusters" : ", independent"), {}, style++, false, true};
      const Matrix x = made_up(V, d, spread);
      for (const double ratio : chart.x.ticks) {
        const MeaningLeft left = recall(x, ratio);
        s.points.emplace_back(ratio, left.near);
        if (ratio != .5) continue;  // about that of published tables
        const std::string at = text(d, ".", shortest(ratio)),
                          when = text(" at a ratio of ", shortest(ratio), ", d = ", d,
                                      clusters ? ", in clusters" : "");
        f.number((clusters ? "near_in_clusters." : "near_by_ratio.") + at,
                 "share of the ten nearest kept" + when, left.near, 3);
        f.number((clusters ? "word_in_clusters." : "word_by_ratio.") + at, "word found" + when, left.word, 3);
      }
      chart.series.push_back(std::move(s));
    }
  }
  for (const NumberSource& model : recorded()) {
    const auto of = [&](std::string_view key) {
      const auto found = std::find_if(model.numbers.begin(), model.numbers.end(),
                                      [&](const FoundNumber& n) { return n.key == key; });
      return found == model.numbers.end() ? std::nan("") : found->value;
    };
    const double ratio = of("ratio"), near = of("neighbours");
    if (std::isnan(ratio) || std::isnan(near)) continue;
    chart.series.push_back(
        {model.what.substr(0, model.what.find(',')), {{ratio, near}}, style++, false, true});
  }
  f.figures.push_back(chart);
}

void nearest_by_loudness(const Experiment& experiment, Finding& f) {
  const std::int64_t V = experiment.quick ? 500 : kVocabularySize;
  const Matrix x = uniform_words(V, 512, 21), e = sinusoid(512, kPositions);
  report::LineChart chart{"How loud may the position be?",
                          text("d = 512, ", V, " uniform words, ", kPositions,
                               " positions. What is found, by the length of a position relative to a word."),
                          {"|position| / |word|", true, {.25, .5, 1, 2, 5, 10, 20}},
                          {"share"},
                          {}};
  report::Series naive{"word found, position ignored", {}, 0, false, true},
      mean{"word found, mean subtracted", {}, 1, false, true}, near{"ten nearest words", {}, 2, false, true},
      outside{"ten nearest outside the position's directions", {}, 3, false, true};
  for (const double a : {.25, .5, 1.0, 2.0, 3.0, 5.0, 10.0, 20.0}) {
    const WordDecoding w = decode_words(x, scaled(e, a));
    const MeaningLeft left = meaning_left(x, scaled(e, a), {100, 3});
    const double ratio = left.ratio;
    naive.points.emplace_back(ratio, w.naive), mean.points.emplace_back(ratio, w.mean_removed);
    near.points.emplace_back(ratio, left.near), outside.points.emplace_back(ratio, left.near_outside);
    f.number(text("ratio.", shortest(a)), text("|position| / |word|, A = ", shortest(a)), ratio, 2);
    f.number(text("near.", shortest(a)), text("share of the ten nearest words kept, A = ", shortest(a)),
             left.near, 3);
    if (a == 5) f.number("word.5", "word found, A = 5", w.naive, 3);
    if (a >= 1 && a <= 3) f.between(text("word.", a), text("word found, A = ", a), w.naive, .99, 1, 3);
    if (a != 10) continue;
    f.number("near_outside.10",
             "share of the ten nearest words kept outside the position's directions, A = 10",
             left.near_outside, 3);
    if (experiment.quick) {
      f.number("word.10", "word found, A = 10", w.naive, 3);
      f.number("word_projected.10", "word found outside the position's directions, A = 10", w.projected, 3);
    } else {
      f.near("word.10", "word found, A = 10", w.naive, .08, .05, 3);
      f.near("word_less_mean.10", "word found after subtracting the mean position, A = 10", w.mean_removed,
             .38, .05, 3);
      f.near("word_projected.10", "word found outside the position's directions, A = 10", w.projected, 1, .05,
             3);
    }
  }
  chart.series = {naive, mean, near, outside};
  f.figures = {chart};
}

ProbedLayers probe_layers(Experiment& experiment, const Recipe& r, const Sample& sample) {
  ProbedLayers out;
  const auto& models = experiment.models(r);
  out.chart = {"What can be read after each layer",
               "Linear probes on 8-layer models trained on text, split by sequence; mean over seeds.",
               {"layers passed", false, {0, 1, 2, 3, 4, 5, 6, 7, 8}},
               {"accuracy, or R²"},
               {}};
  report::Series place{"position, R²", {}, 0, false, true}, word{"own letter, accuracy", {}, 1, false, true};
  for (const Outcome& o : models) {
    const auto h = streams(o.look(), sample);
    place.points.resize(h.size()), word.points.resize(h.size());
    for (std::size_t l = 0; l < h.size(); ++l) {
      const double p = probe_positions(h[l], sample.T).r2, w = letters_read(h[l], sample);
      place.points[l] = {double(l), place.points[l].second + p / double(models.size())};
      word.points[l] = {double(l), word.points[l].second + w / double(models.size())};
      if (l == 0) out.first_place.push_back(p), out.first_word.push_back(w);
      if (l + 1 == h.size()) out.last_place.push_back(p), out.last_word.push_back(w);
    }
  }
  out.chart.series = {place, word};
  return out;
}

double within_two(const Matrix& rows) {
  double in = 0;
  for (std::int64_t n = 0; n < rows.rows; ++n) {
    double mean = 0, square = 0;
    for (const double v : rows.row(n)) mean += v / double(rows.columns);
    for (const double v : rows.row(n)) square += (v - mean) * (v - mean) / double(rows.columns);
    for (const double v : rows.row(n)) in += std::abs(v - mean) <= 2 * std::sqrt(square);
  }
  return in / double(rows.values.size());
}

double rounding_of_sum(const Recipe& r) {
  const Model model(r.model());
  const Floats w = model.initial(1);
  Sample sample{r.length, {}, {}};
  for (std::int64_t n = 0; n < r.length; ++n) sample.inputs.push_back(std::int32_t('A' + n));
  sample.targets = sample.inputs;
  const Written parts = written({model, w}, sample);
  const Matrix left = sum(streams({model, w}, sample)[0], sum(parts.word, parts.position), -1);
  double worst = 0;
  for (const double v : left.values) worst = std::max(worst, std::abs(v));
  return worst;
}

}  // namespace gnomon::claims
