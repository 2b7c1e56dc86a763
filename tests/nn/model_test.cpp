// The whole model against its twin in double: logits, loss, every gradient; and the identities that hold
// exactly.
#include <gtest/gtest.h>

#include <cmath>

#include "gnomon/core/error.h"
#include "gnomon/core/parallel.h"
#include "gnomon/kernels/loss.h"
#include "gnomon/nn/session.h"
#include "gnomon/nn/train.h"
#include "tests/nn/model_support.h"

namespace gnomon {
namespace {

// Three encodings inside attention with an input encoding joined by some combination, drawn by chance, the same each time.
std::vector<std::string> random_specs(std::size_t count) {
  const Random random(1, "specs");
  std::vector<std::string_view> inside, inputs;
  for (const Entry* e : encodings()) {
    if (e->acts & kInput) inputs.push_back(e->name);
    if (e->acts && !(e->acts & (kInput | kPositions))) inside.push_back(e->name);
  }
  std::vector<std::string> specs;
  for (std::uint64_t draw = 0; specs.size() < count; ++draw) {
    const auto one_of = [&](const auto& all, std::uint64_t n) {
      return all[random.below(8 * draw + n, all.size())];
    };
    const std::string_view join = one_of(combinations(), 0)->name;
    std::string spec =
        std::string(join) + "(" + std::string(one_of(inputs, 1)) + (join == "concat" ? ", width=6)" : ")");
    for (std::uint64_t n = 2; n < 5; ++n) spec += "+" + std::string(one_of(inside, n));
    try {
      make_scheme(Spec::parse(spec), {16, 2, 8, 12, true});
      specs.push_back(spec);
    } catch (const Error&) {  // they do not go together: pairs_test
    }
  }
  return specs;
}

std::vector<std::string> all_specs() {
  std::vector<std::string> specs = random_specs(30);
  for (const Entry* e : encodings()) {
    if (!(e->acts & kPositions)) specs.emplace_back(e->name);
  }
  for (const CombinationEntry* c : combinations()) {
    for (const char* inner : {"(sinusoidal", "(learned"})
      specs.push_back(std::string(c->name) + inner +
                      (c->name == "concat" ? ", width=6, scale=off)" : ", scale=off)"));
  }
  specs.insert(specs.end(), {"rope+alibi", "learned+t5(buckets=6, distance=7)",
                             "add(none, scale=off)+rope(pairing=adjacent, fraction=0.5)",
                             "[rope+window(size=3), none]", "[rope_learned+alibi, shaw+kerple_log]",
                             "t5+[rope, fire(hidden=4), none]", "rope_learned+fox", "pope+fox+window(size=5)",
                             "rope_value+alibi_learned+chunk(size=4)", "tupe+kerple_power"});
  return specs;
}

// A share of the channels is a width in a model of any size: the nearest even one.
TEST(Model, AShareOfTheChannelsIsAWidth) {
  const auto trained = [](std::int64_t width, const char* spec) {
    Trainer t(make_block("gpt", {.layers = 1, .width = width, .heads = 2, .length = 8}, Spec::parse(spec)),
              {}, 1);
    const std::vector<std::int32_t> bytes{1, 2, 3, 4, 5, 6, 7, 8};
    t.train({1, 8, bytes, bytes});
    return std::vector<float>(t.w.begin(), t.w.end());
  };
  EXPECT_EQ(trained(64, "concat(sinusoidal, share=0.25)"), trained(64, "concat(sinusoidal)"));
  EXPECT_EQ(trained(36, "concat(sinusoidal, share=0.28)"), trained(36, "concat(sinusoidal, width=10)"));
  EXPECT_EQ(trained(36, "concat(sinusoidal, share=0.01)"), trained(36, "concat(sinusoidal, width=2)"));
  EXPECT_NE(trained(64, "concat(sinusoidal, share=0.5)"), trained(64, "concat(sinusoidal)"));
}

bool needs_causal(const std::string& spec) {
  const Spec parsed = Spec::parse(spec);
  const auto needs = [](const Named& n) { return find_encoding(n.name).causal_only; };
  bool any = std::any_of(parsed.attention.begin(), parsed.attention.end(), needs);
  for (const auto& layer : parsed.layers) any = any || std::any_of(layer.begin(), layer.end(), needs);
  return any;
}

TEST(Model, LossAndGradientsAreThoseOfItsTwinForEverySpec) {
  for (const auto& spec : all_specs()) {
    for (const bool causal : {true, false}) {
      if (!causal && needs_causal(spec)) continue;
      SCOPED_TRACE(spec + (causal ? " causal" : " bidirectional"));
      Architecture config = small(spec);
      config.causal = causal;
      config.norm.form = causal ? NormForm::layer : NormForm::rms;
      expect_model_is_its_twin(config);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Model, TiedHeadAndPaddingToo) {
  Architecture config = small("learned+alibi");
  config.head.tied = true;
  expect_model_is_its_twin(config);
  config.head.tied = false;
  std::vector<std::uint8_t> padding(18);
  padding[17] = padding[16] = 1;
  config.causal = false;
  expect_model_is_its_twin(config, padding);
  Architecture reading = small("add(conv_position(kernel=4, groups=2), scale=off)");
  reading.causal = false;
  expect_model_is_its_twin(reading, padding);
}

// An input encoding that reads the words: not those of another document.
TEST(Model, AConvolutionStaysInItsDocument) {
  Architecture config = small("add(conv_position(kernel=7, groups=2), scale=off)");
  config.causal = false;
  const Model model(config);
  const Floats w = shaken(model);
  Text text;
  Tokens tokens = text.tokens(2, 12);
  const std::vector<std::int64_t> lengths{5, 1, 6};
  const Placement packed = Placement::packed(lengths);
  tokens.placement = &packed;
  Floats before(24 * kVocabulary), after(before.size());
  Session(model).logits(tokens, w, before);
  for (std::size_t n = 0; n < 5; ++n) text.inputs[n] = (text.inputs[n] + 1) % std::int32_t(kVocabulary);
  tokens.inputs = text.inputs;
  Session(model).logits(tokens, w, after);
  for (std::int64_t t = 0; t < 24; ++t) {
    const bool same =
        std::equal(&before[t * kVocabulary], &before[(t + 1) * kVocabulary], &after[t * kVocabulary]);
    EXPECT_EQ(same, t >= 5) << t;
  }
  try {
    Model(small("concat(conv_position, width=6)"));
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("has 6 channels and reads words of 10"), std::string::npos);
  }
}

TEST(Model, LogitsAgreeWithTheLossAndTheTwin) {
  Model model(small("project(sinusoidal)+t5"));
  const Floats w = shaken(model);
  const std::vector<double> W(w.begin(), w.end());
  Text text;
  const Tokens tokens = text.tokens(2, 7);
  Floats logits(14 * kVocabulary);
  Session(model).logits(tokens, w, logits);
  const ReferenceModel twin(model, W);
  for (std::int64_t b = 0; b < 2; ++b) {
    const auto want = twin.logits(tokens, b);
    for (std::int64_t t = 0; t < 7; ++t) {
      for (std::int64_t v = 0; v < kVocabulary; ++v)
        ASSERT_NEAR(logits[(b * 7 + t) * kVocabulary + v], want[t][v], 2e-5);
    }
  }
}

// Concatenate-and-project is an addition: W[x;e] + b = W_x x + (W_e e + b). The folded model adds a learned
// table.
TEST(Model, FoldsProjectionIntoAddition) {
  const std::int64_t d = 16, T = 12;
  Model project(small("project(sinusoidal)")), add(small("add(learned, scale=off)"));
  const Floats w = shaken(project);
  Floats folded(add.param_count());
  for (const auto& p : add.params()) {
    if (p.spec.name == "embed.word" || p.spec.name == "position.input.table") continue;
    std::copy_n(&w[project.param(p.spec.name).offset], p.spec.size(), &folded[p.offset]);
  }
  const float *W = &w[project.param("embed.combination.weight").offset],
              *b = &w[project.param("embed.combination.bias").offset];
  const float* words = &w[project.param("embed.word").offset];
  const auto e = make_encoding("sinusoidal", {d, 2, 8, T, true});
  const Placement place = Placement::consecutive(0, T);
  for (std::int64_t c = 0; c < d; ++c) {
    for (std::int64_t v = 0; v < kVocabulary; ++v) {
      double sum = 0;
      for (std::int64_t k = 0; k < d; ++k)
        sum += double(W[c * 2 * d + k]) * std::sqrt(double(d)) * words[v * d + k];
      folded[add.param("embed.word").offset + v * d + c] = float(sum);
    }
    for (std::int64_t t = 0; t < T; ++t) {
      double sum = b[c];
      for (std::int64_t k = 0; k < d; ++k)
        sum += double(W[c * 2 * d + d + k]) * part<InputPart>(*e)->input({place, {}, {}, {}}, t, k);
      folded[add.param("position.input.table").offset + t * d + c] = float(sum);
    }
  }
  Text text;
  const Tokens tokens = text.tokens(3, T);
  Floats a(3 * T * kVocabulary), f(3 * T * kVocabulary);
  Session(project).logits(tokens, w, a);
  Session(add).logits(tokens, folded, f);
  float largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::abs(a[i]));
    ASSERT_NEAR(a[i], f[i], 1e-4);
  }
  EXPECT_GT(largest, 0.5f);
  // The control: without the projection's position part the logits differ.
  const Param& table = add.param("position.input.table");
  std::fill_n(&folded[table.offset], table.spec.size(), 0.0f);
  Session(add).logits(tokens, folded, f);
  float difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) difference = std::max(difference, std::abs(a[i] - f[i]));
  EXPECT_GT(difference, 0.01f);
}

TEST(Model, ArmsStartFromTheSameSharedTensors) {
  const Model a(small("sinusoidal")), b(small("t5"));
  const Floats wa = a.initial(5), wb = b.initial(5), other = a.initial(6);
  for (const auto& p : a.params()) {
    const Param& q = b.param(p.spec.name);
    for (std::int64_t i = 0; i < p.spec.size(); ++i)
      ASSERT_EQ(wa[p.offset + i], wb[q.offset + i]) << p.spec.name;
  }
  EXPECT_NE(wa, other);
}

// DroPE: a model whose positions are dropped is the model without them, on the same weights.
TEST(Model, DroppedPositionsAreNone) {
  Text text;
  const Tokens tokens = text.tokens(2, 9);
  for (const char* spec : {"rope", "sinusoidal+fox", "[shaw, alibi]", "queries_keys(learned)"}) {
    Model with(small(spec)), without(small("none"));
    const Floats w = shaken(with);
    Floats plain(without.param_count());
    for (const auto& p : without.params())
      std::copy_n(&w[with.param(p.spec.name).offset], p.spec.size(), &plain[p.offset]);
    Floats losses(18);
    const double positioned = Session(with).loss(tokens, w, losses);
    Tokens dropped = tokens;
    dropped.drop_positions = true;
    EXPECT_NEAR(Session(with).loss(dropped, w, losses), Session(without).loss(tokens, plain, losses), 1e-6)
        << spec;
    EXPECT_GT(std::abs(Session(with).loss(dropped, w, losses) - positioned), 1e-4) << spec;
    Floats gradient(w.size());  // and what is dropped learns nothing
    Session(with).loss(dropped, w, losses, gradient);
    for (const auto& p : with.params()) {
      if (p.spec.name.rfind("position.", 0) != 0) continue;
      for (std::int64_t i = 0; i < p.spec.size(); ++i) ASSERT_EQ(gradient[p.offset + i], 0) << p.spec.name;
    }
  }
}

TEST(Model, ParametersStartWhereTheirEncodingSays) {
  for (const char* spec : {"alibi_learned", "kerple_log", "fope", "rope_learned", "shaw"}) {
    const Model model(small(spec));
    const Floats w = model.initial(5);
    const auto e = make_encoding(spec, {16, 2, 8, 12, true});
    std::size_t found = 0;
    for (const auto& own : e->params()) {
      for (const auto& p : model.params()) {
        if (p.spec.name != "position.attention.0." + std::string(e->per_layer() ? "1." : "") + own.name)
          continue;
        ++found;
        double distance = 0;
        for (std::int64_t i = 0; i < own.size(); ++i)
          distance += std::abs(w[p.offset + i] - own.initial(i, 0)) / double(own.size());
        EXPECT_NEAR(distance, std::sqrt(2 / M_PI) * own.deviation, 1e-6 + 0.3 * own.deviation) << p.spec.name;
      }
    }
    EXPECT_EQ(found, e->params().size());
  }
}

TEST(Model, BitsDoNotDependOnTheRepetition) {
  Model model(small("learned+t5"));
  const Floats w = shaken(model);
  Text text;
  const Tokens tokens = text.tokens(2, 12);
  Floats losses(24), first(w.size()), second(w.size());
  Session session(model);
  session.loss(tokens, w, losses, first);
  Text longer;
  Floats more(3 * 12);
  session.loss(longer.tokens(3, 12), w, more);  // another shape in between
  session.loss(tokens, w, losses, second);
  EXPECT_EQ(first, second);
}

TEST(Model, ALearnedTableHasNoValueBeyondItsLength) {
  Model model(small("learned"));
  EXPECT_EQ(model.positions_end(), 12);
  Text text;
  Floats losses(13);
  EXPECT_THROW(Session(model).loss(text.tokens(1, 13), model.initial(1), losses), Error);
  EXPECT_FALSE(Model(small("rope")).positions_end().has_value());
}

}  // namespace
}  // namespace gnomon
