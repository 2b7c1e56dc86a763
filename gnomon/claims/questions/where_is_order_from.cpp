// Where does order come from?
#include <algorithm>
#include <cmath>
#include <numeric>

#include "gnomon/claims/parts.h"
#include "gnomon/lab/task.h"
#include "gnomon/lens/attention.h"
#include "gnomon/lens/order.h"
#include "gnomon/lens/probe.h"
#include "gnomon/nn/block.h"

namespace gnomon::claims {

Question question_where_is_order_from = {.key = "where_is_order_from",
                                         .title = "Where does order come from?",
                                         .lead = "003-01",
                                         .answer =
                                             "Attention alone has none: permuting the input permutes the "
                                             "output, so an encoder without positions answers half "
                                             "of the pairs that differ in order alone. A causal mask gives "
                                             "it from the second layer on; an encoding gives it at "
                                             "once."};

namespace {

using enum Verdict;

Recipe with(Recipe r, std::int64_t layers, bool causal) {
  r.layers = layers, r.causal = causal;
  return r;
}

// A model with a spec that was not trained.
struct Untrained {
  Model model;
  Floats w;
  Untrained(const char* spec, std::int64_t layers, bool causal, std::uint64_t seed = 1)
      : model(architecture(spec, layers, causal)), w(model.initial(seed)) {}
  static Architecture architecture(const char* spec, std::int64_t layers, bool causal) {
    Architecture a =
        make_block("gpt", {.layers = layers, .width = 64, .heads = 4, .length = 32}, Spec::parse(spec));
    a.causal = causal;
    return a;
  }
  Trained look() const { return {model, w}; }
};

Sample letters(std::int64_t T, std::int64_t windows) {
  return make_task("previous", T, windows, Random(3, "letters"));
}

Finding tom_bit(Desk& desk) {
  Finding f;
  report::IntervalChart chart{"Who bites? Right answers on pairs that differ in order alone",
                              text("Names and verbs in lower case, a fixed last token asks; ", desk.seeds(),
                                   " seeds. Both orders of a pair are always asked: one half is chance."),
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
    const Recipe r = with(desk.task("order", a.spec), a.layers, a.causal);
    const Sample pairs = desk.held_out(r, 512);
    const Estimate right = mean_interval(each(desk, r, [&](const Outcome& o) { return accuracy(o, pairs); }));
    f.estimate(a.key, a.name, right, 3).ask(a.low, a.high);
    chart.rows.push_back({a.name, right.mean, right.half_width, int(chart.rows.size())});
  }
  const Untrained m("none", 2, false);
  const Sample s = letters(8, 4);
  f.between("pooled", "encoder without positions: change of the pooled logits under a permutation",
            equivariance_error(m.look(), s, 20, 5), 0, 1e-5, 9);
  f.figures = {chart};
  f.answer =
      "Without positions an encoder of any depth answers exactly half of the pairs. A causal mask changes "
      "that: one layer is still blind to the order before the last token, two layers answer all. (As "
      "printed, \"a\" and \"A\" are different tokens, so the two sentences differ anyway.)";
  return f;
}
const Record claim_003_01 = Claim{
    .question = &question_where_is_order_from,
    .id = "003-01",
    .says = "Without positions, \"Tom bit a dog\" and \"A dog bit Tom\" are the same to the model.",
    .method =
        "models trained to say who bites, on pairs that differ in order alone, with a fixed last token that "
        "asks; share of right answers",
    .expects =
        "exactly one half for an encoder without positions and for one causal layer; all for two causal "
        "layers",
    .advice =
        "An encoder needs positions; a decoder of two layers or more can do without, but learns more slowly.",
    .recorded = conditional,
    .verdicts = {{conditional, {at_most("none.encoder", .5), at_least("none.causal_2", .95)}},
                 {holds, {at_most("none.encoder", .5), at_most("none.causal_2", .51)}},
                 otherwise(wrong)},
    .recipes =
        [](const Desk& d) {
          return std::vector{with(d.task("order", "none"), 2, false), with(d.task("order", "none"), 1, true),
                             with(d.task("order", "none"), 2, true),
                             with(d.task("order", "sinusoidal"), 2, false),
                             with(d.task("order", "rope"), 2, false)};
        },
    .measure = tom_bit,
};

Finding at_once(Desk&) {
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
  f.between("once", "largest difference of a logit, all at once against one by one", worst, 0, 1e-4, 7);
  f.answer =
      "One pass over all tokens gives the logits of sixteen passes over growing prefixes: a causal model "
      "takes them at once.";
  return f;
}
const Record claim_004_01 = Claim{
    .question = &question_where_is_order_from,
    .id = "004-01",
    .says = "All tokens enter a Transformer at once.",
    .method = "logits of one pass over 16 tokens against those of 16 growing prefixes, causal",
    .expects = "equal to rounding",
    .advice = "This is why training is parallel.",
    .recorded = holds,
    .verdicts = {{holds, {asked("once")}}},
    .measure = at_once,
};

Finding permutations(Desk& desk) {
  Finding f;
  const Sample s = letters(24, 4);
  const std::int64_t n = desk.draws(100);
  std::vector<std::pair<std::string, std::vector<double>>> rows;
  for (const char* spec : {"none", "sinusoidal", "rope", "t5"}) {
    for (const bool causal : {false, true}) {
      const Untrained m(spec, 2, causal);
      const double e = equivariance_error(m.look(), s, n, 6);
      const std::string name = text(spec, causal ? ", causal" : ", encoder");
      rows.push_back({name, {e}});
      if (std::string_view(spec) == "none" && !causal) f.between(text(spec, ".encoder"), name, e, 0, 1e-5, 9);
      if (causal) f.between(text(spec, ".causal"), name, e, .1, 1e9, 3);
      if (!causal && std::string_view(spec) != "none")
        f.between(text(spec, ".encoder"), name, e, .005, 1e9, 3);
    }
  }
  const Untrained one("none", 1, true), two("none", 2, true);
  f.between("swap.1", "causal, 1 layer: change of the last logits when two earlier tokens swap",
            swap_difference(one.look(), s, 20, 7), 0, 1e-5, 8);
  f.between("swap.2", "causal, 2 layers: the same", swap_difference(two.look(), s, 20, 7), 1e-3, 1e9, 4);
  f.figures = {table({{"|f(Px) − P·f(x)| / |f(x)|", "relative"}, rows, 7})};
  f.answer =
      "Because attention has nothing to tell order by: without positions and mask a model returns the "
      "permuted answer for the permuted input, to rounding. A causal mask breaks that.";
  return f;
}
const Record claim_004_03 = Claim{
    .question = &question_where_is_order_from,
    .id = "004-03",
    .says = "Why does order not emerge from attention itself?",
    .method =
        "|f(Px) − P·f(x)|/|f(x)| over random permutations, untrained models, with and without a causal mask; "
        "swaps of two tokens before the last",
    .expects = "below 1e-5 without positions and mask; above 0.1 with a mask",
    .advice = "Use this test on any implementation: it takes a second.",
    .recorded = holds,
    .verdicts = {{holds, {asked("none.encoder"), asked("none.causal"), asked("swap")}}},
    .measure = permutations,
};

Finding rows_together(Desk&) {
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
  f.between("reversed", "largest difference of attention weights after reversing the rows", worst, 0,
            kFloatRounding, 7);
  f.answer =
      "No. The rows of Q, K and V permute together, and the weights with them: which row a token has says "
      "nothing to the model.";
  return f;
}
const Record claim_004_04 = Claim{
    .question = &question_where_is_order_from,
    .id = "004-04",
    .says = "Is the order not implicit in the rows of Q, K and V?",
    .method = "attention weights after reversing the rows of the input",
    .expects = "the weights reverse with them",
    .advice = "The index of a row is bookkeeping, not input.",
    .recorded = wrong,
    .verdicts = {{wrong, {asked("reversed")}}},
    .measure = rows_together,
};

Finding equivariant(Desk& desk) {
  Finding f;
  const Untrained m("none", 2, false);
  const Sample s = letters(24, 4);
  f.between("equivariance", "encoder without positions: equivariance error",
            equivariance_error(m.look(), s, desk.draws(100), 6), 0, 1e-5, 9);
  // Not invariant: the output rows do move with the input rows.
  Sample reversed = s;
  for (std::int64_t w = 0; w < s.count(); ++w)
    std::reverse(reversed.inputs.begin() + w * s.T, reversed.inputs.begin() + (w + 1) * s.T);
  const Matrix a = logits(m.look(), s), b = logits(m.look(), reversed);
  f.between("reversal", "change of the rows themselves under reversal, relative",
            std::sqrt(squares(sum(a, b, -1)) / squares(a)), .1, 10, 3);
  const Estimate gap = loss_difference(desk, desk.encoder("none"), desk.encoder("sinusoidal"));
  f.estimate("loss", "masked tokens, loss without positions, less the sinusoid's (nats)", gap);
  f.answer = text(
      "Not invariant but equivariant: outputs permute with inputs, and only a pooled output is invariant. So "
      "BERT has no implicit position: in our encoders the loss on masked letters without positions is ",
      compared(gap), ".");
  return f;
}
const Record claim_004_08 = Claim{
    .question = &question_where_is_order_from,
    .id = "004-08",
    .says = "Attention is permutation-invariant; BERT has no implicit position.",
    .method =
        "equivariance error and change of the rows under reversal; loss on masked letters without positions "
        "less with",
    .expects = "equivariant, invariant after pooling; a large loss without positions",
    .advice = "Never train an encoder without positions.",
    .recorded = conditional,
    .verdicts = {{conditional, {asked("equivariance"), asked("reversal"), above("loss")}},
                 otherwise(undecided)},
    .recipes =
        [](const Desk& d) {
          return std::vector{d.encoder("none"), d.encoder("sinusoidal")};
        },
    .measure = equivariant,
};

Finding token_wise(Desk&) {
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
  f.between("alone", "q, k, v of a token alone, less those within the window", worst, 0, kFloatRounding, 7);
  const auto size = [](std::int64_t T) {
    return double(
        Model(make_block("gpt", {.layers = 2, .width = 64, .heads = 4, .length = T}, Spec::parse("none")))
            .param_count());
  };
  f.near("length", "parameters for windows of 1,024 tokens, less those for 32", size(1024) - size(32), 0, 0,
         0);
  f.answer =
      "Each token's q, k and v depend on that token alone, and the weights do not depend on the length.";
  return f;
}
const Record claim_004_11 = Claim{
    .question = &question_where_is_order_from,
    .id = "004-11",
    .says = "Q, K and V are made token by token, so they hold no position.",
    .method = "q, k, v of a token alone and within its window; parameters against length",
    .expects = "equal; constant",
    .advice = "Whatever knows the order must be added, multiplied or masked in.",
    .recorded = holds,
    .verdicts = {{holds, {asked("alone"), asked("length")}}},
    .measure = token_wise,
};

Finding bag_of_words(Desk& desk) {
  Finding f;
  for (const char* spec : {"none", "sinusoidal"}) {
    const Recipe r = with(desk.task("majority", spec), 2, false);
    const Estimate right =
        mean_interval(each(desk, r, [&](const Outcome& o) { return accuracy(o, desk.held_out(r, 512)); }));
    f.estimate(text("majority.", spec), text("majority of letters, ", spec), right, 3).ask(.97);
  }
  const Recipe r = with(desk.task("order", "none"), 2, false);
  const Estimate order_right =
      mean_interval(each(desk, r, [&](const Outcome& o) { return accuracy(o, desk.held_out(r, 512)); }));
  f.estimate("order", "who bites, none", order_right, 3).ask(.5, .5);
  f.answer =
      "A question that needs no order, which letter is most frequent, is answered without positions as well "
      "as with them; one that does is answered at chance.";
  return f;
}
const Record claim_004_12 = Claim{
    .question = &question_where_is_order_from,
    .id = "004-12",
    .says = "A bag of words is enough for simple classification, not for language.",
    .method = "encoders without positions on the majority letter and on who bites",
    .expects = "all right, and one half",
    .advice = "Check whether your labels need order before paying for positions.",
    .recorded = holds,
    .verdicts = {{holds, {asked("majority.none"), asked("order")}}},
    .recipes =
        [](const Desk& d) {
          return std::vector{with(d.task("majority", "none"), 2, false),
                             with(d.task("majority", "sinusoidal"), 2, false),
                             with(d.task("order", "none"), 2, false)};
        },
    .measure = bag_of_words,
};

Finding oranges(Desk& desk) {
  Finding f;
  for (const auto& [spec, causal, low, high] : {std::tuple{"none", false, .5, .5},
                                                {"none", true, .9, 1.0},
                                                {"sinusoidal", false, .95, 1.0},
                                                {"alibi", true, .95, 1.0}}) {
    const Recipe r = with(desk.task("binding", spec), 2, causal);
    const Estimate right =
        mean_interval(each(desk, r, [&](const Outcome& o) { return accuracy(o, desk.held_out(r, 512)); }));
    f.estimate(text(spec, causal ? ".causal" : ".encoder"), text(spec, causal ? ", causal" : ", encoder"),
               right, 3)
        .ask(low, high);
  }
  f.answer =
      "\"3 oranges and 4 bananas\" and \"4 oranges and 3 bananas\" hold the same words: an encoder without "
      "positions answers exactly half of such pairs, one with positions all.";
  return f;
}
const Record claim_004_13 = Claim{
    .question = &question_where_is_order_from,
    .id = "004-13",
    .says = "\"3 oranges and 4 bananas\" and \"4 oranges and 3 bananas\" need positions to be told apart.",
    .method = "models trained to say how many of one fruit, on pairs with the numbers exchanged",
    .expects = "one half without positions, all with",
    .advice = "Binding is order: test it before dropping positions.",
    .recorded = holds,
    .verdicts = {{holds, {asked("none.encoder"), asked("sinusoidal.encoder")}}},
    .recipes =
        [](const Desk& d) {
          return std::vector{
              with(d.task("binding", "none"), 2, false), with(d.task("binding", "none"), 2, true),
              with(d.task("binding", "sinusoidal"), 2, false), with(d.task("binding", "alibi"), 2, true)};
        },
    .measure = oranges,
};

Finding recurrent(Desk&) {
  Finding f;
  // An Elman network with random weights, read after its last token: h = tanh(W·h + U·x).
  const std::int64_t d = 64, T = 24;
  const Matrix w = gaussian(Random(1, "recurrent"), d, d), x = gaussian_words(T, d, 61);
  const auto read = [&](const std::vector<std::int64_t>& order) {
    Matrix h(1, d);
    for (const std::int64_t t : order) {
      Matrix next = product_transposed(h, w);
      for (std::int64_t c = 0; c < d; ++c)
        next.at(0, c) = std::tanh(next.at(0, c) / std::sqrt(double(d)) + x.at(t, c));
      h = std::move(next);
    }
    return h;
  };
  std::vector<std::int64_t> order(static_cast<std::size_t>(T));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  const Matrix intact = read(order);
  std::swap(order[20], order[21]);
  f.between("recurrent", "change of the state when tokens 20 and 21 of 24 swap, relative",
            std::sqrt(squares(sum(read(order), intact, -1)) / squares(intact)), .01, 10, 3);
  const Untrained m("none", 1, true);
  f.between("attention", "the same for one causal layer of attention (logits)",
            swap_difference(m.look(), letters(24, 4), 20, 7), 0, 1e-5, 8);
  f.answer =
      "A recurrent network reads its input in order by construction: even with random weights a swap of two "
      "tokens shows in its state. One causal layer of attention does not see it.";
  return f;
}
const Record claim_002_14 = Claim{
    .question = &question_where_is_order_from,
    .id = "002-14",
    .says = "RNNs and LSTMs know the order of their input.",
    .method =
        "the state of a random recurrent network when two tokens swap; one causal attention layer beside it",
    .expects = "the state changes",
    .advice = "What recurrence gives for free, a Transformer needs an encoding or a mask for.",
    .recorded = holds,
    .verdicts = {{holds, {asked("recurrent"), asked("attention")}}},
    .measure = recurrent,
};

}  // namespace
}  // namespace gnomon::claims
