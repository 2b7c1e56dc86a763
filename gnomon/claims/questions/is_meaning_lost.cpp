// Does the sum mess up the meaning?
#include <algorithm>
#include <cmath>

#include "gnomon/claims/measures/meaning.h"
#include "gnomon/claims/measures/measures.h"
#include "gnomon/lens/decode.h"
#include "gnomon/lens/probe.h"
#include "gnomon/lens/subspace.h"

namespace gnomon::claims {

Question question_is_meaning_lost = {
    .key = "is_meaning_lost",
    .title = "Does the sum mess up the meaning?",
    .lead = "002-03",
    .answer =
        "It depends on how alike words are, and on how loud the position is. Made-up words in clusters keep "
        "{002-03|cluster_near.64} of their ten nearest in word + position at d = 64 and "
        "{002-03|cluster_near.768} at d = 768, and {002-03|cluster_word.64} of them are found themselves at "
        "d = 64. Independent words keep {002-03|near.64} and {002-03|near.768}, and {002-03|near_outside.64} "
        "and {002-03|near_outside.768} where a model takes the position's directions out. There a position "
        "is {002-03|ratio.768:2} times as long as a word. In all-MiniLM-L6-v2, where it is {minilm|ratio:2} "
        "times as long, {minilm|neighbours} are kept; the letters of models trained here, at "
        "{002-02|trained:2m}, keep {003-14|near}.",
    .evidence = {
        .algebra = "With a sinusoid of amplitude 1, {002-03|directions.768} directions hold 99.9 % of what "
                   "varies with the position at d = 768. Where a linear map takes them out, words in "
                   "clusters keep {002-03|cluster_near_outside.768} of their ten nearest and independent "
                   "words {002-03|near_outside.768}, {002-03|many.outside} if there are many more of them "
                   "than channels. A norm of the sum alone brings little back: {002-03|near_normed.768}.",
        .models = "In the sums of trained letters {003-14|near} of the ten nearest letters are left, outside "
                  "the position's directions {003-14|near_outside}. A linear probe reads letter and position "
                  "({003-14|word}, R² {003-14|position}) with {003-14|room.channels} channels for "
                  "{003-14|room.letters} letters, before training ({003-14|start_word}, R² "
                  "{003-14|start_position}); with {003-14|narrow_width} channels it reads "
                  "{003-14|narrow_word} and R² {003-14|narrow_position}. Of {003-14|pieces.words} byte-pair "
                  "words in as many channels {003-14|pieces.word} stay the nearest to their sum, and "
                  "{003-14|pieces.near} of the ten nearest are left, {003-14|pieces.start_near} before "
                  "training.",
        .real = "In all-MiniLM-L6-v2, whose positions are {minilm|ratio:2} times as long as its words, the "
                "nearest word to word + position is the right one in {minilm|identity} of cases, and "
                "{minilm|neighbours} of a word's ten nearest are among the ten nearest of the sum; after its "
                "first norm {minilm|neighbours_normed}. Entries of its raw word table have a root mean "
                "square of {minilm|entry} and reach {minilm|entry_largest}; after the norm they reach "
                "{minilm|normed_entry_largest}, and {minilm|normed_entry_within_two} of them lie in [−2, 2].",
        .change_our_mind = "Neighbours that do not come back outside the position's directions, in a table "
                           "of a trained model with far more words than channels; or a loss that falls when "
                           "a model is given the words apart from their positions at equal size."}};

namespace {

using enum Verdict;

Finding messes_up(Desk& desk) {
  Finding f;
  nearest_words(desk, f);
  nearest_neighbours(desk, f);
  return f;
}
const Record claim_002_03 = Claim{
    .question = &question_is_meaning_lost,
    .id = "002-03",
    .says = "The sum messes up the meaning: airplane + position may become human.",
    .method =
        "word + position over 64 positions: which word is nearest, and which share of a word's ten nearest "
        "words is among the ten nearest of the sum; as it stands, less the mean position, outside the "
        "principal components with 99.9 % of the position's variance, and after a LayerNorm; 2,000 to 30,000 "
        "words, independent and in clusters of eleven",
    .expects =
        "neighbours of independent words are mostly lost in the sum at every width, and come back outside "
        "the position's directions where d is far above their number; clusters keep their neighbours",
    .advice =
        "Do not look up neighbours of word + position: take the position's directions out first, or look at "
        "the word table. In models hardly wider than those directions use an encoding that adds nothing to "
        "words.",
    .recorded = holds_if,
    .condition =
        "words are hardly alike, so that little makes one a neighbour, or the model has hardly more channels "
        "than the position has directions",
    .verdicts = {{wrong, {at_least("near.768", .9)}},
                 {holds_if, {at_least("cluster_near.768", .9)}},
                 otherwise(holds)},
    .amended = "After the earlier full run and a quick one: its bounds.",
    .measure = messes_up,
    .answer =
        "It depends on how alike words are, and on how loud the position is: here it is {ratio.768:2} times "
        "as long as a word, whose numbers are uniform in [−1, 1]. In clusters, where a word has neighbours, "
        "{cluster_near.64:%0} % of its ten nearest words are among the ten nearest of word + position at d = "
        "64 and {cluster_near.768:%0} % at d = 768; the right word itself is found in {cluster_word.64:%0} % "
        "and {cluster_word.768:%0} % of cases. Of independent words {near.64:%0} % and {near.768:%0} % of "
        "the ten nearest are left, with {many} of them {many.near:%0} %. Less the mean position it is "
        "{near_less_mean.768:%0} %, after a norm {near_normed.768:%0} % at d = 768. Outside the "
        "{directions.768} directions in which the position moves it is {near_outside.768:%0} % at d = 768, "
        "{near_outside.64:%0} % at d = 64 and {near_outside.16:%0} % at d = 16.",
};

Finding hides(Desk& desk) {
  Finding f;
  nearest_by_loudness(desk, f);
  return f;
}
const Record claim_002_04 = Claim{
    .question = &question_is_meaning_lost,
    .id = "002-04",
    .says = "The position can hide the original word.",
    .method = "the same decoding, and the ten nearest words, at d = 512 with the code A times as large",
    .expects = "naive decoding breaks between A = 3 and 10",
    .advice = "Keep A within a few.",
    .recorded = holds_if,
    .condition =
        "the position is several times as loud as the words, or what a word is like is meant and not which "
        "word it is",
    .verdicts = {{holds_if, {at_least("word.3", .99), at_most("word.10", .5)}},
                 {holds, {at_most("word.1", .5)}},
                 otherwise(wrong)},
    .measure = hides,
    .answer =
        "At d = 512 the word itself is found in {word.3:%1} % of cases at A = 3, where the position is "
        "{ratio.3:1} times as long as a word, and in {word.10:%1} % at A = 10, where it is {ratio.10:0} "
        "times as long. Of its neighbours {near.1:%0} % are left at A = 1, at {ratio.1:2} "
        "times the length. Outside the position's directions {word_projected.10:%0} % of the words and "
        "{near_outside.10:%0} % of the neighbours are there even at A = 10.",
};

Finding separable(Desk& desk) {
  Finding f;
  const Recipe r = desk.language("sinusoidal").deep(8);
  const Sample sample = desk.held_out(r, desk.quick ? 60 : 300);
  const ProbedLayers p = probe_layers(desk, r, sample);
  // Controls: what the words alone say of the position; what a probe finds before training; what counting alone gives.
  const auto r2 = [&](const char* key, const char* what, auto&& rows) {
    f.estimate(
        key, what,
        mean_interval(each(desk, r, [&](const Outcome& o) { return probe_positions(rows(o), sample.T).r2; })),
        3);
  };
  r2("position_from_words", "control: position from the words alone, R²",
     [&](const Outcome& o) { return written(o.look(), sample).word; });
  r2("position_untrained", "control: position after 8 layers before training, R²",
     [&](const Outcome& o) { return streams(at_start(o).look(), sample).back(); });
  count_room(desk, f, r, sample);
  const std::int64_t windows = desk.quick ? 60 : 300;
  const double few = position_by_counting(16, r.width, windows),
               many = position_by_counting(5000, r.width, windows);
  f.number("counted.16", "by counting: position among 16 random words in as many channels, R²", few, 3);
  f.number("counted.5000", "by counting: position among 5,000 random words in as many channels, R²", many, 3);
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
    .says = "Can the network separate the word from the position in their sum?",
    .method =
        "ridge probes for the position (R²) and the letter (accuracy) on the residual stream after every "
        "layer of 8-layer models; split by sequence, regularisation chosen on other sequences; the same "
        "probe on sums of 16 and of 5,000 random words with a sinusoid in as many channels",
    .expects =
        "both near 1 at the embedding, since there are hardly more letters than channels; falling with "
        "depth; the position less readable among many more words than channels",
    .advice =
        "Ask a probe of the stream where you need the answer, and count first: what fits into the channels "
        "beside each other is readable without any learning.",
    .recorded = answered,
    .settles =
        "the same probes with five seeds instead of three: two more trainings of 8 layers, four minutes",
    .verdicts = {{answered, {above("position_at_embedding", .5), above("letter_at_embedding", .5)}},
                 otherwise(open)},
    .amended = "After the earlier full run and a quick one: its bounds.",
    .recipes = [](const Desk& d) { return std::vector{d.language("sinusoidal").deep(8)}; },
    .measure = separable,
    .answer =
        "At the embedding a linear probe reads the position with R² {position_at_embedding:n} and the letter "
        "in {letter_at_embedding:3n} of cases. After eight layers, which exist to predict the next letter, "
        "it reads R² {position_at_end:2n} and {letter_at_end:3n}. How much of it is learned is a matter of "
        "counting: there are {room.channels} channels for {room.letters} letters and {room.directions} "
        "directions of the position. Random words give R² {counted.16} if there are 16 of them and "
        "{counted.5000} if there are many more than channels.",
};

// Far fewer channels than the text has symbols: counting alone no longer makes both readable.
Recipe narrow(const Desk& d) {
  Recipe r = d.language("sinusoidal");
  r.width = 12, r.heads = 2;
  return r;
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
  const auto word = [&](const Recipe& r, When start) {
    return share_interval(letters_from_sum(desk, r, sample, start), told_tokens(sample));
  };
  const ShareEstimate a = word(learned, When::trained), b = word(fixed_words, When::trained),
                      c = word(narrow(desk), When::trained), d = word(narrow(desk), When::start);
  const Estimate cost = loss_difference(desk, fixed_words, learned);
  count_room(desk, f, learned, sample);
  f.number("narrow_width", "channels of the narrow models", double(narrow(desk).width), 0);
  f.share("learned", "letter from the sum, words learned", a, 4);
  f.share("frozen", "letter from the sum, words random and frozen", b, 4);
  f.share("narrow", text("letter from the sum, words learned, ", narrow(desk).width, " channels"), c, 4);
  f.share("narrow_start", text("letter from the sum at the start, ", narrow(desk).width, " channels"), d, 4);
  f.estimate("loss", "loss with words random and frozen, less learned (nats)", cost, 4);
  return f;
}
const Record claim_001_04 = Claim{
    .question = &question_is_meaning_lost,
    .id = "001-04",
    .says = "Word vectors are learned, so they become recoverable from the sum.",
    .method =
        "the letter probe on the sum with learned words and with words that stay random, at a width of about "
        "the number of letters and one far below it",
    .expects =
        "recoverable in both where the width is about the number of letters; far below it only learning can "
        "help",
    .advice = "Do not credit training with what random vectors have.",
    .recorded = holds_if,
    .condition =
        "there are about as many channels as letters, or more; then it holds of random vectors too, and "
        "learning is not why",
    .settles = "the narrow models with twenty seeds: fifteen more trainings, three minutes",
    .verdicts = {{holds_if, {above("learned", .9), above("frozen", .9)}},
                 {holds, {above("learned", .9), below("frozen", .9)}},
                 {wrong, {below("learned", .9)}},
                 otherwise(open)},
    .amended = "After the earlier full run and a quick one: its bounds.",
    .recipes =
        [](const Desk& d) {
          return std::vector{d.language("sinusoidal"), frozen(d), narrow(d)};
        },
    .measure = learnable,
    .answer =
        "With {room.channels} channels for {room.letters} letters and {room.directions} directions of the "
        "position the letter is read from the sum in {learned:3n} of cases if its vector was learned and in "
        "{frozen:3n} if it is random and frozen. With {narrow_width} channels for as many letters it is read "
        "in {narrow:3n} after training and in {narrow_start:3n} before. With words that are not learned the "
        "loss is {loss:vs that with learned ones}.",
};

Finding prelearned(Desk& desk) {
  Finding f;
  const Recipe learned = desk.language("sinusoidal");
  const Estimate cost = loss_difference(desk, frozen(desk), learned),
                 early = loss_difference_at(desk, frozen(desk), learned, .25);
  f.estimate("loss_quarter",
             "loss with random words that are not trained, less trained, after a quarter (nats)", early, 4);
  f.estimate("loss", "loss with random words that are not trained, less trained (nats)", cost, 4);
  return f;
}
const Record claim_001_15 = Claim{
    .question = &question_is_meaning_lost,
    .id = "001-15",
    .says = "Transformers do not use word vectors learned beforehand.",
    .method = "loss with a table of random words that is not trained, paired by seed",
    .expects = "a fact of practice; random words that stay cost something",
    .advice = "Train the table with the rest.",
    .recorded = holds,
    .rests_on = citation("Vaswani et al. 2017 (arXiv:1706.03762), section 3.4: learned embeddings convert "
                         "the tokens to vectors; Devlin et al. 2019 (arXiv:1810.04805), section 3.2: a "
                         "learned embedding for every WordPiece"),
    .recipes =
        [](const Desk& d) {
          return std::vector{d.language("sinusoidal"), frozen(d)};
        },
    .measure = prelearned,
    .answer =
        "A fact of practice: the models here, too, learn their word vectors with the rest. No vectors of "
        "word2vec or GloVe are among our files, so the only number beside it is of random vectors that stay "
        "as they are: with them the loss is {loss_quarter:vs that of learned ones} after a quarter of the "
        "training and {loss:vs} at its end.",
};

Finding not_mixed(Desk& desk) {
  Finding f;
  const Recipe r = desk.language("sinusoidal"), small = narrow(desk);
  const Sample sample = desk.held_out(r, desk.quick ? 60 : 400);
  const auto both = [&](const Recipe& recipe, When start, const std::string& key, const std::string& when) {
    const auto words = letters_from_sum(desk, recipe, sample, start),
               places = positions_from_sum(desk, recipe, sample, start);
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
  count_room(desk, f, r, sample);
  f.number("narrow_width", "channels of the narrow models", double(small.width), 0);
  f.estimate("narrow_word_change", text("letter, ", small.width, " channels: trained less start"),
             word_change, 4);
  f.estimate("narrow_position_change", text("position, ", small.width, " channels: trained less start"),
             place_change, 4);
  const auto left = [&](const char* key, const char* what, double MeaningLeft::*which) {
    f.estimate(key, what,
               mean_interval(each(desk, r, [&](const Outcome& o) { return letters_left(o, sample).*which; })),
               3);
  };
  left("ratio", "|position| / |letter|, trained", &MeaningLeft::ratio);
  left("near", "of the ten nearest letters, those nearest to the sum", &MeaningLeft::near);
  left("near_outside", "the same outside the position's directions", &MeaningLeft::near_outside);
  pieces_left(desk, f);
  return f;
}
const Record claim_003_14 = Claim{
    .question = &question_is_meaning_lost,
    .id = "003-14",
    .says = "The model learns to use words and positions without mixing them up.",
    .method =
        "linear probes for position and letter on the sum, trained and at the start, at a width above the "
        "number of letters and one below it; split by sequence; and the ten nearest letters, and the ten "
        "nearest of thousands of byte-pair words",
    .expects =
        "both near 1 at a width of about the number of letters, before training as after it; far below it "
        "training makes them more readable",
    .advice = "Compare any such finding with the same number at the start.",
    .recorded = holds_if,
    .condition =
        "a linear probe is to read both, and there are about as many channels as letters, or more; which "
        "word is nearest to "
        "its sum is told among thousands as well. Nothing had to be learned for either",
    .settles = "the narrow models with twenty seeds: fifteen more trainings, three minutes",
    .verdicts = {{holds, {above("narrow_word_change"), above("narrow_position_change")}},
                 {holds_if, {above("position", .9), above("word", .9)}},
                 {wrong, {below("word", .9)}},
                 otherwise(open)},
    .amended = "After the earlier full run and a quick one: its bounds.",
    .recipes =
        [](const Desk& d) {
          return std::vector{d.language("sinusoidal"), narrow(d), d.pieces("sinusoidal")};
        },
    .measure = not_mixed,
    .answer =
        "With {room.channels} channels for {room.letters} letters and {room.directions} directions of the "
        "position a linear probe reads the letter from the trained sum in {word:3n} of cases and before "
        "training in {start_word:3n}, the position with R² {position:n} and {start_position:n}. With "
        "{narrow_width} channels training changes the share of letters read by {narrow_word_change:3n} and "
        "the R² of the position by {narrow_position_change:3n}. The position is {ratio:2n} times as long as "
        "a letter, "
        "and of a letter's ten nearest {near:2n} are left in the sum, outside the position's directions "
        "{near_outside:2n}. With {pieces.words} byte-pair words in as many channels the position is "
        "{pieces.ratio:2n} times as long as a word, which is the nearest to its sum in {pieces.word:n} of "
        "cases. Of its ten nearest {pieces.near:n} are left, {pieces.near_outside:n} outside the position's "
        "directions. Before training, at {pieces.start_ratio:2n} times the length, {pieces.start_near:n} "
        "are. The position is read with R² {pieces.position:n}, before "
        "training with {pieces.start_position:n}.",
};
Finding one_dimension(Desk&) {
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
  f.near("nearest", "positions told apart from words by the nearest word", largest(true), 49, 0, 0);
  f.near("floor", "by rounding down", largest(false), 99, 0, 0);
  f.number("directions", "directions of the sinusoid over 128 positions in 512 channels", directions, 0);
  return f;
}
const Record claim_001_08 = Claim{
    .question = &question_is_meaning_lost,
    .id = "001-08",
    .says = "Words at 1, 2, 3 and offsets of .01: the sum forms a cloud around each word.",
    .method = "how many positions leave the word decodable, by the nearest word and by rounding down",
    .expects = "49 and 99",
    .advice = "A picture, not a mechanism: use dimensions, not digits.",
    .recorded = holds_if,
    .condition = "all offsets together stay below the distance to the next word",
    .verdicts = {{holds_if, {asked("nearest"), asked("floor")}}},
    .measure = one_dimension,
    .answer =
        "The picture works while all offsets stay below half the gap between words: {nearest} positions of "
        "such a step, or {floor} when one rounds down. A sinusoid needs no such order: it moves in "
        "{directions} directions instead of one.",
};

Finding bert_range(Desk& desk) {
  Finding f;
  const Recipe r = desk.language("sinusoidal");
  const Sample sample = desk.held_out(r, 16);
  const auto of = [&](const char* key, std::string name, int digits, auto&& g) {
    f.estimate(key, std::move(name), mean_interval(each(desk, r, g)), digits);
  };
  const auto raw = [](const Outcome& o) { return parameter(o.look(), "embed.word"); };
  of("deviation", text("deviation of the raw table, ", r.width, " channels"), 3, [&](const Outcome& o) {
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
  f.number("inside_by_chance", "the same of Gaussian entries", chance, 3);
  return f;
}
const Record claim_001_12 = Claim{
    .question = &question_is_meaning_lost,
    .id = "001-12",
    .says = "BERT's word vectors are roughly in [−2, 2].",
    .method =
        "BERT's published start (deviation 0.02); entries of the raw word table and of the normalised sum in "
        "our trained models, and of Gaussian numbers",
    .expects =
        "±2 is the scale after LayerNorm, where it is 95 % of any Gaussian; the raw table is far smaller",
    .advice = "Compare a code with the words after the same norm.",
    .recorded = holds_if,
    .condition = "it is said as a bound, or of what the first norm lets out: the raw table is far smaller",
    .rests_on = citation("Devlin et al. 2019 (arXiv:1810.04805) and their code, google-research/bert, "
                         "modeling.py: initializer_range = 0.02, a normal cut at two deviations"),
    .recipes = additive,
    .measure = bert_range,
    .answer =
        "As a bound it is true, as a size it is not: BERT's word table starts with deviation 0.02, cut at "
        "twice that; its trained table was not read here. In the models here the raw table has deviation "
        "{deviation:n} and no entry above {largest:n}. After the first norm {inside:n} of all entries lie "
        "within ±2, as {inside_by_chance} of Gaussian numbers do. So ±2 is the scale of a LayerNorm.",
};

// The least distance of two channels, over these positions, from what the example calls v.
double nearest_to_example(const Matrix& e, std::int64_t first, std::int64_t second) {
  double nearest = INFINITY;
  for (std::int64_t p = 0; p < e.rows; ++p)
    nearest = std::min(nearest, std::hypot(e.at(p, first) + .7, e.at(p, second) - .9));
  return nearest;
}

Finding example_of_a_sum(Desk& desk) {
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
  const double inexact = rounding_of_sum(desk.language("sinusoidal"));
  f.between("exact", "largest difference of what enters the model from word + position", inexact, 0, 1e-6, 9);
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
    .says = "An example of the sum: [.5, .3] + v = [−.2, 1.2] with v = [−.7, .9]; is it exactly added?",
    .method =
        "what the combination gives, less word + position; the squared length of v, which is sin² + cos² in "
        "the paper's layout, and the nearest v of either layout",
    .expects = "added exactly; squared length 1 for any position of the paper's layout, the example has 1.30",
    .advice =
        "It is exactly added; then a norm or a factor √d sets the scale. Check an example by the length of "
        "its code.",
    .recorded = answered,
    .verdicts = {{answered, {asked("exact"), asked("radius"), at_least("nearest", .01)}}},
    .measure = example_of_a_sum,
    .answer =
        "Yes, it is exactly added: what enters the model differs from word + position by {exact:e} at most, "
        "and a LayerNorm or a factor √d follows. Only the example's v is none of the paper's: there two "
        "neighbours are sine and cosine of one angle, of squared length 1, and it has {example}, {nearest} "
        "away from the nearest pair. In tensor2tensor's layout neighbours are sines of two angles, and one "
        "position comes as near as {nearest_halves}.",
};

}  // namespace
}  // namespace gnomon::claims
