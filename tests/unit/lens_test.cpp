// The analyses: against what is known of made-up data, against the model itself, and against numbers that numpy found
// (tests/golden/make_claims.py).
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>

#include "gnomon/core/error.h"
#include "gnomon/kernels/loss.h"
#include "gnomon/lens/attention.h"
#include "gnomon/lens/decode.h"
#include "gnomon/lens/erase.h"
#include "gnomon/lens/order.h"
#include "gnomon/lens/probe.h"
#include "gnomon/lens/rotary_use.h"
#include "gnomon/lens/subspace.h"
#include "gnomon/lens/table.h"
#include "gnomon/nn/block.h"

namespace gnomon {
namespace {

const nlohmann::json& numpy() {
  static const auto all = nlohmann::json::parse(std::ifstream(GNOMON_TESTS "/golden/claims.json"));
  return all;
}
Shape wide(std::int64_t d, std::int64_t T = 128) { return {d, 1, d, T, true}; }
Matrix sinusoid(std::int64_t d, std::int64_t T) { return position_table("sinusoidal", wide(d), T); }
Matrix noise(std::int64_t rows, std::int64_t columns, std::uint64_t seed) {
  return gaussian(Random(seed, "noise"), rows, columns);
}

struct Small {
  Model model;
  Floats w;
  explicit Small(const char* spec, bool causal = true, std::int64_t layers = 3, std::uint64_t seed = 1)
      : model(architecture(spec, causal, layers)), w(model.initial(seed)) {
    // Gains, biases and tables away from their starts, so that nothing cancels by being 0 or 1.
    const Random random(seed, "moved");
    for (std::size_t n = 0; n < w.size(); ++n) w[n] += 0.1f * float(random.normal(n));
  }
  static Architecture architecture(const char* spec, bool causal, std::int64_t layers) {
    Architecture a =
        make_block("gpt", {.layers = layers, .width = 32, .heads = 2, .length = 16}, Spec::parse(spec));
    a.causal = causal;
    return a;
  }
  Trained look() const { return {model, w}; }
};
Sample letters(std::int64_t windows, std::int64_t T = 16, std::uint64_t seed = 3) {
  Sample s{T, {}, {}};
  const Random random(seed, "letters");
  for (std::int64_t n = 0; n < windows * T; ++n) {
    s.inputs.push_back('a' + std::int32_t(random.below(std::uint64_t(2 * n), 20)));
    s.targets.push_back('a' + std::int32_t(random.below(std::uint64_t(2 * n + 1), 20)));
  }
  return s;
}

// --- Tables and subspaces

TEST(Lens, ComponentsOfTheSinusoidAreNumpys) {
  const auto& control = numpy()["components_control"];
  int differ = 0;
  for (std::size_t k = 0; k < numpy()["components"].size(); ++k) {
    const auto& c = numpy()["components"][k];
    const Spectrum s = spectrum(sinusoid(c["d"], c["T"]));
    const double shares[] = {.9, .95, .99, .999};
    for (std::size_t n = 0; n < 4; ++n) {
      EXPECT_EQ(s.count(shares[n]), c["counts"][n].get<std::int64_t>()) << c;
      differ += s.count(shares[n]) != control[k]["counts"][n].get<std::int64_t>();
    }
    EXPECT_NEAR(s.participation_ratio(), c["participation"].get<double>(), 1e-8);
    EXPECT_NEAR(s.effective_rank(), c["effective_rank"].get<double>(), 1e-6);
    EXPECT_NEAR(s.variance(), squares(centred(sinusoid(c["d"], c["T"]))) / c["T"].get<double>(), 1e-9);
  }
  EXPECT_GT(differ, 10) << "components about the origin instead of the mean must not agree";
}

TEST(Lens, ChannelsOfTheSinusoidAreNumpys) {
  int differ = 0;
  for (std::size_t k = 0; k < numpy()["channels"].size(); ++k) {
    const auto &c = numpy()["channels"][k], &control = numpy()["channels_control"][k];
    const Channels found = channels(sinusoid(512, c["T"]));
    const double thresholds[] = {.007, .1, .5, 1, 1.9};
    for (std::size_t n = 0; n < 5; ++n) {
      EXPECT_EQ(found.range_above(thresholds[n]), c["range_above"][n].get<std::int64_t>());
      differ += found.range_above(thresholds[n]) != control["range_above"][n].get<std::int64_t>();
    }
    EXPECT_EQ(found.deviation_above(.1), c["deviation_above"].get<std::int64_t>());
  }
  EXPECT_GT(differ, 10) << "tensor2tensor's frequencies must not agree";
}

TEST(Lens, OverlapOfKnownSubspaces) {
  const Matrix basis = random_subspace(Random(1, "basis"), 0, 20, 8);
  const Spectrum all = spectrum(noise(100, 20, 2));
  const Overlap same = overlap(basis, basis), inside = overlap(basis, all.basis(20)),
                apart = overlap(all.basis(5), [&] {
                  Matrix rest(20, 5);
                  for (std::int64_t i = 0; i < 20; ++i) {
                    for (std::int64_t c = 0; c < 5; ++c) rest.at(i, c) = all.directions.at(i, 5 + c);
                  }
                  return rest;
                }());
  EXPECT_NEAR(same.mean_cos2, 1, 1e-12);
  EXPECT_NEAR(inside.mean_cos2, 1, 1e-12);
  EXPECT_NEAR(apart.max_cos, 0, 1e-12);
  EXPECT_NEAR(apart.grassmann, std::sqrt(5.0) * std::acos(0.0), 1e-9);
  EXPECT_NEAR(energy_within(noise(4000, 20, 5), basis), 8.0 / 20, .02);
}

TEST(Lens, RandomOverlapIsNumpysAndTheorys) {
  for (const auto& c : numpy()["overlap"]) {
    const SubspaceSizes s{c["sizes"][0], c["sizes"][1], c["sizes"][2]};
    const OverlapNull found = random_overlap(s, 100, 4);
    EXPECT_NEAR(found.mean_cos2, double(std::max(s.a, s.b)) / double(s.d), 4 * found.mean_cos2_sd / 10);
    EXPECT_NEAR(found.mean_cos2, c["mean"].get<double>(), 3 * c["mean_sd"].get<double>() / 5) << c;
    EXPECT_NEAR(found.max_cos, c["max"].get<double>(), 3 * c["max_sd"].get<double>() / 5) << c;
    EXPECT_NEAR(found.mean_cos2_sd / c["mean_sd"].get<double>(), 1, .35);
  }
  EXPECT_NEAR(wachter_edge({512, 42, 42}), .549, 6e-4);
  EXPECT_NEAR(wachter_edge({512, 128, 128}), .866, 6e-4);
  EXPECT_NEAR(wachter_edge({384, 64, 64}), .745, 6e-4);
  EXPECT_EQ(wachter_edge({10, 6, 6}), 1);
}

TEST(Lens, AnAnisotropicNullKnowsTheStrongDirections) {
  Matrix rows = noise(6000, 40, 30);
  EXPECT_NEAR(overlap_within(rows, 8, 100, 1).mean_cos2, random_overlap({40, 8, 8}, 100, 1).mean_cos2, .02);
  for (std::int64_t n = 0; n < rows.rows; ++n) {
    for (std::int64_t c = 0; c < 8; ++c) rows.at(n, c) *= 100;
  }
  EXPECT_GT(overlap_within(rows, 8, 100, 1).mean_cos2, .9);
  EXPECT_GT(overlap_of_two(rows, 8, 100, 1).mean_cos2, .9);
  EXPECT_NEAR(overlap_of_two(noise(6000, 40, 31), 8, 200, 2).mean_cos2, 8.0 / 40, .02);
}

TEST(Lens, OffsetsOfGramMatrices) {
  for (const auto& c : numpy()["toeplitz"]) {
    const std::int64_t d = c["d"], T = c["T"];
    const Matrix e = sinusoid(d, T), mean_removed = centred(e);
    const auto share = [](const Matrix& m) {
      return offset_share(product_transposed(m, m), Diagonal::without);
    };
    EXPECT_NEAR(share(e), 1, 1e-9);
    EXPECT_NEAR(share(mean_removed), c["mean_removed"].get<double>(), 1e-9);
    const auto with = [](const Matrix& m) { return offset_share(product_transposed(m, m), Diagonal::with); };
    EXPECT_NEAR(with(mean_removed), d == 64 ? .9637 : .9594, 6e-5);
  }
  // Independent rows: the diagonal alone makes half of the share.
  const Matrix rows = noise(128, 128, 6), gram = product_transposed(rows, rows);
  EXPECT_NEAR(offset_share(gram, Diagonal::with), .505, .02);
  EXPECT_NEAR(offset_share(gram, Diagonal::without), .016, .015);
  EXPECT_NEAR(symmetric_share(gram), 1, 1e-12);
  EXPECT_NEAR(symmetric_share(noise(100, 100, 7)), .5, .03);
  // Equal by offset up to rounding, which ranks them: five levels reach 0.98, not 1.
  EXPECT_GT(monotonicity(product_transposed(sinusoid(512, 64), sinusoid(512, 64)), 5), .97);
  EXPECT_NEAR(monotonicity(gram, 5), 0, .1);
}

TEST(Lens, ShapesOfTables) {
  EXPECT_NEAR(roughness(noise(500, 64, 8)), 2, .05);
  EXPECT_NEAR(roughness(sinusoid(512, 128)), 13.80 / 109.7, 1e-3);
  const auto energy = frequency_energy(sinusoid(64, 64));
  double total = 0;
  for (const double e : energy) total += e;
  EXPECT_NEAR(total, 1, 1e-9);
  EXPECT_NEAR(energy[0], 0, 1e-12);
  EXPECT_NEAR(rotation_share(noise(96, 96, 9)), 1.0 / 96, .004);
  Matrix turn(96, 96);  // the rotation by one token itself
  for (std::int64_t c = 0; c < 96; c += 2)
    turn.at(c, c) = turn.at(c + 1, c + 1) = .6, turn.at(c, c + 1) = .8, turn.at(c + 1, c) = -.8;
  EXPECT_NEAR(rotation_share(turn), 1, 1e-12);
  EXPECT_NEAR(shift_error(sinusoid(16, 400), 7), 0, 1e-9);
  EXPECT_NEAR(spearman(std::vector<double>{1, 2, 3, 4}, std::vector<double>{10, 20, 30, 31}), 1, 1e-12);
}

TEST(Lens, DecodingIsNumpys) {
  for (const auto& c : numpy()["decoding"]) {
    const std::int64_t d = c["d"];
    if (d > 64) continue;  // the claims measure the rest
    const Random random(21, "uniform words");
    Matrix x(2000, d), e = sinusoid(d, 64);
    for (std::size_t n = 0; n < x.values.size(); ++n) x.values[n] = 2 * random.uniform(n) - 1;
    const WordDecoding w = decode_words(x, e);
    EXPECT_NEAR(w.naive, c["naive"].get<double>(), .05) << d;
    EXPECT_NEAR(w.mean_removed, c["mean_removed"].get<double>(), .05) << d;
    EXPECT_NEAR(w.projected, c["projected"].get<double>(), .05) << d;
    EXPECT_NEAR(decode_positions(x, e), c["position"].get<double>(), .05) << d;
  }
}

TEST(Lens, ANeighbourhoodIsLostAndFoundAgain) {
  // Words of 20 channels that differ in 12 of them; what is added lies in the other 8.
  Matrix words = noise(300, 20, 40), added = noise(6, 20, 41);
  for (std::int64_t n = 0; n < words.rows; ++n) std::fill_n(words.row(n).begin() + 12, 8, 0.0);
  for (std::int64_t n = 0; n < added.rows; ++n) std::fill_n(added.row(n).begin(), 12, 0.0);
  Matrix basis(20, 8);
  for (std::int64_t c = 0; c < 8; ++c) basis.at(12 + c, c) = 1;
  const std::vector<std::int64_t> asked{3, 299, 7};
  const Neighbourhood near(words, asked, 10);
  Matrix y(6, 20), turned(6, 20);
  for (std::int64_t n = 0; n < 6; ++n) {
    for (std::int64_t c = 0; c < 20; ++c) {
      y.at(n, c) = words.at(asked[std::size_t(n % 3)], c) + 50 * added.at(n, c);
      turned.at(n, c) = -y.at(n, c);
    }
  }
  const Matrix none(20, 0);
  EXPECT_NEAR(near.kept(y, none).neighbours, 1, 1e-12) << "no word reaches what was added";
  EXPECT_NEAR(near.kept(y, basis).neighbours, 1, 1e-12);
  EXPECT_NEAR(near.kept(y, basis).identity, 1, 1e-12);
  EXPECT_LT(near.kept(turned, none).neighbours, .1);
  EXPECT_EQ(near.kept(turned, none).identity, 0);
  // Where words have something in those channels too, the sum hides them there, and what lies outside comes back.
  Matrix full = noise(300, 20, 40);
  const Neighbourhood all(full, asked, 10);
  for (std::int64_t n = 0; n < 6; ++n) {
    for (std::int64_t c = 0; c < 20; ++c)
      y.at(n, c) = full.at(asked[std::size_t(n % 3)], c) + 5 * added.at(n, c);
  }
  EXPECT_GT(all.kept(y, basis).neighbours, all.kept(y, none).neighbours + .2);
  EXPECT_NEAR(all.kept(y, basis).identity, 1, 1e-12);
  // The recall of the older function, on what both can ask.
  Matrix e = noise(4, 20, 42), sums(600, 20);
  std::vector<std::int64_t> every(300);
  std::iota(every.begin(), every.end(), std::int64_t{0});
  for (std::int64_t n = 0; n < 600; ++n) {
    for (std::int64_t c = 0; c < 20; ++c) sums.at(n, c) = full.at(n % 300, c) + e.at(n < 300 ? 1 : 3, c);
  }
  EXPECT_NEAR(Neighbourhood(full, every, 10).kept(sums, none).neighbours, neighbour_recall(full, e, 10),
              1e-12);
}

// --- Probes

TEST(Lens, ProbesReadWhatIsThereAndNothingElse) {
  const std::int64_t S = 100, T = 16, C = 12;
  Matrix h = noise(S * T, C, 10);
  std::vector<std::int32_t> labels, by_sequence;
  const Random random(11, "labels");
  for (std::int64_t n = 0; n < S * T; ++n) {
    labels.push_back(std::int32_t(random.below(std::uint64_t(n), 4)));
    by_sequence.push_back(std::int32_t(random.below(std::uint64_t(n / T) + 100000, 4)));
  }
  EXPECT_NEAR(probe_positions(h, T).r2, 0, .05);
  EXPECT_NEAR(probe_positions(h, T).error, double(T) / 4, .2);  // chance: the constant
  EXPECT_NEAR(probe_labels(h, labels, T).accuracy, .25, .08);
  for (std::int64_t n = 0; n < S * T; ++n) {
    h.at(n, 3) += 2 * double(n % T);
    h.at(n, 4 + labels[std::size_t(n)]) += 8;
  }
  EXPECT_GT(probe_positions(h, T).r2, .95);
  EXPECT_GT(probe_labels(h, labels, T).accuracy, .99);
  // A mark of each sequence says nothing about labels that another sequence has: the split is by sequence.
  Matrix marked = noise(S * T, C, 12);
  for (std::int64_t n = 0; n < S * T; ++n) {
    for (std::int64_t c = 0; c < C; ++c) marked.at(n, c) = marked.at(n / T * T, c);
  }
  EXPECT_LT(probe_labels(marked, by_sequence, T).accuracy, .55);
}

TEST(Lens, AProbeOfNewPositionsReadsWhatGoesOnSmoothly) {
  const std::int64_t S = 60, T = 32, C = 48;
  const Matrix table = noise(T, C, 13), smooth = sinusoid(C, T);
  Matrix by_heart = noise(S * T, C, 14), by_rule = by_heart;
  for (std::int64_t n = 0; n < S * T; ++n) {
    for (std::int64_t c = 0; c < C; ++c)
      by_heart.at(n, c) = .1 * by_heart.at(n, c) + table.at(n % T, c),
                     by_rule.at(n, c) = .1 * by_rule.at(n, c) + smooth.at(n % T, c);
  }
  EXPECT_GT(probe_positions(by_heart, T).r2, .95) << "more channels than positions: any table is read";
  EXPECT_LT(probe_new_positions(by_heart, T), .3);
  EXPECT_GT(probe_new_positions(by_rule, T), .95);
  EXPECT_LT(std::abs(probe_new_positions(noise(S * T, C, 15), T)), .05);
  EXPECT_THROW(probe_new_positions(noise(60 * 7, C, 15), 7), Error);
}

// --- Directions taken away

// Windows whose position lies in the first two channels; the letter is in the next, and the rest is noise of any strength.
Matrix placed(const Sample& s, double strength) {
  Matrix h = noise(std::int64_t(s.inputs.size()), 12, 16);
  for (std::int64_t n = 0; n < h.rows; ++n) {
    const double t = double(n % s.T);
    for (std::int64_t c = 3; c < 12; ++c) h.at(n, c) *= 1 + double(c) / 2;
    h.at(n, 0) = strength * std::sin(.3 * t), h.at(n, 1) = strength * std::cos(.3 * t);
    h.at(n, 2) = double(s.inputs[std::size_t(n)] % 7);
  }
  return h;
}

TEST(Lens, ThePositionsDirectionsAreFoundAndTakenAway) {
  const Sample s = letters(80);
  const Matrix h = placed(s, 6), u = position_directions(h, s, .9, 12);
  ASSERT_EQ(u.columns, 2);
  for (std::int64_t k = 0; k < 2; ++k) EXPECT_NEAR(std::hypot(u.at(0, k), u.at(1, k)), 1, .02);
  EXPECT_EQ(position_directions(h, s, .9, 1).columns, 1);
  const Matrix left = erased(h, u);
  EXPECT_GT(probe_positions(h, s.T).r2, .5);
  EXPECT_LT(probe_positions(left, s.T).r2, .05);
  const auto mean = column_means(h), mean_left = column_means(left);
  for (std::size_t c = 0; c < mean.size(); ++c) EXPECT_NEAR(mean[c], mean_left[c], 1e-9);
  EXPECT_THROW(position_directions(Matrix(h.rows, 12), s, .9, 12), Error);
}

TEST(Lens, OtherDirectionsHoldAsMuch) {
  const Sample s = letters(80);
  for (const double strength : {4., 6., 8.}) {
    const Matrix h = placed(s, strength);
    Matrix u(12, 2);
    u.at(0, 0) = u.at(1, 1) = 1;
    for (const std::uint64_t draw : {1, 2}) {
      const Matrix v = matched_directions(h, u, draw);
      ASSERT_EQ(v.columns, 2);
      EXPECT_NEAR(energy_within(h, v), energy_within(h, u), .002) << strength;
      EXPECT_LT(squares(product(transpose(v), u)), 1e-12);
      EXPECT_NEAR(squares(product(transpose(v), v)), 2, 1e-9);
    }
  }
  const Matrix h = placed(s, 100);
  Matrix u(12, 2), strongest(12, 2);
  u.at(0, 0) = u.at(1, 1) = strongest.at(10, 0) = strongest.at(11, 1) = 1;
  EXPECT_NEAR(energy_within(h, matched_directions(h, u, 1)), energy_within(h, strongest), 1e-3)
      << "no others hold as much";
  EXPECT_THROW(matched_directions(h, orthonormal(noise(12, 7, 17)), 1), Error);
}

TEST(Lens, AnErasedDirectionIsTheSameInEveryRow) {
  const Small m("sinusoidal");
  const Sample s = letters(4);
  for (const std::int64_t layer : {0, 1, 3}) {
    const auto h = streams(m.look(), s);
    const Matrix& there = h[std::size_t(layer)];
    const Erasure e{layer, random_subspace(Random(18, "erased"), 1, 32, 3), column_means(there)};
    const Matrix found = streams(m.look(), s, {.erasure = &e})[std::size_t(layer)];
    EXPECT_LT(squares(sum(found, erased(there, e.basis), -1)), 1e-8 * squares(there)) << layer;
    EXPECT_NE(mean_loss(m.look(), s, {.erasure = &e}), mean_loss(m.look(), s)) << layer;
    const Erasure nothing{layer, Matrix(32, 0), e.centre};
    EXPECT_EQ(mean_loss(m.look(), s, {.erasure = &nothing}), mean_loss(m.look(), s));
  }
  const Erasure beyond{4, Matrix(32, 1), std::vector<double>(32)},
      narrow{0, Matrix(31, 1), std::vector<double>(32)};
  EXPECT_THROW(mean_loss(m.look(), s, {.erasure = &beyond}), Error);
  EXPECT_THROW(mean_loss(m.look(), s, {.erasure = &narrow}), Error);
}

// --- A model laid open

TEST(Lens, LayingAttentionOpenGivesTheModelsLoss) {
  for (const char* spec : {"none", "sinusoidal", "concat(learned)", "rope", "alibi", "t5", "window(size=5)",
                           "relative_key", "shaw"}) {
    for (const bool causal : {true, false}) {
      const Small m(spec, causal);
      const Sample s = letters(3);
      for (const std::int64_t layer : {0, 2}) {
        const double same = loss_with(m.look(), s, layer, [](auto, auto, Matrix&) {});
        EXPECT_NEAR(same, mean_loss(m.look(), s), 2e-5) << spec << causal;
        const double flat = loss_with(m.look(), s, layer, [](auto, auto, Matrix& l) {
          for (double& v : l.values) v = std::isinf(v) ? v : 0;
        });
        EXPECT_GT(std::abs(flat - same), 1e-5) << "an edit must be felt: " << spec << causal;
      }
    }
  }
}

TEST(Lens, TermsAddUpInEveryLayer) {
  for (const bool causal : {true, false}) {
    const Small m("sinusoidal", causal);
    const Sample s = letters(4);
    const Written parts = written(m.look(), s);
    const auto h = streams(m.look(), s);
    std::vector<Matrix> components{parts.word, parts.position};
    for (std::int64_t layer = 0; layer < 3; ++layer) {
      Matrix whole = components[0];
      for (std::size_t k = 1; k < components.size(); ++k) whole = sum(whole, components[k]);
      EXPECT_LT(squares(sum(whole, h[std::size_t(layer)], -1)) / squares(whole), 1e-10);
      const auto shares = term_shares(m.look(), layer, components, s.T);
      for (std::int64_t head = 0; head < 2; ++head) {
        std::vector<Matrix> first;
        for (const Matrix& c : components) first.push_back(c.block(0, s.T));
        Matrix total(s.T, s.T);
        for (const Matrix& t : term_maps(m.look(), layer, first, head)) total = sum(total, t);
        const Matrix truth =
            attention_maps(m.look(), layer, h[std::size_t(layer)].block(0, s.T)).logits[std::size_t(head)];
        EXPECT_LT(squares(sum(row_centred(total, causal), row_centred(truth, causal), -1)) /
                      squares(row_centred(total, causal)),
                  1e-9);
        double one = 0;
        for (const double v : shares[std::size_t(head)].values) one += v;
        EXPECT_NEAR(one, 1, 1e-9);
      }
      components.push_back(parts.attention[std::size_t(layer)]),
          components.push_back(parts.feed_forward[std::size_t(layer)]);
    }
  }
}

TEST(Lens, SurgeryDoesWhatItSays) {
  const Small m("sinusoidal");
  const Sample s = letters(6);
  const auto intact = streams(m.look(), s), cut = streams(m.look(), s, {.cut = 1}),
             quiet = streams(m.look(), s, {.no_attention = true});
  EXPECT_LT(squares(sum(cut[2], sum(intact[2], intact[1], -1), -1)), 1e-8);
  EXPECT_EQ(squares(sum(cut[1], intact[1], -1)), 0);
  EXPECT_GT(mean_loss(m.look(), s, {.cut = 1}), 0);
  // Without attention a token's stream depends on itself and its place alone.
  Sample changed = s;
  for (std::int64_t n = 0; n < s.count(); ++n) changed.inputs[std::size_t(n * s.T)] = 'z';
  const auto other = streams(m.look(), changed, {.no_attention = true});
  for (std::int64_t n = 0; n < quiet[3].rows; ++n) {
    double difference = 0;
    for (std::int64_t c = 0; c < quiet[3].columns; ++c)
      difference += std::abs(quiet[3].at(n, c) - other[3].at(n, c));
    EXPECT_EQ(difference > 0, n % s.T == 0) << n;
  }
}

TEST(Lens, VarianceGoesWhereItWasPut) {
  const std::int64_t C = 24;
  const Sample s = letters(300);
  const Matrix place = noise(s.T, C, 13), token = noise(kVocabulary, C, 14);
  Matrix h = noise(s.count() * s.T, C, 15);
  const VarianceShares nothing = variance_shares(h, s);
  EXPECT_NEAR(nothing.position, 0, .002);
  EXPECT_NEAR(nothing.token, 0, .002);
  for (std::int64_t n = 0; n < h.rows; ++n) {
    for (std::int64_t c = 0; c < C; ++c)
      h.at(n, c) += 2 * place.at(n % s.T, c) + token.at(s.inputs[std::size_t(n)], c);
  }
  const VarianceShares found = variance_shares(h, s);
  EXPECT_NEAR(found.position, 4.0 / 6, .05);
  EXPECT_NEAR(found.token, 1.0 / 6, .05);
  EXPECT_NEAR(found.position + found.token + found.rest, 1, 1e-9);
}

// --- Order

TEST(Lens, OrderTests) {
  const Sample s = letters(3);
  EXPECT_LT(equivariance_error(Small("none", false).look(), s, 10, 1), 1e-5);
  EXPECT_GT(equivariance_error(Small("none", true).look(), s, 10, 1), .05);
  EXPECT_GT(equivariance_error(Small("sinusoidal", false).look(), s, 10, 1), .05);
  EXPECT_LT(swap_difference(Small("none", true, 1).look(), s, 10, 1), 1e-4);
  EXPECT_GT(swap_difference(Small("none", true, 2).look(), s, 10, 1), 1e-3);
  EXPECT_LT(reversal_pooled(Small("none", false).look(), s), 1e-5);
  EXPECT_GT(reversal_pooled(Small("none", true).look(), s), 1e-3);
  EXPECT_GT(reversal_pooled(Small("sinusoidal", false).look(), s), 1e-3);
  EXPECT_NEAR(shuffle_cost(Small("none", true, 1).look(), s, 1, 1), 0, 1e-4);
  for (const char* spec : {"none", "rope", "alibi", "t5"})
    EXPECT_LT(shift_effect(Small(spec).look(), s, 64).largest_logit, 2e-4) << spec;
  EXPECT_GT(shift_effect(Small("sinusoidal").look(), s, 64).largest_logit, .01);
}

TEST(Lens, HabitsOfUniformHeads) {
  Small m("none");
  const Param& qkv = m.model.param("layers.0.attention.qkv.weight");
  std::fill_n(m.w.begin() + qkv.offset, qkv.spec.size(), 0.0f);
  const Param& bias = m.model.param("layers.0.attention.qkv.bias");
  std::fill_n(m.w.begin() + bias.offset, bias.spec.size(), 0.0f);
  const Sample s = letters(2);
  double previous = 0, distance = 0;
  for (int i = 2; i < 16; ++i) previous += 1.0 / (i + 1) / 14, distance += i / 2.0 / 14;
  for (const HeadHabits& h : head_habits(m.look(), 0, streams(m.look(), s)[0], s.T)) {
    EXPECT_NEAR(h.previous, previous, 1e-7);
    EXPECT_NEAR(h.distance, distance, 1e-6);
    EXPECT_EQ(h.type(), "spread");
  }
}

TEST(Lens, TheBaseOfNtkAtTwiceTheLength) {
  const auto w = make_encoding("ntk(factor=2)", Shape{64, 1, 64, 64, true})->frequencies();
  EXPECT_NEAR(std::pow(w[1], -32), 20452, 1);  // w_1 = base^(−2/64); base = 10000·2^(64/62)
}

TEST(Lens, RotaryPairs) {
  const auto turns = [](std::int64_t d, std::int64_t T) {
    std::vector<double> w;
    for (std::int64_t i = 0; i < d / 2; ++i) w.push_back(std::pow(10000.0, -2.0 * double(i) / double(d)));
    const TurnsSeen t = turns_within(w, T);
    return std::vector<std::int64_t>{t.full, t.partial, t.constant};
  };
  using V = std::vector<std::int64_t>;
  EXPECT_EQ(turns(64, 64), (V{9, 4, 19}));
  EXPECT_EQ(turns(64, 512), (V{16, 5, 11}));
  EXPECT_EQ(turns(64, 2048), (V{21, 4, 7}));
  EXPECT_EQ(turns(32, 128), (V{6, 2, 8}));
  EXPECT_EQ(turns(128, 4096), (V{46, 9, 9}));
  for (const char* spec : {"rope", "rope(pairing=adjacent)", "linear(factor=2)"}) {
    const Small r(spec);
    const Matrix h = streams(r.look(), letters(1))[1];
    for (std::int64_t head = 0; head < 2; ++head) {
      Matrix total(h.rows, h.rows);
      for (const Matrix& l : pair_logits(r.look(), 1, h, head)) total = sum(total, l);
      const Matrix truth = attention_maps(r.look(), 1, h).logits[std::size_t(head)];
      for (std::int64_t i = 0; i < h.rows; ++i) {
        for (std::int64_t j = 0; j <= i; ++j) EXPECT_NEAR(total.at(i, j), truth.at(i, j), 2e-6) << spec;
      }
    }
  }
  const Small m("rope");
  const Sample s = letters(3);
  const auto w = pair_frequencies(m.look(), 1);
  EXPECT_EQ(w.front(), 1);  // radians a token: the first pair of every base
  EXPECT_TRUE(std::is_sorted(w.rbegin(), w.rend()));
  for (const auto& head : rotary_use(m.look(), 1, streams(m.look(), s)[1], s.T)) {
    EXPECT_EQ(head.size(), w.size());
    double one = 0;
    for (const PairUse& p : head) {
      one += p.share;
      EXPECT_GE(p.concentration, 0);
      EXPECT_LE(p.concentration, 1);
    }
    EXPECT_NEAR(one, 1, 1e-9);
  }
  EXPECT_ANY_THROW(rotary_use(Small("rope(fraction=0.5)").look(), 1, streams(m.look(), s)[1], s.T));
}

}  // namespace
}  // namespace gnomon
