// Does the sum mess up the meaning?
#include <algorithm>
#include <cmath>

#include "gnomon/claims/measures/meaning.h"
#include "gnomon/claims/measures/measures.h"
#include "gnomon/lens/decode.h"
#include "gnomon/lens/probe.h"
#include "gnomon/lens/subspace.h"

namespace gnomon::claims {

constexpr Prose kText =
#include "gnomon/claims/questions/is_meaning_lost.txt.inc"
    ;
Question question_is_meaning_lost{.key = "is_meaning_lost", .text = question_text(kText)};

namespace {

using enum Verdict;

Finding messes_up(Experiment& experiment) {
  Finding f;
  nearest_words(experiment, f);
  nearest_neighbours(experiment, f);
  nearest_by_ratio(experiment, f);
  return f;
}
const Record claim_002_03 = Claim{
    .question = &question_is_meaning_lost,
    .id = "002-03",
    .text = claim_text(kText, "002-03"),
    .recorded = holds_if,
    .verdicts = {{wrong, {at_least("near.768", .9)}},
                 {holds_if,
                  {at_least("cluster_near.768", .9), at_least("cluster_near.64", .9),
                   at_least("cluster_101_inside.768", .9), at_least("cluster_101_inside.64", .9),
                   at_most("cluster_near.16", .5), at_most("cluster_101_near.768", .5),
                   at_least("cluster_word.768", .9), at_most("word.16", .5), at_most("cluster_word.64", .9)}},
                 otherwise(holds)},
    .measure = messes_up,
};

Finding hides(Experiment& experiment) {
  Finding f;
  nearest_by_loudness(experiment, f);
  return f;
}
const Record claim_002_04 = Claim{
    .question = &question_is_meaning_lost,
    .id = "002-04",
    .text = claim_text(kText, "002-04"),
    .recorded = holds_if,
    .verdicts = {{holds_if, {at_least("word.3", .99), at_most("word.10", .5)}},
                 {holds, {at_most("word.1", .5)}},
                 otherwise(wrong)},
    .measure = hides,
};

Finding separable(Experiment& experiment) {
  Finding f;
  const Recipe r = experiment.language("sinusoidal", 8);
  const Sample sample = experiment.held_out(r, experiment.quick ? 60 : 300);
  const ProbedLayers p = probe_layers(experiment, r, sample);
  // Controls: what the words alone say of the position; what a probe finds before training; what counting alone gives.
  const auto r2 = [&](const char* key, const char* what, auto&& rows) {
    f.estimate(key, what,
               mean_interval(each(experiment, r,
                                  [&](const Outcome& o) { return probe_positions(rows(o), sample.T).r2; })),
               3);
  };
  r2("position_from_words", "control: position from the words alone, R²",
     [&](const Outcome& o) { return written(o.look(), sample).word; });
  r2("position_untrained", "control: position after 8 layers before training, R²",
     [&](const Outcome& o) { return streams(at_start(o).look(), sample).back(); });
  count_room(experiment, f, r, sample);
  const std::int64_t windows = experiment.quick ? 60 : 300;
  const double few = position_by_counting(16, r.width, windows),
               many = position_by_counting(5000, r.width, windows);
  f.number("counted.16", "control: position in sums of 16 random words in as many channels, R²", few, 3);
  f.number("counted.5000", "control: position in sums of 5,000 random words in as many channels, R²", many,
           3);
  const Estimate at_first = mean_interval(p.first_place), at_last = mean_interval(p.last_place);
  const ShareEstimate letter = share_interval(p.first_word, told_tokens(sample)),
                      late = share_interval(p.last_word, told_tokens(sample));
  f.estimate("position_at_embedding", "position at the embedding, R²", at_first, 3);
  f.share("letter_at_embedding", "letter at the embedding, accuracy", letter, 4);
  f.estimate("position_at_end", text("position after 8 layers, R², ", windows, " windows"), at_last, 3);
  f.share("letter_at_end", "letter after 8 layers, accuracy", late, 4);
  f.figures = {p.chart};
  return f;
}
const Record claim_001_03 = Claim{
    .question = &question_is_meaning_lost,
    .id = "001-03",
    .text = claim_text(kText, "001-03"),
    .recorded = answered,
    .rests_on = Basis::argument,
    .recipes = [](const Experiment& d) { return std::vector{d.language("sinusoidal", 8)}; },
    .measure = separable,
};

// Far fewer channels than the text has symbols: counting alone no longer makes both readable.
Recipe narrow(const Experiment& d) {
  Recipe r = d.language("sinusoidal");
  r.width = 12, r.heads = 2;
  return r;
}
Recipe frozen(const Experiment& d) {
  Recipe r = d.language("sinusoidal");
  r.fixed = Fixed::words;
  return r;
}
Finding learnable(Experiment& experiment) {
  Finding f;
  const Recipe learned = experiment.language("sinusoidal"), fixed_words = frozen(experiment);
  const Sample sample = experiment.held_out(learned, experiment.quick ? 60 : 300);
  const auto read = [&](const Recipe& r, When start) {
    return letters_from_sum(experiment, r, sample, start);
  };
  const auto share = [&](const std::vector<double>& by_seed) {
    return share_interval(by_seed, told_tokens(sample));
  };
  const auto a = read(learned, When::trained), b = read(fixed_words, When::trained),
             c = read(narrow(experiment), When::trained), d = read(narrow(experiment), When::start);
  const Estimate cost = loss_difference(experiment, fixed_words, learned);
  count_room(experiment, f, learned, sample);
  f.number("narrow_width", "channels of the narrow models", double(narrow(experiment).width), 0);
  f.share("learned", "letter from the sum, words learned", share(a), 4);
  f.share("frozen", "letter from the sum, words random and frozen", share(b), 4);
  f.estimate("less_frozen", "letter from the sum, words learned minus words random and frozen",
             paired_interval(a, b), 4);
  const std::string few = text(narrow(experiment).width, " channels");
  f.share("narrow", "letter from the sum, words learned, " + few, share(c), 4);
  f.share("narrow_start", "letter from the sum at the start, " + few, share(d), 4);
  f.estimate("narrow_change", "letter from the sum, " + few + ": trained minus start", paired_interval(c, d),
             4);
  f.estimate("loss", "loss with random, frozen words minus loss with learned words (nats)", cost, 4);
  return f;
}
const Record claim_001_04 = Claim{
    .question = &question_is_meaning_lost,
    .id = "001-04",
    .text = claim_text(kText, "001-04"),
    .recorded = open,
    .verdicts = {{holds, {above("learned", .9), below("frozen", .9)}},
                 {holds_if, {above("learned", .9), above("narrow_change")}},
                 {wrong, {above("frozen", .9), equal("less_frozen", .01), equal("narrow_change", .02)}},
                 {wrong, {below("learned", .9)}},
                 otherwise(open)},
    .recipes =
        [](const Experiment& d) {
          return std::vector{d.language("sinusoidal"), frozen(d), narrow(d)};
        },
    .measure = learnable,
};

Finding prelearned(Experiment& experiment) {
  Finding f;
  const Recipe learned = experiment.language("sinusoidal");
  const Estimate cost = loss_difference(experiment, frozen(experiment), learned),
                 early = loss_difference_at(experiment, frozen(experiment), learned, .25);
  f.estimate(
      "loss_quarter",
      "loss with random words that are not trained minus loss with trained words, after a quarter (nats)",
      early, 4);
  f.estimate("loss", "loss with random words that are not trained minus loss with trained words (nats)", cost,
             4);
  return f;
}
const Record claim_001_15 = Claim{
    .question = &question_is_meaning_lost,
    .id = "001-15",
    .text = claim_text(kText, "001-15"),
    .recorded = holds_if,
    .rests_on = Basis::citation,
    .recipes =
        [](const Experiment& d) {
          return std::vector{d.language("sinusoidal"), frozen(d)};
        },
    .measure = prelearned,
};

Finding not_mixed(Experiment& experiment) {
  Finding f;
  const Recipe r = experiment.language("sinusoidal"), small = narrow(experiment);
  const Sample sample = experiment.held_out(r, experiment.quick ? 60 : 400);
  const auto both = [&](const Recipe& recipe, When start, const std::string& key, const std::string& when) {
    const auto words = letters_from_sum(experiment, recipe, sample, start),
               places = positions_from_sum(experiment, recipe, sample, start);
    f.estimate(key + "position", text("position from the sum, ", when, ": R²"), mean_interval(places), 3);
    f.share(key + "word", text("letter from the sum, ", when, ": accuracy"),
            share_interval(words, told_tokens(sample)), 4);
    return std::pair(words, places);
  };
  both(r, When::trained, "", text(r.width, " channels, trained"));
  both(r, When::start, "start_", text(r.width, " channels, at the start"));
  const auto tight = both(small, When::trained, "narrow_", text(small.width, " channels, trained")),
             before = both(small, When::start, "narrow_start_", text(small.width, " channels, at the start"));
  const Estimate word_change = paired_interval(tight.first, before.first),
                 place_change = paired_interval(tight.second, before.second);
  count_room(experiment, f, r, sample);
  f.number("narrow_width", "channels of the narrow models", double(small.width), 0);
  f.estimate("narrow_word_change", text("letter, ", small.width, " channels: trained minus start"),
             word_change, 4);
  f.estimate("narrow_position_change", text("position, ", small.width, " channels: trained minus start"),
             place_change, 4);
  const auto left = [&](const char* key, const char* what, double MeaningLeft::*which) {
    f.estimate(
        key, what,
        mean_interval(each(experiment, r, [&](const Outcome& o) { return letters_left(o, sample).*which; })),
        3);
  };
  left("ratio", "|position| / |letter|, trained", &MeaningLeft::ratio);
  left("near", "share of the ten nearest letters that are among the ten nearest to the sum",
       &MeaningLeft::near);
  left("near_outside", "the same outside the position's directions", &MeaningLeft::near_outside);
  for (const std::int64_t width : kWidthsOfPieces) pieces_left(experiment, f, width);
  return f;
}
const Record claim_003_14 = Claim{
    .question = &question_is_meaning_lost,
    .id = "003-14",
    .text = claim_text(kText, "003-14"),
    .recorded = open,
    .verdicts = {{holds_if, {above("narrow_word_change"), above("narrow_position_change")}},
                 {wrong, {below("word", .9)}},
                 otherwise(open)},
    .recipes =
        [](const Experiment& d) {
          std::vector all{d.language("sinusoidal"), narrow(d)};
          for (const std::int64_t width : kWidthsOfPieces) all.push_back(d.pieces("sinusoidal", width));
          return all;
        },
    .measure = not_mixed,
};
Finding one_dimension(Experiment&) {
  Finding f;
  const double directions = double(spectrum(sinusoid(512, 128)).count(.999));
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
  f.near("nearest", "positions that leave the word decodable by the nearest word", largest(true), 49, 0, 0);
  f.near("floor", "positions that leave the word decodable by rounding down", largest(false), 99, 0, 0);
  f.number("directions", "directions of the sinusoid over 128 positions in 512 channels", directions, 0);
  return f;
}
const Record claim_001_08 = Claim{
    .question = &question_is_meaning_lost,
    .id = "001-08",
    .text = claim_text(kText, "001-08"),
    .recorded = holds_if,
    .verdicts = {{holds_if, {asked("nearest"), asked("floor")}}},
    .measure = one_dimension,
};

Finding bert_range(Experiment& experiment) {
  Finding f;
  const Recipe r = experiment.language("sinusoidal");
  const Sample sample = experiment.held_out(r, 16);
  const auto of = [&](const char* key, std::string name, int digits, auto&& g) {
    f.estimate(key, std::move(name), mean_interval(each(experiment, r, g)), digits);
  };
  const auto raw = [](const Outcome& o) { return parameter(o.look(), "embed.word"); };
  of("deviation", text("root mean square of the raw table, ", r.width, " channels"), 3,
     [&](const Outcome& o) {
       const Matrix m = raw(o);
       return std::sqrt(squares(m) / double(m.values.size()));
     });
  of("largest", "largest |entry| of the raw table", 2, [&](const Outcome& o) {
    const Matrix m = raw(o);
    double found = 0;
    for (const double v : m.values) found = std::max(found, std::abs(v));
    return found;
  });
  of("inside", "share of normalised entries within ±2", 3,
     [&](const Outcome& o) { return within_two(streams(o.look(), sample)[0]); });
  const double chance = within_two(gaussian_words(1000, r.width, 3));
  f.number("inside_by_chance", "the same for Gaussian entries", chance, 3);
  return f;
}
const Record claim_001_12 = Claim{
    .question = &question_is_meaning_lost,
    .id = "001-12",
    .text = claim_text(kText, "001-12"),
    .recorded = open,
    .rests_on = Basis::citation,
    .recipes = additive,
    .measure = bert_range,
};

// The least distance of two channels, over these positions, from what the example calls v.
double nearest_to_example(const Matrix& e, std::int64_t first, std::int64_t second) {
  double nearest = INFINITY;
  for (std::int64_t p = 0; p < e.rows; ++p)
    nearest = std::min(nearest, std::hypot(e.at(p, first) + .7, e.at(p, second) - .9));
  return nearest;
}

Finding example_of_a_sum(Experiment& experiment) {
  Finding f;
  const Matrix e = sinusoid(512, 64);
  f.number("example", "|v|² of the example", .7 * .7 + .9 * .9, 2);
  double worst = 0, nearest = INFINITY;
  for (std::int64_t p = 0; p < 64; ++p) {
    for (std::int64_t i = 0; i < 256; ++i)
      worst = std::max(worst, std::abs(std::hypot(e.at(p, 2 * i), e.at(p, 2 * i + 1)) - 1));
  }
  for (std::int64_t i = 0; i < 256; ++i) nearest = std::min(nearest, nearest_to_example(e, 2 * i, 2 * i + 1));
  const double other = nearest_to_example(sinusoid(512, 512, 0, kTensor2tensor), 0, 1);
  const double inexact = rounding_of_sum(experiment.language("sinusoidal"));
  f.between("exact", "largest difference between what enters the model and word + position", inexact, 0, 1e-6,
            9);
  f.number("nearest",
           "least distance of the example's v from a pair of the paper's layout, positions 0 to 63", nearest,
           3);
  f.number("nearest_halves",
           "the same for the first two channels of tensor2tensor's layout, positions 0 to 511", other, 3);
  f.between("radius", "largest | |pair| − 1 |, positions 0 to 63", worst, 0, 1e-12, 15);
  return f;
}
const Record claim_002_15 = Claim{
    .question = &question_is_meaning_lost,
    .id = "002-15",
    .text = claim_text(kText, "002-15"),
    .recorded = answered,
    .verdicts = {{answered, {asked("exact"), asked("radius"), at_least("nearest", .01)}}},
    .measure = example_of_a_sum,
};

}  // namespace
}  // namespace gnomon::claims
