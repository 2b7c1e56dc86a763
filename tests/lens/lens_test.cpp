// The analyses of models: against what is known of made-up data, and against the model itself.
#include <gtest/gtest.h>

#include <cmath>

#include "gnomon/core/error.h"
#include "gnomon/kernels/loss.h"
#include "gnomon/lens/attention.h"
#include "gnomon/lens/erase.h"
#include "gnomon/lens/order.h"
#include "gnomon/lens/probe.h"
#include "gnomon/lens/rotary_use.h"
#include "gnomon/lens/subspace.h"
#include "gnomon/nn/block.h"
#include "tests/lens/lens_matrices.h"

namespace gnomon {
namespace {

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
  // What is removed of what passes by, a row a position.
  const std::int64_t width = intact[0].columns;
  Matrix away(s.T, width);
  for (std::size_t n = 0; n < away.values.size(); ++n) away.values[n] = double(n % 7) / 8;
  const auto without = streams(m.look(), s, {.cut = 1, .removed = &away});
  EXPECT_EQ(squares(sum(without[1], intact[1], -1)), 0);
  for (std::int64_t n = 0; n < intact[2].rows; ++n) {
    for (std::int64_t c = 0; c < width; ++c)
      ASSERT_NEAR(intact[2].at(n, c) - without[2].at(n, c), away.at(n % s.T, c), 1e-6);
  }
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
