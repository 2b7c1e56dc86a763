// Does the sum mess up the meaning?
#include <algorithm>
#include <cmath>

#include "gnomon/claims/parts.h"
#include "gnomon/lens/decode.h"
#include "gnomon/lens/probe.h"
#include "gnomon/lens/subspace.h"

namespace gnomon::claims {

Question question_is_meaning_lost = {
    .key = "is_meaning_lost",
    .title = "Does the sum mess up the meaning?",
    .lead = "002-03",
    .answer =
        "Not from 64 channels on: the nearest word to word + position is the right one in {002-03|word.64} "
        "of cases at d = 64, and in all at 128. In small spaces it does: {002-03|word.16} at d = 16."};

namespace {

using enum Verdict;

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
    const auto found = [&](const char* group, const char* what, double value, double expected) {
      const std::string key = text(group, ".", r.d), name = text(what, ", d = ", r.d);
      if (desk.quick || std::isnan(expected)) {  // the expected shares are for 2,000 words
        f.number(key, name, value, 3);
      } else {
        f.near(key, name, value, expected, .05, 3);
      }
    };
    found("word", "word found", w.naive, r.naive);
    found("word_less_mean", "less the mean", w.mean_removed, r.mean_removed);
    found("word_projected", "outside the position subspace", w.projected, r.projected);
    found("position", "position found", p, r.position);
    shown.push_back({text("d = ", r.d), {w.naive, w.mean_removed, w.projected, p, recall}});
    const double d = double(r.d);
    naive.points.emplace_back(d, w.naive), mean.points.emplace_back(d, w.mean_removed),
        projected.points.emplace_back(d, w.projected), place.points.emplace_back(d, p);
  }
  chart.series = {naive, mean, projected, place};
  f.figures = {chart, table({{"A = 1", "word found", "less the mean", "outside the subspace",
                              "position found", "recall of 10 neighbours"},
                             shown,
                             3})};
  f.answer =
      "Not from d = 64 on: the nearest word is the right one in 99 % of cases at d = 64 and in all at 128, "
      "without knowing the position; in small spaces (17 % at d = 16) the objection is right.";
  return f;
}
const Record claim_002_03 = Claim{
    .question = &question_is_meaning_lost,
    .id = "002-03",
    .says = "The sum messes up the meaning: airplane + position may become human.",
    .method =
        "nearest word to x + v over 2,000 uniform words and 64 positions: ignoring v, less its mean, outside "
        "the principal components of 99.9 % of its variance",
    .expects = "lost in small spaces, safe from d = 64",
    .advice = "Add at d >= 64 without fear; in tiny models concatenate, or use a relative encoding.",
    .recorded = wrong,
    .verdicts = {{wrong, {at_least("word.64", .95), at_least("word.128", .99)}}, otherwise(holds)},
    .measure = messes_up,
};

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
    if (a <= 3) f.between(text("word.", a), text("word found, A = ", a), w.naive, .99, 1, 3);
    if (a == 10 && desk.quick) f.number("word.10", "word found, A = 10", w.naive, 3);
    if (a == 10 && !desk.quick) {
      f.near("word.10", "word found, A = 10", w.naive, .08, .05, 3);
      f.near("word_less_mean.10", "less the mean, A = 10", w.mean_removed, .38, .05, 3);
      f.near("word_projected.10", "outside the position subspace, A = 10", w.projected, 1, .05, 3);
    }
  }
  chart.series = {naive, mean};
  f.figures = {chart};
  f.answer =
      "Only when it is much louder: at d = 512 every word is found up to A = 3, and 8 % at A = 10. Even then "
      "a model that projects out the 20 or so directions of the position finds all of them.";
  return f;
}
const Record claim_002_04 = Claim{
    .question = &question_is_meaning_lost,
    .id = "002-04",
    .says = "The position can hide the original word.",
    .method = "the same decoding at d = 512 with the code A times as large",
    .expects = "naive decoding breaks between A = 3 and 10",
    .advice = "Keep A within a few.",
    .recorded = conditional,
    .verdicts = {{conditional, {at_least("word.3", .99), at_most("word.10", .5)}},
                 {holds, {at_most("word.1", .5)}},
                 otherwise(wrong)},
    .measure = hides,
};

Finding degrees(Desk& desk) {
  Finding f;
  const std::int64_t V = desk.quick ? 500 : 2000;
  const Matrix x384 = uniform_words(V, 384, 41), x768 = uniform_words(V, 768, 41);
  const WordDecoding a = decode_words(x384, sinusoid(384, 64)), b = decode_words(x768, sinusoid(768, 64));
  f.near("word.384", "word found, d = 384", a.naive, 1, 1e-3, 3);
  f.near("word.768", "word found, d = 768", b.naive, 1, 1e-3, 3);
  f.near("components.384", "components for 99.9 % of the code, d = 384, T = 128",
         double(spectrum(sinusoid(384, 128)).count(.999)), 42, 0, 0);
  f.near("components.768", "components for 99.9 % of the code, d = 768, T = 128",
         double(spectrum(sinusoid(768, 128)).count(.999)), 42, 1, 0);
  f.answer =
      "The count doubles, but nothing is gained for telling word and position apart: the code needs 42 "
      "dimensions at length 128 in either, and every word is found from d = 128 on.";
  return f;
}
const Record claim_002_10 = Claim{
    .question = &question_is_meaning_lost,
    .id = "002-10",
    .says = "768 channels give twice the degrees of freedom of 384.",
    .method = "word decoding and dimensions of the code at both widths",
    .expects = "saturated: both decode every word, the code has 42 dimensions in both",
    .advice = "Choose the width for the words.",
    .recorded = conditional,
    .verdicts = {{conditional, {asked("word"), asked("components")}}},
    .measure = degrees,
};

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
  f.estimate("position_from_words", "control: position from the words alone, R²",
             mean_interval(each(desk, r,
                                [&](const Outcome& o) {
                                  return probe_positions(written(o.look(), sample).word, sample.T).r2;
                                })),
             3);
  f.estimate(
      "position_untrained", "control: position after 8 layers before training, R²",
      mean_interval(each(desk, r,
                         [&](const Outcome& o) {
                           return probe_positions(streams(at_start(o).look(), sample).back(), sample.T).r2;
                         })),
      3);
  f.estimate("position_at_embedding", "position at the embedding, R²", mean_interval(first_place), 3);
  f.estimate("letter_at_embedding", "letter at the embedding, accuracy", mean_interval(first_word), 3);
  f.estimate("position_at_end", "position after 8 layers, R²", mean_interval(last_place), 3);
  f.estimate("letter_at_end", "letter after 8 layers, accuracy", mean_interval(last_word), 3);
  f.figures = {chart};
  f.answer =
      text("Yes: at the embedding a linear probe reads both (R² ", fixed(mean_interval(first_place).mean, 3),
           ", ", fixed(100 * mean_interval(first_word).mean, 1),
           " % of letters). After eight layers, which exist to predict the next letter, it still reads the "
           "position with R² ",
           fixed(mean_interval(last_place).mean, 2), " and the own letter in ",
           fixed(100 * mean_interval(last_word).mean, 0), " %.");
  return f;
}
const Record claim_001_03 = Claim{
    .question = &question_is_meaning_lost,
    .id = "001-03",
    .says = "Can the network separate the word from the position in their sum?",
    .method =
        "ridge probes for the position (R²) and the letter (accuracy) on the residual stream after every "
        "layer of 8-layer models; split by sequence, regularisation chosen on other sequences",
    .expects = "both near 1 at the embedding; falling with depth",
    .advice = "Yes: expect no loss of information from the sum at usual widths.",
    .recorded = holds,
    .verdicts = {{holds, {above("position_at_embedding", .95), above("letter_at_embedding", .95)}},
                 otherwise(undecided)},
    .recipes = [](const Desk& d) { return std::vector{d.language("sinusoidal").deep(8)}; },
    .measure = separable,
};

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
  f.estimate("learned", "letter from the sum, words learned", a, 3);
  f.estimate("frozen", "letter from the sum, words random and frozen", b, 3);
  f.estimate("loss", "loss with words random and frozen, less learned (nats)", cost, 4);
  f.answer = text("Recoverable without learning: from random frozen word vectors the letter is read in ",
                  fixed(100 * b.mean, 1), " % of cases, from learned ones in ", fixed(100 * a.mean, 1),
                  " %. Width does it, not learning. With words that are not learned the loss is ",
                  compared(cost), ".");
  return f;
}
const Record claim_001_04 = Claim{
    .question = &question_is_meaning_lost,
    .id = "001-04",
    .says = "Word vectors are learned, so they become recoverable from the sum.",
    .method = "the letter probe on the sum with learned words and with words that stay random",
    .expects = "recoverable in both: width does it",
    .advice = "Do not credit training with what random vectors have.",
    .recorded = wrong,
    .verdicts = {{wrong, {above("frozen", .95)}},
                 {holds, {below("frozen", .95), above("learned", .95)}},
                 otherwise(undecided)},
    .recipes =
        [](const Desk& d) {
          return std::vector{d.language("sinusoidal"), frozen(d)};
        },
    .measure = learnable,
};

Finding prelearned(Desk& desk) {
  Finding f;
  const Estimate cost = loss_difference(desk, frozen(desk), desk.language("sinusoidal"));
  f.estimate("loss", "loss with words that are not trained, less trained (nats)", cost, 4);
  f.answer = text(
      "A fact of practice: the models here learn their word vectors with the rest. With words left as they "
      "started, 256 symbols, the loss is ",
      compared(cost), ".");
  return f;
}
const Record claim_001_15 = Claim{
    .question = &question_is_meaning_lost,
    .id = "001-15",
    .says = "Transformers do not use word vectors learned beforehand.",
    .method = "loss with a word table that is not trained, paired by seed",
    .expects = "a fact of practice; freezing costs",
    .advice = "Train the table.",
    .recorded = holds,
    .rests_on = citation("Vaswani et al. 2017 (arXiv:1706.03762), section 3.4: learned embeddings convert "
                         "the tokens to vectors"),
    .recipes =
        [](const Desk& d) {
          return std::vector{d.language("sinusoidal"), frozen(d)};
        },
    .measure = prelearned,
};

Finding not_mixed(Desk& desk) {
  Finding f;
  const Recipe r = desk.language("sinusoidal");
  const Sample sample = desk.held_out(r, desk.quick ? 60 : 400);
  const Estimate place = mean_interval(each(
      desk, r, [&](const Outcome& o) { return probe_positions(streams(o.look(), sample)[0], sample.T).r2; }));
  const Estimate word = mean_interval(
      each(desk, r, [&](const Outcome& o) { return letters_read(streams(o.look(), sample)[0], sample); }));
  const Estimate before = mean_interval(each(desk, r, [&](const Outcome& o) {
    return letters_read(streams(at_start(o).look(), sample)[0], sample);
  }));
  f.estimate("position", "position from the sum: R²", place, 3);
  f.estimate("word", "word from the sum: accuracy", word, 3);
  f.estimate("word_start", "word from the sum at the start: accuracy", before, 3);
  f.answer =
      text("From the trained sum a linear probe reads the position with R² ", fixed(place.mean, 3),
           " and the letter in ", fixed(100 * word.mean, 1), " % of cases. But so it does before training, ",
           fixed(100 * before.mean, 1), " %: at this width the sum is readable without learning.");
  return f;
}
const Record claim_003_14 = Claim{
    .question = &question_is_meaning_lost,
    .id = "003-14",
    .says = "The model learns to use words and positions without mixing them up.",
    .method = "linear probes for position and letter on the sum, trained and at the start; split by sequence",
    .expects = "both near 1; what is there before training was not learned",
    .advice = "Compare any such finding with the same number at the start.",
    .recorded = holds,
    .verdicts = {{holds, {above("position", .95), above("word", .95)}}, otherwise(undecided)},
    .recipes = additive,
    .measure = not_mixed,
};

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
  f.near("nearest", "positions told apart from words by the nearest word", largest(true), 49, 0, 0);
  f.near("floor", "by rounding down", largest(false), 99, 0, 0);
  f.answer =
      "The picture works while all offsets stay below half the gap between words: 49 positions of 0.01, or "
      "99 when one rounds down. Real models need no such order: they spend some 40 other dimensions on the "
      "position.";
  return f;
}
const Record claim_001_08 = Claim{
    .question = &question_is_meaning_lost,
    .id = "001-08",
    .says = "Words at 1, 2, 3 and offsets of .01: the sum forms a cloud around each word.",
    .method = "how many positions leave the word decodable, by the nearest word and by rounding down",
    .expects = "49 and 99",
    .advice = "A picture, not a mechanism: use dimensions, not digits.",
    .recorded = conditional,
    .verdicts = {{conditional, {asked("nearest"), asked("floor")}}},
    .measure = one_dimension,
};

Finding bert_range(Desk& desk) {
  Finding f;
  const Recipe r = desk.language("sinusoidal");
  const auto of = [&](auto&& g) {
    return mean_interval(each(desk, r, [&](const Outcome& o) { return g(o); }));
  };
  const auto raw = [](const Outcome& o) { return parameter(o.look(), "embed.word"); };
  f.estimate("deviation", "deviation of the raw table (width 96)", of([&](const Outcome& o) {
               const Matrix m = raw(o);
               return std::sqrt(squares(m) / double(m.values.size()));
             }),
             3);
  f.estimate("largest", "largest |entry| of the raw table", of([&](const Outcome& o) {
               const Matrix m = raw(o);
               double most = 0;
               for (const double v : m.values) most = std::max(most, std::abs(v));
               return most;
             }),
             2);
  const Sample sample = desk.held_out(r, 16);
  const Estimate inside = of([&](const Outcome& o) {
    const Matrix h = streams(o.look(), sample)[0];
    double in = 0;
    for (std::int64_t n = 0; n < h.rows; ++n) {
      double mean = 0, square = 0;
      for (const double v : h.row(n)) mean += v / double(h.columns);
      for (const double v : h.row(n)) square += (v - mean) * (v - mean) / double(h.columns);
      for (const double v : h.row(n)) in += std::abs(v - mean) <= 2 * std::sqrt(square);
    }
    return in / double(h.values.size());
  });
  f.estimate("inside", "share of normalised entries within ±2", inside, 3);
  f.answer = text(
      "It cannot be said of BERT here: its table is not among our files. In our models the raw table is far "
      "smaller than that, and ",
      fixed(100 * inside.mean, 0),
      " % of the entries lie within ±2 after normalisation: ±2 is the scale of a LayerNorm, not of a word "
      "table.");
  return f;
}
const Record claim_001_12 = Claim{
    .question = &question_is_meaning_lost,
    .id = "001-12",
    .says = "BERT's word vectors are roughly in [−2, 2].",
    .method = "entries of the raw word table and of the normalised sum, in our trained models",
    .expects = "±2 is the scale after LayerNorm; BERT's own table is needed to say it of BERT",
    .advice = "Compare a code with the words after the same norm.",
    .recorded = undecided,
    .rests_on = argument("the sentence is about BERT's table, which is not among our files: no model trained "
                         "here can settle it"),
    .recipes = [](const Desk& d) { return std::vector{d.language("sinusoidal")}; },
    .measure = bert_range,
};

Finding example_of_a_sum(Desk&) {
  Finding f;
  const double x = -.7, y = .9;
  f.number("example", "|v|² of the example", x * x + y * y, 2);
  const Matrix e = sinusoid(512, 64);
  double worst = 0, nearest = INFINITY;
  for (std::int64_t p = 0; p < 64; ++p) {
    for (std::int64_t i = 0; i < 256; ++i) {
      worst = std::max(worst, std::abs(std::hypot(e.at(p, 2 * i), e.at(p, 2 * i + 1)) - 1));
      nearest = std::min(nearest, std::hypot(e.at(p, 2 * i) - x, e.at(p, 2 * i + 1) - y));
    }
  }
  f.number("nearest", "least distance of the example's v from a pair, positions 0 to 63", nearest, 3);
  f.between("radius", "largest | |pair| − 1 |, positions 0 to 63", worst, 0, 1e-12, 15);
  f.answer =
      "No position has that code: a sine and cosine of one angle have squared length 1, the example has "
      "1.30. The sum itself is exact, and a LayerNorm or a factor √d follows.";
  return f;
}
const Record claim_002_15 = Claim{
    .question = &question_is_meaning_lost,
    .id = "002-15",
    .says = "An example of the sum: [.5, .3] + v = [−.2, 1.2] with v = [−.7, .9]; is it exactly added?",
    .method = "the squared length of v, which is sin² + cos²",
    .expects = "1 for any position; the example has 1.30",
    .advice =
        "It is exactly added; then a norm or a factor √d sets the scale. Check an example by the length of "
        "its code.",
    .recorded = wrong,
    .verdicts = {{wrong, {asked("radius"), at_least("nearest", .01)}}, otherwise(holds)},
    .measure = example_of_a_sum,
};

}  // namespace
}  // namespace gnomon::claims
