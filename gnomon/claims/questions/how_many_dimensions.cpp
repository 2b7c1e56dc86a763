// How many dimensions do words and positions take?
#include <algorithm>
#include <cmath>
#include <numbers>

#include "gnomon/claims/measures/meaning.h"
#include "gnomon/claims/measures/measures.h"
#include "gnomon/lens/decode.h"
#include "gnomon/lens/subspace.h"

namespace gnomon::claims {

constexpr Prose kText =
#include "gnomon/claims/questions/how_many_dimensions.txt.inc"
    ;
Question question_how_many_dimensions{.key = "how_many_dimensions", .text = question_text(kText)};

namespace {

using enum Verdict;

Finding dimensions(Experiment& experiment) {
  Finding f;
  struct Row {
    std::int64_t d, T;
    std::int64_t count[4];
  };
  const Row rows[] = {
      {512, 20, {5, 6, 7, 8}},           {512, 50, {12, 14, 16, 17}},     {512, 128, {28, 34, 40, 42}},
      {512, 512, {80, 96, 111, 116}},    {64, 128, {16, 18, 20, 20}},     {128, 128, {23, 26, 29, 30}},
      {384, 128, {28, 34, 40, 42}},      {384, 512, {72, 84, 96, 99}},    {768, 512, {90, 111, 133, 139}},
      {512, 2048, {148, 169, 187, 193}}, {2048, 512, {96, 125, 155, 163}}};
  const double shares[] = {.9, .95, .99, .999};
  std::vector<std::pair<std::string, std::vector<double>>> shown;
  for (const Row& r : rows) {
    if (experiment.quick && r.T > 512) continue;
    const Spectrum s = spectrum(sinusoid(r.d, r.T));
    std::vector<double> found;
    for (int k = 0; k < 4; ++k) {
      found.push_back(double(s.count(shares[k])));
      f.near(text("components.", r.d, ".", r.T, ".", 100 * shares[k]),
             text("components for ", 100 * shares[k], " %, d = ", r.d, ", T = ", r.T), found.back(),
             double(r.count[k]), 0, 0);
    }
    found.insert(found.end(), {s.participation_ratio(), s.effective_rank(), double(r.T) / std::numbers::pi});
    shown.emplace_back(text("d = ", r.d, ", T = ", r.T), found);
    if (r.d == 512 && r.T == 20)
      f.near("participation.20", "participation ratio, T = 20", s.participation_ratio(), 4.3, .06, 1);
    if (r.d == 512 && r.T == 128) {
      f.near("participation.128", "participation ratio, T = 128", s.participation_ratio(), 13.5, .06, 1);
      f.near("effective_rank", "effective rank, T = 128", s.effective_rank(), 23.3, .06, 1);
    }
    if (r.d == 512 && r.T == 512)
      f.near("participation.512", "participation ratio, T = 512", s.participation_ratio(), 24.1, .06, 1);
  }
  f.number("t_over_pi.512", "T/π at T = 512", 512 / std::numbers::pi, 0);
  const Recipe r = experiment.language("sinusoidal");
  const Sample sample = experiment.held_out(r, 64);
  const Estimate words = mean_interval(each(
      experiment, r, [&](const Outcome& o) { return spectrum(words_of(o, sample)).participation_ratio(); }));
  const Estimate start = mean_interval(each(experiment, r, [&](const Outcome& o) {
    return spectrum(words_of(at_start(o), sample)).participation_ratio();
  }));
  f.estimate("words", text("participation ratio of the trained words, d = ", r.width), words, 1);
  f.estimate("words_start", "the same at the start", start, 1);
  const std::int64_t letters = words_of(experiment.models(r).front(), sample).rows;
  const double by_count = spectrum(gaussian_words(letters, r.width, 5)).participation_ratio();
  f.number("letters", "different letters", double(letters), 0);
  f.number("words_by_count", text("participation ratio of as many Gaussian vectors, d = ", r.width), by_count,
           1);
  f.number("words_many", text("participation ratio of 5,000 Gaussian vectors, d = ", r.width),
           spectrum(gaussian_words(experiment.quick ? 500 : 5000, r.width, 6)).participation_ratio(), 1);
  f.figures = {table(
      {{"sinusoid", "90 %", "95 %", "99 %", "99.9 %", "participation", "effective rank", "T/π"}, shown, 1})};
  return f;
}
const Record claim_000_07 = Claim{
    .question = &question_how_many_dimensions,
    .id = "000-07",
    .text = claim_text(kText, "000-07"),
    .recorded = holds_if,
    .verdicts = {{holds_if, {at_most("components.512.128.99.9", 51), above("words", {.5, "words_by_count"})}},
                 {holds, {at_most("components.512.128.99.9", 51), below("words", {.5, "words_by_count"})}},
                 otherwise(open)},
    .recipes = additive,
    .measure = dimensions,
};

Finding dims_move(Experiment&) {
  Finding f;
  struct Row {
    std::int64_t T;
    double count[6], variance;
  };
  const Row rows[] = {{20, {362, 250, 181, 120, 97, 201}, 58.2},
                      {50, {415, 304, 234, 173, 149, 252}, 83.6},
                      {128, {450, 356, 287, 226, 203, 304}, 109.7},
                      {512, {489, 434, 365, 303, 280, 382}, 148.2}};
  const double thresholds[] = {.007, .1, .5, 1, 1.9};
  std::vector<std::pair<std::string, std::vector<double>>> shown;
  for (const Row& r : rows) {
    const Channels c = channels(sinusoid(512, r.T));
    std::vector<double> found;
    for (const double t : thresholds) found.push_back(double(c.range_above(t)));
    found.push_back(double(c.deviation_above(.1)));
    double total = 0;
    for (const double v : c.variance) total += v;
    for (int k = 0; k < 6; ++k)
      f.near(text(k < 5 ? "range." : "deviation.", r.T, ".", k < 5 ? thresholds[k] : .1),
             text("T = ", r.T, k < 5 ? ", range > " : ", standard deviation > ", k < 5 ? thresholds[k] : .1),
             found[std::size_t(k)], r.count[k], 0, 0);
    f.near(text("variance.", r.T), text("T = ", r.T, ", total variance of 256"), total, r.variance, .06, 1);
    found.push_back(total);
    shown.emplace_back(text("T = ", r.T), found);
  }
  const Channels c = channels(sinusoid(512, 128));
  const auto flagged = double(c.range_above(.9));
  f.number("range_above_0.9", "T = 128, range > 0.9", flagged, 0);
  report::LineChart chart{"How far each channel moves over 128 positions",
                          "512 channels of the paper's sinusoid, sorted.",
                          {"channel, sorted by its range"},
                          {"range: largest minus smallest value", true, {.001, .01, .1, .5, 1, 2}},
                          {}};
  std::vector<double> sorted = c.range;
  std::sort(sorted.rbegin(), sorted.rend());
  report::Series s{"range", {}, 0};
  for (std::size_t k = 0; k < sorted.size(); ++k) s.points.emplace_back(double(k), std::max(sorted[k], 1e-4));
  chart.series = {s};
  chart.y = {"range: largest minus smallest value"};
  f.figures = {
      chart,
      table({{"d = 512", "range > .007", "> .1", "> .5", "> 1", "> 1.9", "deviation > .1", "variance of 256"},
             shown,
             1})};
  double varies = 0;
  for (const double v : c.variance) varies += v;
  const double constant = 1 - varies / 256;
  f.number("constant", "T = 128, share of the sinusoid's energy in its mean vector", constant, 3);
  return f;
}
const Record claim_001_13 = Claim{
    .question = &question_how_many_dimensions,
    .id = "001-13",
    .text = claim_text(kText, "001-13"),
    .recorded = holds_if,
    .verdicts = {{holds_if, {at_least("range.128.0.1", 257), at_most("range.128.1", 255)}}, otherwise(holds)},
    .measure = dims_move,
};

Finding dims_shared_out(Experiment& experiment) {
  Finding f;
  const Recipe r = experiment.language("sinusoidal"), rotated = experiment.language("rotated");
  const Sample sample = experiment.held_out(r, 64);
  const auto rho = [&](const Outcome& o) {
    return spearman(channels(positions_of(o, sample)).variance, channels(words_of(o, sample)).variance);
  };
  const Estimate trained = mean_interval(each(experiment, r, rho));
  const Estimate start =
      mean_interval(each(experiment, r, [&](const Outcome& o) { return rho(at_start(o)); }));
  const Estimate control = mean_interval(each(experiment, rotated, rho));
  const Estimate cost = loss_difference(experiment, rotated, r);
  f.estimate("rho", "rank correlation of the channels' variances, trained", trained, 3);
  f.estimate("rho_start", "the same at the start", start, 3);
  f.estimate("rho_rotated", "the same with the sinusoid in a random basis", control, 3);
  f.number("rho_by_chance", "95 % of permuted channels lie within ±", 1.96 / std::sqrt(double(r.width - 1)),
           3);
  const auto inside = [&](const Outcome& o) {
    return energy_within(positions_of(o, sample), letter_directions(words_of(o, sample), 16));
  };
  f.estimate("inside", "share of the variance of positions inside the first 16 word directions",
             mean_interval(each(experiment, r, inside)), 3);
  f.estimate("inside_rotated", "the same with the sinusoid in a random basis",
             mean_interval(each(experiment, rotated, inside)), 3);
  f.number("inside_by_chance", "the same by chance", 16.0 / double(r.width), 3);
  f.estimate("loss", "loss with the sinusoid in a random basis minus loss with the plain sinusoid (nats)",
             cost, 4);
  return f;
}
const Record claim_001_14 = Claim{
    .question = &question_how_many_dimensions,
    .id = "001-14",
    .text = claim_text(kText, "001-14"),
    .recorded = open,
    .verdicts = {{holds, {below("rho", -.1), below("inside", {.5, "inside_by_chance"})}},
                 {wrong, {above("rho", -.1)}},
                 {wrong, {above("inside", {.5, "inside_by_chance"})}},
                 otherwise(open)},
    .recipes =
        [](const Experiment& d) {
          return std::vector{d.language("sinusoidal"), d.language("rotated")};
        },
    .measure = dims_shared_out,
};

Finding degrees(Experiment& experiment) {
  Finding f;
  const std::int64_t V = experiment.quick ? 500 : 2000;
  double words[2], components[2], outside[2];
  for (const int k : {0, 1}) {
    const std::int64_t d = k ? 768 : 384;
    const Matrix x = uniform_words(V, d, 41);
    words[k] = decode_words(x, sinusoid(d, 64)).naive;
    components[k] = double(spectrum(sinusoid(d, 128)).count(.999));
    const MeaningLeft left = meaning_left(x, sinusoid(d, 64), {100, 2});
    outside[k] = left.near_outside;
    f.near(text("word.", d), text("word found, d = ", d), words[k], 1, 1e-3, 3);
    f.near(text("components.", d),
           text("components for 99.9 % of the sinusoid's variance, d = ", d, ", T = 128"), components[k], 42,
           k, 0);
    f.number(text("near.", d), text("share of the ten nearest words that stay in the sum, d = ", d),
             left.near, 3);
    f.number(text("near_outside.", d),
             text("share of the ten nearest words kept outside the position's directions, d = ", d),
             outside[k], 3);
    f.number(text("free.", d), text("channels less these components, d = ", d), double(d) - components[k], 0);
    f.number(text("ratio.", d), text("|position| / |word| of these words, d = ", d),
             norm_ratio(sinusoid(d, 64), x).raw, 2);
  }
  f.number("growth", "channels outside the sinusoid's components, d = 768 divided by d = 384",
           (768 - components[1]) / (384 - components[0]), 3);
  f.number("closed",
           "share of the neighbours lost at d = 384, outside the position's directions, that d = 768 keeps",
           (outside[1] - outside[0]) / (1 - outside[0]), 3);
  return f;
}
const Record claim_002_10 = Claim{
    .question = &question_how_many_dimensions,
    .id = "002-10",
    .text = claim_text(kText, "002-10"),
    .recorded = holds_if,
    .verdicts = {{holds, {asked("components"), at_most("growth", 2)}},
                 {holds_if, {asked("components"), at_most("growth", 2.5)}},
                 otherwise(wrong)},
    .measure = degrees,
};

}  // namespace
}  // namespace gnomon::claims
