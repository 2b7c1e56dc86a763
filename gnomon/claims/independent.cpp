// Do words and positions pass through the query-key matrix independently?
#include <algorithm>
#include <array>
#include <cmath>

#include "gnomon/claims/parts.h"
#include "gnomon/claims/terms.h"
#include "gnomon/lens/attention.h"
#include "gnomon/lens/subspace.h"

namespace gnomon::claims {
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
  const bool apart =
      block.mean + block.half_width<null.mean, linked = block.mean - block.half_width> null.mean;
  f.conclude(
      cross.mean + cross.half_width < .05 && apart ? Verdict::holds
      : linked                                     ? Verdict::wrong
                                                   : Verdict::conditional,
      text("Not at the start: a random Q'K gives the cross terms the product of the norms, 44 % of the "
           "variance with tensor2tensor's scaling. ",
           linked ? "Nor after training: they have " : "After training they have ",
           fixed(100 * cross.mean, 0),
           " % of the variance within rows, and Q'K links the main directions of word and position with ",
           fixed(block.mean, 2), " of the energy it has inside each, against ", fixed(null.mean, 2),
           " for random directions."));
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
    .expected = Verdict::wrong,
    .statistical = true,
    .recipes = additive,
    .measure = independent};

}  // namespace gnomon::claims
