// Why not the index itself, or an index from 0 to 1?
#include <algorithm>
#include <cmath>
#include <map>

#include "gnomon/claims/parts.h"
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
        "A raw index grows until the word vanishes behind it in a LayerNorm; an index from 0 to 1 gives "
        "neighbours another distance in every text. Logits linear in the position can also put no more than "
        "a quarter of the attention on the token before: ALiBi's best head reaches {004-09|alibi.weight}, "
        "RoPE's {004-09|rope.weight}."};

namespace {

using enum Verdict;

// Recognising x_w from LN(x_w + p·u): the share of words whose nearest normalised word is the right one.
double word_after_norm(const Matrix& x, const Matrix& u, double p) {
  const auto normed = [&](std::int64_t w, double place) {
    std::vector<double> h(x.row(w).begin(), x.row(w).end());
    double mean = 0, square = 0;
    for (std::size_t c = 0; c < h.size(); ++c) h[c] += place * u.values[c], mean += h[c] / double(h.size());
    for (double& v : h) v -= mean, square += v * v;
    for (double& v : h) v /= std::sqrt(square);
    return h;
  };
  Matrix words(x.rows, x.columns), sums(x.rows, x.columns);
  for (std::int64_t w = 0; w < x.rows; ++w) {
    const auto a = normed(w, 0), b = normed(w, p);
    std::copy(a.begin(), a.end(), words.row(w).begin()), std::copy(b.begin(), b.end(), sums.row(w).begin());
  }
  const Matrix scores = product_transposed(sums, words);
  double right = 0;
  for (std::int64_t w = 0; w < x.rows; ++w)
    right += std::max_element(scores.row(w).begin(), scores.row(w).end()) - scores.row(w).begin() == w;
  return right / double(x.rows);
}

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
  f.near("growth", "|h| at p = 1024 over |h| at p = 16", length_at(1024) / length_at(16), 64, 1, 1);
  const Estimate cost = loss_difference(desk, desk.language("index"), desk.language("sinusoidal"));
  f.estimate("loss", "loss with the raw index, less the sinusoid's (nats)", cost);
  f.figures = {chart};
  f.answer = text(
      "Yes: the vector grows as p, and after a LayerNorm the word shrinks as 1/p. In training within 64 "
      "tokens the raw index is ",
      compared(cost, "the sinusoid"), ".");
  return f;
}
const Record claim_003_02 = Claim{
    .question = &question_why_not_index,
    .id = "003-02",
    .says = "The index itself is not used, because it grows large.",
    .method =
        "words found by the nearest neighbour after LN(x + p·u); length of x + p·u; models trained with a "
        "raw index",
    .expects = "|h| grows as p, and the word vanishes behind it",
    .advice = "Never feed a raw index into a network with norms.",
    .recorded = holds,
    .verdicts = {{holds, {asked("growth"), at_most("words.1024", .5)}}, otherwise(wrong)},
    .recipes =
        [](const Desk& d) {
          return std::vector{d.language("index"), d.language("sinusoidal")};
        },
    .measure = grows,
};

Recipe lengths_task(const Desk& d, const char* spec) {
  Recipe r = d.task("lengths", spec);
  r.causal = false, r.steps = d.quick ? 400 : 2000, r.learning_rate = 2e-3;
  return r;
}

// The values of the encoding `normalised` in a text of L tokens, from its definition.
std::vector<double> normalised_positions(std::int64_t L) {
  const auto encoding = make_encoding("normalised", width_of(4, L));
  const std::vector<double> w(std::size_t(encoding->param_count()), 1.0);
  const Placement place = Placement::consecutive(0, L);
  const Scene scene{place, {}, {}, w};
  std::vector<double> out;
  for (std::int64_t t = 0; t < L; ++t) out.push_back(part<InputPart>(*encoding)->input(scene, t, 0));
  return out;
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
  std::map<std::int64_t, std::vector<double>> normalised, rope;  // by length, by seed
  int style = 0;
  for (const char* spec : {"normalised", "sinusoidal", "rope", "alibi"}) {
    const Recipe r = lengths_task(desk, spec);
    report::Series s{spec, {}, style++, false, true};
    for (const std::int64_t L : {8, 16, 32, 48, 64}) {
      const auto right =
          each(desk, r, [&](const Outcome& o) { return accuracy(o, test_windows(r, nullptr, L, 64, 2)); });
      const Estimate e = mean_interval(right);
      f.estimate(text(spec, ".", L), text(spec, ", windows of ", L), e, 3);
      s.points.emplace_back(double(L), e.mean);
      if (s.name == "normalised") normalised[L] = right;
      if (s.name == "rope") rope[L] = right;
    }
    chart.series.push_back(std::move(s));
  }
  f.figures = {chart};
  const auto behind = [&](std::int64_t L) { return paired_interval(normalised[L], rope[L]); };
  const auto percent = [](const std::vector<double>& x) { return fixed(100 * mean_interval(x).mean, 0); };
  f.estimate("behind.8", "normalised less rope, windows of 8", behind(8), 3);
  f.estimate("behind.64", "normalised less rope, windows of 64", behind(64), 3);
  f.answer = text(
      "The step between neighbours is 1/(L − 1): another one for every length. Trained on windows of 8 to 32 "
      "tokens, a model with the normalised index finds the token before it in ",
      percent(normalised[8]), " % of cases at 8 tokens, ", percent(normalised[32]), " % at 32 and ",
      percent(normalised[64]), " % at 64, which it never saw; one with RoPE in ", percent(rope[8]), ", ",
      percent(rope[32]), " and ", percent(rope[64]), " %.");
  return f;
}
const Record claim_003_03 = Claim{
    .question = &question_why_not_index,
    .id = "003-03",
    .says = "An index between 0 and 1 means different things in texts of different length.",
    .method =
        "step between neighbours, 1/(L − 1); encoders trained to name the token before, on windows of 8 to "
        "32 tokens, tested at 8 to 64",
    .expects = "fails where relative or unnormalised codes succeed",
    .advice = "Never normalise by the length of the input, unless position means a share of the text.",
    .recorded = holds,
    .verdicts = {{holds, {below("behind.8"), below("behind.64")}}, otherwise(undecided)},
    .recipes =
        [](const Desk& d) {
          return std::vector{lengths_task(d, "normalised"), lengths_task(d, "sinusoidal"),
                             lengths_task(d, "rope"), lengths_task(d, "alibi")};
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
  f.answer =
      "It can be written down, 0, 1/3, 2/3, 1, and is unique within one text. The same word three places on "
      "has another value in every other length (003-03).";
  return f;
}
const Record claim_004_06 = Claim{
    .question = &question_why_not_index,
    .id = "004-06",
    .says = "\"My name is Bob\" could have positions 0 to 3 divided by the length.",
    .method = "the values of the encoding `normalised`",
    .expects = "0, 1/3, 2/3, 1",
    .advice = "See 003-03 for what goes wrong.",
    .recorded = conditional,
    .verdicts = {{conditional, {asked("position"), at_most("second_of_100", .1)}},
                 {holds, {asked("position")}}},
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
  f.answer =
      "With positions between 0 and 1, neighbours in a text of 4 and tokens 33 apart in a text of 100 have "
      "the same product, 2/9. The sinusoid tells them apart.";
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
  for (const char* s : specs) all.push_back(d.task(task, s)), all.back().layers = 1;
  return all;
}

// The weight that the last of T tokens puts on the one `back` before it, by the softmax of these logits.
template <class F>
double weight_before(std::int64_t T, std::int64_t back, F&& logit) {
  double total = 0;
  for (std::int64_t j = 0; j < T; ++j) total += std::exp(logit(j) - logit(T - 1));
  return std::exp(logit(T - 1 - back) - logit(T - 1)) / total;
}

Finding absolute_only(Desk& desk) {
  Finding f;
  // Logits that are linear in the position of the key: the most that the token before can get.
  double most = 0;
  for (double r = .01; r < 1; r += .001)
    most = std::max(most, weight_before(64, 1, [&](std::int64_t j) { return -std::log(r) * double(j); }));
  f.near("linear", "most weight on the previous token, logits linear in the key's position", most, .25, 1e-6,
         6);
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
  double alibi = 0, rope = 0;
  for (const char* spec : {"none", "alibi", "rope", "t5", "sinusoidal"}) {
    Recipe r = desk.task("previous", spec);
    r.layers = 1;
    const Sample sample = desk.held_out(r, 24);
    const Estimate mass = mean_interval(each(desk, r, [&](const Outcome& o) {
      double best = 0;
      for (const HeadHabits& h : head_habits(o.look(), 0, streams(o.look(), sample)[0], sample.T))
        best = std::max(best, h.previous);
      return best;
    }));
    const Estimate right =
        mean_interval(each(desk, r, [&](const Outcome& o) { return accuracy(o, sample); }));
    f.estimate(text(spec, ".weight"), text(spec, ": weight on the previous token, best head"), mass, 3);
    f.estimate(text(spec, ".right"), text(spec, ": right answers"), right, 3);
    chart.rows.push_back({spec, mass.mean, mass.half_width, int(chart.rows.size())});
    if (std::string_view(spec) == "alibi") alibi = mass.mean;
    if (std::string_view(spec) == "rope") rope = mass.mean;
  }
  f.figures = {chart};
  f.answer = text(
      "Imprecise: products of (p, 1) give p − q exactly, so the information is there. The limit is another "
      "one: logits that are linear in the position put at most a quarter of the weight on the token before. "
      "Trained for nothing else, ALiBi's best head reaches ",
      fixed(alibi, 2), ", RoPE's ", fixed(rope, 2), ".");
  return f;
}
const Record claim_004_09 = Claim{
    .question = &question_why_not_index,
    .id = "004-09",
    .says = "A linear index gives only absolute information without more processing.",
    .method =
        "most weight on the previous token for logits linear in the key's position, r(1 − r); one-layer "
        "models trained to name the token before: weight of the best head",
    .expects = "at most 1/4 for ALiBi and all linear logits; nearly 1 for RoPE and T5",
    .advice = "If your task needs the exact neighbour, do not rely on a linear bias alone.",
    .recorded = conditional,
    .verdicts = {{conditional, {below("alibi.weight", .3), above("rope.weight", .6)}}, otherwise(undecided)},
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
  for (const char* spec : {"none", "alibi", "t5", "sinusoidal", "rope"}) {
    Recipe r = desk.task("offset8", spec);
    r.layers = 1;
    const Sample sample = desk.held_out(r, 64);
    const Estimate right =
        mean_interval(each(desk, r, [&](const Outcome& o) { return accuracy(o, sample); }));
    f.estimate(text(spec, ".right"), text(spec, ": right answers"), right, 3);
    chart.rows.push_back({spec, right.mean, right.half_width, int(chart.rows.size())});
  }
  f.figures = {chart};
  f.answer =
      "Poems were not measured. What can be said: a fixed distance of eight tokens, as a refrain has, is "
      "learned in one layer from sinusoids, RoPE and T5's buckets, and not from ALiBi or from the mask "
      "alone.";
  return f;
}
const Record claim_004_10 = Claim{
    .question = &question_why_not_index,
    .id = "004-10",
    .says = "Periodic codes help with periodic structure, such as repetition in poems.",
    .method = "one-layer models trained to name the token eight places before",
    .expects = "no support for or against poems; a fixed distance is learned by several encodings",
    .advice = "Try it on your poems with `gnomon study`.",
    .recorded = undecided,
    .rests_on = argument("poems were not measured: a fixed distance of eight tokens stands for a refrain, "
                         "and is less than one"),
    .recipes =
        [](const Desk& d) {
          return one_layer(d, "offset8", {"none", "alibi", "t5", "sinusoidal", "rope"});
        },
    .measure = periodic,
};

// The share of the products e'Mf that the offset alone explains, for random M.
double random_offset_share(std::int64_t d, std::int64_t draws) {
  const Random random(12, "random maps");
  const Matrix e = sinusoid(d, 64);
  double mean = 0;
  for (std::int64_t n = 0; n < draws; ++n) {
    const Matrix m = gaussian(Random(random.bits(std::uint64_t(n)), "map"), d, d);
    mean += offset_share(product_transposed(product(e, m), e), Diagonal::with) / double(draws);
  }
  return mean;
}

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
    for (std::int64_t p = 0; p < m.rows; ++p) {
      double mean = 0, square = 0;
      for (const double v : m.row(p)) mean += v / double(m.columns);
      for (double& v : m.row(p)) v -= mean, square += v * v / double(m.columns);
      for (double& v : m.row(p)) v /= std::sqrt(square);
    }
    return m;
  };
  f.near("offset", "products explained by the offset alone", gram_share(sinusoid(64, 128)), 1, 1e-9, 4);
  for (const auto& [d, removed, after] : {std::tuple{64, .9637, .9313}, {512, .9594, .9545}}) {
    f.near(text("centred.", d), text("the same with the code's mean removed, d = ", d),
           gram_share(centred(sinusoid(d, 128))), removed, 1e-4, 4);
    f.near(text("normed.", d), text("the same after LayerNorm, d = ", d),
           gram_share(normed(sinusoid(d, 128))), after, 1e-4, 4);
  }
  f.between("random.64", "the same through a random Q'K, d = 64, mean of 30", random_offset_share(64, 30),
            .05, .2, 3);
  f.between("random.512", "the same through a random Q'K, d = 512, mean of 10", random_offset_share(512, 10),
            .08, .25, 3);
  f.answer = text(
      "The product of n and n + k is the same for every n and every length. The weight is not: the softmax "
      "shares 1 among all keys, so at L = 256 it is ",
      fixed(first / last, 0),
      " times smaller than at L = 4, and a Q'K that was not learned for it keeps only about a tenth of that "
      "regularity.");
  return f;
}
const Record claim_004_15 = Claim{
    .question = &question_why_not_index,
    .id = "004-15",
    .says = "The dot product of n and n + k is the same for any length, so the attention weight is the same.",
    .method = "dot products of the sinusoid at distance 3; softmax over them for L from 4 to 256",
    .expects = "equal products; weights that fall with L",
    .advice = "For longer inputs, mind the softmax: log-n scaling exists for this.",
    .recorded = conditional,
    .verdicts = {{conditional, {asked("spread"), at_least("ratio", 5)}},
                 {holds, {asked("spread"), at_most("ratio", 1.1)}}},
    .measure = same_weight,
};

}  // namespace
}  // namespace gnomon::claims
