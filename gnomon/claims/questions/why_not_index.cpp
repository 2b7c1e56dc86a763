// Why not the index itself, or an index from 0 to 1?
#include <algorithm>
#include <cmath>
#include <map>

#include "gnomon/claims/parts_index.h"
#include "gnomon/combine/spec.h"
#include "gnomon/encodings/definition.h"
#include "gnomon/lab/task.h"
#include "gnomon/lens/attention.h"

namespace gnomon::claims {

Question question_why_not_index = {
    .key = "why_not_index",
    .title = "Why not the index itself, or an index from 0 to 1?",
    .lead = "003-03",
    .answer =
        "Because a raw index outgrows the words: the same index over the length of the window has the same "
        "information, and less it the raw one has {003-02|growth.at.1} nats; less a model without positions "
        "it has {003-02|less_none.at.1}. An index from 0 to 1 gives neighbours another distance in every "
        "text: it reads the token before in {003-03|normalised.64} of cases in windows of 64 tokens, which "
        "training did not show, RoPE in {003-03|rope.64}; the index over a fixed number does "
        "{003-03|index(divisor=64).64}.",
    .evidence = {
        .algebra = "|x + p·u| grows as p, so after a norm the word's part shrinks as 1/p; the step of an "
                   "index from 0 to 1 is 1/(L − 1). Logits that are linear in the position put at most "
                   "{004-09|linear} of the weight on the token before in long inputs.",
        .models = "The raw index, less the same over 64: {003-02|growth.at.0.25} nats after a quarter of the "
                  "training and {003-02|growth.at.1} at its end; less no position {003-02|less_none.at.1}; "
                  "the index over 64, less the sinusoid, {003-02|divided.at.1}. With the raw index the words "
                  "of the last tokens are {003-02|part.last} of the length of the sum, and "
                  "{003-02|letters.last} of their letters are still read.",
        .real = "",
        .change_our_mind = "A raw index, at a rate of its own, that is level with the index over the window.",
    }};

namespace {

using enum Verdict;

constexpr const char* kDivided = "index(divisor=64)";  // the windows trained here have 64 tokens

Finding grows(Desk& desk) {
  Finding f;
  const Matrix x = gaussian_words(1000, 96, 51), u = gaussian_words(1, 96, 52);
  report::LineChart chart{
      "A raw index drowns the word",
      "1,000 Gaussian words, d = 96, h = LN(x + p·u) with u of the words' size; nearest word by cosine.",
      {"position p", true, {1, 4, 16, 64, 256, 1024}},
      {"share of words found"},
      {}};
  report::Series s{"raw index", {}, 1, false, true};
  for (const double p : {1.0, 4.0, 16.0, 64.0, 256.0, 1024.0}) {
    const double share = word_after_norm(x, u, p);
    s.points.emplace_back(p, share);
    if (p == 1) f.between("words.1", "words found at p = 1", share, .99, 1, 3);
    if (p == 1024) f.number("words.1024", "words found at p = 1024", share, 3);
  }
  chart.series = {s};
  const auto length_at = [&](double p) {
    Matrix h = x;
    for (std::size_t n = 0; n < h.values.size(); ++n) h.values[n] += p * u.values[n % u.values.size()];
    return std::sqrt(squares(h));
  };
  f.near("growth_of_length", "|h| at p = 1024 over |h| at p = 16", length_at(1024) / length_at(16), 64, 1, 1);
  const Recipe raw = desk.language("index"), divided = desk.language(kDivided), none = desk.language("none"),
               sinus = desk.language("sinusoidal");
  const OnTheWay growth = on_the_way(desk, raw, divided), less_none = on_the_way(desk, raw, none),
                 to_sinus = on_the_way(desk, raw, sinus), divided_way = on_the_way(desk, divided, sinus);
  show(f, "growth", "loss with the raw index, less that with the index over 64", growth);
  show(f, "less_none", "loss with the raw index, less that without position", less_none);
  show(f, "raw", "loss with the raw index, less the sinusoid's", to_sinus);
  show(f, "divided", "loss with the index over 64, less the sinusoid's", divided_way);
  const Sample sample = desk.held_out(raw, 256);
  std::vector<double> part_first, part_last, letters_first, letters_last;
  for (const Outcome& o : desk.models(raw)) {
    const Places first = look_at_places(o, sample, 0), last = look_at_places(o, sample, sample.T - kPlaces);
    part_first.push_back(first.part), part_last.push_back(last.part);
    letters_first.push_back(first.letters), letters_last.push_back(last.letters);
  }
  const Estimate part = mean_interval(part_last), letters = mean_interval(letters_last),
                 early = mean_interval(letters_first);
  f.estimate("part.first", "length of the word over that of the sum, first 8 positions, trained raw index",
             mean_interval(part_first), 3);
  f.estimate("part.last", "the same, last 8 positions", part, 3);
  f.estimate("letters.first", "letters read by a linear probe after the norm, first 8 positions", early, 3);
  f.estimate("letters.last", "the same, last 8 positions", letters, 3);
  f.figures = {chart};
  f.answer = text(
      "The vector grows as p, and after a LayerNorm the word's part shrinks as 1/p. Within 64 tokens the raw "
      "index, less no position, is ",
      told(less_none), ": ", sign(less_none[2]) == Sign::below ? "it helps" : "it does not help by the end",
      ". The words get small, not lost: over the last 8 positions they are ", fixed(100 * part.mean, 1),
      " % of the length of the sum, and a linear probe still reads ", fixed(100 * letters.mean, 0),
      " % of the letters after the norm, against ", fixed(100 * early.mean, 0),
      " % over the first 8. What the growth costs is told by the same index over 64: the raw one, less that, "
      "is ",
      told(growth), "; and the index over 64, less the sinusoid, ", told(divided_way), ".");
  return f;
}
const Record claim_003_02 = Claim{
    .question = &question_why_not_index,
    .id = "003-02",
    .says = "The index itself is not used, because it grows large.",
    .method =
        "words found by the nearest neighbour after LN(x + p·u); length of x + p·u; models trained with the "
        "raw index, the index over 64 (the same information along the same kind of direction, which does not "
        "outgrow the word), no position and the sinusoid, each at its best rate; letters read by a linear "
        "probe from LN(x + p·u) of the trained ones; called no cost within 0.05 nats",
    .expects = "|h| grows as p, and the word vanishes behind it",
    .advice = "Never feed a raw index into a network with norms: divide it by the longest position.",
    .recorded = holds,
    .settles = "The two indices with ten times the tokens: ten runs of two minutes.",
    .verdicts = {{holds, {asked("growth_of_length"), above("growth.at.1", .05)}},
                 {wrong, {below("growth.at.1", .05)}},
                 otherwise(open)},
    .recipes =
        [](const Desk& d) {
          return std::vector{d.language("index"), d.language(kDivided), d.language("none"),
                             d.language("sinusoidal")};
        },
    .measure = grows,
};

constexpr const char* kOfLengths[] = {"normalised", "index", kDivided, "sinusoidal", "rope", "alibi"};
Recipe lengths_task(const Desk& d, const char* spec) {
  Recipe r = d.task("lengths", spec, 2, false);
  r.steps = d.quick ? 400 : 2000;
  return r;
}

Finding inconsistent(Desk& desk) {
  Finding f;
  for (const std::int64_t L : {4, 100}) {
    const auto p = normalised_positions(L);
    f.near(text("step.", L), text("step between neighbours, L = ", L), p[1] - p[0], 1 / double(L - 1), 1e-12,
           6);
  }
  report::LineChart chart{
      "Read the token before you, in windows of any length",
      "Trained on windows of 8 to 32 tokens, without a causal mask; two layers; mean over seeds.",
      {"tokens of the window"},
      {"share of right answers"},
      {}};
  std::map<std::string, std::map<std::int64_t, std::vector<double>>> right;  // by spec, length, seed
  int style = 0;
  std::string all;
  for (const char* spec : kOfLengths) {
    const Recipe r = lengths_task(desk, spec);
    report::Series s{spec, {}, style++, false, true};
    for (const std::int64_t L : {8, 16, 32, 48, 64}) {
      right[spec][L] =
          each(desk, r, [&](const Outcome& o) { return accuracy(o, test_windows(r, nullptr, L, 64, 2)); });
      const Estimate e = mean_interval(right[spec][L]);
      f.estimate(text(spec, ".", L), text(spec, ", windows of ", L), e, 3);
      s.points.emplace_back(double(L), e.mean);
    }
    const auto percent = [&](std::int64_t L) { return fixed(100 * mean_interval(right[spec][L]).mean, 0); };
    all += text(all.empty() ? "" : "; ", spec, " ", percent(8), ", ", percent(16), ", ", percent(32), " and ",
                percent(64));
    chart.series.push_back(std::move(s));
  }
  f.figures = {chart};
  const auto behind = [&](const char* other, std::int64_t L) {
    return paired_interval(right["normalised"][L], right[other][L]);
  };
  for (const std::int64_t L : {8, 64}) {
    f.estimate(text("behind.", L), text("normalised less rope, windows of ", L), behind("rope", L), 3);
    f.estimate(text("control.", L), text("normalised less the index over 64, windows of ", L),
               behind(kDivided, L), 3);
  }
  const auto points = [](const Estimate& e) { return brief({100 * e.mean, 100 * e.half_width, e.n}, 0); };
  const Estimate shorter = behind(kDivided, 8), longer = behind(kDivided, 64);
  const char* control = std::isnan(longer.half_width) ? ""
                        : sign(shorter) == Sign::below || sign(longer) == Sign::below
                            ? " So its change of meaning costs something of its own."
                            : " So what fails here is not that alone: one number along one line is hard to "
                              "read whatever it is divided by.";
  f.answer = text(
      "The step between neighbours is 1/(L − 1): another one for every length. Trained on windows of 8 to 32 "
      "tokens, models name the token before in this percentage of cases at 8, 16, 32 and 64 tokens: ",
      all, ". Less the same index over a fixed 64, the one from 0 to 1 has ", points(shorter),
      " points at 8 tokens and ", points(longer), " at 64.", control,
      " Not every relative code succeeds: ALiBi is limited by its slopes at every length (004-09).");
  return f;
}
const Record claim_003_03 = Claim{
    .question = &question_why_not_index,
    .id = "003-03",
    .says = "An index between 0 and 1 means different things in texts of different length.",
    .method =
        "step between neighbours, 1/(L − 1); encoders trained to name the token before, on windows of 8 to "
        "32 tokens, tested at 8 to 64, with the raw index and the index over a fixed 64 as controls",
    .expects = "below the index over a fixed 64 at every length that was not the longest of training",
    .advice = "Never normalise by the length of the input, unless position means a share of the text.",
    .recorded = holds,
    .condition = "a model must read lengths that training did not show",
    .settles = "The task with ten seeds: 60 runs of half a minute.",
    .verdicts = {{holds, {asked("step"), below("control.8"), below("control.64")}},
                 {holds_if, {asked("step"), below("control.64")}},
                 otherwise(open)},
    .amended =
        "After a quick run, whose one seed gives no verdict, and before any full one: the claim is decided "
        "against the same index over a fixed length, and not against RoPE.",
    .recipes =
        [](const Desk& d) {
          std::vector<Recipe> all;
          for (const char* spec : kOfLengths) all.push_back(lengths_task(d, spec));
          return all;
        },
    .measure = inconsistent,
};

Finding bob(Desk&) {
  Finding f;
  const auto four = normalised_positions(4);
  for (std::size_t t = 0; t < 4; ++t)
    f.near(text("position.", t), text("position ", t, " of \"My name is Bob\""), four[t], double(t) / 3,
           1e-12, 6);
  f.number("second_of_100", "position 1 of a text of 100", normalised_positions(100)[1], 6);
  f.answer = text("It can be written down, ", fixed(four[0], 0), ", ", fixed(four[1], 3), ", ",
                  fixed(four[2], 3), " and ", fixed(four[3], 0),
                  ", and is unique within one text. The same place has another value in every other length: "
                  "the second word of a text of 100 has ",
                  fixed(normalised_positions(100)[1], 3), " (003-03).");
  return f;
}
const Record claim_004_06 = Claim{
    .question = &question_why_not_index,
    .id = "004-06",
    .says = "\"My name is Bob\" could have positions 0 to 3 divided by the length.",
    .method = "the values of the encoding `normalised`",
    .expects = "0, 1/3, 2/3, 1",
    .advice = "See 003-03 for what goes wrong.",
    .recorded = holds_if,
    .condition = "all texts have the same length",
    .verdicts = {{holds_if, {asked("position"), at_most("second_of_100", .1)}}, {holds, {asked("position")}}},
    .measure = bob,
};

Finding river(Desk&) {
  Finding f;
  const auto four = normalised_positions(4), hundred = normalised_positions(100);
  const double near_pair = four[1] * four[2], far_pair = hundred[33] * hundred[66];
  f.near("short", "product of positions 1 and 2 of 4", near_pair, .2222, 1e-4, 4);
  f.near("long", "product of positions 33 and 66 of 100", far_pair, .2222, 1e-4, 4);
  f.near("difference", "their difference", near_pair - far_pair, 0, 1e-12, 12);
  const auto w = sinusoid_frequencies(64);
  f.between("sinusoid", "the sinusoid's similarity at distance 1, less that at 33",
            sinusoid_kernel(w, 1) - sinusoid_kernel(w, 33), .2, 1, 3);
  f.number("near", "the sinusoid's similarity at distance 1", sinusoid_kernel(w, 1), 3);
  f.number("far", "the sinusoid's similarity at distance 33", sinusoid_kernel(w, 33), 3);
  f.answer = text("With positions between 0 and 1, neighbours in a text of 4 have the product ",
                  fixed(near_pair, 4), " and tokens 33 apart in a text of 100 ", fixed(far_pair, 4),
                  ". The sinusoid tells them apart: ", fixed(sinusoid_kernel(w, 1), 3), " and ",
                  fixed(sinusoid_kernel(w, 33), 3), ".");
  return f;
}
const Record claim_004_14 = Claim{
    .question = &question_why_not_index,
    .id = "004-14",
    .says = "With positions between 0 and 1, near words of a short text look like far words of a long one.",
    .method = "1/3·2/3 against 33/99·66/99",
    .expects = "both 2/9",
    .advice = "Same as 003-03.",
    .recorded = holds,
    .verdicts = {{holds, {asked("short"), asked("long"), asked("sinusoid")}}},
    .measure = river,
};

std::vector<Recipe> one_layer(const Desk& d, const char* task, std::initializer_list<const char*> specs) {
  std::vector<Recipe> all;
  for (const char* s : specs) all.push_back(d.task(task, s, 1));
  return all;
}

Finding absolute_only(Desk& desk) {
  Finding f;
  f.between("difference", "largest error of one product of (p, 1) and (q, 1) as p − q",
            error_of_difference(64), 0, 1e-12, 12);
  f.near("linear", "most weight on the previous token of 64, logits linear in the key's position",
         most_before(64), .25, 1e-5, 4);
  f.near("linear_of_3", "the same of 3 keys", most_before(3), 1. / 3, 1e-5, 4);
  const Shape eight{
      .C = 8, .H = 8, .D = 1, .length = 64, .causal = true};  // the slope of the first of 8 heads is 1/2
  const auto bias = make_encoding("alibi", eight);
  const Placement place = Placement::consecutive(0, 64);
  const std::vector<double> silent(64 * 8, 0.0);  // queries and keys of 0: the bias alone
  const Scene scene{place, silent, silent, {}};
  const Definition definition(*bias, scene);
  const auto alibi_logit = [&](std::int64_t j) { return definition.logit(0, 63, j); };
  f.near("alibi_half", "ALiBi's slope 1/2: weight on the previous token", weight_before(64, 1, alibi_logit),
         .2387, 1e-4, 4);
  f.near("own", "on the own token", weight_before(64, 0, alibi_logit), .3935, 1e-4, 4);
  report::IntervalChart chart{
      "Most weight that a head puts on the token before",
      text(
          "One-layer models trained to name the token before; the best head; bars are 95 % t intervals over ",
          desk.seeds(), " seeds. The bound for linear logits is 0.25."),
      "mean attention weight on the previous token",
      {}};
  std::map<std::string, Estimate> weights, rights;
  std::map<std::string, std::vector<double>> by_seed;
  for (const char* spec : {"none", "alibi", "rope", "t5", "sinusoidal"}) {
    const Recipe r = desk.task("previous", spec, 1);
    const Sample sample = desk.held_out(r, 24);
    const Estimate mass = mean_interval(each(desk, r, [&](const Outcome& o) {
      double best = 0;
      for (const HeadHabits& h : head_habits(o.look(), 0, streams(o.look(), sample)[0], sample.T))
        best = std::max(best, h.previous);
      return best;
    }));
    by_seed[spec] = each(desk, r, [&](const Outcome& o) { return accuracy(o, sample); });
    const Estimate right = mean_interval(by_seed[spec]);
    weights[spec] = mass, rights[spec] = right;
    f.estimate(text(spec, ".weight"), text(spec, ": weight on the previous token, best head"), mass, 3);
    f.estimate(text(spec, ".right"), text(spec, ": right answers"), right, 3);
    chart.rows.push_back({spec, mass.mean, mass.half_width, int(chart.rows.size())});
  }
  f.figures = {chart};
  f.estimate("alibi_less_none", "right answers, alibi less none",
             paired_interval(by_seed["alibi"], by_seed["none"]), 3);
  const auto of = [&](const char* spec) {
    return text(fixed(weights[spec].mean, 2), " with ", fixed(100 * rights[spec].mean, 0), " % right");
  };
  const bool as_expected = weights["t5"].mean > .6;
  f.answer = text(
      "One product of (p, 1) and (q, 1) is p − q to ", tiny(error_of_difference(64)),
      ", and that product is what attention computes: the information is there. A limit there is: logits "
      "that are linear in the position put at most ",
      fixed(most_before(64), 2), " of the weight on the token before of 64 keys (", fixed(most_before(3), 2),
      " of 3), ALiBi's steepest slope ", fixed(weight_before(64, 1, alibi_logit), 2),
      ". It does not decide the answers: best head's weight and answers are ", of("alibi"), " for ALiBi, ",
      of("t5"), " for T5, ", of("rope"), " for RoPE and ", of("none"), " without position. ",
      as_expected ? "T5's best head puts most of its weight there, as was expected."
                  : "That T5's best head would put nearly all of its weight there was expected and is not "
                    "so: its heads share the task.");
  return f;
}
const Record claim_004_09 = Claim{
    .question = &question_why_not_index,
    .id = "004-09",
    .says = "A linear index gives only absolute information without more processing.",
    .method =
        "one product of (p, 1) and (q, 1) against p − q; most weight on the previous token for logits linear "
        "in the key's position, r(1 − r) of many keys; one-layer models trained to name the token before: "
        "weight of the best head, and right answers",
    .expects = "at most 1/4 for ALiBi and all linear logits; nearly 1 for RoPE and T5",
    .advice = "If your task needs the exact neighbour in one layer, do not rely on a linear bias alone.",
    .recorded = wrong,
    .condition = "the product of a query and a key counts as more processing",
    .verdicts = {{wrong, {asked("difference"), asked("linear"), above("alibi_less_none")}},
                 {holds_if, {asked("difference")}}},
    .recipes =
        [](const Desk& d) {
          return one_layer(d, "previous", {"none", "alibi", "rope", "t5", "sinusoidal"});
        },
    .measure = absolute_only,
};

Finding periodic(Desk& desk) {
  Finding f;
  report::IntervalChart chart{
      "Name the token eight places before",
      "One-layer models; share of right answers; bars are 95 % t intervals over seeds.",
      "share of right answers",
      {}};
  std::map<std::string, std::vector<double>> right;
  std::string all;
  for (const char* spec : {"none", "alibi", "t5", "sinusoidal", "rope"}) {
    const Recipe r = desk.task("offset8", spec, 1);
    const Sample sample = desk.held_out(r, 64);
    right[spec] = each(desk, r, [&](const Outcome& o) { return accuracy(o, sample); });
    const Estimate e = mean_interval(right[spec]);
    f.estimate(text(spec, ".right"), text(spec, ": right answers"), e, 3);
    chart.rows.push_back({spec, e.mean, e.half_width, int(chart.rows.size())});
    all += text(all.empty() ? "" : ", ", spec, " ", fixed(100 * e.mean, 0), " %");
  }
  f.figures = {chart};
  const Estimate rope = paired_interval(right["rope"], right["t5"]),
                 sinus = paired_interval(right["sinusoidal"], right["t5"]);
  f.estimate("rope_less_t5", "right answers, rope less t5", rope, 3);
  f.estimate("sinusoidal_less_t5", "right answers, sinusoidal less t5", sinus, 3);
  f.answer = text(
      "Poems were not measured; a fixed distance of eight tokens, as a refrain has, was. Right answers of "
      "one layer: ",
      all, ". Less T5's buckets, which have no period, RoPE has ", brief(rope), " and the sinusoid ",
      brief(sinus), ": ",
      std::isnan(rope.half_width) ? "one seed tells nothing."
      : sign(rope) == Sign::above && sign(sinus) == Sign::above
          ? "both kinds of waves help with a fixed distance."
          : "being periodic is not what helps, since not both kinds of waves are ahead.");
  return f;
}
const Record claim_004_10 = Claim{
    .question = &question_why_not_index,
    .id = "004-10",
    .says = "Periodic codes help with periodic structure, such as repetition in poems.",
    .method =
        "one-layer models trained to name the token eight places before: waves (RoPE, the sinusoid) against "
        "buckets of distance without a period (T5's), ALiBi's slopes and the mask alone; called equal within "
        "5 points",
    .expects = "no support for or against poems; a fixed distance is learned by several encodings",
    .advice = "Try it on your poems with `gnomon study`.",
    .recorded = wrong,
    .settles =
        "Verse and prose of one author, rope against t5, five seeds and tuned rates: 30 runs of two "
        "minutes.",
    .verdicts = {{holds, {above("rope_less_t5", .05), above("sinusoidal_less_t5", .05)}},
                 {wrong, {below("sinusoidal_less_t5", .05)}},
                 otherwise(open)},
    .amended =
        "After a quick run, whose one seed gives no verdict, and before any full one: both kinds of waves "
        "have to be ahead of buckets of distance.",
    .recipes =
        [](const Desk& d) {
          return one_layer(d, "offset8", {"none", "alibi", "t5", "sinusoidal", "rope"});
        },
    .measure = periodic,
};

Finding same_weight(Desk&) {
  Finding f;
  const Matrix e = sinusoid(64, 256);
  double spread = 0;
  for (std::int64_t p = 0; p + 3 < 256; ++p)
    spread = std::max(spread, std::abs(dot(e.row(p), e.row(p + 3)) - dot(e.row(0), e.row(3))));
  f.between("spread", "spread of the dot product at distance 3, all positions", spread, 0, 1e-12, 15);
  report::LineChart chart{"The same product, another weight",
                          "Attention by the dot products of the sinusoid alone (d = 64, over √d): weight of "
                          "the last query on the key 3 before.",
                          {"tokens L", true, {4, 8, 16, 32, 64, 128, 256}},
                          {"attention weight", true, {.03125, .0625, .125, .25}},
                          {}};
  report::Series s{"weight at distance 3", {}, 0, false, true};
  double first = 0, last = 0;
  for (const std::int64_t L : {4, 8, 16, 32, 64, 128, 256}) {
    double total = 0;
    for (std::int64_t j = 0; j < L; ++j) total += std::exp(dot(e.row(L - 1), e.row(j)) / 8);
    const double weight = std::exp(dot(e.row(L - 1), e.row(L - 4)) / 8) / total;
    s.points.emplace_back(double(L), weight);
    (L == 4 ? first : last) = weight;
  }
  chart.series = {s};
  f.number("weight.4", "weight at distance 3, L = 4", first, 3),
      f.number("weight.256", "weight at distance 3, L = 256", last, 4);
  f.between("ratio", "ratio of the two", first / last, 5, 1e3, 1);
  f.figures = {chart};
  const auto gram_share = [](const Matrix& m) {
    return offset_share(product_transposed(m, m), Diagonal::with);
  };
  const auto normed = [](Matrix m) {
    for (std::int64_t p = 0; p < m.rows; ++p) normalise(m.row(p));
    return m;
  };
  f.near("offset", "products explained by the offset alone", gram_share(sinusoid(64, 128)), 1, 1e-9, 4);
  for (const auto& [d, removed, after] : {std::tuple{64, .9637, .9313}, {512, .9594, .9545}}) {
    f.near(text("centred.", d), text("the same with the code's mean removed, d = ", d),
           gram_share(centred(sinusoid(d, 128))), removed, 1e-4, 4);
    f.near(text("normed.", d), text("the same after LayerNorm, d = ", d),
           gram_share(normed(sinusoid(d, 128))), after, 1e-4, 4);
  }
  const double narrow = random_offset_share(64, 30), wide = random_offset_share(512, 10);
  f.between("random.64", "the same through a random Q'K, d = 64, mean of 30", narrow, .05, .2, 3);
  f.between("random.512", "the same through a random Q'K, d = 512, mean of 10", wide, .08, .25, 3);
  f.answer = text(
      "The product of n and n + k is the same for every n and every length. The weight is not: the softmax "
      "shares 1 among all keys, so at L = 256 it is ",
      fixed(first / last, 0),
      " times smaller than at L = 4, and through a Q'K that was not learned for it the offset explains only ",
      fixed(100 * narrow, 0), " % of the products at d = 64 and ", fixed(100 * wide, 0), " % at d = 512.");
  return f;
}
const Record claim_004_15 = Claim{
    .question = &question_why_not_index,
    .id = "004-15",
    .says = "The dot product of n and n + k is the same for any length, so the attention weight is the same.",
    .method = "dot products of the sinusoid at distance 3; softmax over them for L from 4 to 256",
    .expects = "equal products; weights that fall with L",
    .advice = "For longer inputs, mind the softmax: log-n scaling exists for this.",
    .recorded = holds_if,
    .condition = "the number of keys is the same, and Q'K leaves the product of the codes as it is",
    .verdicts = {{holds_if, {asked("spread"), at_least("ratio", 5)}},
                 {holds, {asked("spread"), at_most("ratio", 1.1)}}},
    .measure = same_weight,
};

}  // namespace
}  // namespace gnomon::claims
