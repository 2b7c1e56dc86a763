// What attention makes of a sum: (x + e)'M(y + f) in four terms.
#include <algorithm>
#include <array>
#include <cmath>

#include "gnomon/claims/parts.h"
#include "gnomon/lens/attention.h"
#include "gnomon/lens/subspace.h"
#include "gnomon/report/scenes.h"

namespace gnomon::claims {
namespace {

std::vector<Recipe> additive(const Desk& d) { return {d.language("sinusoidal")}; }

constexpr const char* kTermNames[] = {"word asks word", "word asks position", "position asks word",
                                      "position asks position"};
// Indices of the four terms among term_maps() of {word, position, biases}.
constexpr std::size_t kTerms[] = {0, 1, 3, 4};

struct Window {
  Matrix word, position, whole;
};
Window first_window(const Outcome& o, const Sample& s, std::int64_t n = 0) {
  const Written parts = written(o.look(), s);
  Window w{parts.word.block(n * s.T, s.T), parts.position.block(n * s.T, s.T), {}};
  w.whole = sum(w.word, w.position);
  return w;
}

// The shares of the four terms and of what only the key's biases add, mean over heads.
std::vector<double> four_shares(const Outcome& o, const Sample& s) {
  const Written parts = written(o.look(), s);
  const auto heads = term_shares(o.look(), 0, {parts.word, parts.position}, s.T);
  std::vector<double> mean(5, 0.0);
  for (const Matrix& m : heads) {
    for (std::size_t k = 0; k < 4; ++k) mean[k] += m.values[kTerms[k]] / double(heads.size());
    mean[4] += (m.at(2, 0) + m.at(2, 1)) / double(heads.size());
  }
  return mean;
}

Finding joint_matrix(Desk& desk) {
  Finding f;
  const Outcome& o = desk.models(desk.language("sinusoidal")).front();
  const ModelConfig& c = o.model->config();
  const std::int64_t D = c.head_size();
  const Matrix qkv = parameter(o.look(), "layers.0.attention.qkv.weight"), x = gaussian_words(32, c.width, 1);
  double worst = 0, rank = 0;
  for (std::int64_t h = 0; h < c.heads; ++h) {
    const Matrix q = qkv.block(h * D, D), k = qkv.block(c.width + h * D, D), m = product(transpose(q), k);
    const Matrix apart = product_transposed(product_transposed(x, q), product_transposed(x, k)),
                 joint = product_transposed(product(x, m), x);
    worst = std::max(worst, std::sqrt(squares(sum(apart, joint, -1)) / squares(apart)));
    const auto s = singular_values(m);
    rank = std::max(
        rank, double(std::count_if(s.begin(), s.end(), [&](double v) { return v > 1e-10 * s.front(); })));
  }
  f.between("relative difference of the two sides", worst, 0, 1e-5, 12);
  f.near("rank of Q'K of a head", rank, double(D), 0, 0);
  f.number("width of the model", double(c.width), 0);
  f.conclude(Verdict::conditional, text("The identity is exact. But the joint matrix of a head has rank ", D,
                                        ", the size of the head, not ", c.width,
                                        ": a bottleneck for each head, with a factor 1/√d_h, biases and a "
                                        "LayerNorm that the formula leaves out."));
  return f;
}

Finding expansion(Desk& desk) {
  Finding f;
  const Recipe r = desk.language("sinusoidal");
  const Outcome& o = desk.models(r).front();
  const Sample sample = desk.held_out(r, desk.quick ? 16 : 100);
  const Window w = first_window(o, sample);
  const auto truth = attention_maps(o.look(), 0, w.whole).logits;
  double worst = 0, sizes = 0, most_wp = 0;
  std::int64_t shown = 0;
  for (std::int64_t h = 0; h < r.heads; ++h) {
    const auto terms = term_maps(o.look(), 0, {w.word, w.position}, h);
    Matrix total(sample.T, sample.T);
    for (const Matrix& t : terms) total = sum(total, t);
    double difference = 0, size = 0;
    for (std::int64_t i = 0; i < sample.T; ++i) {
      for (std::int64_t j = 0; j <= i; ++j) {
        difference += std::pow(total.at(i, j) - truth[std::size_t(h)].at(i, j), 2);
        size += std::pow(truth[std::size_t(h)].at(i, j), 2);
      }
    }
    worst = std::max(worst, difference), sizes = std::max(sizes, size);
    const double own = squares(row_centred(terms[4], true));
    if (own > most_wp) most_wp = own, shown = h;
  }
  f.between("sum of the terms against the logits, relative", std::sqrt(worst / sizes), 0, 1e-4, 12);
  const auto by_seed = each(desk, r, [&](const Outcome& x) {
    const auto s = term_shares(
        x.look(), 0, {written(x.look(), sample).word, written(x.look(), sample).position}, sample.T);
    double sum = 0;
    for (const double v : s.front().values) sum += v;
    return sum;
  });
  f.near("sum of the covariance shares", by_seed.front(), 1, 1e-9, 9);
  std::vector<std::vector<double>> shares(5);
  for (const Outcome& x : desk.models(r)) {
    const auto s = four_shares(x, sample);
    for (std::size_t k = 0; k < 5; ++k) shares[k].push_back(s[k]);
  }
  for (std::size_t k = 0; k < 4; ++k)
    f.estimate(text("share of ", kTermNames[k]), mean_interval(shares[k]), 3);
  f.estimate("share of the biases", mean_interval(shares[4]), 3);
  report::Maps maps{"The four logit maps of one head",
                    "One held-out window, first layer. A row asks, a column is asked; rows less their mean; "
                    "keys after the query are hidden. The fifth map is the whole.",
                    "key",
                    "query",
                    32,
                    {}};
  const auto terms = term_maps(o.look(), 0, {w.word, w.position}, shown);
  Matrix total(sample.T, sample.T);
  for (const Matrix& t : terms) total = sum(total, t);
  const auto corner = [&](const Matrix& m) {  // the first 32 tokens: small enough to read
    const Matrix centred_rows = row_centred(m, true);
    std::vector<double> v;
    for (std::int64_t i = 0; i < 32; ++i)
      v.insert(v.end(), centred_rows.row(i).begin(), centred_rows.row(i).begin() + 32);
    return v;
  };
  for (std::size_t k = 0; k < 4; ++k) maps.maps.push_back({kTermNames[k], corner(terms[kTerms[k]])});
  maps.maps.push_back({"sum, with biases", corner(total)});
  f.figures = draw(maps);
  const auto mean = [&](std::size_t k) { return fixed(100 * mean_interval(shares[k]).mean, 0); };
  f.conclude(Verdict::holds, text("The four terms and the biases add up to the logits exactly. In trained "
                                  "models of this size the shares of the variance within rows are ",
                                  mean(0), " % word asks word, ", mean(1), " % word asks position, ", mean(2),
                                  " % position asks word, ", mean(3), " % position asks position."));
  return f;
}

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
  f.between("largest |sum of what a token pays − 1|", rows, 0, 1e-9, 12);
  f.between("largest |sum of what a token receives − 1|", columns, .5, 1e9, 2);
  f.conclude(
      Verdict::wrong,
      "The other way round: Q acts on x, so x asks, and the softmax makes what x pays sum to 1; what y "
      "receives does not. Term 2 is a word asking for a position, term 3 a position asking for a word.");
  return f;
}

// dLoss/d(scale of each term) at the trained model, by central differences: what each of the four would like.
std::vector<double> pulls(const Outcome& o, const Sample& sample) {
  const Written parts = written(o.look(), sample);
  std::vector<std::vector<Matrix>> terms;  // [window·heads + head]
  for (std::int64_t s = 0; s < sample.count(); ++s) {
    for (std::int64_t h = 0; h < o.model->config().heads; ++h)
      terms.push_back(term_maps(
          o.look(), 0,
          {parts.word.block(s * sample.T, sample.T), parts.position.block(s * sample.T, sample.T)}, h));
  }
  std::vector<double> out;
  for (const std::size_t k : kTerms) {
    const auto at = [&](double scale) {
      return loss_with(o.look(), sample, 0, [&](std::int64_t s, std::int64_t h, Matrix& logits) {
        logits =
            sum(logits,
                row_centred(terms[std::size_t(s * o.model->config().heads + h)][k], o.model->config().causal),
                scale);
      });
    };
    out.push_back((at(.05) - at(-.05)) / .1);
  }
  return out;
}

Finding trade_off(Desk& desk) {
  Finding f;
  constexpr double kMargin = .02;
  std::string compare;
  bool equal = true;
  for (const char* spec : {"tupe", "deberta(span=32)"}) {
    const Estimate e = loss_difference(desk, desk.language(spec), desk.language("sinusoidal"));
    f.estimate(text("loss of ", spec, ", less the sum's (nats)"), e);
    equal &= within(e, kMargin);
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
    f.estimate(text("dLoss/d(scale of ", kTermNames[k], ")"), e, 4);
    grow += sign(e) == Sign::below, shrink += sign(e) == Sign::above;
  }
  f.conclude(equal ? Verdict::wrong : Verdict::undecided,
             text("Matrices of their own for word and position change more than the trade-off: ", compare,
                  ". At the trained sum ", grow, " of the four terms would still like to grow and ", shrink,
                  " to shrink: ", grow && shrink ? "a conflict, of a size" : "no conflict",
                  " that the table gives. Which part of the differences is the trade-off cannot be told at "
                  "this scale."));
  return f;
}

}  // namespace

extern const Claim claim_000_01;
const Claim claim_000_01 = {
    .id = "000-01",
    .question = "terms",
    .says = "(Qx)'(Ky) = x'(Q'K)y: attention learns one joint matrix.",
    .method =
        "both sides for 32 Gaussian vectors and every head of a trained first layer; the rank of Q'K by its "
        "singular values",
    .expects = "equal to rounding; rank at most the size of the head",
    .advice = "Think of one bilinear form of rank d_h for each head, not of one full matrix.",
    .expected = Verdict::conditional,
    .recipes = additive,
    .measure = joint_matrix};

extern const Claim claim_000_02;
const Claim claim_000_02 = {
    .id = "000-02",
    .question = "terms",
    .says =
        "With positions added, the product splits into four terms: word-word, word-position, position-word, "
        "position-position.",
    .method =
        "LN(x + e) = γ(x − x̄)/σ + γ(e − ē)/σ + β with each token's σ; the 3 × 3 terms of q·k/√d_h for every "
        "head of the first layer, their "
        "sum against the model's logits; shares Cov(term, sum)/Var(sum) of row-centred logits over held-out "
        "text",
    .expects = "the terms add up to 1e-4; shares sum to 1",
    .advice = "Look at row-centred logits: what is constant over the keys of a query cancels in the softmax.",
    .expected = Verdict::holds,
    .recipes = additive,
    .measure = expansion};

extern const Claim claim_000_03;
const Claim claim_000_03 = {
    .id = "000-03",
    .question = "terms",
    .says = "The second term says how much attention to pay to word x given the position of y.",
    .method = "sums of attention weights along rows (what a token pays) and columns (what it receives)",
    .expects = "rows sum to 1: Q acts on x, x asks, y is asked",
    .advice = "Label plots by who asks and who is asked.",
    .expected = Verdict::wrong,
    .recipes = additive,
    .measure = direction};

extern const Claim claim_000_04;
const Claim claim_000_04 = {
    .id = "000-04",
    .question = "terms",
    .says = "One matrix that does four tasks at once must be a compromise.",
    .method =
        "losses of TUPE (own matrices for positions, no cross terms) and DeBERTa (own matrices, two cross "
        "terms), paired by seed, against the sum; and "
        "dLoss/d(scale) of each of the four terms in trained models, which all would be 0 without a conflict",
    .expects = "differences that mix two causes: untying, and positions in every layer",
    .advice =
        "Try untied positions (TUPE, DeBERTa) when attention is the bottleneck; do not expect the trade-off "
        "alone to show.",
    .expected = Verdict::undecided,
    .statistical = true,
    .recipes =
        [](const Desk& d) {
          return std::vector{d.language("sinusoidal"), d.language("tupe"), d.language("deberta(span=32)")};
        },
    .measure = trade_off};

namespace {

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
  const ModelConfig& c = o.model->config();
  const std::int64_t D = c.head_size();
  Matrix word = spectrum(words_of(o, sample)).basis(16), place = spectrum(positions_of(o, sample)).basis(16);
  if (rotate)
    word = random_subspace(Random(rotate, "rotated words"), 1, c.width, 16),
    place = random_subspace(Random(rotate, "rotated words"), 2, c.width, 16);
  double cross = 0, within_both = 0;
  for (std::int64_t h = 0; h < c.heads; ++h) {
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
      f.near(text(name, ", ", kTermNames[k]), found[k], expected[k], .02, 4);
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
  f.estimate("trained: share of the two cross terms", cross, 3);
  f.estimate("trained: cross-block energy of Q'K", block, 3);
  f.estimate("the same for random directions", null, 3);
  f.figures = table({{"at the start", kTermNames[0], kTermNames[1], kTermNames[2], kTermNames[3]}, rows, 4});
  const bool apart = block.mean + block.half_width < null.mean;
  f.conclude(
      cross.mean + cross.half_width < .05 && apart ? Verdict::holds : Verdict::conditional,
      text("Not at the start: a random Q'K gives the cross terms the product of the norms, 44 % of the "
           "variance with tensor2tensor's scaling. After training they have ",
           fixed(100 * cross.mean, 0),
           " % of the variance within rows, and Q'K links the main directions of word and position with ",
           fixed(block.mean, 2), " of the energy it has inside each, against ", fixed(null.mean, 2),
           " for random directions."));
  return f;
}

Finding identifiable(Desk& desk) {
  Finding f;
  const Recipe r = desk.language("sinusoidal");
  const Outcome& o = desk.models(r).front();
  const Sample sample = desk.held_out(r, desk.quick ? 40 : 200);
  const Written parts = written(o.look(), sample);
  // Averaged over windows, what depends on words averages out of the logits: what stays should be the position term.
  double best = 0;
  for (std::int64_t h = 0; h < r.heads; ++h) {
    Matrix mean(sample.T, sample.T), place(sample.T, sample.T);
    for (std::int64_t s = 0; s < sample.count(); ++s) {
      const auto terms = term_maps(
          o.look(), 0,
          {parts.word.block(s * sample.T, sample.T), parts.position.block(s * sample.T, sample.T)}, h);
      for (const Matrix& t : terms) mean = sum(mean, row_centred(t, true), 1 / double(sample.count()));
      place = sum(place, row_centred(terms[4], true), 1 / double(sample.count()));
    }
    best = std::max(best, pearson(mean.values, place.values));
  }
  f.between("correlation of the averaged logits and the position term, best head", best, .9, 1, 3);
  f.conclude(Verdict::holds, text("Although only the sum enters, its parts can be told apart by averaging: "
                                  "the mean of the logits over ",
                                  sample.count(), " windows follows the position term with correlation ",
                                  fixed(best, 3), "."));
  return f;
}

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
  f.estimate("position share of the head with the least", low, 3);
  f.estimate("position share of the head with the most", high, 3);
  f.estimate("spread within a model", spread, 3);
  f.figures = draw(chart);
  f.conclude(sign(spread) == Sign::above && spread.mean > .1 ? Verdict::holds : Verdict::undecided,
             text("Heads differ: from ", fixed(100 * low.mean, 0), " % to ", fixed(100 * high.mean, 0),
                  " % of the variance of their logits involves a position, in the same layer."));
  return f;
}

}  // namespace

extern const Claim claim_000_09;
const Claim claim_000_09 = {
    .id = "000-09",
    .question = "orthogonal",
    .says = "Lying in subspaces of their own, words and positions pass through Q'K independently.",
    .method =
        "shares of the four terms for random Q'K at the scalings in use (d = 512, means of 200 draws); in "
        "trained models the share of the cross terms, and "
        "|P_w'M P_p|²/(|P_w'M P_w||P_p'M P_p|) over the first 16 principal directions, against random "
        "directions",
    .expects =
        "r_w², r_w·r_p, r_p·r_w, r_p² at the start, r = share of the squared norm: independence has to be "
        "learned",
    .advice =
        "Set the scales on purpose: word vectors of deviation 0.02 beside an unscaled sinusoid leave 99.8 % "
        "of attention to position.",
    .expected = Verdict::conditional,
    .statistical = true,
    .recipes = additive,
    .measure = independent};

extern const Claim claim_002_08;
const Claim claim_002_08 = {
    .id = "002-08",
    .question = "terms",
    .says = "The input is the sum; so why may one discuss the position alone?",
    .method =
        "logits of a trained first layer averaged over held-out windows, against the position-position term",
    .expects = "the average over words leaves the position term",
    .advice = "Average attention maps over many texts to see what a head does with position.",
    .expected = Verdict::holds,
    .recipes = additive,
    .measure = identifiable};

extern const Claim claim_002_11;
const Claim claim_002_11 = {
    .id = "002-11",
    .question = "terms",
    .says = "Attention can set the importance of the token against that of the position.",
    .method =
        "the share of each head's row-centred logit variance in terms with a position, first layer, least "
        "and most of the heads of a model",
    .expects = "heads differ widely",
    .advice = "Ask the question of a head, not of a model.",
    .expected = Verdict::holds,
    .statistical = true,
    .recipes = additive,
    .measure = importance};

}  // namespace gnomon::claims
