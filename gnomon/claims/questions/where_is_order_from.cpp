// Where does order come from?
#include <algorithm>
#include <cmath>
#include <numeric>

#include "gnomon/claims/measures/measures.h"
#include "gnomon/claims/measures/recurrent.h"
#include "gnomon/claims/measures/untrained.h"
#include "gnomon/lens/attention.h"
#include "gnomon/lens/order.h"
#include "gnomon/lens/probe.h"

namespace gnomon::claims {

constexpr Prose kText =
#include "gnomon/claims/questions/where_is_order_from.txt.inc"
    ;
Question question_where_is_order_from{.key = "where_is_order_from", .text = question_text(kText)};

namespace {

using enum Verdict;

Finding tom_bit(Experiment& experiment) {
  Finding f;
  report::IntervalChart chart{
      "Who bites? Right answers on pairs that differ only in order",
      text("Names and verbs in lower case, a fixed last token asks. Seeds: ", experiment.seeds(),
           ". Both orders of a pair are always asked, so chance is one half."),
      "share of right answers",
      {}};
  struct Arm {
    const char *key, *spec, *name;
    std::int64_t layers;
    bool causal;
    double low, high;
  };
  for (const Arm& a : {Arm{"none.encoder", "none", "no position, encoder, 2 layers", 2, false, .5, .5},
                       {"none.causal_1", "none", "no position, causal, 1 layer", 1, true, .49, .51},
                       {"none.causal_2", "none", "no position, causal, 2 layers", 2, true, .95, 1},
                       {"sinusoidal.encoder", "sinusoidal", "sinusoid, encoder, 2 layers", 2, false, .95, 1},
                       {"rope.encoder", "rope", "RoPE, encoder, 2 layers", 2, false, .95, 1}}) {
    const Recipe r = experiment.task("order", a.spec, a.layers, a.causal);
    const Sample pairs = experiment.held_out(r, 512);
    const Estimate right =
        mean_interval(each(experiment, r, [&](const Outcome& o) { return accuracy(o, pairs); }));
    f.estimate(a.key, text("share of right answers: ", a.name), right, 3).ask(a.low, a.high);
    chart.rows.push_back({a.name, right.mean, right.half_width, int(chart.rows.size())});
  }
  const auto pooled = [&](std::int64_t layers, bool causal) {
    const Recipe r = experiment.task("order", "none", layers, causal);
    const auto all = each(experiment, r, [&](const Outcome& o) {
      return reversal_pooled(o.look(), experiment.held_out(r, 64));
    });
    return *std::max_element(all.begin(), all.end());
  };
  const double of_encoder = pooled(2, false), of_decoder = pooled(1, true);
  f.between("pooled",
            "trained encoder without positions: largest change of the pooled logits if read backwards",
            of_encoder, 0, 1e-5, 9);
  f.number("pooled_causal",
           "trained causal layer without positions: largest change of the pooled logits if read backwards",
           of_decoder, 3);
  f.figures = {chart};
  return f;
}
const Record claim_003_01 = Claim{
    .question = &question_where_is_order_from,
    .id = "003-01",
    .text = claim_text(kText, "003-01"),
    .recorded = holds_if,
    .verdicts = {{holds_if, {at_most("none.encoder", .5), asked("pooled"), at_least("none.causal_2", .95)}},
                 {holds, {at_most("none.encoder", .5), asked("pooled"), at_most("none.causal_2", .51)}},
                 otherwise(wrong)},
    .recipes =
        [](const Experiment& d) {
          return std::vector{d.task("order", "none", 2, false), d.task("order", "none", 1, true),
                             d.task("order", "none", 2, true), d.task("order", "sinusoidal", 2, false),
                             d.task("order", "rope", 2, false)};
        },
    .measure = tom_bit,
};

Finding at_once(Experiment&) {
  Finding f;
  const Untrained m("sinusoidal", 2, true);
  const Sample s = letters(16, 1);
  const Matrix all = logits(m.look(), s);
  double worst = 0;
  for (std::int64_t t = 1; t <= 16; ++t) {
    Sample prefix{t, {s.inputs.begin(), s.inputs.begin() + t}, {s.targets.begin(), s.targets.begin() + t}};
    const Matrix step = logits(m.look(), prefix);
    for (std::int64_t c = 0; c < all.columns; ++c)
      worst = std::max(worst, std::abs(step.at(t - 1, c) - all.at(t - 1, c)));
  }
  f.between("once", "largest difference of a logit between one pass and growing prefixes", worst, 0, 1e-4, 7);
  return f;
}
const Record claim_004_01 = Claim{
    .question = &question_where_is_order_from,
    .id = "004-01",
    .text = claim_text(kText, "004-01"),
    .recorded = holds,
    .verdicts = {{holds, {asked("once")}}},
    .measure = at_once,
};

constexpr double kBlind =
    1e-5;  // float32 leaves no more of an error that is 0; what is not 0 is far above it

// |f(Px) − P·f(x)|/|f(x)| of trained encoders, on windows of the text; by seed.
std::vector<double> trained_errors(Experiment& experiment, const Recipe& r) {
  const Sample sample = experiment.held_out(r, 4);
  return each(experiment, r, [&](const Outcome& o) {
    return equivariance_error(o.look(), sample, experiment.draws(20), 6);
  });
}

Finding permutations(Experiment& experiment) {
  Finding f;
  const Sample s = letters(24, 4);
  const std::int64_t n = experiment.draws(100);
  std::vector<std::pair<std::string, std::vector<double>>> rows;
  for (const char* spec : {"none", "sinusoidal", "rope", "t5"}) {
    for (const bool causal : {false, true}) {
      const Untrained m(spec, 2, causal);
      const double e = equivariance_error(m.look(), s, n, 6);
      const bool bare = std::string_view(spec) == "none";
      const std::string name = text(spec, causal ? ", causal" : ", encoder"),
                        untrained = name + ", untrained";
      rows.push_back({untrained, {e}});
      if (causal)
        f.between(text(spec, ".causal"), "relative error: " + untrained, e, .1, 1e9, 3);
      else if (bare)
        f.between(text(spec, ".encoder"), "relative error: " + untrained, e, 0, 1e-5, 9);
      else
        f.between(text(spec, ".encoder"), "relative error: " + untrained, e, .005, 1e9, 3);
    }
  }
  const auto without = trained_errors(experiment, experiment.encoder("none")),
             with_sinusoid = trained_errors(experiment, experiment.encoder("sinusoidal"));
  const double most = *std::max_element(without.begin(), without.end()),
               least = *std::min_element(with_sinusoid.begin(), with_sinusoid.end());
  f.between("trained.none", "relative error: none, encoder, trained on text, largest of the seeds", most, 0,
            kBlind, 9);
  f.number("trained.sinusoidal",
           "relative error: sinusoidal, encoder, trained on text, smallest of the seeds", least, 4);
  rows.push_back({"none, encoder, trained", {most}}),
      rows.push_back({"sinusoidal, encoder, trained", {least}});
  const Untrained one("none", 1, true), two("none", 2, true);
  f.between("swap.1", "causal, 1 layer: change of the last logits if two earlier tokens swap",
            swap_difference(one.look(), s, 20, 7), 0, 1e-5, 8);
  f.between("swap.2", "causal, 2 layers: change of the last logits if two earlier tokens swap",
            swap_difference(two.look(), s, 20, 7), 1e-3, 1e9, 4);
  f.figures = {table({{"|f(Px) − P·f(x)| / |f(x)|", "relative error"}, rows, 7})};
  return f;
}
const Record claim_004_03 = Claim{
    .question = &question_where_is_order_from,
    .id = "004-03",
    .text = claim_text(kText, "004-03"),
    .recorded = answered,
    .verdicts = {{answered,
                  {asked("none.encoder"), asked("none.causal"), asked("trained.none"),
                   at_least("trained.sinusoidal", 100 * kBlind), asked("swap")}}},
    .recipes =
        [](const Experiment& d) {
          return std::vector{d.encoder("none"), d.encoder("sinusoidal")};
        },
    .measure = permutations,
};

Finding rows_together(Experiment&) {
  Finding f;
  const Untrained m("none", 2, false);
  const Sample s = letters(24, 1);
  const Matrix h = streams(m.look(), s)[0];
  Matrix reversed(h.rows, h.columns);
  for (std::int64_t t = 0; t < h.rows; ++t)
    std::copy(h.row(t).begin(), h.row(t).end(), reversed.row(h.rows - 1 - t).begin());
  const auto a = attention_maps(m.look(), 0, h).weights, b = attention_maps(m.look(), 0, reversed).weights;
  double worst = 0;
  for (std::size_t k = 0; k < a.size(); ++k) {
    for (std::int64_t i = 0; i < h.rows; ++i) {
      for (std::int64_t j = 0; j < h.rows; ++j)
        worst = std::max(worst, std::abs(a[k].at(i, j) - b[k].at(h.rows - 1 - i, h.rows - 1 - j)));
    }
  }
  f.between("reversed",
            "largest difference between the weights after reversing the rows and the reversed weights", worst,
            0, kFloatRounding, 7);
  return f;
}
const Record claim_004_04 = Claim{
    .question = &question_where_is_order_from,
    .id = "004-04",
    .text = claim_text(kText, "004-04"),
    .recorded = answered,
    .verdicts = {{answered, {asked("reversed")}}},
    .measure = rows_together,
};

Finding equivariant(Experiment& experiment) {
  Finding f;
  const Untrained m("none", 2, false);
  const Sample s = letters(24, 4);
  const double error = equivariance_error(m.look(), s, experiment.draws(100), 6),
               pooled = reversal_pooled(m.look(), s);
  f.between("equivariance", "encoder without positions: equivariance error", error, 0, 1e-5, 9);
  f.between("pooled", "relative change of the pooled logits if read backwards", pooled, 0, 1e-5, 9);
  // Not invariant: the output rows do move with the input rows.
  Sample reversed = s;
  for (std::int64_t w = 0; w < s.count(); ++w)
    std::reverse(reversed.inputs.begin() + w * s.T, reversed.inputs.begin() + (w + 1) * s.T);
  const Matrix a = logits(m.look(), s), b = logits(m.look(), reversed);
  const double moved = std::sqrt(squares(sum(a, b, -1)) / squares(a));
  f.between("reversal", "relative change of the rows themselves if read backwards", moved, .1, 10, 3);
  const Recipe without = experiment.encoder("none"), sinus = experiment.encoder("sinusoidal");
  const Estimate gap = loss_difference(experiment, without, sinus),
                 early = loss_difference_at(experiment, without, sinus, .25);
  f.estimate("loss", "masked letters: loss without positions minus loss with the sinusoid (nats)", gap);
  f.estimate("loss_quarter", "the same difference after a quarter of the training (nats)", early);
  return f;
}
const Record claim_004_08 = Claim{
    .question = &question_where_is_order_from,
    .id = "004-08",
    .text = claim_text(kText, "004-08"),
    .recorded = holds_if,
    .verdicts = {{holds_if, {asked("equivariance"), asked("pooled"), asked("reversal"), above("loss")}},
                 otherwise(wrong)},
    .recipes =
        [](const Experiment& d) {
          return std::vector{d.encoder("none"), d.encoder("sinusoidal")};
        },
    .measure = equivariant,
};

Finding token_wise(Experiment&) {
  Finding f;
  const Untrained m("none", 1, false);
  const Sample s = letters(24, 1);
  const Matrix h = streams(m.look(), s)[0], all = projected_rows(m.look(), 0, h);
  double worst = 0;
  for (std::int64_t t = 0; t < h.rows; ++t) {
    const Matrix alone = projected_rows(m.look(), 0, h.block(t, 1));
    for (std::int64_t c = 0; c < all.columns; ++c)
      worst = std::max(worst, std::abs(alone.at(0, c) - all.at(t, c)));
  }
  f.between("alone", "largest difference of q, k, v between a token alone and within the window", worst, 0,
            kFloatRounding, 7);
  const auto size = [](std::int64_t T) {
    return double(
        Model(make_block("gpt", {.layers = 2, .width = 64, .heads = 4, .length = T}, Spec::parse("none")))
            .param_count());
  };
  f.near("length", "parameters for windows of 1,024 tokens minus those for 32", size(1024) - size(32), 0, 0,
         0);
  return f;
}
const Record claim_004_11 = Claim{
    .question = &question_where_is_order_from,
    .id = "004-11",
    .text = claim_text(kText, "004-11"),
    .recorded = holds_if,
    .verdicts = {{holds_if, {asked("alone"), asked("length")}}},
    .measure = token_wise,
};

Finding bag_of_words(Experiment& experiment) {
  Finding f;
  const auto right = [&](const char* task, const char* spec) {
    const Recipe r = experiment.task(task, spec, 2, false);
    return mean_interval(
        each(experiment, r, [&](const Outcome& o) { return accuracy(o, experiment.held_out(r, 512)); }));
  };
  const Estimate bag = right("majority", "none"), placed = right("majority", "sinusoidal"),
                 order = right("order", "none"),
                 gap = loss_difference(experiment, experiment.encoder("none"),
                                       experiment.encoder("sinusoidal"));
  f.estimate("majority.none", "share of right answers: majority of letters, none", bag, 3).ask(.97);
  f.estimate("majority.sinusoidal", "share of right answers: majority of letters, sinusoidal", placed, 3)
      .ask(.97);
  f.estimate("order", "share of right answers: who bites, none", order, 3).ask(.5, .5);
  f.estimate("language", "masked letters of text: loss without positions minus loss with the sinusoid (nats)",
             gap);
  return f;
}
const Record claim_004_12 = Claim{
    .question = &question_where_is_order_from,
    .id = "004-12",
    .text = claim_text(kText, "004-12"),
    .recorded = holds_if,
    .verdicts = {{holds_if, {asked("majority.none"), asked("order"), above("language")}}, otherwise(wrong)},
    .recipes =
        [](const Experiment& d) {
          return std::vector{d.task("majority", "none", 2, false), d.task("majority", "sinusoidal", 2, false),
                             d.task("order", "none", 2, false), d.encoder("none"), d.encoder("sinusoidal")};
        },
    .measure = bag_of_words,
};

Finding oranges(Experiment& experiment) {
  Finding f;
  for (const auto& [spec, causal, low, high] : {std::tuple{"none", false, .5, .5},
                                                {"none", true, .9, 1.0},
                                                {"sinusoidal", false, .95, 1.0},
                                                {"alibi", true, .95, 1.0}}) {
    const Recipe r = experiment.task("binding", spec, 2, causal);
    const Estimate right = mean_interval(
        each(experiment, r, [&](const Outcome& o) { return accuracy(o, experiment.held_out(r, 512)); }));
    f.estimate(text(spec, causal ? ".causal" : ".encoder"),
               text("share of right answers: ", spec, causal ? ", causal" : ", encoder"), right, 3)
        .ask(low, high);
  }
  return f;
}
const Record claim_004_13 = Claim{
    .question = &question_where_is_order_from,
    .id = "004-13",
    .text = claim_text(kText, "004-13"),
    .recorded = holds_if,
    .verdicts = {{holds_if,
                  {asked("none.encoder"), asked("sinusoidal.encoder"), at_least("none.causal", .9)}},
                 {holds, {asked("none.encoder"), asked("sinusoidal.encoder"), at_most("none.causal", .51)}},
                 otherwise(wrong)},
    .recipes =
        [](const Experiment& d) {
          return std::vector{d.task("binding", "none", 2, false), d.task("binding", "none", 2, true),
                             d.task("binding", "sinusoidal", 2, false), d.task("binding", "alibi", 2, true)};
        },
    .measure = oranges,
};

// How much the last state of a recurrent network of 64 units changes, relative to its size, if two neighbours among the tokens
// swap: the mean over ten draws of its weights.
double changed_by_swap(Matrix (*state)(const Matrix&, const std::vector<std::int64_t>&, std::uint64_t),
                       std::int64_t tokens, std::size_t first) {
  constexpr std::uint64_t kDraws = 10;
  const Matrix x = gaussian_words(tokens, 64, 61);
  std::vector<std::int64_t> order(static_cast<std::size_t>(tokens));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::vector<std::int64_t> swapped = order;
  std::swap(swapped[first], swapped[first + 1]);
  double mean = 0;
  for (std::uint64_t seed = 1; seed <= kDraws; ++seed) {
    const Matrix intact = state(x, order, seed);
    mean += std::sqrt(squares(sum(state(x, swapped, seed), intact, -1)) / squares(intact)) / double(kDraws);
  }
  return mean;
}

Finding recurrent(Experiment&) {
  Finding f;
  constexpr std::int64_t T = 24;
  struct Place {
    const char *key, *tokens;
    std::size_t first;
  };
  for (const Place& p :
       {Place{"late", "21 and 22", 20}, {"middle", "13 and 14", 12}, {"early", "1 and 2", 0}}) {
    for (const bool lstm : {false, true}) {
      const double change = changed_by_swap(lstm ? lstm_state : elman_state, T, p.first);
      f.number(text(p.key, lstm ? ".lstm" : ".elman"),
               text(lstm ? "LSTM" : "Elman's network", ": relative change of the state if tokens ", p.tokens,
                    " of 24 swap"),
               change, p.first == 0 ? 6 : 3);
    }
  }
  const Untrained m("none", 1, true);
  const double blind = swap_difference(m.look(), letters(T, 4), 20, 7);
  f.between("attention", "one causal attention layer: relative change of the logits if two tokens swap",
            blind, 0, 1e-5, 8);
  return f;
}
const Record claim_002_14 = Claim{
    .question = &question_where_is_order_from,
    .id = "002-14",
    .text = claim_text(kText, "002-14"),
    .recorded = holds_if,
    .verdicts = {{holds,
                  {at_least("early.elman", .01), at_least("early.lstm", .01), at_least("late.elman", .01),
                   at_least("late.lstm", .01), asked("attention")}},
                 {holds_if, {at_least("late.elman", .01), at_least("late.lstm", .01), asked("attention")}},
                 otherwise(wrong)},
    .measure = recurrent,
};

}  // namespace
}  // namespace gnomon::claims
