// What does attention make of the four terms?
#include <algorithm>
#include <cmath>

#include "gnomon/claims/parts.h"
#include "gnomon/lens/attention.h"
#include "gnomon/lens/subspace.h"

namespace gnomon::claims {

Question question_what_four_terms_do = {
    .key = "what_four_terms_do",
    .title = "What does attention make of the four terms?",
    .lead = "000-02",
    .answer =
        "They add up to the logits exactly. In trained models words asking words have {000-02|share.0} of "
        "the variance and positions asking positions {000-02|share.3}, but the loss rises by {000-02|cost.0} "
        "nats without the former and by {000-02|cost.3} without the latter: variance is not importance."};

namespace {

using enum Verdict;

struct Window {
  Matrix word, position, whole;
};

Window first_window(const Outcome& o, const Sample& s, std::int64_t n = 0) {
  const Written parts = written(o.look(), s);
  Window w{parts.word.block(n * s.T, s.T), parts.position.block(n * s.T, s.T), {}};
  w.whole = sum(w.word, w.position);
  return w;
}

Finding joint_matrix(Desk& desk) {
  Finding f;
  const Outcome& o = desk.models(desk.language("sinusoidal")).front();
  const Architecture& c = o.model->architecture();
  const std::int64_t D = c.attention.head_size;
  const Matrix qkv = parameter(o.look(), "layers.0.attention.qkv.weight"), x = gaussian_words(32, c.width, 1);
  double worst = 0, rank = 0;
  for (std::int64_t h = 0; h < c.attention.heads; ++h) {
    const Matrix q = qkv.block(h * D, D), k = qkv.block(c.width + h * D, D), m = product(transpose(q), k);
    const Matrix apart = product_transposed(product_transposed(x, q), product_transposed(x, k)),
                 joint = product_transposed(product(x, m), x);
    worst = std::max(worst, std::sqrt(squares(sum(apart, joint, -1)) / squares(apart)));
    const auto s = singular_values(m);
    rank = std::max(
        rank, double(std::count_if(s.begin(), s.end(), [&](double v) { return v > 1e-10 * s.front(); })));
  }
  f.between("two_sides", "relative difference of the two sides", worst, 0, 1e-5, 12);
  f.near("rank", "rank of Q'K of a head", rank, double(D), 0, 0);
  f.number("width", "width of the model", double(c.width), 0);
  f.answer = text("The identity is exact. But the joint matrix of a head has rank ", D,
                  ", the size of the head, not ", c.width,
                  ": a bottleneck for each head, with a factor 1/√d_h, biases and a LayerNorm that the "
                  "formula leaves out.");
  return f;
}
const Record claim_000_01 = Claim{
    .question = &question_what_four_terms_do,
    .id = "000-01",
    .says = "(Qx)'(Ky) = x'(Q'K)y: attention learns one joint matrix.",
    .method =
        "both sides for 32 Gaussian vectors and every head of a trained first layer; the rank of Q'K by its "
        "singular values",
    .expects = "equal to rounding; rank at most the size of the head",
    .advice = "Think of one bilinear form of rank d_h for each head, not of one full matrix.",
    .recorded = conditional,
    .verdicts = {{conditional, {asked("two_sides"), at_most("rank", {.5, "width"})}},
                 {holds, {asked("two_sides")}}},
    .recipes = additive,
    .measure = joint_matrix,
};

Matrix added(const std::vector<Matrix>& terms) {
  Matrix total(terms.front().rows, terms.front().columns);
  for (const Matrix& t : terms) total = sum(total, t);
  return total;
}

// The terms of every window and head, [window·heads + head].
std::vector<std::vector<Matrix>> window_terms(const Outcome& o, const Sample& sample) {
  const Written parts = written(o.look(), sample);
  std::vector<std::vector<Matrix>> terms;
  for (std::int64_t s = 0; s < sample.count(); ++s) {
    for (std::int64_t h = 0; h < o.model->architecture().attention.heads; ++h)
      terms.push_back(term_maps(
          o.look(), 0,
          {parts.word.block(s * sample.T, sample.T), parts.position.block(s * sample.T, sample.T)}, h));
  }
  return terms;
}

// The loss with `scale` times term k, less its row means, added to the logits of the first layer.
double loss_with_scaled(const Outcome& o, const Sample& sample, const std::vector<std::vector<Matrix>>& terms,
                        std::size_t k, double scale) {
  const Architecture& c = o.model->architecture();
  return loss_with(o.look(), sample, 0, [&](std::int64_t s, std::int64_t h, Matrix& logits) {
    logits = sum(logits, row_centred(terms[std::size_t(s * c.attention.heads + h)][k], c.causal), scale);
  });
}

// The terms less the logits of the model, over all heads of the first layer, relative; and the head whose
// position term is the largest.
struct Expansion {
  double error;
  std::int64_t head;
};

Expansion expand(const Outcome& o, const Window& w) {
  const auto truth = attention_maps(o.look(), 0, w.whole).logits;
  double difference = 0, size = 0, most = 0;
  Expansion out{};
  for (std::size_t h = 0; h < truth.size(); ++h) {
    const auto terms = term_maps(o.look(), 0, {w.word, w.position}, std::int64_t(h));
    const Matrix total = added(terms);
    for (std::int64_t i = 0; i < total.rows; ++i) {
      for (std::int64_t j = 0; j <= i; ++j)
        difference += std::pow(total.at(i, j) - truth[h].at(i, j), 2), size += std::pow(truth[h].at(i, j), 2);
    }
    const double own = squares(row_centred(terms[4], true));
    if (own > most) most = own, out.head = std::int64_t(h);
  }
  out.error = std::sqrt(difference / size);
  return out;
}

report::Maps picture(const Outcome& o, const Window& w, std::int64_t head) {
  constexpr std::int64_t kShown = 32;  // tokens: small enough to read
  report::Maps maps{"The four logit maps of one head",
                    "One held-out window, first layer. A row asks, a column is asked; rows less their mean; "
                    "keys after the query are hidden. The fifth map is the whole.",
                    "key",
                    "query",
                    kShown,
                    {}};
  const auto terms = term_maps(o.look(), 0, {w.word, w.position}, head);
  const auto corner = [&](const Matrix& m) {
    const Matrix rows = row_centred(m, true);
    std::vector<double> v;
    for (std::int64_t i = 0; i < kShown; ++i)
      v.insert(v.end(), rows.row(i).begin(), rows.row(i).begin() + kShown);
    return v;
  };
  for (std::size_t k = 0; k < 4; ++k) maps.maps.push_back({kTermNames[k], corner(terms[kTerms[k]])});
  maps.maps.push_back({"sum, with biases", corner(added(terms))});
  return maps;
}

// What the loss becomes without each of the four terms, less the loss intact: what a share of variance cannot say.
std::vector<double> ablations(const Outcome& o, const Sample& sample) {
  const auto terms = window_terms(o, sample);
  const double intact = mean_loss(o.look(), sample);
  std::vector<double> out;
  for (const std::size_t k : kTerms) out.push_back(loss_with_scaled(o, sample, terms, k, -1) - intact);
  return out;
}

Finding expansion(Desk& desk) {
  Finding f;
  const Recipe r = desk.language("sinusoidal");
  const Outcome& o = desk.models(r).front();
  const Sample sample = desk.held_out(r, desk.quick ? 16 : 100);
  const Window w = first_window(o, sample);
  const Expansion e = expand(o, w);
  f.between("error", "sum of the terms against the logits, relative", e.error, 0, 1e-4, 12);
  const Written parts = written(o.look(), sample);
  const auto of_heads = term_shares(o.look(), 0, {parts.word, parts.position}, sample.T);
  double one = 0;
  for (const double v : of_heads.front().values) one += v;
  f.near("shares_sum", "sum of the covariance shares", one, 1, 1e-9, 9);
  std::vector<std::vector<double>> shares(5), costs(4);
  for (const Outcome& x : desk.models(r)) {
    const auto s = four_shares(x, sample), c = ablations(x, sample.first(desk.quick ? 4 : 24));
    for (std::size_t k = 0; k < 5; ++k) shares[k].push_back(s[k]);
    for (std::size_t k = 0; k < 4; ++k) costs[k].push_back(c[k]);
  }
  for (std::size_t k = 0; k < 4; ++k)
    f.estimate(text("share.", k), text("share of ", kTermNames[k]), mean_interval(shares[k]), 3);
  f.estimate("share.biases", "share of the biases", mean_interval(shares[4]), 3);
  for (std::size_t k = 0; k < 4; ++k)
    f.estimate(text("cost.", k), text("loss without ", kTermNames[k], ", more than intact (nats)"),
               mean_interval(costs[k]), 3);
  f.figures = {picture(o, w, e.head)};
  const auto share = [&](std::size_t k) { return fixed(100 * mean_interval(shares[k]).mean, 0); };
  const auto cost = [&](std::size_t k) { return fixed(mean_interval(costs[k]).mean, 2); };
  f.answer = text(
      "The four terms and the biases add up to the logits exactly. In trained models of this size the shares "
      "of the variance within rows are ",
      share(0), " % word asks word, ", share(1), " % word asks position, ", share(2),
      " % position asks word, ", share(3),
      " % position asks position; taking a term out of the first layer costs ", cost(0), ", ", cost(1), ", ",
      cost(2), " and ", cost(3), " nats.");
  return f;
}
const Record claim_000_02 = Claim{
    .question = &question_what_four_terms_do,
    .id = "000-02",
    .says =
        "With positions added, the product splits into four terms: word-word, word-position, position-word, "
        "position-position.",
    .method =
        "LN(x + e) = γ(x − x̄)/σ + γ(e − ē)/σ + β with each token's σ; the 3 × 3 terms of q·k/√d_h for every "
        "head of the first layer, their sum against the model's logits; shares Cov(term, sum)/Var(sum) of "
        "row-centred logits over held-out text",
    .expects = "the terms add up to 1e-4; shares sum to 1",
    .advice = "Look at row-centred logits: what is constant over the keys of a query cancels in the softmax.",
    .recorded = holds,
    .verdicts = {{holds, {asked("error"), asked("shares_sum")}}},
    .recipes = additive,
    .measure = expansion,
};

Finding direction(Desk& desk) {
  Finding f;
  const Recipe r = desk.language("sinusoidal");
  const Outcome& o = desk.models(r).front();
  const Window w = first_window(o, desk.held_out(r, 1));
  const auto maps = attention_maps(o.look(), 0, w.whole);
  double rows = 0, columns = 0;
  for (const Matrix& a : maps.weights) {
    for (std::int64_t i = 0; i < a.rows; ++i) {
      double row = 0, column = 0;
      for (std::int64_t j = 0; j < a.rows; ++j) row += a.at(i, j), column += a.at(j, i);
      rows = std::max(rows, std::abs(row - 1)), columns = std::max(columns, std::abs(column - 1));
    }
  }
  f.between("paid", "largest |sum of what a token pays − 1|", rows, 0, kFloatRounding, 7);
  f.between("received", "largest |sum of what a token receives − 1|", columns, .5, 1e9, 2);
  f.answer =
      "The other way round: Q acts on x, so x asks, and the softmax makes what x pays sum to 1; what y "
      "receives does not. Term 2 is a word asking for a position, term 3 a position asking for a word.";
  return f;
}
const Record claim_000_03 = Claim{
    .question = &question_what_four_terms_do,
    .id = "000-03",
    .says = "The second term says how much attention to pay to word x given the position of y.",
    .method = "sums of attention weights along rows (what a token pays) and columns (what it receives)",
    .expects = "rows sum to 1: Q acts on x, x asks, y is asked",
    .advice = "Label plots by who asks and who is asked.",
    .recorded = wrong,
    .verdicts = {{wrong, {asked("paid"), asked("received")}}},
    .recipes = additive,
    .measure = direction,
};

// dLoss/d(scale of each term) at the trained model, by central differences: what each of the four would like.
std::vector<double> pulls(const Outcome& o, const Sample& sample) {
  const auto terms = window_terms(o, sample);
  std::vector<double> out;
  for (const std::size_t k : kTerms)
    out.push_back((loss_with_scaled(o, sample, terms, k, .05) - loss_with_scaled(o, sample, terms, k, -.05)) /
                  .1);
  return out;
}

// Nats a byte: differences within it are called equal.
constexpr double kMargin = .02;

Finding trade_off(Desk& desk) {
  Finding f;
  std::string compare;
  for (const char* spec : {"tupe", "deberta(span=32)"}) {
    const Estimate e = loss_difference(desk, desk.language(spec), desk.language("sinusoidal"));
    f.estimate(text("loss.", spec), text("loss of ", spec, ", less the sum's (nats)"), e);
    compare += text(compare.empty() ? "" : "; ", spec, " ", compared(e));
  }
  const Recipe r = desk.language("sinusoidal");
  std::vector<std::vector<double>> by_term(4);
  for (const Outcome& o : desk.models(r)) {
    const auto p = pulls(o, desk.held_out(r, desk.quick ? 4 : 24));
    for (std::size_t k = 0; k < 4; ++k) by_term[k].push_back(p[k]);
  }
  int grow = 0, shrink = 0;
  for (std::size_t k = 0; k < 4; ++k) {
    const Estimate e = mean_interval(by_term[k]);
    f.estimate(text("pull.", k), text("dLoss/d(scale of ", kTermNames[k], ")"), e, 4);
    grow += sign(e) == Sign::below, shrink += sign(e) == Sign::above;
  }
  f.answer = text("Matrices of their own for word and position: ", compare,
                  ". But they also bring positions into every layer, so how much of that is the trade-off "
                  "cannot be told at this scale. At the trained sum ",
                  grow, " of the four terms would still like to grow and ", shrink, " to shrink",
                  grow && shrink ? ": they pull against each other."
                                 : ": no two that pull against each other can be told.");
  return f;
}
const Record claim_000_04 = Claim{
    .question = &question_what_four_terms_do,
    .id = "000-04",
    .says = "One matrix that does four tasks at once must be a compromise.",
    .method =
        "losses of TUPE (own matrices for positions, no cross terms) and DeBERTa (own matrices, two cross "
        "terms), paired by seed, against the sum; and dLoss/d(scale) of each of the four terms in trained "
        "models, which all would be 0 without a conflict",
    .expects = "differences that mix two causes: untying, and positions in every layer",
    .advice =
        "Try untied positions (TUPE, DeBERTa) when attention is the bottleneck; do not expect the trade-off "
        "alone to show.",
    .recorded = undecided,
    .verdicts = {{wrong, {equal("loss.tupe", kMargin), equal("loss.deberta(span=32)", kMargin)}},
                 otherwise(undecided)},
    .recipes =
        [](const Desk& d) {
          return std::vector{d.language("sinusoidal"), d.language("tupe"), d.language("deberta(span=32)")};
        },
    .measure = trade_off,
};

Finding identifiable(Desk& desk) {
  Finding f;
  const Recipe r = desk.language("sinusoidal");
  const Outcome& o = desk.models(r).front();
  Sample sample = desk.held_out(r, 400);
  const Random random(5, "mixed letters");  // letters without their neighbours, which would not average out
  for (std::size_t n = sample.inputs.size() - 1; n > 0; --n)
    std::swap(sample.inputs[n], sample.inputs[random.below(n, n + 1)]);
  Written parts = written(o.look(), sample);
  // The mean word is the same at every place: it goes with the position, and averages over words are about the rest.
  const auto mean_word = column_means(parts.word);
  for (std::int64_t n = 0; n < parts.word.rows; ++n) {
    for (std::int64_t c = 0; c < parts.word.columns; ++c)
      parts.word.at(n, c) -= mean_word[std::size_t(c)], parts.position.at(n, c) += mean_word[std::size_t(c)];
  }
  double least = 1;
  for (std::int64_t h = 0; h < r.heads; ++h) {
    Matrix mean(sample.T, sample.T), place(sample.T, sample.T);
    for (std::int64_t s = 0; s < sample.count(); ++s) {
      const auto terms = term_maps(
          o.look(), 0,
          {parts.word.block(s * sample.T, sample.T), parts.position.block(s * sample.T, sample.T)}, h);
      const double share = 1 / double(sample.count());
      for (const Matrix& t : terms) mean = sum(mean, row_centred(t, true), share);
      for (const std::size_t k :
           {std::size_t{4}, std::size_t{7}})  // position or biases ask, position is asked
        place = sum(place, row_centred(terms[k], true), share);
    }
    std::vector<double> averaged,
        positional;  // a token and itself have one word: the diagonal does not average out
    for (std::int64_t i = 0; i < sample.T; ++i) {
      for (std::int64_t j = 0; j < i; ++j)
        averaged.push_back(mean.at(i, j)), positional.push_back(place.at(i, j));
    }
    least = std::min(least, pearson(averaged, positional));
  }
  f.between("correlation", "correlation of the averaged logits and the position terms, least of the heads",
            least, .9, 1, 3);
  f.answer = text(
      "Although only the sum enters, its parts can be told apart by averaging: in every head the mean of the "
      "logits over ",
      sample.count(), " windows follows the terms of position alone, with correlations of ", fixed(least, 3),
      " and more.");
  return f;
}
const Record claim_002_08 = Claim{
    .question = &question_what_four_terms_do,
    .id = "002-08",
    .says = "The input is the sum; so why may one discuss the position alone?",
    .method =
        "logits of a trained first layer averaged over windows of held-out letters in random order, the "
        "diagonal apart, against the terms of the position (with the mean word, which is the same "
        "everywhere)",
    .expects = "the average over words leaves the position term",
    .advice = "Average attention maps over many texts to see what a head does with position.",
    .recorded = holds,
    .verdicts = {{holds, {asked("correlation")}}},
    .recipes = additive,
    .measure = identifiable,
};

Finding importance(Desk& desk) {
  Finding f;
  const Recipe r = desk.language("sinusoidal");
  const Sample sample = desk.held_out(r, desk.quick ? 16 : 60);
  std::vector<double> lowest, highest;
  report::IntervalChart chart{"How much of a head's logits is about position",
                              "",
                              "share of the variance within rows that the three terms with a position have",
                              {}};
  for (const Outcome& o : desk.models(r)) {
    const Written parts = written(o.look(), sample);
    const auto heads = term_shares(o.look(), 0, {parts.word, parts.position}, sample.T);
    std::vector<double> shares;
    for (const Matrix& m : heads) shares.push_back(m.at(0, 1) + m.at(1, 0) + m.at(1, 1) + m.at(2, 1));
    for (std::size_t h = 0; h < shares.size(); ++h)
      chart.rows.push_back({text("seed ", o.seed, ", head ", h), shares[h], std::nan(""), int(o.seed)});
    lowest.push_back(*std::min_element(shares.begin(), shares.end())),
        highest.push_back(*std::max_element(shares.begin(), shares.end()));
  }
  const Estimate low = mean_interval(lowest), high = mean_interval(highest),
                 spread = paired_interval(highest, lowest);
  f.estimate("least", "position share of the head with the least", low, 3);
  f.estimate("most", "position share of the head with the most", high, 3);
  f.estimate("spread", "spread within a model", spread, 3);
  f.figures = {chart};
  f.answer = text("Heads of one layer differ", spread.mean > .1 ? "" : ", though little at this size",
                  ": terms with a position have from ", fixed(100 * low.mean, 0), " % to ",
                  fixed(100 * high.mean, 0), " % of the variance of their logits within rows.");
  return f;
}
const Record claim_002_11 = Claim{
    .question = &question_what_four_terms_do,
    .id = "002-11",
    .says = "Attention can set the importance of the token against that of the position.",
    .method =
        "the share of each head's row-centred logit variance in terms with a position, first layer, least "
        "and most of the heads of a model",
    .expects = "heads differ widely",
    .advice = "Ask the question of a head, not of a model.",
    .recorded = conditional,
    .verdicts = {{holds, {above("spread", .1)}}, {conditional, {above("spread")}}, otherwise(undecided)},
    .recipes = additive,
    .measure = importance,
};

}  // namespace
}  // namespace gnomon::claims
