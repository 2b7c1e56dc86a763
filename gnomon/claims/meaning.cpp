// Does the sum mess up the meaning? Decoding, amplitudes, norms.
#include <algorithm>
#include <cmath>

#include "gnomon/claims/parts.h"
#include "gnomon/kernels/norm.h"
#include "gnomon/lens/decode.h"
#include "gnomon/lens/probe.h"
#include "gnomon/lens/subspace.h"

namespace gnomon::claims {
namespace {

constexpr std::int64_t kVocabularySize = 2000, kPositions = 64;

Finding messes_up(Desk& desk) {
  Finding f;
  struct Row {
    std::int64_t d;
    double naive, mean_removed, projected, position;
  };
  const double skip = std::nan("");
  const Row rows[] = {
      {4, .008, .022, .012, skip}, {8, .016, .068, 1, skip}, {16, .17, .69, 1, .46}, {32, .76, 1, 1, .70},
      {64, .99, 1, 1, .80},        {128, 1, 1, 1, .91},      {512, 1, 1, 1, 1}};
  const std::int64_t V = desk.quick ? 1000 : kVocabularySize;
  std::vector<std::pair<std::string, std::vector<double>>> shown;
  report::LineChart chart{"Can the word be read from word + position?",
                          text(V, " words uniform in [−1, 1], 64 positions, amplitude 1; nearest word, ",
                               V * kPositions, " cases a point."),
                          {"width d", true, {4, 8, 16, 32, 64, 128, 512}},
                          {"share of words found"},
                          {}};
  report::Series naive{"ignoring the position", {}, 0, false, true},
      mean{"less the mean position", {}, 1, false, true},
      projected{"outside the position subspace", {}, 2, false, true},
      place{"position found, ignoring the word", {}, 3, false, true};
  for (const Row& r : rows) {
    const Matrix x = uniform_words(V, r.d, 21), e = sinusoid(r.d, kPositions);
    const WordDecoding w = decode_words(x, e);
    const double p = decode_positions(x, e),
                 recall = r.d >= 16 ? neighbour_recall(x.block(0, 400), e, 10) : skip;
    const auto found = [&](const char* what, double value, double expected) {
      const std::string name = text(what, ", d = ", r.d);
      if (desk.quick || std::isnan(expected)) {  // the expected shares are for 2,000 words
        f.number(name, value, 3);
      } else {
        f.near(name, value, expected, .05, 3);
      }
    };
    found("word found", w.naive, r.naive);
    found("less the mean", w.mean_removed, r.mean_removed);
    found("outside the position subspace", w.projected, r.projected);
    found("position found", p, r.position);
    shown.push_back({text("d = ", r.d), {w.naive, w.mean_removed, w.projected, p, recall}});
    const double d = double(r.d);
    naive.points.emplace_back(d, w.naive), mean.points.emplace_back(d, w.mean_removed),
        projected.points.emplace_back(d, w.projected), place.points.emplace_back(d, p);
  }
  chart.series = {naive, mean, projected, place};
  f.figures = draw(chart) + table({{"A = 1", "word found", "less the mean", "outside the subspace",
                                    "position found", "recall of 10 neighbours"},
                                   shown,
                                   3});
  f.conclude(Verdict::wrong,
             "Not from d = 64 on: the nearest word is the right one in 99 % of cases at d = 64 and in all at "
             "128, without knowing the position; in small spaces (17 % at d = 16) the objection is right.");
  return f;
}

Finding hides(Desk& desk) {
  Finding f;
  const std::int64_t V = desk.quick ? 500 : kVocabularySize;
  const Matrix x = uniform_words(V, 512, 21), e = sinusoid(512, kPositions);
  report::LineChart chart{"How loud may the position be?",
                          text("d = 512, ", V, " uniform words, 64 positions."),
                          {"amplitude A of the position", true, {1, 2, 3, 5, 10, 20, 40}},
                          {"share of words found"},
                          {}};
  report::Series naive{"ignoring the position", {}, 0, false, true},
      mean{"less the mean position", {}, 1, false, true};
  for (const double a : {1.0, 2.0, 3.0, 5.0, 10.0, 20.0}) {
    const WordDecoding w = decode_words(x, scaled(e, a));
    naive.points.emplace_back(a, w.naive), mean.points.emplace_back(a, w.mean_removed);
    if (a <= 3) f.between(text("word found, A = ", a), w.naive, .99, 1, 3);
    if (a == 10 && !desk.quick) {
      f.near("word found, A = 10", w.naive, .08, .05, 3);
      f.near("less the mean, A = 10", w.mean_removed, .38, .05, 3);
      f.near("outside the position subspace, A = 10", w.projected, 1, .05, 3);
    }
  }
  chart.series = {naive, mean};
  f.figures = draw(chart);
  f.conclude(
      Verdict::conditional,
      "Only when it is much louder: at d = 512 every word is found up to A = 3, and 8 % at A = 10. Even then "
      "a model that projects out the 20 or so directions of the position finds all of them.");
  return f;
}

Finding degrees(Desk& desk) {
  Finding f;
  const std::int64_t V = desk.quick ? 500 : 2000;
  const Matrix x384 = uniform_words(V, 384, 41), x768 = uniform_words(V, 768, 41);
  const WordDecoding a = decode_words(x384, sinusoid(384, 64)), b = decode_words(x768, sinusoid(768, 64));
  f.near("word found, d = 384", a.naive, 1, 1e-3, 3);
  f.near("word found, d = 768", b.naive, 1, 1e-3, 3);
  f.near("components for 99.9 % of the code, d = 384, T = 128",
         double(spectrum(sinusoid(384, 128)).count(.999)), 42, 0, 0);
  f.near("components for 99.9 % of the code, d = 768, T = 128",
         double(spectrum(sinusoid(768, 128)).count(.999)), 42, 1, 0);
  f.conclude(Verdict::conditional,
             "The count doubles, but nothing is gained for telling word and position apart: the code needs "
             "42 dimensions at length 128 in either, and every word is found from d = 128 on.");
  return f;
}

Finding separable(Desk& desk) {
  Finding f;
  const Recipe r = desk.language("sinusoidal").deep(8);
  const Sample sample = desk.held_out(r, desk.quick ? 60 : 300);
  const auto& models = desk.models(r);
  report::LineChart chart{
      "What can be read after each layer",
      "Linear probes on 8-layer models trained on text, mean over seeds; split by sequence.",
      {"layers passed", false, {0, 1, 2, 3, 4, 5, 6, 7, 8}},
      {"accuracy, or R²"},
      {}};
  report::Series place{"position, R²", {}, 0, false, true}, word{"own letter, accuracy", {}, 1, false, true};
  std::vector<double> first_place, last_place, first_word, last_word;
  for (const Outcome& o : models) {
    const auto h = streams(o.look(), sample);
    place.points.resize(h.size()), word.points.resize(h.size());
    for (std::size_t l = 0; l < h.size(); ++l) {
      const double p = probe_positions(h[l], sample.T).r2, w = letters_read(h[l], sample);
      place.points[l] = {double(l), place.points[l].second + p / double(models.size())};
      word.points[l] = {double(l), word.points[l].second + w / double(models.size())};
      if (l == 0) first_place.push_back(p), first_word.push_back(w);
      if (l + 1 == h.size()) last_place.push_back(p), last_word.push_back(w);
    }
  }
  chart.series = {place, word};
  // Controls: what the words alone say of the position; what a probe finds before training.
  f.estimate("control: position from the words alone, R²",
             mean_interval(each(desk, r,
                                [&](const Outcome& o) {
                                  return probe_positions(written(o.look(), sample).word, sample.T).r2;
                                })),
             3);
  f.estimate(
      "control: position after 8 layers before training, R²",
      mean_interval(each(desk, r,
                         [&](const Outcome& o) {
                           return probe_positions(streams(at_start(o).look(), sample).back(), sample.T).r2;
                         })),
      3);
  f.estimate("position at the embedding, R²", mean_interval(first_place), 3);
  f.estimate("letter at the embedding, accuracy", mean_interval(first_word), 3);
  f.estimate("position after 8 layers, R²", mean_interval(last_place), 3);
  f.estimate("letter after 8 layers, accuracy", mean_interval(last_word), 3);
  f.figures = draw(chart);
  const bool at_embedding = mean_interval(first_place).mean > .95 && mean_interval(first_word).mean > .95;
  f.conclude(
      at_embedding ? Verdict::holds : Verdict::undecided,
      text("Yes: at the embedding a linear probe reads both (R² ", fixed(mean_interval(first_place).mean, 3),
           ", ", fixed(100 * mean_interval(first_word).mean, 1),
           " % of letters). After eight layers, which exist to predict the next letter, it still reads the "
           "position with R² ",
           fixed(mean_interval(last_place).mean, 2), " and the own letter in ",
           fixed(100 * mean_interval(last_word).mean, 0), " %."));
  return f;
}

Recipe frozen(const Desk& d) {
  Recipe r = d.language("sinusoidal");
  r.frozen_words = true;
  return r;
}

Finding learnable(Desk& desk) {
  Finding f;
  const Recipe learned = desk.language("sinusoidal"), fixed_words = frozen(desk);
  const Sample sample = desk.held_out(learned, desk.quick ? 60 : 300);
  const auto word = [&](const Recipe& r) {
    return mean_interval(
        each(desk, r, [&](const Outcome& o) { return letters_read(streams(o.look(), sample)[0], sample); }));
  };
  const Estimate a = word(learned), b = word(fixed_words), cost = loss_difference(desk, fixed_words, learned);
  f.estimate("letter from the sum, words learned", a, 3);
  f.estimate("letter from the sum, words random and frozen", b, 3);
  f.estimate("loss with words random and frozen, less learned (nats)", cost, 4);
  f.conclude(b.mean > .95 ? Verdict::wrong : Verdict::holds,
             text("Recoverable without learning: from random frozen word vectors the letter is read in ",
                  fixed(100 * b.mean, 1), " % of cases, from learned ones in ", fixed(100 * a.mean, 1),
                  " %. Width does it, not learning. With words that are not learned the loss is ",
                  compared(cost), "."));
  return f;
}

Finding one_dimension(Desk&) {
  Finding f;
  // Words at 1, 2, 3; the n-th position adds n·0.01.
  const auto largest = [](bool nearest) {
    int n = 0;
    while (true) {
      const double value = 2 + .01 * (n + 1);
      const double word = nearest ? std::floor(value + .5 + 1e-12) : std::floor(value + 1e-12);
      if (word != 2) return n;
      ++n;
    }
  };
  f.near("positions told apart from words by the nearest word", largest(true), 49, 0, 0);
  f.near("by rounding down", largest(false), 99, 0, 0);
  f.conclude(Verdict::conditional,
             "The picture works while all offsets stay below half the gap between words: 49 positions of "
             "0.01, or 99 when one rounds down. Real models need no such order: they spend some 40 other "
             "dimensions on the position.");
  return f;
}

Finding prelearned(Desk& desk) {
  Finding f;
  const Estimate cost = loss_difference(desk, frozen(desk), desk.language("sinusoidal"));
  f.estimate("loss with words that are not trained, less trained (nats)", cost, 4);
  f.conclude(Verdict::holds, text("A fact of practice: the models here learn their word vectors with the "
                                  "rest. With words left as they started, 256 symbols, the loss is ",
                                  compared(cost), "."));
  return f;
}

}  // namespace

extern const Claim claim_001_03;
const Claim claim_001_03 = {
    .id = "001-03",
    .question = "meaning",
    .says = "Can the network separate the word from the position in their sum?",
    .method =
        "ridge probes for the position (R²) and the letter (accuracy) on the residual stream after every "
        "layer of 8-layer models; split by sequence, regularisation chosen on other sequences",
    .expects = "both near 1 at the embedding; falling with depth",
    .advice = "Yes: expect no loss of information from the sum at usual widths.",
    .expected = Verdict::holds,
    .statistical = true,
    .recipes = [](const Desk& d) { return std::vector{d.language("sinusoidal").deep(8)}; },
    .measure = separable};
extern const Claim claim_001_04;
const Claim claim_001_04 = {
    .id = "001-04",
    .question = "meaning",
    .says = "Word vectors are learned, so they become recoverable from the sum.",
    .method = "the letter probe on the sum with learned words and with words that stay random",
    .expects = "recoverable in both: width does it",
    .advice = "Do not credit training with what random vectors have.",
    .expected = Verdict::wrong,
    .statistical = true,
    .recipes =
        [](const Desk& d) {
          return std::vector{d.language("sinusoidal"), frozen(d)};
        },
    .measure = learnable};
extern const Claim claim_001_08;
const Claim claim_001_08 = {
    .id = "001-08",
    .question = "meaning",
    .says = "Words at 1, 2, 3 and offsets of .01: the sum forms a cloud around each word.",
    .method = "how many positions leave the word decodable, by the nearest word and by rounding down",
    .expects = "49 and 99",
    .advice = "A picture, not a mechanism: use dimensions, not digits.",
    .expected = Verdict::conditional,
    .measure = one_dimension};
extern const Claim claim_001_15;
const Claim claim_001_15 = {.id = "001-15",
                            .question = "meaning",
                            .says = "Transformers do not use word vectors learned beforehand.",
                            .method = "loss with a word table that is not trained, paired by seed",
                            .expects = "a fact of practice; freezing costs",
                            .advice = "Train the table.",
                            .expected = Verdict::holds,
                            .statistical = true,
                            .recipes =
                                [](const Desk& d) {
                                  return std::vector{d.language("sinusoidal"), frozen(d)};
                                },
                            .measure = prelearned};
extern const Claim claim_002_03;
const Claim claim_002_03 = {
    .id = "002-03",
    .question = "meaning",
    .says = "The sum messes up the meaning: airplane + position may become human.",
    .method =
        "nearest word to x + v over 2,000 uniform words and 64 positions: ignoring v, less its mean, outside "
        "the principal components of 99.9 % of its variance",
    .expects = "lost in small spaces, safe from d = 64",
    .advice = "Add at d >= 64 without fear; in tiny models concatenate, or use a relative encoding.",
    .expected = Verdict::wrong,
    .measure = messes_up};
extern const Claim claim_002_04;
const Claim claim_002_04 = {.id = "002-04",
                            .question = "meaning",
                            .says = "The position can hide the original word.",
                            .method = "the same decoding at d = 512 with the code A times as large",
                            .expects = "naive decoding breaks between A = 3 and 10",
                            .advice = "Keep A within a few.",
                            .expected = Verdict::conditional,
                            .measure = hides};
extern const Claim claim_002_10;
const Claim claim_002_10 = {
    .id = "002-10",
    .question = "meaning",
    .says = "768 channels give twice the degrees of freedom of 384.",
    .method = "word decoding and dimensions of the code at both widths",
    .expects = "saturated: both decode every word, the code has 42 dimensions in both",
    .advice = "Choose the width for the words.",
    .expected = Verdict::conditional,
    .measure = degrees};

}  // namespace gnomon::claims
