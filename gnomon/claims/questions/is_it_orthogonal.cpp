// Are words and positions orthogonal?
#include <algorithm>
#include <array>
#include <cmath>

#include "gnomon/claims/measures/links.h"
#include "gnomon/claims/measures/measures.h"
#include "gnomon/lens/attention.h"
#include "gnomon/lens/probe.h"
#include "gnomon/lens/subspace.h"

namespace gnomon::claims {

constexpr Prose kText =
#include "gnomon/claims/questions/is_it_orthogonal.txt.inc"
    ;
Question question_is_it_orthogonal{.key = "is_it_orthogonal", .text = question_text(kText)};

namespace {

using enum Verdict;

Finding nearly_orthogonal(Experiment& experiment) {
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
  const std::int64_t pairs = experiment.draws(40000);
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
    f.near(text("deviation.", r.d), text("standard deviation of cos, d = ", r.d), std::sqrt(square), r.sd,
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
  const OverlapNull null = random_overlap(sizes, experiment.draws(40), 3);
  f.near("subspaces", "mean cos² of random subspaces of 42 and 256 dimensions, d = 512", null.mean_cos2, .5,
         .01, 3);
  f.figures = {chart};
  return f;
}
const Record claim_000_05 = Claim{
    .question = &question_is_it_orthogonal,
    .id = "000-05",
    .text = claim_text(kText, "000-05"),
    .recorded = holds_if,
    .verdicts = {{holds_if, {at_most("cos.512", .05), at_least("subspaces", .25)}},
                 {holds, {at_most("cos.512", .05)}},
                 otherwise(wrong)},
    .measure = nearly_orthogonal,
};

// Random subspaces, as simulations and Wachter's law have them.
void subspaces_by_chance(const Experiment& experiment, Finding& f) {
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
    const OverlapNull found = random_overlap(n.s, experiment.draws(n.s.b > 200 ? 40 : 200), 5);
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
}

Finding subspaces_orthogonal(Experiment& experiment) {
  Finding f;
  subspaces_by_chance(experiment, f);
  const Recipe r = experiment.language("sinusoidal");
  const Sample sample = experiment.held_out(r, 64);
  report::IntervalChart chart{"Overlap of words and positions, against chance",
                              text("Mean cos² of the principal angles minus its mean for random subspaces; "
                                   "first r directions of each, d = ",
                                   r.width, "; ± is a 95 % t interval over seeds."),
                              "mean cos² minus chance; left is more orthogonal than chance",
                              {}};
  for (const std::int64_t size : {8, 16}) {
    const double chance = double(size) / double(r.width),
                 deviation = random_overlap({r.width, size, size}, experiment.draws(200), 9).mean_cos2_sd;
    f.number(text("chance.", size), text("chance, r = ", size), chance, 3);
    const auto measured = [&](const char* key, const char* what, auto&& model, int style) {
      const auto found = each(
          experiment, r, [&](const Outcome& o) { return model_overlap(model(o), sample, size).mean_cos2; });
      std::vector<double> less,
          errors;  // of single models, as the deviation of single draws is one of single models
      for (const double v : found) less.push_back(v - chance), errors.push_back(less.back() / deviation);
      const Estimate excess = mean_interval(less);
      f.estimate(text(key, ".", size), text("mean cos² ", what, ", r = ", size), mean_interval(found), 3);
      f.estimate(text("excess_", key, ".", size), text("mean cos² ", what, " minus chance, r = ", size),
                 excess, 3);
      f.estimate(text("z_", key, ".", size),
                 text("z of a model ", what, " against single random draws, r = ", size),
                 mean_interval(errors), 1);
      chart.rows.push_back({text("r = ", size, ", ", what), excess.mean, excess.half_width, style});
    };
    measured("start", "at the start", at_start, 1);
    measured(
        "trained", "trained", [](const Outcome& o) { return o; }, 0);
  }
  const Estimate energy = mean_interval(each(experiment, r, [&](const Outcome& o) {
    return energy_within(positions_of(o, sample), letter_directions(words_of(o, sample), 16));
  }));
  f.estimate("energy_inside", "share of the variance of positions inside the first 16 word directions",
             energy, 3);
  f.number("energy_by_chance", "the same by chance", 16.0 / double(r.width), 3);
  const Estimate like_words = mean_interval(each(experiment, r, [&](const Outcome& o) {
    return overlap_within(words_of(o, sample), 16, experiment.draws(40), 9).mean_cos2;
  }));
  const Estimate like_sums = mean_interval(each(experiment, r, [&](const Outcome& o) {
    return overlap_of_two(streams(o.look(), sample)[0], 16, experiment.draws(40), 9).mean_cos2;
  }));
  f.estimate("like_words",
             "mean cos² of the words' first directions and random ones with the words' covariance, r = 16",
             like_words, 3);
  f.estimate("like_sums", "mean cos² of two random subspaces with the covariance of word + position, r = 16",
             like_sums, 3);
  f.figures = {chart};
  return f;
}
const Record claim_000_08 = Claim{
    .question = &question_is_it_orthogonal,
    .id = "000-08",
    .text = claim_text(kText, "000-08"),
    .recorded = open,
    .verdicts = {{holds, {below("trained.16", {.5, "chance.16"})}},
                 {wrong, {above("excess_trained.16", -.02)}},
                 otherwise(open)},
    .recipes = additive,
    .measure = subspaces_orthogonal,
};

Finding independent(Experiment& experiment) {
  Finding f;
  const std::pair<Start, std::array<double, 4>> starts[] = {
      {{"tensor2tensor's scaling", 1, 1, false}, {.444, .222, .222, .111}},
      {{"GPT-2's (0.02 / 0.01)", .02, .01, true}, {.64, .16, .16, .04}},
      {{"BERT's (0.02 / 0.02)", .02, .02, true}, {.25, .25, .25, .25}},
      {{"words 0.02, sinusoid unscaled", .02, 1, false}, {0, .0008, .0008, .9984}}};
  std::vector<std::pair<std::string, std::vector<double>>> rows;
  const auto measure = [&](const Start& start, Less less, std::string name,
                           const std::array<double, 4>& expected) {
    const auto found = random_shares(start, 512, experiment.draws(200), less);
    for (std::size_t k = 0; k < 4; ++k)
      f.near(text("start.", rows.size(), ".", k), text(name, ", ", kTermNames[k]), found[k], expected[k], .02,
             4);
    rows.emplace_back(std::move(name), found);
  };
  for (const auto& [start, expected] : starts) measure(start, Less::nothing, start.name, expected);
  // With the mean of the code (0.57 of its energy at T = 128) out of query and key, r_w = 512/(512 + 109.7); rows less
  // their mean lose it in the key alone: 512/768 for the query.
  const double query = 512.0 / 768, key = 512 / (512 + 109.7);
  measure(starts[0].first, Less::code_mean, "tensor2tensor, T = 128, minus the sinusoid's mean",
          {.678, .145, .145, .031});
  measure(starts[0].first, Less::row_mean, "tensor2tensor, T = 128, rows minus their mean",
          {query * key, query * (1 - key), (1 - query) * key, (1 - query) * (1 - key)});
  const Recipe r = experiment.language("sinusoidal");
  const Sample sample = experiment.held_out(r, experiment.quick ? 16 : 60);
  const auto cross_of = [&](const Outcome& o) {
    const auto s = four_shares(o, sample);
    return s[1] + s[2];
  };
  const auto found = each(experiment, r, [&](const Outcome&o) { return block_energy(o, sample, nullptr); }),
             by_chance = each(experiment, r, [&](const Outcome&o) {
               return block_energy_by_chance(o, sample, experiment.draws(40));
             });
  const Estimate cross = mean_interval(each(experiment, r, cross_of)),
                 before = mean_interval(
                     each(experiment, r, [&](const Outcome&o) { return cross_of(at_start(o)); })),
                 block = mean_interval(found), null = mean_interval(by_chance),
                 more = paired_interval(found, by_chance);
  f.estimate("cross_start", "at the start: share of the two cross terms, rows minus their mean", before, 3);
  f.estimate("cross", "trained: share of the two cross terms, rows minus their mean", cross, 3);
  f.estimate("blocks", "trained: Q'K between word and position divided by Q'K within each", block, 3);
  f.estimate("blocks_by_chance",
             "turned together at random: Q'K between word and position divided by Q'K within each", null, 3);
  f.estimate("blocks_more", "Q'K between over Q'K within, trained minus turned at random", more, 3);
  f.figures = {
      table({{"at the start", kTermNames[0], kTermNames[1], kTermNames[2], kTermNames[3]}, rows, 4})};
  const double crossing = claims::found(f, "start.0.1") + claims::found(f, "start.0.2");
  f.number("start_cross", "share of the cross terms at the start, tensor2tensor's scaling", crossing, 3);
  return f;
}
const Record claim_000_09 = Claim{
    .question = &question_is_it_orthogonal,
    .id = "000-09",
    .text = claim_text(kText, "000-09"),
    .recorded = open,
    .verdicts = {{holds, {below("blocks", {.5, "blocks_by_chance"})}},
                 {holds_if, {below("blocks", {.8, "blocks_by_chance"})}},
                 {wrong, {above("blocks", {.8, "blocks_by_chance"})}},
                 otherwise(open)},
    .recipes = additive,
    .measure = independent,
};

// The tables of a sum before training, of many seeds, and after it, against chance: what random words have, which is r/d.
Finding related(Experiment& experiment) {
  Finding f;
  constexpr std::int64_t r = 16;
  const LettersAtPlaces letters = letters_at_places(experiment);
  const Recipe recipe = experiment.language("sinusoidal");
  const Sample sample = experiment.held_out(recipe, 64);
  const double chance = double(r) / double(recipe.width);
  const auto& models = experiment.models(recipe);
  std::vector<double> before, after;
  Outcome start = models.front();
  for (std::int64_t seed = 1; seed <= experiment.draws(100); ++seed) {
    start.w = start.model->initial(std::uint64_t(seed));
    before.push_back(model_overlap(start, sample, r).mean_cos2 - chance);
  }
  for (const Outcome& o : models) after.push_back(model_overlap(o, sample, r).mean_cos2 - chance);
  const Estimate at_first = mean_interval(before), at_last = mean_interval(after);
  f.number("chance", "mean cos² of random subspaces of 16 directions", chance, 3);
  f.number("starts", "initial tables", double(before.size()), 0);
  f.estimate("before", "mean cos² of words and positions minus chance, before training", at_first, 4);
  f.estimate("after", "mean cos² of words and positions minus chance, after training", at_last, 3);
  const auto& [lines, anywhere] = letters;
  f.number("line_starts", "I(letter; position) at line starts minus that of shuffled copies (nats)",
           lines.found - lines.null, 3);
  f.number("deviation", "standard deviation of the shuffled copies (nats)", lines.null_sd, 5);
  f.number("places", "I(letter; position) at random places minus that of shuffled copies (nats)",
           anywhere.found - anywhere.null, 5);
  f.number("places_z", "the same in standard deviations of the copies",
           (anywhere.found - anywhere.null) / anywhere.null_sd, 1);
  return f;
}
const Record claim_000_06 = Claim{
    .question = &question_is_it_orthogonal,
    .id = "000-06",
    .text = claim_text(kText, "000-06"),
    .recorded = wrong,
    .verdicts = {{wrong, {apart("after", .02)}}, {holds, {equal("after", .02)}}, otherwise(open)},
    .recipes = additive,
    .measure = related,
};

Finding layers_help(Experiment& experiment) {
  Finding f;
  const std::int64_t r = 8;
  report::LineChart chart{"Overlap of position and token through the layers",
                          "Mean cos² between the first 8 directions of the position means and of the token "
                          "means; mean over seeds. Thin: random subspaces with the covariance of the stream.",
                          {"layers passed", false, {0, 1, 2, 3, 4, 5, 6, 7, 8}},
                          {"mean cos²"},
                          {}};
  std::vector<double> first, last;
  int style = 0;
  for (const std::int64_t depth : {2, 4, 8}) {
    const Recipe recipe = experiment.language("sinusoidal", depth);
    const Sample sample = experiment.held_out(recipe, experiment.quick ? 64 : 400);
    report::Series s{text(depth, " layers"), {}, style, false, true}, null{"", {}, style, true};
    const auto& models = experiment.models(recipe);
    for (const Outcome& o : models) {
      const auto layers = streams(o.look(), sample);
      s.points.resize(layers.size()), null.points.resize(layers.size());
      for (std::size_t l = 0; l < layers.size(); ++l) {
        const Linked found = linked(layers[l], sample, r, experiment.draws(20));
        s.points[l] = {double(l), s.points[l].second + found.overlap / double(models.size())};
        null.points[l] = {double(l), null.points[l].second + found.chance / double(models.size())};
        if (depth == 8 && l == 0) first.push_back(found.overlap - found.chance);
        if (depth == 8 && l + 1 == layers.size()) last.push_back(found.overlap - found.chance);
      }
    }
    for (std::size_t l = 0; l < s.points.size(); ++l) {
      f.number(text("after.", depth, ".", l), text(depth, " layers, after ", l), s.points[l].second, 3);
      f.number(text("chance.", depth, ".", l), text(depth, " layers, after ", l, ", by chance"),
               null.points[l].second, 3);
    }
    chart.series.push_back(std::move(s)), chart.series.push_back(std::move(null)), ++style;
  }
  const Estimate change = paired_interval(last, first), at_first = mean_interval(first),
                 at_last = mean_interval(last);
  f.estimate("first", "8 layers: overlap minus chance at the embedding", at_first, 3);
  f.estimate("last", "8 layers: overlap minus chance at the end", at_last, 3);
  f.estimate("change", "8 layers: overlap minus chance, end minus embedding", change, 3);
  f.figures = {chart};
  return f;
}
const Record claim_000_11 = Claim{
    .question = &question_is_it_orthogonal,
    .id = "000-11",
    .text = claim_text(kText, "000-11"),
    .recorded = open,
    .verdicts = {{holds, {below("change")}}, {wrong, {above("change")}}, otherwise(open)},
    .recipes =
        [](const Experiment& d) {
          return std::vector{d.language("sinusoidal"), d.language("sinusoidal", 4),
                             d.language("sinusoidal", 8)};
        },
    .measure = layers_help,
};

Recipe without_feed_forward(const Experiment& d) {
  Recipe r = d.language("sinusoidal");
  r.fixed = Fixed::feed_forward;
  return r;
}
// By seed: how much training changes the overlap of the tables; and, in the trained stream, the overlap beyond chance after the last
// layer minus that at the embedding.
struct Separation {
  std::vector<double> tables, layers;
};
Separation separation(Experiment& experiment, const Recipe& r, const Sample& sample) {
  Separation out;
  for (const Outcome& o : experiment.models(r)) {
    out.tables.push_back(model_overlap(o, sample, 16).mean_cos2 -
                         model_overlap(at_start(o), sample, 16).mean_cos2);
    const auto h = streams(o.look(), sample);
    const Linked first = linked(h.front(), sample, 8, experiment.draws(40)),
                 last = linked(h.back(), sample, 8, experiment.draws(40));
    out.layers.push_back((last.overlap - last.chance) - (first.overlap - first.chance));
  }
  return out;
}

Finding caveat(Experiment& experiment) {
  Finding f;
  const Recipe r = experiment.language("sinusoidal"), without = without_feed_forward(experiment);
  const Sample sample = experiment.held_out(r, experiment.quick ? 64 : 400);
  std::vector<double> attention, feed_forward, attention_chance, feed_forward_chance;
  for (const Outcome& o : experiment.models(r)) {
    const Written parts = written(o.look(), sample);
    const Linked a = linked(parts.attention[0], sample, 8, experiment.draws(40)),
                 b = linked(parts.feed_forward[0], sample, 8, experiment.draws(40));
    attention.push_back(a.overlap), attention_chance.push_back(a.chance);
    feed_forward.push_back(b.overlap), feed_forward_chance.push_back(b.chance);
  }
  const Estimate more = paired_interval(feed_forward, feed_forward_chance),
                 attends = paired_interval(attention, attention_chance);
  for (const auto& [key, arm, recipe] :
       {std::tuple{"whole", "whole model", &r}, {"without", "model without feed-forward parts", &without}}) {
    const Separation found = separation(experiment, *recipe, sample);
    f.estimate(text(key, ".tables"), text("overlap of the embeddings, trained minus start, ", arm),
               mean_interval(found.tables), 3);
    f.estimate(
        text(key, ".layers"),
        text("overlap beyond chance in the stream, after the last layer minus at the embedding, ", arm),
        mean_interval(found.layers), 3);
  }
  f.estimate("without.loss", "loss without feed-forward parts minus loss of the whole model (nats per byte)",
             loss_difference(experiment, without, r), 3);
  f.estimate("attention", "overlap in the output of the first attention", mean_interval(attention), 3);
  f.estimate("attention_chance", "the same for random subspaces with its covariance",
             mean_interval(attention_chance), 3);
  f.estimate("attention_more", "overlap minus that of random subspaces, first attention", attends, 3);
  f.estimate("feed_forward", "overlap in the output of the first feed-forward part",
             mean_interval(feed_forward), 3);
  f.estimate("feed_forward_chance", "the same for random subspaces with its covariance",
             mean_interval(feed_forward_chance), 3);
  f.estimate("feed_forward_more", "overlap minus that of random subspaces, first feed-forward part", more, 3);
  return f;
}
const Record claim_000_13 = Claim{
    .question = &question_is_it_orthogonal,
    .id = "000-13",
    .text = claim_text(kText, "000-13"),
    .recorded = open,
    .verdicts = {{holds, {below("whole.layers"), equal("whole.tables", .02)}},
                 {wrong, {below("whole.tables"), above("whole.layers")}},
                 otherwise(open)},
    .recipes =
        [](const Experiment& d) {
          return std::vector{d.language("sinusoidal"), without_feed_forward(d)};
        },
    .measure = caveat,
};

}  // namespace
}  // namespace gnomon::claims
