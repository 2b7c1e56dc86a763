// Why not the index itself, or an index from 0 to 1?
#include <algorithm>
#include <cmath>
#include <map>

#include "gnomon/claims/measures/index.h"
#include "gnomon/encodings/definition.h"
#include "gnomon/lens/attention.h"
#include "gnomon/spec/scheme.h"
#include "gnomon/study/data/task.h"

namespace gnomon::claims {

constexpr Prose kText =
#include "gnomon/claims/questions/why_not_index.txt.inc"
    ;
Question question_why_not_index{.key = "why_not_index", .text = question_text(kText)};

namespace {

using enum Verdict;

constexpr const char* kDivided = "index(divisor=64)";  // the windows trained here have 64 tokens

Finding grows(Experiment& experiment) {
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
  const Recipe raw = experiment.language("index"), divided = experiment.language(kDivided),
               none = experiment.language("none"), sinus = experiment.language("sinusoidal");
  const OnTheWay growth = on_the_way(experiment, raw, divided), less_none = on_the_way(experiment, raw, none),
                 to_sinus = on_the_way(experiment, raw, sinus),
                 divided_way = on_the_way(experiment, divided, sinus);
  show(f, "growth", "loss with the raw index minus loss with the index divided by 64", growth);
  show(f, "less_none", "loss with the raw index minus loss without position", less_none);
  show(f, "raw", "loss with the raw index minus loss with the sinusoid", to_sinus);
  show(f, "divided", "loss with the index divided by 64 minus loss with the sinusoid", divided_way);
  const Sample sample = experiment.held_out(raw, 256);
  std::vector<double> part_first, part_last, letters_first, letters_last;
  for (const Outcome& o : experiment.models(raw)) {
    const Places first = look_at_places(o, sample, 0), last = look_at_places(o, sample, sample.T - kPlaces);
    part_first.push_back(first.part), part_last.push_back(last.part);
    letters_first.push_back(first.letters), letters_last.push_back(last.letters);
  }
  const Estimate part = mean_interval(part_last), letters = mean_interval(letters_last),
                 early = mean_interval(letters_first);
  f.estimate("part.first",
             "length of the word divided by length of the sum, first 8 positions, trained raw index",
             mean_interval(part_first), 3);
  f.estimate("part.last", "the same, last 8 positions", part, 3);
  f.estimate("letters.first", "letters read by a linear probe after the norm, first 8 positions", early, 3);
  f.estimate("letters.last", "the same, last 8 positions", letters, 3);
  f.figures = {chart};
  return f;
}
const Record claim_003_02 = Claim{
    .question = &question_why_not_index,
    .id = "003-02",
    .text = claim_text(kText, "003-02"),
    .recorded = holds,
    .verdicts = {{holds, {asked("growth_of_length"), above("growth.at.1", .05)}},
                 {wrong, {below("growth.at.1", .05)}},
                 otherwise(open)},
    .recipes =
        [](const Experiment& d) {
          return std::vector{d.language("index"), d.language(kDivided), d.language("none"),
                             d.language("sinusoidal")};
        },
    .measure = grows,
};

constexpr const char* kOfLengths[] = {"normalised", "index", kDivided, "sinusoidal", "rope", "alibi"};
Recipe lengths_task(const Experiment& d, const char* spec) {
  Recipe r = d.task("lengths", spec, 2, false);
  r.steps = d.quick ? 400 : 2000;
  return r;
}

Finding inconsistent(Experiment& experiment) {
  Finding f;
  for (const std::int64_t L : {4, 100}) {
    const auto p = normalised_positions(L);
    f.near(text("step.", L), text("step between neighbours, L = ", L), p[1] - p[0], 1 / double(L - 1), 1e-12,
           6);
  }
  report::LineChart chart{
      "Name the previous token, in windows of any length",
      "Trained on windows of 8 to 32 tokens, without a causal mask; two layers; mean over seeds.",
      {"tokens of the window"},
      {"share of right answers"},
      {}};
  std::map<std::string, std::map<std::int64_t, std::vector<double>>> right;  // by spec, length, seed
  int style = 0;
  for (const char* spec : kOfLengths) {
    const Recipe r = lengths_task(experiment, spec);
    report::Series s{spec, {}, style++, false, true};
    for (const std::int64_t L : {8, 16, 32, 48, 64}) {
      right[spec][L] = each(
          experiment, r, [&](const Outcome& o) { return accuracy(o, test_windows(r, nullptr, L, 64, 2)); });
      const Estimate e = mean_interval(right[spec][L]);
      f.estimate(text(spec, ".", L), text("right answers, ", spec, ", windows of ", L), e, 3);
      s.points.emplace_back(double(L), e.mean);
    }
    chart.series.push_back(std::move(s));
  }
  f.figures = {chart};
  const auto behind = [&](const char* other, std::int64_t L) {
    return paired_interval(right["normalised"][L], right[other][L]);
  };
  for (const std::int64_t L : {8, 64}) {
    f.estimate(text("behind.", L), text("right answers, normalised minus rope, windows of ", L),
               behind("rope", L), 3);
    f.estimate(text("control.", L),
               text("right answers, normalised minus the index divided by 64, windows of ", L),
               behind(kDivided, L), 3);
  }
  return f;
}
const Record claim_003_03 = Claim{
    .question = &question_why_not_index,
    .id = "003-03",
    .text = claim_text(kText, "003-03"),
    .recorded = holds,
    .verdicts = {{holds, {asked("step")}}},
    .recipes =
        [](const Experiment& d) {
          std::vector<Recipe> all;
          for (const char* spec : kOfLengths) all.push_back(lengths_task(d, spec));
          return all;
        },
    .measure = inconsistent,
};

Finding bob(Experiment&) {
  Finding f;
  const auto four = normalised_positions(4);
  for (std::size_t t = 0; t < 4; ++t)
    f.near(text("position.", t), text("position ", t, " of \"My name is Bob\""), four[t], double(t) / 3,
           1e-12, 6);
  for (std::size_t t = 0; t < 4; ++t)
    f.number(text("by_length.", t), text("position ", t, " divided by the length, 4"), double(t) / 4, 2);
  f.number("second_of_100", "position 1 of a text of 100", normalised_positions(100)[1], 6);
  return f;
}
const Record claim_004_06 = Claim{
    .question = &question_why_not_index,
    .id = "004-06",
    .text = claim_text(kText, "004-06"),
    .recorded = holds_if,
    .verdicts = {{holds_if, {asked("position"), at_most("second_of_100", .1)}}, {holds, {asked("position")}}},
    .measure = bob,
};

Finding river(Experiment&) {
  Finding f;
  const auto four = normalised_positions(4), hundred = normalised_positions(100);
  const double near_pair = four[1] * four[2], far_pair = hundred[33] * hundred[66];
  f.near("short", "product of positions 1 and 2 of 4", near_pair, .2222, 1e-4, 4);
  f.near("long", "product of positions 33 and 66 of 100", far_pair, .2222, 1e-4, 4);
  f.near("difference", "their difference", near_pair - far_pair, 0, 1e-12, 12);
  const auto w = sinusoid_frequencies(64);
  f.between("sinusoid", "the sinusoid's similarity at distance 1 minus that at 33",
            sinusoid_kernel(w, 1) - sinusoid_kernel(w, 33), .2, 1, 3);
  f.number("near", "the sinusoid's similarity at distance 1", sinusoid_kernel(w, 1), 3);
  f.number("far", "the sinusoid's similarity at distance 33", sinusoid_kernel(w, 33), 3);
  return f;
}
const Record claim_004_14 = Claim{
    .question = &question_why_not_index,
    .id = "004-14",
    .text = claim_text(kText, "004-14"),
    .recorded = holds,
    .verdicts = {{holds, {asked("short"), asked("long"), asked("sinusoid")}}},
    .measure = river,
};

constexpr std::initializer_list<const char*> kOneLayer = {"none",       "alibi", "rope",  "t5",
                                                          "sinusoidal", "index", kDivided};
std::vector<Recipe> one_layer(const Experiment& d, const char* task,
                              std::initializer_list<const char*> specs) {
  std::vector<Recipe> all;
  for (const char* s : specs) all.push_back(d.task(task, s, 1));
  return all;
}

Finding absolute_only(Experiment& experiment) {
  Finding f;
  f.between("difference", "largest error of one product of (p, 1) and (q, 1) as p − q",
            error_of_difference(64), 0, 1e-12, 12);
  f.near("linear", "most weight on the previous token of 64, logits linear in the key's position",
         most_before(64), .25, 1e-5, 4);
  f.near("linear_of_3", "the same with 3 keys", most_before(3), 1. / 3, 1e-5, 4);
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
  f.near("own", "ALiBi's slope 1/2: weight on the own token", weight_before(64, 0, alibi_logit), .3935, 1e-4,
         4);
  report::IntervalChart chart{"Most weight that a head puts on the previous token",
                              text("One-layer models trained to name the previous token; the best head; bars "
                                   "are 95 % t intervals over ",
                                   experiment.seeds(), " seeds. The bound for linear logits is 0.25."),
                              "mean attention weight on the previous token",
                              {}};
  std::map<std::string, std::vector<double>> by_seed;
  for (const char* spec : kOneLayer) {
    const Recipe r = experiment.task("previous", spec, 1);
    const Sample sample = experiment.held_out(r, 24);
    const Estimate mass = mean_interval(each(experiment, r, [&](const Outcome& o) {
      double best = 0;
      for (const HeadHabits& h : head_habits(o.look(), 0, streams(o.look(), sample)[0], sample.T))
        best = std::max(best, h.previous);
      return best;
    }));
    by_seed[spec] = each(experiment, r, [&](const Outcome& o) { return accuracy(o, sample); });
    const Estimate right = mean_interval(by_seed[spec]);
    f.estimate(text(spec, ".weight"), text(spec, ": weight on the previous token, best head"), mass, 3);
    f.estimate(text(spec, ".right"), text(spec, ": right answers"), right, 3);
    chart.rows.push_back({spec, mass.mean, mass.half_width, int(chart.rows.size())});
  }
  f.figures = {chart};
  f.estimate("alibi_less_none", "right answers, alibi minus none",
             paired_interval(by_seed["alibi"], by_seed["none"]), 3);
  // (p, 1)·(q, 1) for two pairs at distance 2.
  const auto plain = [](double p, double q) { return p * q + 1; };
  f.between("plain", "product of the indices 7 and 5 minus product of the indices 4 and 2",
            plain(7, 5) - plain(4, 2), 1, 1e3, 0);
  for (const auto& [key, spec] : {std::pair{"raw", "index"}, {"divided", kDivided}})
    f.estimate(text(key, "_less_sinusoidal"), text("right answers, ", spec, " minus sinusoidal"),
               paired_interval(by_seed[spec], by_seed["sinusoidal"]), 3);
  return f;
}
const Record claim_004_09 = Claim{
    .question = &question_why_not_index,
    .id = "004-09",
    .text = claim_text(kText, "004-09"),
    .recorded = holds_if,
    .verdicts = {{holds_if, {asked("difference"), asked("plain"), above("index(divisor=64).right", .9)}},
                 {holds, {asked("difference"), asked("plain"), below("index(divisor=64).right", .9)}},
                 otherwise(open)},
    .recipes = [](const Experiment& d) { return one_layer(d, "previous", kOneLayer); },
    .measure = absolute_only,
};

constexpr const char* kInMetre[] = {"none", "alibi", "t5", "learned", "sinusoidal", "rope"};
Recipe in_metre(const Experiment& d, const char* spec) {
  Recipe r = d.task("metre", spec, 1);
  r.length = 64, r.steps = d.quick ? 250 : 2000;
  return r;
}
// In a metre: what counts stands at all multiples of eight.
void measure_metre(Experiment& experiment, Finding& f) {
  std::map<std::string, std::vector<double>> right;
  for (const char* spec : kInMetre) {
    const Recipe r = in_metre(experiment, spec);
    const Sample sample = experiment.held_out(r, 64);
    right[spec] = each(experiment, r, [&](const Outcome& o) { return accuracy(o, sample); });
    f.estimate(text("metre.", spec, ".right"), text(spec, ", in a metre: right answers"),
               mean_interval(right[spec]), 3);
  }
  for (const char* waves : {"sinusoidal", "rope"}) {
    for (const char* other : {"t5", "learned"})
      f.estimate(text("metre.", waves, "_less_", other),
                 text("right answers in a metre, ", waves, " minus ", other),
                 paired_interval(right[waves], right[other]), 3);
  }
}

Finding periodic(Experiment& experiment) {
  Finding f;
  report::IntervalChart chart{
      "Name the token eight places before",
      "One-layer models; share of right answers; bars are 95 % t intervals over seeds.",
      "share of right answers",
      {}};
  std::map<std::string, std::vector<double>> right;
  for (const char* spec : {"none", "alibi", "t5", "sinusoidal", "rope"}) {
    const Recipe r = experiment.task("offset8", spec, 1);
    const Sample sample = experiment.held_out(r, 64);
    right[spec] = each(experiment, r, [&](const Outcome& o) { return accuracy(o, sample); });
    const Estimate e = mean_interval(right[spec]);
    f.estimate(text(spec, ".right"), text(spec, ": right answers"), e, 3);
    chart.rows.push_back({spec, e.mean, e.half_width, int(chart.rows.size())});
  }
  f.figures = {chart};
  const Estimate rope = paired_interval(right["rope"], right["t5"]),
                 sinus = paired_interval(right["sinusoidal"], right["t5"]);
  f.estimate("rope_less_t5", "right answers, rope minus t5", rope, 3);
  f.estimate("sinusoidal_less_t5", "right answers, sinusoidal minus t5", sinus, 3);
  measure_metre(experiment, f);
  return f;
}
const Record claim_004_10 = Claim{
    .question = &question_why_not_index,
    .id = "004-10",
    .text = claim_text(kText, "004-10"),
    .recorded = open,
    .verdicts = {{holds, {above("metre.sinusoidal_less_t5"), above("metre.sinusoidal_less_learned")}},
                 {holds, {above("metre.rope_less_t5"), above("metre.rope_less_learned")}},
                 {wrong, {below("metre.sinusoidal_less_t5"), below("metre.rope_less_t5")}},
                 otherwise(open)},
    .recipes =
        [](const Experiment& d) {
          std::vector<Recipe> all = one_layer(d, "offset8", {"none", "alibi", "t5", "sinusoidal", "rope"});
          for (const char* spec : kInMetre) all.push_back(in_metre(d, spec));
          return all;
        },
    .measure = periodic,
};

// By the dot products of a window of the sinusoid alone, over √d: the weight of query i on key j.
double weight_of(const Matrix& e, std::int64_t i, std::int64_t j) {
  const double scale = std::sqrt(double(e.columns));
  double total = 0;
  for (std::int64_t k = 0; k < e.rows; ++k) total += std::exp(dot(e.row(i), e.row(k)) / scale);
  return std::exp(dot(e.row(i), e.row(j)) / scale) / total;
}
// Of the last of L queries on the key three before.
double weight_three_before(std::int64_t d, std::int64_t L) { return weight_of(sinusoid(d, L), L - 1, L - 4); }

Finding same_weight(Experiment&) {
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
    const double weight = weight_three_before(64, L);
    s.points.emplace_back(double(L), weight);
    (L == 4 ? first : last) = weight;
  }
  chart.series = {s};
  f.number("weight.4", "weight at distance 3, L = 4", first, 3),
      f.number("weight.256", "weight at distance 3, L = 256", last, 4);
  f.between("ratio", "weight at L = 4 divided by weight at L = 256, d = 64", first / last, 5, 1e3, 1);
  for (const std::int64_t d : {16, 512})
    f.number(text("ratio.", d), text("the same ratio, d = ", d),
             weight_three_before(d, 4) / weight_three_before(d, 256), 2);
  const Matrix here = sinusoid(64, 64), later = sinusoid(64, 64, 1000);
  double moved = 0;
  for (std::int64_t i = 0; i + 3 < 64; ++i)
    moved = std::max(moved, std::abs(weight_of(here, i, i + 3) - weight_of(later, i, i + 3)));
  f.between("moved", "largest change of the weight at distance 3 when 64 positions begin at 1,000", moved, 0,
            1e-9, 12);
  f.number("edge", "weight of the first of 64 queries on the key 3 after, no mask", weight_of(here, 0, 3), 4);
  f.number("middle", "the same for the query in the middle", weight_of(here, 32, 35), 4);
  f.figures = {chart};
  const auto gram_share = [](const Matrix& m) {
    return offset_share(product_transposed(m, m), Diagonal::with);
  };
  const auto normed = [](Matrix m) {
    for (std::int64_t p = 0; p < m.rows; ++p) normalise(m.row(p));
    return m;
  };
  f.near("offset", "share of the products that the offset explains", gram_share(sinusoid(64, 128)), 1, 1e-9,
         4);
  for (const auto& [d, removed, after] : {std::tuple{64, .9637, .9313}, {512, .9594, .9545}}) {
    f.near(text("centred.", d), text("the same with the sinusoid's mean removed, d = ", d),
           gram_share(centred(sinusoid(d, 128))), removed, 1e-4, 4);
    f.near(text("normed.", d), text("the same after LayerNorm, d = ", d),
           gram_share(normed(sinusoid(d, 128))), after, 1e-4, 4);
  }
  const double narrow = random_offset_share(64, 30), wide = random_offset_share(512, 10);
  f.between("random.64", "the same through a random Q'K, d = 64, mean of 30", narrow, .05, .2, 3);
  f.between("random.512", "the same through a random Q'K, d = 512, mean of 10", wide, .08, .25, 3);
  return f;
}
const Record claim_004_15 = Claim{
    .question = &question_why_not_index,
    .id = "004-15",
    .text = claim_text(kText, "004-15"),
    .recorded = holds_if,
    .verdicts = {{holds_if,
                  {asked("spread"), asked("moved"), at_least("ratio", 1.1),
                   at_least("edge", {1.1, "middle"})}},
                 {holds, {asked("spread"), asked("moved")}}},
    .measure = same_weight,
};

}  // namespace
}  // namespace gnomon::claims
