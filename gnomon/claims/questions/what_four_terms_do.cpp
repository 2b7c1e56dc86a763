// What does attention make of the four terms?
#include <algorithm>
#include <cmath>

#include "gnomon/claims/answer.h"
#include "gnomon/claims/measures/measures.h"
#include "gnomon/claims/measures/terms.h"
#include "gnomon/lens/attention.h"
#include "gnomon/lens/importance.h"
#include "gnomon/lens/subspace.h"

namespace gnomon::claims {

constexpr Prose kText =
#include "gnomon/claims/questions/what_four_terms_do.txt.inc"
    ;
Question question_what_four_terms_do{.key = "what_four_terms_do", .text = question_text(kText)};

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

Finding joint_matrix(Experiment& experiment) {
  Finding f;
  const Outcome& o = experiment.models(experiment.language("sinusoidal")).front();
  const Architecture& c = o.model->architecture();
  const std::int64_t D = c.attention.head_dim;
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
  f.between("two_sides", "relative difference between the two sides", worst, 0, 1e-5, 12);
  f.near("rank", "rank of Q'K of a head", rank, double(D), 0, 0);
  f.number("width", "width of the model", double(c.width), 0);
  return f;
}
const Record claim_000_01 = Claim{
    .question = &question_what_four_terms_do,
    .id = "000-01",
    .text = claim_text(kText, "000-01"),
    .recorded = holds_if,
    .verdicts = {{holds_if, {asked("two_sides"), at_most("rank", {.5, "width"})}},
                 {holds, {asked("two_sides")}}},
    .recipes = additive,
    .measure = joint_matrix,
};

Matrix added(const std::vector<Matrix>& terms) {
  Matrix total(terms.front().rows, terms.front().columns);
  for (const Matrix& t : terms) total = sum(total, t);
  return total;
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
  report::Maps maps{
      "The four logit maps of one head",
      "One held-out window, first layer. A row asks, a column is asked; the mean of each row is "
      "subtracted. Keys after the query are hidden. The fifth map is the sum.",
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

Finding expansion(Experiment& experiment) {
  Finding f;
  const Recipe r = experiment.language("sinusoidal");
  const Outcome& o = experiment.models(r).front();
  const Sample sample = experiment.held_out(r, experiment.quick ? 16 : 100);
  const Window w = first_window(o, sample);
  const Expansion e = expand(o, w);
  f.between("error", "relative error of the sum of the terms against the logits", e.error, 0, 1e-4, 12);
  const Written parts = written(o.look(), sample);
  const auto of_heads = term_shares(o.look(), 0, {parts.word, parts.position}, sample.T);
  double one = 0;
  for (const double v : of_heads.front().values) one += v;
  f.near("shares_sum", "sum of the covariance shares", one, 1, 1e-9, 9);
  std::vector<std::vector<double>> shares(5), costs(4);
  for (const Outcome& x : experiment.models(r)) {
    const auto s = four_shares(x, sample), c = ablations(x, sample.first(experiment.quick ? 4 : 24));
    for (std::size_t k = 0; k < 5; ++k) shares[k].push_back(s[k]);
    for (std::size_t k = 0; k < 4; ++k) costs[k].push_back(c[k]);
  }
  for (std::size_t k = 0; k < 4; ++k)
    f.estimate(text("share.", k), text("share of the variance: ", kTermNames[k]), mean_interval(shares[k]),
               3);
  f.estimate("share.biases", "share of the variance: biases", mean_interval(shares[4]), 3);
  for (std::size_t k = 0; k < 4; ++k)
    f.estimate(text("cost.", k), text("loss without “", kTermNames[k], "” minus loss intact (nats per byte)"),
               mean_interval(costs[k]), 3);
  f.figures = {picture(o, w, e.head)};
  return f;
}
const Record claim_000_02 = Claim{
    .question = &question_what_four_terms_do,
    .id = "000-02",
    .text = claim_text(kText, "000-02"),
    .recorded = holds,
    .verdicts = {{holds, {asked("error"), asked("shares_sum")}}},
    .recipes = additive,
    .measure = expansion,
};

Finding direction(Experiment& experiment) {
  Finding f;
  const Recipe r = experiment.language("sinusoidal");
  const Outcome& o = experiment.models(r).front();
  const Window w = first_window(o, experiment.held_out(r, 1));
  const auto maps = attention_maps(o.look(), 0, w.whole);
  double rows = 0;
  for (const Matrix& a : maps.weights) {
    for (std::int64_t i = 0; i < a.rows; ++i) {
      double row = 0;
      for (std::int64_t j = 0; j < a.rows; ++j) row += a.at(i, j);
      rows = std::max(rows, std::abs(row - 1));
    }
  }
  f.between("paid", "largest |sum of what a token pays − 1|", rows, 0, kFloatRounding, 7);
  return f;
}
const Record claim_000_03 = Claim{
    .question = &question_what_four_terms_do,
    .id = "000-03",
    .text = claim_text(kText, "000-03"),
    .recorded = wrong,
    .rests_on = Basis::argument,
    .recipes = additive,
    .measure = direction,
};

// All four terms over distances in every layer, with matrices of their own for positions, or with the layer's: the two
// differ in nothing else, so that what one matrix for four tasks costs is their difference.
constexpr const char *kFourOwn = "deberta(span=32, terms=c2p_p2c_p2p)",
                     *kFourShared = "deberta(span=32, terms=c2p_p2c_p2p, projections=shared, norm=off)";

// Nats a byte: differences within it are called equal.
constexpr double kMargin = .02;

// Who pulls which way at the trained sum.
void pulls_of_terms(Experiment& experiment, Finding& f) {
  const Recipe r = experiment.language("sinusoidal");
  std::vector<std::vector<double>> by_term(4);
  for (const Outcome& o : experiment.models(r)) {
    const auto p = pulls(o, experiment.held_out(r, experiment.quick ? 4 : 24));
    for (std::size_t k = 0; k < 4; ++k) by_term[k].push_back(p[k]);
  }
  int grow = 0, shrink = 0;
  std::vector<Estimate> all;
  for (std::size_t k = 0; k < 4; ++k) {
    const Estimate e = mean_interval(by_term[k]);
    f.estimate(text("pull.", k), text("dLoss/d(scale of ", kTermNames[k], ")"), e, 4);
    grow += e.mean + e.half_width<0, shrink += e.mean - e.half_width> 0;  // neither without an interval
    all.push_back(e);
  }
  f.number("growing", "terms in the trained sum whose growth lowers the loss", grow, 0);
  f.number("shrinking", "terms in the trained sum whose shrinking lowers the loss", shrink, 0);
  f.number("surviving", "of these four derivatives, how many differ from 0 after Holm's correction for four",
           double(surviving(all)), 0);
}

Finding trade_off(Experiment& experiment) {
  Finding f;
  const Recipe sum = experiment.language("sinusoidal"),
               again = experiment.language("every_layer(sinusoidal)"), own = experiment.language(kFourOwn),
               shared = experiment.language(kFourShared), three = experiment.language("deberta(span=32)"),
               tupe = experiment.language("tupe");
  report::IntervalChart chart{
      "What does one matrix for four tasks cost?",
      "Held-out loss, paired by seed, each arm at its own learning rate; ± is a 95 % t interval.",
      "difference in nats per byte",
      {}};
  const auto compare = [&](const char* key, const char* what, const Recipe& a, const Recipe& b) {
    const OnTheWay way = on_the_way(experiment, a, b);
    f.estimate(key, text(what, " (nats per byte)"), way[2], 4);
    f.estimate(text(key, "_quarter"), text(what, ", after a quarter of the training (nats per byte)"), way[0],
               4);
    f.estimate(text(key, "_half"), text(what, ", after half of the training (nats per byte)"), way[1], 4);
    chart.rows.push_back({what, way[2].mean, way[2].half_width, 0});
  };
  compare("tying", "loss with shared matrices minus loss with separate ones", shared, own);
  compare("every_layer", "loss of the sum with position in every layer minus loss of the sum", again, sum);
  compare("without_p2p", "loss without position to position minus loss with all four terms", three, own);
  compare("own", "loss with four terms and separate matrices minus loss of the sum in every layer", own,
          again);
  compare("tupe", "loss of TUPE (no cross terms) minus loss of the sum in every layer", tupe, again);
  f.figures = {chart};
  pulls_of_terms(experiment, f);
  return f;
}
const Record claim_000_04 = Claim{
    .question = &question_what_four_terms_do,
    .id = "000-04",
    .text = claim_text(kText, "000-04"),
    .recorded = open,
    .verdicts = {{wrong, {below("tying", kMargin), at_most("growing", 0), at_most("shrinking", 0)}},
                 {holds, {above("tying", kMargin)}},
                 otherwise(open)},
    .recipes =
        [](const Experiment& d) {
          return std::vector{d.language("sinusoidal"), d.language("every_layer(sinusoidal)"),
                             d.language("tupe"),       d.language("deberta(span=32)"),
                             d.language(kFourOwn),     d.language(kFourShared)};
        },
    .measure = trade_off,
};

double mean_of(const std::vector<double>& v) { return mean_interval(v).mean; }

Finding identifiable(Experiment& experiment) {
  Finding f;
  const Recipe r = experiment.language("sinusoidal");
  const Sample in_order = experiment.held_out(r, experiment.quick ? 100 : 200);
  Sample sample = in_order;
  const Random random(5, "mixed letters");  // letters without their neighbours, which would not average out
  for (std::size_t n = sample.inputs.size() - 1; n > 0; --n)
    std::swap(sample.inputs[n], sample.inputs[random.below(n, n + 1)]);
  report::IntervalChart chart{
      "Does what positions ask of positions depend on their distance?",
      "Every head of the first layer of every model. The small dot is the same matrix turned at random.",
      "share of the variance of e'Mf that the offset explains",
      {}};
  std::vector<double> correlation, running, offset, chance, start;
  for (const Outcome& o : experiment.models(r)) {
    correlation.push_back(least_correlation(o, sample)), running.push_back(least_correlation(o, in_order));
    const OffsetShares s = offset_shares(o, sample, experiment.draws(40));
    for (std::size_t h = 0; h < s.found.size(); ++h)
      chart.rows.push_back(
          {text("seed ", o.seed, ", head ", h), s.found[h], std::nan(""), int(o.seed), {s.by_chance[h]}});
    offset.push_back(mean_of(s.found)), chance.push_back(mean_of(s.by_chance));
    start.push_back(mean_of(offset_shares(at_start(o), sample, 1).found));
  }
  const Estimate least = mean_interval(correlation), found = mean_interval(offset),
                 null = mean_interval(chance), more = paired_interval(offset, chance),
                 before = mean_interval(start);
  f.estimate("correlation",
             "correlation of the averaged logits with the position's terms, lowest of the heads", least, 3);
  f.estimate("in_text", "the same, over windows of text in its own order", mean_interval(running), 3);
  f.estimate("offset", "share of e'Mf that the offset explains, mean over heads", found, 3);
  f.estimate("offset_null", "share of e'Mf that the offset explains, M turned at random", null, 3);
  f.estimate("offset_more", "share that the offset explains minus that with M turned at random", more, 3);
  f.estimate("offset_start", "share of e'Mf that the offset explains, before training", before, 3);
  f.number("windows", "windows in the average", double(sample.count()), 0);
  f.figures = {chart};
  return f;
}
const Record claim_002_08 = Claim{
    .question = &question_what_four_terms_do,
    .id = "002-08",
    .text = claim_text(kText, "002-08"),
    .recorded = answered,
    .verdicts = {{answered, {above("correlation", .9), above("offset_more")}}, otherwise(open)},
    .recipes = additive,
    .measure = identifiable,
};

// Queries at spaces and marks.
std::vector<bool> at_marks(const Sample& s) {
  std::vector<bool> out;
  for (const std::int32_t b : s.inputs) out.push_back(!((b >= 'a' && b <= 'z') || (b >= 'A' && b <= 'Z')));
  return out;
}

Finding importance(Experiment& experiment) {
  Finding f;
  const Recipe r = experiment.language("sinusoidal");
  const Sample sample = experiment.held_out(r, experiment.quick ? 16 : 60);
  const std::int64_t draws = experiment.draws(200);
  std::vector<double> lowest, highest, heads, heads_null, kinds, kinds_null;
  report::IntervalChart chart{"How much of a head's logits is about position",
                              "",
                              "share of the terms with a position in the variance within rows",
                              {}};
  const auto about_position = [](std::size_t a, std::size_t b) { return b == 1 || (a == 1 && b == 0); };
  for (const Outcome& o : experiment.models(r)) {
    const Written parts = written(o.look(), sample);
    const RowParts rows = row_parts(o.look(), 0, {parts.word, parts.position}, sample.T, about_position);
    std::vector<double> shares;
    for (std::int64_t h = 0; h < r.heads; ++h) {
      shares.push_back(rows.share(h));
      chart.rows.push_back({text("seed ", o.seed, ", head ", h), shares.back(), std::nan(""), int(o.seed)});
    }
    lowest.push_back(*std::min_element(shares.begin(), shares.end())),
        highest.push_back(*std::max_element(shares.begin(), shares.end()));
    const Exchanged a = between_heads(rows, sample.T, draws, 3),
                    b = between_kinds(rows, at_marks(sample), sample.T, draws, 4);
    heads.push_back(a.found), heads_null.push_back(a.by_chance), kinds.push_back(b.found),
        kinds_null.push_back(b.by_chance);
  }
  const Estimate low = mean_interval(lowest), high = mean_interval(highest),
                 more = paired_interval(heads, heads_null), context = paired_interval(kinds, kinds_null);
  f.estimate("least", "position's share of the logits, head with the smallest", low, 3);
  f.estimate("most", "position's share of the logits, head with the largest", high, 3);
  f.estimate("spread", "largest share minus smallest within a model", mean_interval(heads), 3);
  f.estimate("spread_null", "largest share minus smallest, heads exchanged within windows",
             mean_interval(heads_null), 3);
  f.estimate("spread_more", "difference between heads minus that with heads exchanged", more, 3);
  f.estimate("context", "difference between queries at letters and at spaces or marks, mean over heads",
             mean_interval(kinds), 3);
  f.estimate("context_null", "the same difference with queries exchanged at random",
             mean_interval(kinds_null), 3);
  f.estimate("context_more", "difference between queries minus that with queries exchanged", context, 3);
  f.figures = {chart};
  return f;
}
const Record claim_002_11 = Claim{
    .question = &question_what_four_terms_do,
    .id = "002-11",
    .text = claim_text(kText, "002-11"),
    .recorded = holds_if,
    .verdicts = {{holds_if, {above("context_more")}}, otherwise(open)},
    .recipes = additive,
    .measure = importance,
};

}  // namespace
}  // namespace gnomon::claims
