// Why add, and not concatenate?
#include <algorithm>
#include <cctype>
#include <cmath>

#include "gnomon/claims/measures/joining.h"
#include "gnomon/spec/spec.h"

namespace gnomon::claims {

Question question_why_add = {
    .key = "why_add",
    .title = "Why add, and not concatenate?",
    .lead = "001-01",
    .answer =
        "Because a sum has all that a concatenation with a projection has: folded into a sum, the trained "
        "projections give the same logits to {001-05|folded:e}. How soon each learns is another matter: the "
        "loss of the best concatenation is {001-01|best.at.0.25:vs the sum's} after a quarter of our "
        "training and {001-01|best.at.1:vs} at its end. After the {add-vs-concat|megabytes.1} MB of a study "
        "the loss with 32 channels for the position is {add-vs-concat|concat_sinusoidal_width_32.1:vs the "
        "sum's}, and that of a sum at three times the amplitude "
        "{add-vs-concat|add_sinusoidal_amplitude_3.1:vs the plain one's}.",
    .evidence = {
        .algebra = "W[x; e] = W₁x + W₂e, so a projected concatenation is a sum of two mapped vectors. Every "
                   "trained one, folded into a sum with a table W₂e + b, gives the same logits to "
                   "{001-05|folded:e}; that table is learned, so the fixed sum is the smaller family.",
        .models = "The loss with 16 of 64 channels for the position is {001-01|concat16:way the sum's}. That "
                  "of the sum at three times the amplitude is {001-01|loud:way the plain sum's}. These are "
                  "points on the way of one training, at a rate for all of it. A study trains each of three "
                  "budgets to its end, with other batches and tuned rates: there the loss of 16 channels "
                  "differs from the sum's by {add-vs-concat|concat_sinusoidal.0.0625}, "
                  "{add-vs-concat|concat_sinusoidal.0.25} and {add-vs-concat|concat_sinusoidal.1} nats, that "
                  "of 32 by {add-vs-concat|concat_sinusoidal_width_32.0.0625}, "
                  "{add-vs-concat|concat_sinusoidal_width_32.0.25} and "
                  "{add-vs-concat|concat_sinusoidal_width_32.1}, that of the loud sum by "
                  "{add-vs-concat|add_sinusoidal_amplitude_3.0.0625}, "
                  "{add-vs-concat|add_sinusoidal_amplitude_3.0.25} and "
                  "{add-vs-concat|add_sinusoidal_amplitude_3.1}. The two smaller budgets have no interval.",
        .real = "Of MiniLM's words {minilm|identity} are the nearest to their sum with a position, which is "
                "{minilm|ratio:2} times as long as a word, and {minilm|neighbours} of their ten nearest "
                "neighbours stay.",
        .change_our_mind = "A concatenation that is still ahead of a sum as loud, both tuned, after a "
                           "training ten times as long, or whose lead grows with the width of the model.",
    }};

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
Recipe best_concatenation(Desk& desk, double share) {
  const Recipe sum = desk.language("sinusoidal");
  std::vector<std::pair<double, Recipe>> all;
  for (const Way& w : kWays) {
    const Recipe r = desk.language(w.spec);
    if (w.concatenates) all.emplace_back(loss_difference_at(desk, r, sum, share).mean, r);
  }
  return std::min_element(all.begin(), all.end(),
                          [](const auto& a, const auto& b) { return a.first < b.first; })
      ->second;
}

Finding why_add(Desk& desk) {
  Finding f;
  const Recipe sum = desk.language("sinusoidal"), loud = desk.language(kLoud);
  report::IntervalChart chart{
      "Sum or concatenation: loss against the sum",
      text("Each at its best rate; paired by seed, ± is a 95 % t interval, n = ", desk.seeds(), "."),
      "nats per byte, less the sum's; left is better",
      {}};
  for (const Way& w : kWays) {
    const Recipe r = desk.language(w.spec);
    const OnTheWay way = on_the_way(desk, r, sum);
    show(f, w.key, text("loss of ", w.name, ", less the sum's"), way);
    f.number(text("rate.", w.key), text("its learning rate, ", w.name), r.learning_rate, 3);
    for (std::size_t n = 0; n < way.size(); ++n)
      chart.rows.push_back({text(w.name, n == 0   ? ", a quarter"
                                         : n == 1 ? ", half"
                                                  : ", the end"),
                            way[n].mean, way[n].half_width, int(n)});
  }
  OnTheWay best{},
      against{};  // the concatenation that is best at that point, less the sum; the loud sum, less it
  for (std::size_t n = 0; n < best.size(); ++n) {
    const Recipe r = best_concatenation(desk, kShares[n]);
    best[n] = loss_difference_at(desk, r, sum, kShares[n]);
    against[n] = loss_difference_at(desk, loud, r, kShares[n]);
  }
  show(f, "best", "loss of the concatenation that is best at that point, less the sum's", best);
  show(f, "loud_less_best",
       "loss of the sum at three times the amplitude, less that of the best concatenation", against);
  const Estimate gain = mean_interval(each(desk, desk.language(kGain), [](const Outcome& o) {
    return parameter(o.look(), "position.input.amplitude").values.front();
  }));
  f.estimate("gain.end", "the learned gain at the end, from 1", gain, 2);
  f.figures = {chart};
  return f;
}
std::string answer_why_add() {
  std::string all;
  for (const Way& w : kWays)
    all += text(all.empty() ? "" : "; ", "that of ", w.name, " is {", w.key, ":way",
                all.empty() ? " the sum's" : "", "}");
  return text(
      "Not because it can do more: concatenation with a matrix is a sum of two mapped vectors (001-05). The "
      "loss, "
      "beside the sum's: ",
      all,
      ". The learned factor on the position ends at {gain.end}. The loss of the sum at three times the "
      "amplitude is "
      "{loud_less_best:way that of the best concatenation}. "
      "{best.at.1?At the end the best concatenation is ahead of the sum; {loud_less_best.at.1?the louder sum "
      "has the least loss "
      "of the three, so loudness is what the plain one lacks within this budget|the louder sum is not told "
      "apart from it|"
      "loudness is not all that adding lacks within this budget}.|At the end the best concatenation is not "
      "told apart from "
      "the sum.|At the end every concatenation is behind the sum.}");
}
const Record claim_001_01 = Claim{
    .question = &question_why_add,
    .id = "001-01",
    .says = "Why is the position added to the word, and not concatenated?",
    .method =
        "held-out loss of the sum, the sum at three times the amplitude, the sum with a learned gain, concat "
        "with 16 and with 32 of 64 channels, and concat with a projection, each at its best rate, after a "
        "quarter, half and all of the training; paired t intervals; equal = interval within ±0.02 nats",
    .expects =
        "the projection can represent exactly what a sum can; differences are of training: early a quiet "
        "position is not yet used, so concatenations lead, and less at the end",
    .advice =
        "Give the position a quarter to half of the channels, or try a sum with a louder position, each at "
        "its "
        "own learning rate: at this size, and within this budget, neither was tried in a wider model.",
    .recorded = answered,
    .settles = "The same arms at ten times the tokens: 30 runs of two minutes.",
    .verdicts = {{answered, {apart("best.at.0.25")}},
                 {answered, {equal("best.at.1", kMargin)}},
                 otherwise(open)},
    .recipes =
        [](const Desk& d) {
          std::vector<Recipe> all{d.language("sinusoidal")};
          for (const Way& w : kWays) all.push_back(d.language(w.spec));
          return all;
        },
    .measure = why_add,
    .answer = answer_why_add(),
};

Finding orthogonal_by_concatenation(Desk& desk) {
  Finding f;
  const JoinedSizes size = sizes_of_512();
  f.near("project_less_sum", "parameters of concat + projection, less the sum's", size.project - size.sum,
         2 * 512 * 512 + 512, 0, 0);
  f.number("split_less_sum", "parameters of concat within the same width, less the sum's",
           size.split - size.sum, 0);
  f.number("of_65_million", "parameters that the projection adds, of 65 million, percent",
           100 * (size.project - size.sum) / 65e6, 2);
  f.number("wide_over_sum", "parameters at twice the width, over the sum's", size.wide / size.sum, 2);
  const Recipe r = desk.language("concat(sinusoidal)");
  std::vector<double> found, chance;
  for (const Outcome& o : desk.models(r)) {
    const Images images = images_of_blocks(o, 16, desk.draws(20));
    found.push_back(images.found), chance.push_back(images.chance);
  }
  const Estimate overlap = mean_interval(found), by_chance = mean_interval(chance),
                 excess = paired_interval(found, chance);
  f.estimate("overlap", "mean cos² between the images of words and positions after the first matrix", overlap,
             3);
  f.estimate("chance", "the same for random blocks of the input under the same matrix", by_chance, 3);
  f.estimate("less_chance", "the one less the other", excess, 3);
  f.figures = {table({{"width 512, 6 layers", "parameters", "over the sum's"},
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
    .says = "Concatenation guarantees orthogonality, at the cost of many more parameters.",
    .method =
        "parameters of models of width 512 with 6 layers; principal angles between the images of the word "
        "block and the position block under the first trained matrix, against random blocks under that "
        "matrix",
    .expects = "orthogonal at the input only; fewer parameters within the width, 2d² more with a projection",
    .advice = "Choose by loss on your data, not by parameter count.",
    .recorded = holds_if,
    .condition =
        "orthogonality is asked of the input alone, and the cost of a model that is made wider for it",
    .verdicts = {{holds, {below("overlap", .05), at_least("split_less_sum", 1)}},
                 {holds_if,
                  {above("overlap", .05), at_least("wide_over_sum", 2), at_most("split_less_sum", -1)}},
                 otherwise(wrong)},
    .recipes = [](const Desk& d) { return std::vector{d.language("concat(sinusoidal)")}; },
    .measure = orthogonal_by_concatenation,
    .answer =
        "At the input it is orthogonal, and no further: after the first trained matrix the images of the two "
        "blocks overlap by {overlap} (mean cos²), those of random blocks by {chance}. {less_chance?The "
        "trained ones overlap less, so training keeps some of the separation.|The two are not told "
        "apart.|The trained ones overlap more, so training brings the two together.} And it need not take "
        "more parameters: within the width there are {split_less_sum:a} {split_less_sum>0?more|fewer} than "
        "the sum's, and a projection adds {of_65_million:1} % to 65 million. Twice the width everywhere "
        "makes {wide_over_sum:1} times as many.",
};

const Record claim_001_02 = Claim{
    .question = &question_why_add,
    .id = "001-02",
    .says = "Apart from saving some memory, is there a reason to add?",
    .method =
        "parameters, bytes and FLOPs of the three arms; the time of their training steps, taken in turn in "
        "one process while it trains nothing else, medians of blocks of seven steps",
    .expects = "2d² + d numbers with a projection, fewer within the width: a few percent",
    .advice = "Memory is no argument either way.",
    .recorded = answered,
    .verdicts = {{answered, {at_most("adds_percent", 10), at_most("saves_percent", 10)}}},
    .recipes = three_ways,
    .measure = costs_of_joining,
    .answer =
        "Memory and time hardly decide it: concat within the width has {saves_percent:1a} % "
        "{saves_percent>0?fewer|more} parameters than the sum, the projection {adds_percent:1a} % "
        "{adds_percent>0?more|fewer}, for {split_flops:3} and {project_flops:3} times the computing. "
        "Training steps, taken in turn while this command trains nothing else, take "
        "{time.concat(sinusoidal):2} and {time.project(sinusoidal):2} times as long. The reasons to choose "
        "by are in 001-01: how early position is learned, and how loud it is.",
};

const Record claim_003_04 = Claim{
    .question = &question_why_add,
    .id = "003-04",
    .says = "Concatenation costs memory and training time.",
    .method = "as 001-02, and the FLOPs of a model of twice the width",
    .expects = "only when the model is widened",
    .advice = "Concatenate within the width.",
    .recorded = holds_if,
    .condition = "the model is made wider for it",
    .verdicts = {{holds_if, {at_least("wide_flops", 2), at_most("split_flops", 1)}},
                 {holds, {at_least("split_flops", 1.1)}},
                 otherwise(wrong)},
    .recipes = three_ways,
    .measure = costs_of_joining,
    .answer =
        "True only of a concatenation that widens the model: twice the width takes {wide_flops:1} times the "
        "computing a token. Within the same width it takes {split_flops:3} times the sum's and "
        "{saves_percent:1a} % {saves_percent>0?fewer|more} parameters, and with a projection "
        "{project_flops:3} times and {adds_percent:1a} % {adds_percent>0?more|fewer}.",
};

Finding folding(Desk& desk) {
  Finding f;
  const Recipe r = desk.language("project(sinusoidal)");
  const Sample sample = desk.held_out(r, 16);
  double worst = 0;
  std::vector<double> changed;
  for (const Outcome& o : desk.models(r)) {
    const Folded folded = fold(o, sample);
    worst = std::max(worst, folded.worst), changed.push_back(folded.changed);
  }
  f.between("folded", "largest difference of a logit, folded against projected", worst, 0, 1e-4, 7);
  const Estimate learned = mean_interval(changed);
  f.estimate("changed", "share of the folded table's variance that is no multiple of the sinusoid", learned,
             3);
  const OnTheWay cost = on_the_way(desk, r, desk.language("sinusoidal"));
  show(f, "loss", "loss of the projection, less the sum's", cost);
  return f;
}
const Record claim_001_05 = Claim{
    .question = &question_why_add,
    .id = "001-05",
    .says = "Concatenation followed by a projection can model more complicated relationships than a sum.",
    .method =
        "every trained projecting model folded into an additive one (words W₁x, table W₂e + b): largest "
        "difference of any logit",
    .expects = "equal to float rounding: W[x; e] = W₁x + W₂e",
    .advice =
        "Use it, if at all, for how it trains. With a tied output head, or with RoPE or a bias, the identity "
        "does not apply.",
    .recorded = holds_if,
    .condition = "the sum has a fixed code: with a learned table the sum can do the same",
    .verdicts = {{holds_if, {asked("folded"), at_least("changed", .05)}}, {wrong, {asked("folded")}}},
    .amended =
        "After full runs: the rule had one branch and could only say “wrong”, while the folded table is "
        "another one "
        "than the fixed code, which is what the text compares with.",
    .recipes =
        [](const Desk& d) {
          return std::vector{d.language("project(sinusoidal)"), d.language("sinusoidal")};
        },
    .measure = folding,
    .answer =
        "W[x; e] = W₁x + W₂e, so concatenation with a projection is a sum of a mapped word and a mapped "
        "position. Folded into an additive model, every trained projection gives the same logits to "
        "{folded:e}. That model has a table of its own, of which {changed:%0m} % is no multiple of the "
        "sinusoid: {changed>0.05?so a projection can do more than the sum with a fixed code, and no more "
        "than a sum with a learned table|so here a projection did no more than the sum with a fixed code}. "
        "In training its loss is {loss:way the fixed sum's}.",
};

Finding trivial(Desk&) {
  Finding f;
  const JoinedSizes size = sizes_of_512();
  const double adds = size.project - size.sum;
  f.near("adds", "parameters that the projection adds, d = 512", adds, 2 * 512 * 512 + 512, 0, 0);
  f.number("of_byte_model", "over the parameters of a byte model of that width with 6 layers, percent",
           100 * adds / size.sum, 2);
  f.number("of_65_million", "over 65 million, percent", 100 * adds / 65e6, 2);
  return f;
}
const Record claim_001_06 = Claim{
    .question = &question_why_add,
    .id = "001-06",
    .says = "The extra parameters of a projection are trivial.",
    .method = "2d² against the size of models",
    .expects = "0.8 % of 65 million",
    .advice = "Ignore them.",
    .recorded = holds,
    .verdicts = {{holds, {at_most("of_65_million", 1), at_most("of_byte_model", 5)}}, otherwise(wrong)},
    .measure = trivial,
    .answer =
        "A projection adds {adds} numbers at d = 512: {of_byte_model:1} % of a byte model of that width with "
        "6 layers and {of_65_million:1} % of a model of 65 million.",
};

const Record claim_001_07 = Claim{
    .question = &question_why_add,
    .id = "001-07",
    .says = "Better than a sum: let attention decide the mixture of word and position.",
    .method =
        "the combination `mixture`: softmax over (q·k_word, q·k_position) for each token; its loss against "
        "the sum's, and, because its weights make the position quiet, that of one whose position has a "
        "learned gain from 3 against the sum at three times the amplitude; how long the two parts are; a "
        "gain of less than 0.02 nats is none",
    .expects = "open; it has 5d² more parameters",
    .advice = "Try `mixture(...)` on your data, and look how loud its position is.",
    .recorded = open,
    .settles =
        "a mixture that starts at equal weights, with a bias, and so contains the projection; and both "
        "queries that the "
        "text proposes, from the word and from the context (`mixture(query=context)`): twenty runs of two "
        "minutes",
    .rests_on = argument(
        "the mixtures trained here start without a bias and can drop the position, although the projected "
        "concatenation is "
        "one of them; a mixture that drops it shows how it was optimised, and not what the text proposes"),
    .amended = "After full runs: the loss of mixtures that drop the position called the claim wrong.",
    .recipes =
        [](const Desk& d) {
          return std::vector{d.language("mixture(sinusoidal)"), d.language(kLoudMixture),
                             d.language("sinusoidal"), d.language(kLoud)};
        },
    .measure = mixed_by_attention,
    .answer =
        "It can be done, with {parameters} parameters more: an attention over the two sources of each token. "
        "But {ratio>0.05?the position's part is|the mixture ended all but without a position: its part is} "
        "{ratio:2} times as long as the word's, and {ratio.loud:2} times with a factor that starts at 3, "
        "where the sum at that amplitude has {ratio.sum:2}. A mixture that drops the position does not test "
        "the claim. Its loss is {loss:way the sum's}. With the factor the loss is {matched:way that of the "
        "sum as loud}.",
};

Finding papers(Desk&) {
  Finding f;
  double apart = 0;
  for (const char* entry : {"deberta", "tupe", "transformer_xl", "shaw"}) {
    const bool at_input = find_encoding(entry).acts & kInput;
    apart += !at_input && make_encoding(entry, width_of(64))->param_count() > 0;
  }
  f.near("apart", "of these encodings, those that keep position apart from words with numbers of their own",
         apart, 4, 0, 0);
  // Rotary channels beside channels without position: the logit is the sum of two, as of concatenated rows.
  const LogitOf half("rope(fraction=0.5)"), whole("rope");
  f.near("beside", "logit of the channels without position, less q·k over √D",
         half.of_channels(8, 16) - half.plain(8, 16), 0, 1e-12, 12);
  f.near("rotated", "logit of the other channels and of these, less the whole",
         half.of_channels(0, 8) + half.of_channels(8, 16) - half.of_channels(0, 16), 0, 1e-12, 12);
  const double moved = std::abs(whole.of_channels(8, 16) - whole.plain(8, 16));
  f.number("moved", "the first again where all channels are rotated", moved, 3);
  return f;
}
const Record claim_001_09 = Claim{
    .question = &question_why_add,
    .id = "001-09",
    .says = "Has anyone concatenated instead of adding?",
    .method =
        "papers; the definition's logit of a head of which half is rotated; which encodings have numbers of "
        "their own inside attention",
    .expects =
        "concatenation in vision and inside attention; separate matrices rather than concatenation in "
        "language",
    .advice =
        "`concat(...)` and `project(...)` join any input encoding so, `rope(fraction=0.5)` inside attention.",
    .recorded = answered,
    .rests_on = citation(
        "Liu et al. 2018 (CoordConv, arXiv:1807.03247) and Jaegle et al. 2021 (Perceiver, 2103.03206) "
        "concatenate position to the input, DeepSeek-V2 2024 (multi-head latent attention, 2405.04434) "
        "rotary channels to others in queries and keys; Shaw et al. 2018 (1803.02155), Dai et al. 2019 "
        "(Transformer-XL, 1901.02860), Ke et al. 2020 (TUPE, 2006.15595) and He et al. 2020 (DeBERTa, "
        "2006.03654) give positions matrices of their own inside attention"),
    .measure = papers,
    .answer =
        "Yes. Perceiver concatenates Fourier features of the position to its input, CoordConv coordinates to "
        "its channels. DeepSeek's models rotate some channels of each query and key and leave the others "
        "without position, which is a concatenation inside attention: here the logit of the others is q·k to "
        "{beside:e}, and where all channels are rotated it differs by {moved:2}. DeBERTa, TUPE, "
        "Transformer-XL and Shaw keep the two apart with numbers of their own, as {apart} of these 4 "
        "encodings do here.",
};

Finding deberta(Desk&) {
  Finding f;
  const LogitOf logit("deberta(span=8)");
  const std::vector<double> zero(logit.q.size(), 0.0), none(logit.w.size(), 0.0);
  const double both = logit(logit.q, logit.k, logit.w), content = logit(logit.q, logit.k, none),
               c2p = logit(logit.q, zero, logit.w), p2c = logit(zero, logit.k, logit.w);
  f.near("content", "content to content · √(3d_h) / (q·k)", content * std::sqrt(3.0) / logit.plain(0, 16), 1,
         1e-12, 9);
  f.near("three_parts", "logit less its three parts", both - content - c2p - p2c, 0, 1e-9, 12);
  f.near("position_position", "position to position", logit(zero, zero, logit.w), 0, 0, 6);
  f.number("both", "a logit of random queries, keys and tables", both, 3);
  f.number("c2c", "of it, content to content", content, 3);
  f.number("c2p", "of it, content to position", c2p, 3);
  f.number("p2c", "of it, position to content", p2c, 3);
  return f;
}
const Record claim_001_10 = Claim{
    .question = &question_why_add,
    .id = "001-10",
    .says = "DeBERTa disentangles content and position with separate matrices.",
    .method =
        "the paper; the parts of a logit of the encoding, which agrees with transformers' "
        "modeling_deberta.py in its golden vectors: content alone, position alone",
    .expects = "three terms over √(3d_h); none from position to position",
    .advice =
        "Its checkpoints read the position-to-content distance the other way round than the paper prints it.",
    .recorded = holds,
    .rests_on = citation("He et al. 2020 (DeBERTa, arXiv:2006.03654), section 3.1, equations 2 and 4"),
    .measure = deberta,
    .answer =
        "Content to content, content to position and position to content, each with matrices of its own, "
        "over √(3d_h), and no position-to-position term. For random queries, keys and tables a logit of "
        "{both} is {c2c}, {c2p} and {p2c}, and positions alone give {position_position:3}.",
};

Recipe with_channels(const Desk& d, int width) {
  return d.language(text("concat(sinusoidal, width=", width, ")"));
}

Finding width_sweep(Desk& desk) {
  Finding f;
  const Recipe sum = desk.language("sinusoidal");
  report::LineChart chart{
      "How many channels does the position need?",
      "concat(sinusoidal, width): the word keeps the rest of 64 channels. Less the sum's loss, at three "
      "times of training.",
      {"channels of the position", true, {4, 8, 16, 32}},
      {"held-out nats per byte, less the sum's"},
      {{"a quarter", {}, 0, false, true}, {"half", {}, 1, false, true}, {"the end", {}, 2, false, true}}};
  for (const int width : {4, 8, 16, 32}) {
    const OnTheWay way = on_the_way(desk, with_channels(desk, width), sum);
    show(f, text("less_sum.", width), text("loss with ", width, " channels, less the sum's"), way);
    for (std::size_t n = 0; n < way.size(); ++n) chart.series[n].points.emplace_back(width, way[n].mean);
  }
  const OnTheWay few = on_the_way(desk, with_channels(desk, 4), with_channels(desk, 32));
  show(f, "four_less_32", "loss with 4 channels, less with 32", few);
  f.figures = {chart};
  return f;
}
std::string answer_width() {
  std::string all;
  for (const int width : {4, 8, 16, 32})
    all += text(all.empty() ? "" : "; ", "with ", width, " channels {less_sum.", width, ":way",
                all.empty() ? " the sum's" : "", "}");
  return text(
      "It is one more thing to choose. With 4 channels the loss is {four_less_32:way that with 32}. Beside "
      "the "
      "sum's loss it is ",
      all, ".");
}
const Record claim_003_05 = Claim{
    .question = &question_why_add,
    .id = "003-05",
    .says = "A smaller position vector is one more hyper-parameter.",
    .method =
        "concat with 4, 8, 16 and 32 of 64 channels, each at its best rate, after a quarter, half and "
        "all of the training",
    .expects = "flat from 8 or 16 on, worse when words lose too much",
    .advice = "16 of 64 channels is a safe start.",
    .recorded = holds,
    .settles = "The same widths with ten times the tokens: 25 runs of two minutes.",
    .verdicts = {{holds, {apart("four_less_32.at.1", kMargin)}},
                 {wrong, {equal("four_less_32.at.1", kMargin)}},
                 otherwise(open)},
    .recipes =
        [](const Desk& d) {
          std::vector<Recipe> all{d.language("sinusoidal")};
          for (const int width : {4, 8, 16, 32}) all.push_back(with_channels(d, width));
          return all;
        },
    .measure = width_sweep,
    .answer = answer_width(),
};

}  // namespace
}  // namespace gnomon::claims
