// Are words and positions orthogonal?
#include <algorithm>
#include <array>
#include <cmath>

#include "gnomon/claims/parts.h"
#include "gnomon/lens/attention.h"
#include "gnomon/lens/probe.h"
#include "gnomon/lens/subspace.h"

namespace gnomon::claims {

Question question_is_it_orthogonal = {
    .key = "is_it_orthogonal",
    .title = "Are words and positions orthogonal?",
    .lead = "000-08",
    .answer =
        "Single vectors nearly are, by chance; subspaces are not: a random pair overlaps by the larger "
        "dimension over d. Training moves them a little further apart, to a mean cos² of {000-08|trained.16} "
        "for 16 directions each, against {000-08|chance.16} by chance, and Q'K still links them."};

namespace {

using enum Verdict;

Finding nearly_orthogonal(Desk& desk) {
  Finding f;
  struct Row {
    std::int64_t d;
    double mean, sd, at99;
  };
  const Row rows[] = {{64, .100, .125, .322},
                      {128, .071, .088, .228},
                      {384, .041, .051, .132},
                      {512, .035, .044, .114},
                      {768, .029, .036, .093}};
  const std::int64_t pairs = desk.draws(40000);
  report::LineChart chart{"The cosine of two random vectors",
                          text("Share of ", pairs, " Gaussian pairs in each bin of 0.02."),
                          {"|cos|"},
                          {"share of the pairs"},
                          {}};
  int style = 0;
  for (const Row& r : rows) {
    const Matrix a = gaussian_words(pairs, r.d, 11), b = gaussian_words(pairs, r.d, 12);
    std::vector<double> cosines;
    double mean = 0, square = 0;
    for (std::int64_t n = 0; n < pairs; ++n) {
      const double c =
          std::abs(dot(a.row(n), b.row(n))) / std::sqrt(dot(a.row(n), a.row(n)) * dot(b.row(n), b.row(n)));
      cosines.push_back(c), mean += c / double(pairs), square += c * c / double(pairs);
    }
    std::sort(cosines.begin(), cosines.end());
    // The printed digits, and three standard errors of this many pairs.
    const double error = 3 * r.sd / std::sqrt(double(pairs));
    f.near(text("cos.", r.d), text("E|cos|, d = ", r.d), mean, r.mean, 5e-4 + .6 * error, 3);
    f.near(text("deviation.", r.d), text("deviation of cos, d = ", r.d), std::sqrt(square), r.sd,
           5e-4 + .71 * error, 3);
    f.near(text("below.", r.d), text("99 % of |cos| below, d = ", r.d),
           cosines[std::size_t(.99 * double(pairs))], r.at99, 5e-4 + 3.5 * error, 3);
    if (r.d == 384) continue;
    report::Series s{text("d = ", r.d), {}, style++};
    for (double low = 0; low < .4; low += .02) {
      const auto in =
          std::count_if(cosines.begin(), cosines.end(), [&](double c) { return c >= low && c < low + .02; });
      s.points.emplace_back(low + .01, double(in) / double(pairs));
    }
    chart.series.push_back(std::move(s));
  }
  const SubspaceSizes sizes{512, 42, 256};
  const OverlapNull null = random_overlap(sizes, desk.draws(40), 3);
  f.near("subspaces", "mean cos² of random subspaces of 42 and 256 dimensions, d = 512", null.mean_cos2, .5,
         .01, 3);
  f.figures = {chart};
  f.answer =
      "True of pairs of vectors: at d = 512 the cosine is 0.035 on average. It says nothing about subspaces: "
      "a random one of 42 dimensions lies half inside a random one of 256.";
  return f;
}
const Record claim_000_05 = Claim{
    .question = &question_is_it_orthogonal,
    .id = "000-05",
    .says = "Random vectors of high dimension are almost orthogonal.",
    .method =
        "|cos| of Gaussian pairs at five widths, against √(2/(πd)) and 1/√d; overlap of random subspaces",
    .expects =
        "E|cos| = 0.035 at d = 512; but mean cos² of random subspaces of 42 and 256 dimensions is 256/512",
    .advice = "Never argue about subspaces from the angle of two vectors.",
    .recorded = conditional,
    .verdicts = {{conditional, {at_most("cos.512", .05), at_least("subspaces", .25)}},
                 {holds, {at_most("cos.512", .05)}},
                 otherwise(wrong)},
    .measure = nearly_orthogonal,
};

// Overlap of the first r principal directions of words and positions of a model.
Overlap model_overlap(const Outcome& o, const Sample& sample, std::int64_t r) {
  return overlap(spectrum(positions_of(o, sample)).basis(r), letter_directions(words_of(o, sample), r));
}

Finding subspaces_orthogonal(Desk& desk) {
  Finding f;
  struct Null {
    SubspaceSizes s;
    double mean, mean_sd, most, most_sd;
  };
  const Null nulls[] = {{{64, 8, 8}, .120, .018, .58, .07},     {{64, 16, 16}, .251, .019, .83, .03},
                        {{128, 16, 16}, .124, .010, .62, .03},  {{384, 42, 42}, .109, .003, .61, .02},
                        {{512, 16, 16}, .032, .003, .33, .02},  {{512, 42, 42}, .082, .003, .53, .02},
                        {{512, 42, 128}, .250, .003, .71, .01}, {{512, 42, 256}, .499, .004, .87, .01},
                        {{768, 16, 384}, .499, .008, .79, .01}};
  for (const Null& n : nulls) {
    const OverlapNull found = random_overlap(n.s, desk.draws(n.s.b > 200 ? 40 : 200), 5);
    const std::string at = text(n.s.d, "/", n.s.a, "/", n.s.b);
    f.near("null.mean." + at, "null of mean cos², " + at, found.mean_cos2, n.mean, 3 * n.mean_sd, 3);
    f.near("null.largest." + at, "null of the largest cosine, " + at, found.max_cos, n.most, 3 * n.most_sd,
           2);
    f.near("theory.mean." + at, "mean cos² by theory, " + at, double(std::max(n.s.a, n.s.b)) / double(n.s.d),
           n.mean, .006, 3);
  }
  f.near("wachter.512_42", "largest cosine by Wachter's law, 512/42/42", wachter_edge({512, 42, 42}), .549,
         6e-4, 3);
  f.near("wachter.512_128", "largest cosine by Wachter's law, 512/128/128", wachter_edge({512, 128, 128}),
         .866, 6e-4, 3);
  f.near("wachter.384_64", "largest cosine by Wachter's law, 384/64/64", wachter_edge({384, 64, 64}), .745,
         6e-4, 3);
  const Recipe r = desk.language("sinusoidal");
  const Sample sample = desk.held_out(r, 64);
  Estimate trained{};
  OverlapNull null{};
  report::IntervalChart chart{"Overlap of words and positions, against chance",
                              text("Mean cos² of the principal angles, less its mean for random subspaces; "
                                   "first r directions of each, d = ",
                                   r.width, "; ± is a 95 % t interval over seeds."),
                              "mean cos² less chance; left is more orthogonal than chance",
                              {}};
  for (const std::int64_t size : {8, 16}) {
    null = random_overlap({r.width, size, size}, desk.draws(200), 9);
    const auto found =
        each(desk, r, [&](const Outcome& o) { return model_overlap(o, sample, size).mean_cos2; });
    const auto before =
        each(desk, r, [&](const Outcome& o) { return model_overlap(at_start(o), sample, size).mean_cos2; });
    trained = mean_interval(found);
    const Estimate start = mean_interval(before);
    f.number(text("chance.", size), text("chance, r = ", size), null.mean_cos2, 3);
    f.estimate(text("start.", size), text("mean cos² at the start, r = ", size), start, 3);
    f.estimate(text("trained.", size), text("mean cos² trained, r = ", size), trained, 3);
    f.number(text("z_start.", size), text("z at the start (one model), r = ", size),
             (start.mean - null.mean_cos2) / null.mean_cos2_sd, 1);
    f.number(text("z_trained.", size), text("z trained (one model), r = ", size),
             (trained.mean - null.mean_cos2) / null.mean_cos2_sd, 1);
    chart.rows.push_back(
        {text("r = ", size, ", at the start"), start.mean - null.mean_cos2, start.half_width, 1});
    chart.rows.push_back(
        {text("r = ", size, ", trained"), trained.mean - null.mean_cos2, trained.half_width, 0});
  }
  const Estimate energy = mean_interval(each(desk, r, [&](const Outcome& o) {
    return energy_within(positions_of(o, sample), letter_directions(words_of(o, sample), 16));
  }));
  f.estimate("energy_inside", "share of the variance of positions inside the first 16 word directions",
             energy, 3);
  f.number("energy_by_chance", "the same by chance", 16.0 / double(r.width), 3);
  const Estimate like_words = mean_interval(each(desk, r, [&](const Outcome& o) {
    return overlap_within(words_of(o, sample), 16, desk.draws(40), 9).mean_cos2;
  }));
  f.estimate("like_words", "mean cos² of random directions with the words' own covariance, r = 16",
             like_words, 3);
  f.figures = {chart};
  const bool closer = trained.mean + trained.half_width < null.mean_cos2;
  f.answer = text("At the start words and positions lie as random subspaces do. ",
                  closer ? "Training moves them apart, but not to orthogonal: "
                         : "Training does not make them more orthogonal than chance: ",
                  "mean cos² ", told(trained, 3), " against ", fixed(null.mean_cos2, 3),
                  " by chance (16 directions of each, width ", r.width,
                  "), z = ", fixed((trained.mean - null.mean_cos2) / null.mean_cos2_sd, 1),
                  " of single random draws.");
  return f;
}
const Record claim_000_08 = Claim{
    .question = &question_is_it_orthogonal,
    .id = "000-08",
    .says = "The two subspaces are approximately orthogonal.",
    .method =
        "principal angles between the first r principal directions of words and of positions, mean cos², "
        "against 200 Haar-random subspaces; at the start and after training",
    .expects = "at the start on the null; the conjecture is that training goes below it",
    .advice = "Always print the null: at width 96, random subspaces of 16 dimensions overlap by a sixth.",
    .recorded = conditional,
    .verdicts = {{holds, {below("trained.16", {.5, "chance.16"})}},
                 {conditional, {below("trained.16", "chance.16")}},
                 otherwise(wrong)},
    .recipes = additive,
    .measure = subspaces_orthogonal,
};

// Shares of the variance of (x + e)'M(y + f) of random M, words of root mean square `word` and a code of `amplitude`: as they
// are; with every row of the logits less its mean; with the mean of the code taken from the code.
enum class Less { nothing, row_mean, code_mean };

struct Start {
  const char* name;
  double word, amplitude;
  bool random_code;
};

std::vector<double> random_shares(const Start& start, std::int64_t d, std::int64_t draws, Less less) {
  const std::int64_t T = less == Less::nothing ? 64 : 128;
  std::vector<double> out(4, 0.0);
  const Random random(7, "bilinear forms");
  for (std::int64_t n = 0; n < draws; ++n) {
    const auto seed = std::uint64_t(n + 1);
    Matrix x = gaussian_words(T, d, seed),
           e = start.random_code ? gaussian_words(T, d, seed + 100000) : sinusoid(d, T);
    for (double& v : x.values) v *= start.word;
    for (double& v : e.values) v *= start.amplitude;
    if (less == Less::code_mean) e = centred(e);
    // M = Q'K of a head of 64 channels: rank does not change expected shares.
    const Matrix q = gaussian(Random(random.bits(2 * seed), "q"), 64, d),
                 k = gaussian(Random(random.bits(2 * seed + 1), "k"), 64, d);
    Matrix terms[4];
    double total = 0;
    for (int t = 0; t < 4; ++t) {
      terms[t] =
          product_transposed(product_transposed(t / 2 ? e : x, q), product_transposed(t % 2 ? e : x, k));
      if (less == Less::row_mean) terms[t] = row_centred(terms[t], false);
      total += squares(terms[t]);
    }
    for (int t = 0; t < 4; ++t) out[std::size_t(t)] += squares(terms[t]) / total / double(draws);
  }
  return out;
}

// |P_w'M P_p|²/(|P_w'M P_w|·|P_p'M P_p|) of the top directions of word and position, in the trained Q'K of every head.
double block_energy(const Outcome& o, const Sample& sample, std::uint64_t rotate) {
  const auto gain = parameter(o.look(), "layers.0.attention.norm.gain").values;
  const Matrix qkv = parameter(o.look(), "layers.0.attention.qkv.weight");
  const Architecture& c = o.model->architecture();
  const std::int64_t D = c.attention.head_size;
  Matrix word = letter_directions(words_of(o, sample), 16),
         place = spectrum(positions_of(o, sample)).basis(16);
  if (rotate)
    word = random_subspace(Random(rotate, "rotated words"), 1, c.width, 16),
    place = random_subspace(Random(rotate, "rotated words"), 2, c.width, 16);
  double cross = 0, within_both = 0;
  for (std::int64_t h = 0; h < c.attention.heads; ++h) {
    Matrix m = product(transpose(qkv.block(h * D, D)), qkv.block(c.width + h * D, D));
    for (std::int64_t a = 0; a < m.rows; ++a) {
      for (std::int64_t b = 0; b < m.columns; ++b) m.at(a, b) *= gain[std::size_t(a)] * gain[std::size_t(b)];
    }
    const auto energy = [&](const Matrix& left, const Matrix& right) {
      return squares(product(product(transpose(left), m), right));
    };
    cross += (energy(word, place) + energy(place, word)) / 2;
    within_both += std::sqrt(energy(word, word) * energy(place, place));
  }
  return cross / within_both;
}

Finding independent(Desk& desk) {
  Finding f;
  const std::pair<Start, std::array<double, 4>> starts[] = {
      {{"tensor2tensor's scaling", 1, 1, false}, {.444, .222, .222, .111}},
      {{"GPT-2's (.02 / .01)", .02, .01, true}, {.64, .16, .16, .04}},
      {{"BERT's (.02 / .02)", .02, .02, true}, {.25, .25, .25, .25}},
      {{"words .02, code unscaled", .02, 1, false}, {0, .0008, .0008, .9984}}};
  std::vector<std::pair<std::string, std::vector<double>>> rows;
  const auto measure = [&](const Start& start, Less less, std::string name,
                           const std::array<double, 4>& expected) {
    const auto found = random_shares(start, 512, desk.draws(200), less);
    for (std::size_t k = 0; k < 4; ++k)
      f.near(text("start.", rows.size(), ".", k), text(name, ", ", kTermNames[k]), found[k], expected[k], .02,
             4);
    rows.emplace_back(std::move(name), found);
  };
  for (const auto& [start, expected] : starts) measure(start, Less::nothing, start.name, expected);
  // With the mean of the code (0.57 of its energy at T = 128) out of query and key, r_w = 512/(512 + 109.7); rows less
  // their mean lose it in the key alone: 512/768 for the query.
  const double query = 512.0 / 768, key = 512 / (512 + 109.7);
  measure(starts[0].first, Less::code_mean, "tensor2tensor, T = 128, less the code's mean",
          {.678, .145, .145, .031});
  measure(starts[0].first, Less::row_mean, "tensor2tensor, T = 128, rows less their mean",
          {query * key, query * (1 - key), (1 - query) * key, (1 - query) * (1 - key)});
  const Recipe r = desk.language("sinusoidal");
  const Sample sample = desk.held_out(r, desk.quick ? 16 : 60);
  const Estimate cross = mean_interval(each(desk, r, [&](const Outcome& o) {
    const auto s = four_shares(o, sample);
    return s[1] + s[2];
  }));
  const Estimate block =
      mean_interval(each(desk, r, [&](const Outcome& o) { return block_energy(o, sample, 0); }));
  const Estimate null =
      mean_interval(each(desk, r, [&](const Outcome& o) { return block_energy(o, sample, 17); }));
  f.estimate("cross", "trained: share of the two cross terms", cross, 3);
  f.estimate("blocks", "trained: cross-block energy of Q'K", block, 3);
  f.estimate("blocks_by_chance", "the same for random directions", null, 3);
  f.figures = {
      table({{"at the start", kTermNames[0], kTermNames[1], kTermNames[2], kTermNames[3]}, rows, 4})};
  const bool linked = block.mean - block.half_width > null.mean;
  f.answer = text(
      "Not at the start: a random Q'K gives the cross terms the product of the norms, 44 % of the variance "
      "with tensor2tensor's scaling. ",
      linked ? "Nor after training: they have " : "After training they have ", fixed(100 * cross.mean, 0),
      " % of the variance within rows, and Q'K links the main directions of word and position with ",
      fixed(block.mean, 2), " of the energy it has inside each, against ", fixed(null.mean, 2),
      " for random directions.");
  return f;
}
const Record claim_000_09 = Claim{
    .question = &question_is_it_orthogonal,
    .id = "000-09",
    .says = "Lying in subspaces of their own, words and positions pass through Q'K independently.",
    .method =
        "shares of the four terms for random Q'K at the scalings in use (d = 512, means of 200 draws); in "
        "trained models the share of the cross terms, and |P_w'M P_p|²/(|P_w'M P_w||P_p'M P_p|) over the "
        "first 16 principal directions, against random directions",
    .expects =
        "r_w², r_w·r_p, r_p·r_w, r_p² at the start, r = share of the squared norm: independence has to be "
        "learned",
    .advice =
        "Set the scales on purpose: word vectors of deviation 0.02 beside an unscaled sinusoid leave 99.8 % "
        "of attention to position.",
    .recorded = wrong,
    .verdicts = {{holds, {below("cross", .05), below("blocks", "blocks_by_chance")}},
                 {wrong, {above("blocks", "blocks_by_chance")}},
                 otherwise(conditional)},
    .recipes = additive,
    .measure = independent,
};

// Overlap of what varies with the position and what varies with the token, in the stream after each layer.
std::vector<double> overlap_by_layer(const Outcome& o, const Sample& sample, std::int64_t r) {
  std::vector<double> out;
  for (const Matrix& h : streams(o.look(), sample)) {
    const VarianceParts parts = variance_parts(h, sample);
    Matrix seen(0, h.columns);
    for (std::int64_t w = 0; w < parts.token.rows; ++w) {
      if (dot(parts.token.row(w), parts.token.row(w)) == 0) continue;
      seen.values.insert(seen.values.end(), parts.token.row(w).begin(), parts.token.row(w).end());
      ++seen.rows;
    }
    out.push_back(overlap(spectrum(parts.position).basis(r), letter_directions(seen, r)).mean_cos2);
  }
  return out;
}

Finding layers_help(Desk& desk) {
  Finding f;
  report::LineChart chart{"Overlap of position and token through the layers",
                          "Mean cos² between the first 8 directions of the position means and of the token "
                          "means; mean over seeds. Dashed: chance, 8/96.",
                          {"layers passed", false, {0, 1, 2, 3, 4, 5, 6, 7, 8}},
                          {"mean cos²"},
                          {}};
  const std::int64_t r = 8;
  std::vector<double> first, last;
  int style = 0;
  for (const std::int64_t depth : {2, 4, 8}) {
    const Recipe recipe = desk.language("sinusoidal").deep(depth);
    const Sample sample = desk.held_out(recipe, desk.quick ? 64 : 400);
    report::Series s{text(depth, " layers"), {}, style, false, true};
    const auto& models = desk.models(recipe);
    for (const Outcome& o : models) {
      const auto layers = overlap_by_layer(o, sample, r);
      s.points.resize(layers.size());
      for (std::size_t l = 0; l < layers.size(); ++l)
        s.points[l] = {double(l), s.points[l].second + layers[l] / double(models.size())};
      if (depth == 8) first.push_back(layers.front()), last.push_back(layers.back());
    }
    for (const auto& [l, value] : s.points)
      f.number(text("after.", depth, ".", l), text(depth, " layers, after ", l), value, 3);
    chart.series.push_back(std::move(s)), ++style;
  }
  const double chance = double(r) / double(desk.language("sinusoidal").width);
  chart.series.push_back({"chance", {{0, chance}, {8, chance}}, 7});
  const Estimate change = paired_interval(last, first);
  f.estimate("change", "8 layers: overlap at the end less at the embedding", change, 3);
  f.number("chance", "chance", chance, 3);
  f.figures = {chart};
  f.answer = text(
      "Through eight layers the overlap of what varies with the position and what varies with the token "
      "changes by ",
      told(change, 3), "; chance is ", fixed(chance, 3), ". ",
      sign(change) == Sign::below   ? "Layers do separate the two."
      : sign(change) == Sign::above ? "Layers mix the two more than the sum did."
                                    : "That is no separation which these seeds can show.");
  return f;
}
const Record claim_000_11 = Claim{
    .question = &question_is_it_orthogonal,
    .id = "000-11",
    .says = "More layers and nonlinearities help to separate the two.",
    .method =
        "in models of 2, 4 and 8 layers, the overlap of the first 8 directions of the position means and the "
        "token means of the residual stream after every layer",
    .expects = "open; the interval decides",
    .advice = "Look at the stream where you read it: overlap at the embedding says little about layer 8.",
    .recorded = undecided,
    .verdicts = {{holds, {below("change")}}, {wrong, {above("change")}}, otherwise(undecided)},
    .recipes =
        [](const Desk& d) {
          const Recipe r = d.language("sinusoidal");
          return std::vector{r, r.deep(4), r.deep(8)};
        },
    .measure = layers_help,
};

Finding caveat(Desk& desk) {
  Finding f;
  const Recipe r = desk.language("sinusoidal");
  const Sample sample = desk.held_out(r, desk.quick ? 64 : 400);
  std::vector<double> embedding, start, attention, feed_forward;
  for (const Outcome& o : desk.models(r)) {
    embedding.push_back(model_overlap(o, sample, 16).mean_cos2),
        start.push_back(model_overlap(at_start(o), sample, 16).mean_cos2);
    const Written parts = written(o.look(), sample);
    const auto of = [&](const Matrix& rows) {
      const VarianceParts p = variance_parts(rows, sample);
      return overlap(spectrum(p.position).basis(8), letter_directions(p.token, 8)).mean_cos2;
    };
    attention.push_back(of(parts.attention[0])), feed_forward.push_back(of(parts.feed_forward[0]));
  }
  const Estimate change = paired_interval(embedding, start),
                 by_layer = paired_interval(feed_forward, attention);
  f.estimate("change", "overlap of the embeddings, trained less at the start", change, 3);
  f.estimate("attention", "overlap in what the first attention writes", mean_interval(attention), 3);
  f.estimate("feed_forward", "overlap in what the first feed-forward part writes",
             mean_interval(feed_forward), 3);
  f.estimate("feed_forward_less_attention", "feed-forward less attention", by_layer, 3);
  const Sign s = sign(change);
  f.answer =
      text("Training changes the overlap of the embeddings themselves by ", told(change, 3),
           s == Sign::below ? ": part of the separation is in the tables, not in later layers. "
                            : ", which is no change that these seeds can show. ",
           "In the first layer the feed-forward part writes position and token with an overlap of ",
           told(mean_interval(feed_forward), 3), ", attention with ", told(mean_interval(attention), 3), ".");
  return f;
}
const Record claim_000_13 = Claim{
    .question = &question_is_it_orthogonal,
    .id = "000-13",
    .says = "Perhaps the orthogonality comes from the layers and not from the embeddings.",
    .method =
        "overlap of the embeddings trained less at the start; overlap in what the first attention and the "
        "first feed-forward part write",
    .expects = "open; the interval decides",
    .advice = "Report the embeddings and the stream apart.",
    .recorded = conditional,
    .verdicts = {{conditional, {below("change")}}, otherwise(undecided)},
    .recipes = additive,
    .measure = caveat,
};

}  // namespace
}  // namespace gnomon::claims
