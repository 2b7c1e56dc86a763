// Do words and positions live in orthogonal subspaces?
#include <algorithm>
#include <cmath>

#include "gnomon/claims/parts.h"
#include "gnomon/lens/probe.h"
#include "gnomon/lens/subspace.h"

namespace gnomon::claims {
namespace {

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
    f.near("null of mean cos², " + at, found.mean_cos2, n.mean, 3 * n.mean_sd, 3);
    f.near("null of the largest cosine, " + at, found.max_cos, n.most, 3 * n.most_sd, 2);
    f.near("mean cos² by theory, " + at, double(std::max(n.s.a, n.s.b)) / double(n.s.d), n.mean, .006, 3);
  }
  f.near("largest cosine by Wachter's law, 512/42/42", wachter_edge({512, 42, 42}), .549, 6e-4, 3);
  f.near("largest cosine by Wachter's law, 512/128/128", wachter_edge({512, 128, 128}), .866, 6e-4, 3);
  f.near("largest cosine by Wachter's law, 384/64/64", wachter_edge({384, 64, 64}), .745, 6e-4, 3);
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
    f.number(text("chance, r = ", size), null.mean_cos2, 3);
    f.estimate(text("mean cos² at the start, r = ", size), start, 3);
    f.estimate(text("mean cos² trained, r = ", size), trained, 3);
    f.number(text("z at the start (one model), r = ", size),
             (start.mean - null.mean_cos2) / null.mean_cos2_sd, 1);
    f.number(text("z trained (one model), r = ", size), (trained.mean - null.mean_cos2) / null.mean_cos2_sd,
             1);
    chart.rows.push_back(
        {text("r = ", size, ", at the start"), start.mean - null.mean_cos2, start.half_width, 1});
    chart.rows.push_back(
        {text("r = ", size, ", trained"), trained.mean - null.mean_cos2, trained.half_width, 0});
  }
  const Estimate energy = mean_interval(each(desk, r, [&](const Outcome& o) {
    return energy_within(positions_of(o, sample), letter_directions(words_of(o, sample), 16));
  }));
  f.estimate("share of the variance of positions inside the first 16 word directions", energy, 3);
  f.number("the same by chance", 16.0 / double(r.width), 3);
  const Estimate like_words = mean_interval(each(desk, r, [&](const Outcome& o) {
    return overlap_within(words_of(o, sample), 16, desk.draws(40), 9).mean_cos2;
  }));
  f.estimate("mean cos² of random directions with the words' own covariance, r = 16", like_words, 3);
  f.figures = draw(chart);
  const bool below = trained.mean + trained.half_width < null.mean_cos2,
             half = trained.mean + trained.half_width < null.mean_cos2 / 2;
  f.conclude(half    ? Verdict::holds
             : below ? Verdict::conditional
                     : Verdict::wrong,
             text("At the start words and positions lie as random subspaces do. ",
                  below ? "Training moves them apart, but not to orthogonal: "
                        : "Training does not make them more orthogonal than chance: ",
                  "mean cos² ", told(trained, 3), " against ", fixed(null.mean_cos2, 3),
                  " by chance (16 directions of each, width ", r.width, "), z = ",
                  fixed((trained.mean - null.mean_cos2) / null.mean_cos2_sd, 1), " of single random draws."));
  return f;
}

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
    for (const auto& [l, value] : s.points) f.number(text(depth, " layers, after ", l), value, 3);
    chart.series.push_back(std::move(s)), ++style;
  }
  const double chance = double(r) / double(desk.language("sinusoidal").width);
  chart.series.push_back({"chance", {{0, chance}, {8, chance}}, 7});
  const Estimate change = paired_interval(last, first);
  f.estimate("8 layers: overlap at the end less at the embedding", change, 3);
  f.number("chance", chance, 3);
  f.figures = draw(chart);
  f.conclude(sign(change) == Sign::below   ? Verdict::holds
             : sign(change) == Sign::above ? Verdict::wrong
                                           : Verdict::undecided,
             text("Through eight layers the overlap of what varies with the position and what varies with "
                  "the token changes by ",
                  told(change, 3), "; chance is ", fixed(chance, 3), ". ",
                  sign(change) == Sign::below   ? "Layers do separate the two."
                  : sign(change) == Sign::above ? "Layers mix the two more than the sum did."
                                                : "That is no separation which these seeds can show."));
  return f;
}

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
  f.estimate("overlap of the embeddings, trained less at the start", change, 3);
  f.estimate("overlap in what the first attention writes", mean_interval(attention), 3);
  f.estimate("overlap in what the first feed-forward part writes", mean_interval(feed_forward), 3);
  f.estimate("feed-forward less attention", by_layer, 3);
  const Sign s = sign(change);
  f.conclude(s == Sign::below ? Verdict::conditional : Verdict::undecided,
             text("Training changes the overlap of the embeddings themselves by ", told(change, 3),
                  s == Sign::below ? ": part of the separation is in the tables, not in later layers. "
                                   : ", which is no change that these seeds can show. ",
                  "In the first layer the feed-forward part writes position and token with an overlap of ",
                  told(mean_interval(feed_forward), 3), ", attention with ",
                  told(mean_interval(attention), 3), "."));
  return f;
}

Finding dims_shared_out(Desk& desk) {
  Finding f;
  const Recipe r = desk.language("sinusoidal"), rotated = desk.language("rotated");
  const Sample sample = desk.held_out(r, 64);
  const auto rho = [&](const Outcome& o) {
    return spearman(channels(positions_of(o, sample)).variance, channels(words_of(o, sample)).variance);
  };
  const Estimate trained = mean_interval(each(desk, r, rho));
  const Estimate start = mean_interval(each(desk, r, [&](const Outcome& o) { return rho(at_start(o)); }));
  const Estimate control = mean_interval(each(desk, rotated, rho));
  const Estimate cost = loss_difference(desk, rotated, r);
  f.estimate("rank correlation of the channels' variances, trained", trained, 3);
  f.estimate("the same at the start", start, 3);
  f.estimate("the same with the code in a random basis", control, 3);
  f.number("95 % of permuted channels lie within ±", 1.96 / std::sqrt(double(r.width - 1)), 3);
  f.estimate("loss with the code in a random basis, less the sinusoid's (nats)", cost, 4);
  const Sign s = sign(trained);
  f.conclude(s == Sign::open             ? Verdict::undecided
             : s == Sign::above          ? Verdict::wrong
             : sign(cost) == Sign::above ? Verdict::holds
                                         : Verdict::conditional,
             text(s == Sign::below   ? "Words avoid the channels that the code uses"
                  : s == Sign::above ? "Words prefer the channels that the code uses"
                                     : "Whether words avoid the channels that the code uses cannot be told",
                  ": the rank correlation of the variances is ", told(trained, 2), ", and ", told(start, 2),
                  " at the start. With the code in a random basis, where no channel is free, the loss is ",
                  compared(cost), ": single free channels are worth no more than that."));
  return f;
}

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
  f.estimate("position from the sum: R²", place, 3);
  f.estimate("word from the sum: accuracy", word, 3);
  f.estimate("word from the sum at the start: accuracy", before, 3);
  const bool both = place.mean > .95 && word.mean > .95;
  f.conclude(
      both ? Verdict::holds : Verdict::undecided,
      text("From the trained sum a linear probe reads the position with R² ", fixed(place.mean, 3),
           " and the letter in ", fixed(100 * word.mean, 1), " % of cases. But so it does before training, ",
           fixed(100 * before.mean, 1), " %: at this width the sum is readable without learning."));
  return f;
}

}  // namespace
extern const Claim claim_000_08;
const Claim claim_000_08 = {
    .id = "000-08",
    .question = "orthogonal",
    .says = "The two subspaces are approximately orthogonal.",
    .method =
        "principal angles between the first r principal directions of words and of positions, mean cos², "
        "against 200 Haar-random subspaces; at the start and after training",
    .expects = "at the start on the null; the conjecture is that training goes below it",
    .advice = "Always print the null: at width 96, random subspaces of 16 dimensions overlap by a sixth.",
    .expected = Verdict::conditional,
    .statistical = true,
    .recipes = additive,
    .measure = subspaces_orthogonal};
extern const Claim claim_000_11;
const Claim claim_000_11 = {
    .id = "000-11",
    .question = "orthogonal",
    .says = "More layers and nonlinearities help to separate the two.",
    .method =
        "in models of 2, 4 and 8 layers, the overlap of the first 8 directions of the position means and the "
        "token means of the residual stream after every layer",
    .expects = "open; the interval decides",
    .advice = "Look at the stream where you read it: overlap at the embedding says little about layer 8.",
    .expected = Verdict::undecided,
    .statistical = true,
    .recipes =
        [](const Desk& d) {
          const Recipe r = d.language("sinusoidal");
          return std::vector{r, r.deep(4), r.deep(8)};
        },
    .measure = layers_help};
extern const Claim claim_000_13;
const Claim claim_000_13 = {
    .id = "000-13",
    .question = "orthogonal",
    .says = "Perhaps the orthogonality comes from the layers and not from the embeddings.",
    .method =
        "overlap of the embeddings trained less at the start; overlap in what the first attention and the "
        "first feed-forward part write",
    .expects = "open; the interval decides",
    .advice = "Report the embeddings and the stream apart.",
    .expected = Verdict::conditional,
    .statistical = true,
    .recipes = additive,
    .measure = caveat};
extern const Claim claim_001_14;
const Claim claim_001_14 = {
    .id = "001-14",
    .question = "orthogonal",
    .says =
        "The word vectors learn to use the channels that the code leaves free, so the sum is a concatenation "
        "in disguise.",
    .method =
        "Spearman correlation over channels of the variance of the code and of the trained words; control: "
        "training with the code in a random orthogonal basis, where no channel is free",
    .expects =
        "a negative correlation if the claim is right; and a loss in the control if the model needs it",
    .advice =
        "Do not read meaning into single channels: a rotation of the code changes them and not the model.",
    .expected = Verdict::undecided,
    .statistical = true,
    .recipes =
        [](const Desk& d) {
          return std::vector{d.language("sinusoidal"), d.language("rotated")};
        },
    .measure = dims_shared_out};
extern const Claim claim_003_14;
const Claim claim_003_14 = {
    .id = "003-14",
    .question = "orthogonal",
    .says = "The model learns to use words and positions without mixing them up.",
    .method = "linear probes for position and letter on the sum, trained and at the start; split by sequence",
    .expects = "both near 1; what is there before training was not learned",
    .advice = "Compare any such finding with the same number at the start.",
    .expected = Verdict::holds,
    .statistical = true,
    .recipes = additive,
    .measure = not_mixed};

}  // namespace gnomon::claims
