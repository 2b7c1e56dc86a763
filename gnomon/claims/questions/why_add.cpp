// Why add, and not concatenate?
#include <algorithm>
#include <cctype>
#include <cmath>

#include "gnomon/claims/measures/family.h"
#include "gnomon/claims/measures/joining.h"
#include "gnomon/spec/scheme.h"

namespace gnomon::claims {

constexpr Prose kText =
#include "gnomon/claims/questions/why_add.txt.inc"
    ;
Question question_why_add{.key = "why_add", .text = question_text(kText)};

namespace {

using enum Verdict;

constexpr double kMargin = .02;  // nats a byte: differences within it are called equal
constexpr const char* kGain =
    "scaled_sinusoidal(start=1)";  // the sum with one learned factor on the position

struct Way {
  const char *key, *spec, *name;
  bool concatenates;
};
constexpr Way kWays[] = {
    {"loud", kLoud, "the sum at three times the amplitude", false},
    {"gain", kGain, "the sum with a learned gain", false},
    {"concat16", "concat(sinusoidal)", "concat with 16 channels", true},
    {"concat32", "concat(sinusoidal, width=32)", "concat with 32 channels", true},
    {"project", "project(sinusoidal)", "concat with a projection", true},
};

// The recipe with the lowest mean loss of the concatenating ones.
Recipe best_concatenation(Experiment& experiment, double share) {
  const Recipe sum = experiment.language("sinusoidal");
  std::vector<std::pair<double, Recipe>> all;
  for (const Way& w : kWays) {
    const Recipe r = experiment.language(w.spec);
    if (w.concatenates) all.emplace_back(loss_difference_at(experiment, r, sum, share).mean, r);
  }
  return std::min_element(all.begin(), all.end(),
                          [](const auto& a, const auto& b) { return a.first < b.first; })
      ->second;
}

Finding why_add(Experiment& experiment) {
  Finding f;
  const Recipe sum = experiment.language("sinusoidal"), loud = experiment.language(kLoud);
  report::IntervalChart chart{
      "Sum or concatenation: loss against the sum",
      text("Each at its best rate; paired by seed, ± is a 95 % t interval, n = ", experiment.seeds(), "."),
      "loss minus the sum's (nats per byte); left is better",
      {}};
  for (const Way& w : kWays) {
    const Recipe r = experiment.language(w.spec);
    const OnTheWay way = on_the_way(experiment, r, sum);
    show(f, w.key, text("loss of ", w.name, " minus loss of the sum"), way);
    f.number(text("rate.", w.key), text("learning rate of ", w.name), r.learning_rate, 3);
    constexpr const char* kWhen[] = {", after a quarter", ", after half", ", at the end"};
    for (std::size_t n = 0; n < way.size(); ++n)
      chart.rows.push_back({text(w.name, kWhen[n]), way[n].mean, way[n].half_width, int(n)});
  }
  OnTheWay best{},
      against{};  // the concatenation that is best at that point, less the sum; the loud sum, less it
  for (std::size_t n = 0; n < best.size(); ++n) {
    const Recipe r = best_concatenation(experiment, kShares[n]);
    best[n] = loss_difference_at(experiment, r, sum, kShares[n]);
    against[n] = loss_difference_at(experiment, loud, r, kShares[n]);
  }
  show(f, "best", "loss of the concatenation that is best at that point minus loss of the sum", best);
  show(f, "loud_less_best",
       "loss of the sum at three times the amplitude minus loss of the best concatenation", against);
  const Estimate gain = mean_interval(each(experiment, experiment.language(kGain), [](const Outcome& o) {
    return parameter(o.look(), "position.input.amplitude").values.front();
  }));
  f.estimate("gain.end", "learned gain at the end, from 1 at the start", gain, 2);
  f.figures = {chart};
  return f;
}
const Record claim_001_01 = Claim{
    .question = &question_why_add,
    .id = "001-01",
    .text = claim_text(kText, "001-01"),
    .recorded = answered,
    .verdicts = {{answered, {apart("best.at.0.25")}},
                 {answered, {equal("best.at.1", kMargin)}},
                 otherwise(open)},
    .recipes =
        [](const Experiment& d) {
          std::vector<Recipe> all{d.language("sinusoidal")};
          for (const Way& w : kWays) all.push_back(d.language(w.spec));
          return all;
        },
    .measure = why_add,
};

Finding orthogonal_by_concatenation(Experiment& experiment) {
  Finding f;
  const JoinedSizes size = sizes_of_512();
  f.near("project_less_sum", "parameters of concat + projection minus parameters of the sum",
         size.project - size.sum, 2 * 512 * 512 + 512, 0, 0);
  f.number("split_less_sum", "parameters of concat within the same width minus parameters of the sum",
           size.split - size.sum, 0);
  f.number("of_65_million", "parameters that the projection adds, percent of 65 million",
           100 * (size.project - size.sum) / 65e6, 2);
  f.number("wide_over_sum", "parameters at twice the width divided by parameters of the sum",
           size.wide / size.sum, 2);
  const Recipe r = experiment.language("concat(sinusoidal)");
  std::vector<double> found, chance, start;
  for (const Outcome& o : experiment.models(r)) {
    const Images images = images_of_blocks(o, 16, experiment.draws(20));
    found.push_back(images.found), chance.push_back(images.chance);
    start.push_back(images_of_blocks(at_start(o), 16, experiment.draws(20)).found);
  }
  const Estimate overlap = mean_interval(found), by_chance = mean_interval(chance),
                 excess = paired_interval(found, chance);
  f.estimate("overlap", "mean cos² between the images of words and positions after the first matrix", overlap,
             3);
  f.estimate("start", "the same before training", mean_interval(start), 3);
  f.number("by_size", "mean cos² of random subspaces of their dimensions",
           double(r.width - 16) / double(3 * r.width), 3);
  f.estimate("change", "mean cos² of words and positions, trained minus before training",
             paired_interval(found, start), 3);
  f.estimate("chance", "mean cos² between the images of random blocks of the input under the same matrix",
             by_chance, 3);
  f.estimate("less_chance", "mean cos² of words and positions minus mean cos² of random blocks", excess, 3);
  f.figures = {table({{"width 512, 6 layers", "parameters", "times the sum's"},
                      {{"sum", {size.sum, 1}},
                       {"concat, 496 + 16", {size.split, size.split / size.sum}},
                       {"concat 1024, projected to 512", {size.project, size.project / size.sum}},
                       {"twice the width everywhere", {size.wide, size.wide / size.sum}}},
                      3})};
  return f;
}
const Record claim_000_10 = Claim{
    .question = &question_why_add,
    .id = "000-10",
    .text = claim_text(kText, "000-10"),
    .recorded = holds_if,
    .verdicts = {{holds, {below("overlap", .05), at_least("split_less_sum", 1)}},
                 {holds_if,
                  {above("overlap", .05), at_least("wide_over_sum", 2), at_most("split_less_sum", -1)}},
                 otherwise(wrong)},
    .recipes = [](const Experiment& d) { return std::vector{d.language("concat(sinusoidal)")}; },
    .measure = orthogonal_by_concatenation,
};

const Record claim_001_02 = Claim{
    .question = &question_why_add,
    .id = "001-02",
    .text = claim_text(kText, "001-02"),
    .recorded = answered,
    .rests_on = Basis::argument,
    .recipes = three_ways,
    .measure = costs_of_joining,
};

const Record claim_003_04 = Claim{
    .question = &question_why_add,
    .id = "003-04",
    .text = claim_text(kText, "003-04"),
    .recorded = holds_if,
    .verdicts = {{holds_if,
                  {at_least("wide_flops", 2), at_most("split_flops", 1), at_most("project_flops", 1.1)}},
                 {holds, {at_least("split_flops", 1.1)}},
                 otherwise(wrong)},
    .recipes = three_ways,
    .measure = costs_of_joining,
};

// How many dimensions more than a sum with a fixed sinusoid the other ways to join can reach, by the norm of the model.
void reach_of_joining(Finding& f) {
  constexpr std::pair<std::optional<Norm>, const char*> kNorms[] = {
      {std::nullopt, "none"}, {Norm::rms, "rms"}, {Norm::layer, "layer"}};
  for (const auto& [norm, key] : kNorms) {
    const auto of = [&](Joined joined) { return double(family_size({norm, joined}).dimension); };
    const double sum = of(Joined::sum);
    f.number(
        text("more.", key),
        text("dimensions that a projection adds to what a sum with a fixed sinusoid can reach, norm: ", key),
        of(Joined::projection) - sum, 0);
    f.number(text("table.", key), text("the same, of a sum with a learned table, norm: ", key),
             of(Joined::table) - sum, 0);
  }
}

Finding folding(Experiment& experiment) {
  Finding f;
  const Recipe r = experiment.language("project(sinusoidal)");
  const Sample sample = experiment.held_out(r, 16);
  double worst = 0;
  std::vector<double> changed;
  for (const Outcome& o : experiment.models(r)) {
    const Folded folded = fold(o, sample);
    worst = std::max(worst, folded.worst), changed.push_back(folded.changed);
  }
  f.between("folded", "largest difference of a logit between the folded and the projecting model", worst, 0,
            1e-4, 7);
  const Estimate learned = mean_interval(changed);
  f.estimate("changed", "share of the folded table's variance that is not a multiple of the sinusoid",
             learned, 3);
  const OnTheWay cost = on_the_way(experiment, r, experiment.language("sinusoidal"));
  show(f, "loss", "loss of the projection minus loss of the sum", cost);
  reach_of_joining(f);
  return f;
}
const Record claim_001_05 = Claim{
    .question = &question_why_add,
    .id = "001-05",
    .text = claim_text(kText, "001-05"),
    .recorded = holds_if,
    .verdicts = {{holds_if,
                  {asked("folded"), at_most("more.none", 0), at_least("more.rms", 1),
                   at_least("more.layer", 1)}},
                 otherwise(wrong)},
    .recipes =
        [](const Experiment& d) {
          return std::vector{d.language("project(sinusoidal)"), d.language("sinusoidal")};
        },
    .measure = folding,
};

// Parameters that a projection adds to a byte model, percent of the sum's.
double of_layers(std::int64_t width, std::int64_t layers) {
  const double sum = joined_size("sinusoidal", width, layers);
  return 100 * (joined_size("project(sinusoidal)", width, layers) / sum - 1);
}

Finding trivial(Experiment&) {
  Finding f;
  const JoinedSizes size = sizes_of_512();
  const double adds = size.project - size.sum;
  f.near("adds", "parameters that the projection adds, d = 512", adds, 2 * 512 * 512 + 512, 0, 0);
  f.number("of_byte_model",
           "parameters that the projection adds, percent of a byte model of that width with 6 layers",
           100 * adds / size.sum, 2);
  f.number("of_65_million", "parameters that the projection adds, percent of 65 million", 100 * adds / 65e6,
           2);
  f.number("of_four_layers", "the same, percent of a byte model of that width with 4 layers",
           of_layers(512, 4), 2);
  f.number("of_three_layers", "the same, percent of a byte model of that width with 3 layers",
           of_layers(512, 3), 2);
  f.number("of_ours", "parameters that a projection adds to our models of 2 layers and 64 channels, percent",
           of_layers(64, 2), 2);
  return f;
}
const Record claim_001_06 = Claim{
    .question = &question_why_add,
    .id = "001-06",
    .text = claim_text(kText, "001-06"),
    .recorded = holds_if,
    .verdicts = {{holds, {at_most("of_65_million", 1), at_most("of_byte_model", 5), at_most("of_ours", 5)}},
                 {holds_if,
                  {at_most("of_65_million", 1), at_most("of_byte_model", 5), at_most("of_four_layers", 5)}},
                 otherwise(wrong)},
    .measure = trivial,
};

const Record claim_001_07 = Claim{
    .question = &question_why_add,
    .id = "001-07",
    .text = claim_text(kText, "001-07"),
    .recorded = open,
    .verdicts = {{holds, {below("even_word.at.1", -kMargin), below("even_word.project")}},
                 {holds, {below("even_context.at.1", -kMargin), below("even_context.project")}},
                 {wrong,
                  {above("even_word.at.1", kMargin), above("even_context.at.1", kMargin),
                   above("even_word.ratio", .05), above("even_context.ratio", .05)}},
                 otherwise(open)},
    .recipes =
        [](const Experiment& d) {
          std::vector<Recipe> all{d.language("mixture(sinusoidal)"), d.language(kLoudMixture),
                                  d.language("sinusoidal"), d.language(kLoud),
                                  d.language("project(sinusoidal)")};
          for (const EvenMixture& even : kEvenMixtures) all.push_back(d.language(even.spec));
          return all;
        },
    .measure = mixed_by_attention,
};

Finding papers(Experiment&) {
  Finding f;
  double apart = 0;
  for (const char* entry : {"deberta", "tupe", "transformer_xl", "shaw"}) {
    const bool at_input = find_encoding(entry).acts & kInput;
    apart += !at_input && make_encoding(entry, width_of(64))->param_count() > 0;
  }
  f.near("apart", "encodings of these that keep position apart from words with parameters of their own",
         apart, 4, 0, 0);
  // Rotary channels beside channels without position: the logit is the sum of two, as of concatenated rows.
  const LogitOf half("rope(fraction=0.5)"), whole("rope");
  f.near("beside", "logit of the channels without position minus q·k over √D",
         half.of_channels(8, 16) - half.plain(8, 16), 0, 1e-12, 12);
  f.near("rotated", "logit of the rotated channels plus logit of the others minus the whole logit",
         half.of_channels(0, 8) + half.of_channels(8, 16) - half.of_channels(0, 16), 0, 1e-12, 12);
  const double moved = std::abs(whole.of_channels(8, 16) - whole.plain(8, 16));
  f.number("moved", "size of the first difference if all channels are rotated", moved, 3);
  return f;
}
const Record claim_001_09 = Claim{
    .question = &question_why_add,
    .id = "001-09",
    .text = claim_text(kText, "001-09"),
    .recorded = answered,
    .rests_on = Basis::citation,
    .measure = papers,
};

Finding deberta(Experiment&) {
  Finding f;
  const LogitOf logit("deberta(span=8)");
  const std::vector<double> zero(logit.q.size(), 0.0), none(logit.w.size(), 0.0);
  const double both = logit(logit.q, logit.k, logit.w), content = logit(logit.q, logit.k, none),
               c2p = logit(logit.q, zero, logit.w), p2c = logit(zero, logit.k, logit.w);
  f.near("content", "content to content · √(3d_h) / (q·k)", content * std::sqrt(3.0) / logit.plain(0, 16), 1,
         1e-12, 9);
  f.near("three_parts", "logit minus its three parts", both - content - c2p - p2c, 0, 1e-9, 12);
  f.near("position_position", "position to position", logit(zero, zero, logit.w), 0, 0, 6);
  f.number("both", "a logit of random queries, keys and tables", both, 3);
  f.number("c2c", "part of this logit: content to content", content, 3);
  f.number("c2p", "part of this logit: content to position", c2p, 3);
  f.number("p2c", "part of this logit: position to content", p2c, 3);
  return f;
}
const Record claim_001_10 = Claim{
    .question = &question_why_add,
    .id = "001-10",
    .text = claim_text(kText, "001-10"),
    .recorded = holds,
    .rests_on = Basis::citation,
    .measure = deberta,
};

Recipe with_channels(const Experiment& d, int width) {
  return d.language(text("concat(sinusoidal, width=", width, ")"));
}

Finding width_sweep(Experiment& experiment) {
  Finding f;
  const Recipe sum = experiment.language("sinusoidal");
  report::LineChart chart{
      "How many channels does the position need?",
      "concat(sinusoidal, width): the word keeps the rest of 64 channels. Loss minus the sum's, at three "
      "points of the training.",
      {"channels of the position", true, {4, 8, 16, 32}},
      {"held-out loss minus the sum's (nats per byte)"},
      {{"a quarter", {}, 0, false, true}, {"half", {}, 1, false, true}, {"the end", {}, 2, false, true}}};
  for (const int width : {4, 8, 16, 32}) {
    const OnTheWay way = on_the_way(experiment, with_channels(experiment, width), sum);
    show(f, text("less_sum.", width), text("loss with ", width, " channels minus loss of the sum"), way);
    for (std::size_t n = 0; n < way.size(); ++n) chart.series[n].points.emplace_back(width, way[n].mean);
  }
  const OnTheWay few = on_the_way(experiment, with_channels(experiment, 4), with_channels(experiment, 32));
  show(f, "four_less_32", "loss with 4 channels minus loss with 32 channels", few);
  f.figures = {chart};
  return f;
}
const Record claim_003_05 = Claim{
    .question = &question_why_add,
    .id = "003-05",
    .text = claim_text(kText, "003-05"),
    .recorded = holds,
    .rests_on = Basis::argument,
    .recipes =
        [](const Experiment& d) {
          std::vector<Recipe> all{d.language("sinusoidal")};
          for (const int width : {4, 8, 16, 32}) all.push_back(with_channels(d, width));
          return all;
        },
    .measure = width_sweep,
};

}  // namespace
}  // namespace gnomon::claims
