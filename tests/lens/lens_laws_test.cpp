// Laws of the lenses, over the whole registry: a lens is right, to rounding, or refuses with Error(usage). Which encodings
// each refuses is listed, so that refusing everything fails.
#include <gtest/gtest.h>

#include <cmath>

#include "gnomon/lens/rotary_use.h"
#include "tests/lens/lens_support.h"

namespace gnomon {
namespace {

// Every encoding with its standard options; samplers move the positions of rope.
std::vector<std::string> registry() {
  std::vector<std::string> all;
  for (const Entry* entry : encodings())
    all.push_back((entry->acts & kPositions ? "rope+" : "") + std::string(entry->name));
  return all;
}
// What the standard options do not show: other lengths, other projections, other ways in, several at once.
const char* const kVariants[] = {"deberta(projections=shared)",
                                 "deberta(projections=shared, terms=c2p_p2c_p2p)",
                                 "deberta_v2(projections=own)",
                                 "stick_breaking(current=on)",
                                 "dynamic_ntk(original=8)",
                                 "dynamic_yarn(original=8)",
                                 "rerope(window=4)",
                                 "self_extend(window=4, group=2)",
                                 "rope(pairing=adjacent)",
                                 "rope(fraction=0.5)",
                                 "window(size=3)",
                                 "chunk(size=5)",
                                 "every_layer(sinusoidal)",
                                 "concat(sinusoidal, width=6)",
                                 "gate(learned)",
                                 "sinusoidal+rope",
                                 "[alibi, rope]",
                                 "queries_keys(sinusoidal)",
                                 "queries_keys(sinusoidal)+alibi",
                                 "sinusoidal+randomised"};

// f(spec, model) for each of them, causal and not, with both norms.
template <class F>
void each_model(const std::vector<std::string>& specs, const F& f) {
  for (const std::string& spec : specs) {
    for (const bool causal : {true, false}) {
      for (const Norm norm : {Norm::layer, Norm::rms}) {
        SCOPED_TRACE(testing::Message()
                     << spec << (causal ? " causal" : " bidirectional") << (norm == Norm::rms ? " rms" : ""));
        std::optional<Moved> m;
        try {
          m.emplace(spec, causal, norm);
        } catch (const Error&) {  // made for causal models only
          ASSERT_FALSE(causal);
          continue;
        }
        f(spec, *m);
      }
    }
  }
}
std::vector<std::string> variants() { return {std::begin(kVariants), std::end(kVariants)}; }

Matrix column_block(const Matrix& all, std::int64_t first, std::int64_t count) {
  return transpose(transpose(all).block(first, count));
}

// What attention writes by the lens: W_o·(Σ_j a_ij·v_j) + b.
Matrix written_by_weights(const Trained& m, std::int64_t layer, const Matrix& h) {
  const AttentionMaps maps = attention_maps(m, layer, h);
  const Matrix v = column_block(projected_rows(m, layer, h), 2 * kWidth, kWidth);
  const std::string name = text("layers.", layer, ".attention.out.");
  const std::int64_t D = kWidth / kHeads;
  Matrix attended(h.rows, kWidth);
  for (std::int64_t head = 0; head < kHeads; ++head) {
    const Matrix mixed = product(maps.weights[std::size_t(head)], column_block(v, head * D, D));
    for (std::int64_t t = 0; t < h.rows; ++t)
      std::copy_n(mixed.row(t).begin(), D, attended.row(t).begin() + head * D);
  }
  Matrix out = product_transposed(attended, parameter(m, name + "weight"));
  const Matrix bias = parameter(m, name + "bias");
  for (std::int64_t t = 0; t < h.rows; ++t) {
    for (std::int64_t c = 0; c < kWidth; ++c) out.at(t, c) += bias.values[std::size_t(c)];
  }
  return out;
}

// What enters every layer of a window, and what attention wrote there.
struct Passed {
  std::vector<Matrix> before, attention;
};
Passed pass(const Moved& m, const Sample& s) {
  Passed out;
  std::vector<float> losses(s.inputs.size());
  Taps taps;
  for (std::int64_t l = 0; l < kLayers; ++l) {
    const auto keep = [&](const char* name, std::vector<Matrix>& to) {
      taps[text("layers.", l, ".", name)] = [&](TapValue& value) {
        const Floats all = value.read();
        to.emplace_back(s.T, kWidth);
        std::copy(all.begin(), all.end(), to.back().values.begin());
      };
    };
    keep("resid_pre", out.before), keep("attention.written", out.attention);
  }
  Tokens tokens{1, s.T, s.inputs, s.targets};
  tokens.taps = &taps;
  Session(m.model).loss(tokens, m.w, losses);
  return out;
}

void expect_equal(const Matrix& found, const Matrix& expected, double bound) {
  ASSERT_EQ(found.values.size(), expected.values.size());
  double size = 0;
  for (const double v : expected.values) size = std::isfinite(v) ? std::max(size, std::abs(v)) : size;
  for (std::size_t n = 0; n < found.values.size(); ++n) {
    if (std::isinf(expected.values[n])) continue;  // a key that no query sees
    ASSERT_NEAR(found.values[n], expected.values[n], bound * size) << n;
  }
}

bool acts_on_values(const Moved& m) {
  const Architecture& c = m.model.architecture();
  for (const Named& named : c.position.attention) {
    if (find_encoding(named.name).acts & kValue) return true;
  }
  return false;
}

// --- Attention laid open is the model's own

Names refused_by_loss_with(const std::vector<std::string>& specs) {
  Names refused;
  const Sample s = letters(3);
  each_model(specs, [&](const std::string& spec, const Moved& m) {
    const double truth = mean_loss(m.look(), s);
    for (std::int64_t layer = 0; layer < kLayers; ++layer) {
      double found = truth;
      if (refuses([&] { found = loss_with(m.look(), s, layer, [](auto, auto, Matrix&) {}); }))
        refused.insert(spec);
      EXPECT_NEAR(found, truth, 1e-5 * truth) << "layer " << layer;
    }
  });
  return refused;
}

TEST(LensLaws, AnEditThatChangesNothingKeepsTheLoss) { EXPECT_EQ(refused_by_loss_with(registry()), Names()); }
TEST(LensLaws, AnEditThatChangesNothingKeepsTheLossOfVariants) {
  EXPECT_EQ(refused_by_loss_with(variants()), Names());
}

Names refused_by_attention_maps(const std::vector<std::string>& specs) {
  Names refused;
  each_model(specs, [&](const std::string& spec, const Moved& m) {
    const Passed passed = pass(m, letters(1));
    for (std::size_t layer = 0; layer < std::size_t(kLayers); ++layer) {
      if (refuses([&] {
            const Matrix found = written_by_weights(m.look(), std::int64_t(layer), passed.before[layer]);
            if (!acts_on_values(m)) expect_equal(found, passed.attention[layer], 2e-6);
          }))
        refused.insert(spec);
    }
  });
  return refused;
}

TEST(LensLaws, WeightsGiveWhatAttentionWrites) {
  EXPECT_EQ(refused_by_attention_maps(registry()),
            (Names{"rope+randomised", "rope+random_float", "rope+shape", "rope+cape"}));
}
TEST(LensLaws, WeightsGiveWhatAttentionWritesOfVariants) {
  EXPECT_EQ(refused_by_attention_maps(variants()), Names{"sinusoidal+randomised"});
}

TEST(LensLaws, StreamsAreWhatEntersEachLayer) {
  for (const char* spec : {"sinusoidal", "every_layer(sinusoidal)", "rope", "queries_keys(sinusoidal)"}) {
    const Moved m(spec);
    const Passed passed = pass(m, letters(1));
    const auto h = streams(m.look(), letters(1));
    for (std::size_t l = 0; l < std::size_t(kLayers); ++l)
      EXPECT_EQ(squares(sum(h[l], passed.before[l], -1)), 0) << spec << l;
  }
}

TEST(LensLaws, AQueryThatSeesNothingHasWeightsOfZero) {
  const Moved m("stick_breaking");
  for (const Matrix& a : attention_maps(m.look(), 0, pass(m, letters(1)).before[0]).weights) {
    for (const double v : a.row(0)) EXPECT_EQ(v, 0);
    for (std::int64_t i = 1; i < a.rows; ++i) {
      double total = 0;
      for (const double v : a.row(i)) total += v;
      EXPECT_GT(total, 0);
      EXPECT_LT(total, 1);
    }
  }
  // An edit may hide every key: the layer then adds its bias alone, and the loss stays a number.
  const Moved plain("none");
  EXPECT_TRUE(std::isfinite(loss_with(plain.look(), letters(1), 0, [](auto, auto, Matrix& l) {
    for (double& v : l.values) v = -INFINITY;
  })));
}

// --- Logits in parts add up

Matrix total(const std::vector<Matrix>& parts) {
  Matrix all = parts.front();
  for (std::size_t n = 1; n < parts.size(); ++n) all = sum(all, parts[n]);
  return all;
}

// The specs whose logits `parts(model, layer, h, head)` splits; for the others it refuses.
template <class Parts>
Names split_by(const Parts& parts) {
  auto specs = registry();
  for (const std::string& spec : variants()) specs.push_back(spec);
  Names split, refused;
  each_model(specs, [&](const std::string& spec, const Moved& m) {
    const Passed passed = pass(m, letters(1));
    for (std::int64_t layer = 0; layer < kLayers; ++layer) {
      for (std::int64_t head = 0; head < kHeads; ++head) {
        const Matrix& h = passed.before[std::size_t(layer)];
        std::vector<Matrix> found;
        if (refuses([&] { found = parts(m.look(), layer, h, head); })) {
          refused.insert(spec);
        } else {
          split.insert(spec);
          expect_equal(total(found), attention_maps(m.look(), layer, h).logits[std::size_t(head)], 2e-6);
        }
      }
    }
  });
  const Names by_head{"rope_heads"};  // some of its heads turn, and others do not
  for (const std::string& spec : refused) EXPECT_LE(split.count(spec), by_head.count(spec)) << spec;
  return split;
}

// Turned by one set of frequencies, whole heads, at the lengths and windows of these specs.
const Names kSplitIntoPairs{"rope",
                            "rope(pairing=adjacent)",
                            "sinusoidal+rope",
                            "linear",
                            "ntk",
                            "ntk_by_parts",
                            "llama3",
                            "proportional",
                            "mrope",
                            "mrope_interleaved",
                            "rope_value",
                            "dynamic_ntk",
                            "dynamic_yarn",
                            "rerope",
                            "self_extend",
                            "riflex",
                            "rope_clipped",
                            "rope_heads",
                            "rope_id"};

TEST(LensLaws, PairsAddUpToTheLogits) {
  EXPECT_EQ(split_by([](const Trained& m, auto layer, const Matrix& h, auto head) {
              return pair_logits(m, layer, h, head);
            }),
            kSplitIntoPairs);
}
TEST(LensLaws, RotaryUseRefusesWhatPairsDo) {
  Names all_heads = kSplitIntoPairs;
  all_heads.erase("rope_heads");
  EXPECT_EQ(split_by([](const Trained& m, auto layer, const Matrix& h, auto head) {
              const auto use = rotary_use(m, layer, h, h.rows);
              double shares = 0;
              for (const PairUse& pair : use[std::size_t(head)]) shares += pair.share;
              EXPECT_NEAR(shares, 1, 1e-9);
              return pair_logits(m, layer, h, head);
            }),
            all_heads);
}

// Position in the input, or in who is seen, or in a factor that is 1 at this length.
const Names kSplitIntoTerms{"none",
                            "sinusoidal",
                            "multi_sinusoidal",
                            "scaled_sinusoidal",
                            "sine",
                            "cosine",
                            "index",
                            "normalised",
                            "random",
                            "permuted",
                            "rotated",
                            "binary",
                            "learned",
                            "axial",
                            "fourier",
                            "window",
                            "chunk",
                            "window(size=3)",
                            "chunk(size=5)",
                            "every_layer(sinusoidal)",
                            "concat(sinusoidal, width=6)",
                            "gate(learned)",
                            "queries_keys(sinusoidal)",
                            "log_n",
                            "conv_position",
                            "peg",
                            "rope_heads"};

TEST(LensLaws, TermsAddUpToTheLogits) {
  EXPECT_EQ(split_by([](const Trained& m, auto layer, const Matrix& h, auto head) {
              Matrix half = h;
              for (std::size_t n = 0; n < half.values.size(); ++n) half.values[n] *= n % 3 ? 0.25 : 0.75;
              return term_maps(m, layer, {half, sum(h, half, -1)}, head);
            }),
            kSplitIntoTerms);
}

}  // namespace
}  // namespace gnomon
