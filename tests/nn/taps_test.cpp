// Values of a pass read and rewritten by name: that they are the right ones, model_test and blocks_test see for every
// architecture and encoding; here, that what is written goes on, and what is refused.
#include <gtest/gtest.h>

#include <algorithm>

#include "gnomon/core/error.h"
#include "gnomon/nn/block.h"
#include "tests/nn/model_support.h"

namespace gnomon {
namespace {

constexpr std::int64_t kB = 2, kT = 9;

struct Watched {
  Model model;
  Floats w;
  Session session;
  Text text;
  Tokens tokens;
  explicit Watched(const Architecture& a)
      : model(a), w(shaken(model)), session(model), tokens(text.tokens(kB, kT)) {}
  explicit Watched(const std::string& spec) : Watched(small(spec)) {}
  Floats logits(const Taps& taps) {
    Floats all(std::size_t(kB * kT * model.architecture().vocabulary));
    tokens.taps = &taps;
    session.logits(tokens, w, all);
    tokens.taps = nullptr;
    return all;
  }
  Floats value(const std::string& name) {
    Floats found;
    logits({{name, [&](TapValue& value) { found = value.read(); }}});
    return found;
  }
  Floats with(const std::string& name, const std::function<Floats(const TapValue&)>& next) {
    return logits({{name, [&](TapValue& value) { value.write(next(value)); }}});
  }
};

TEST(Taps, NamesAreThoseOfThePass) {
  const auto names = [](const char* block, const char* spec) {
    return Model(make_block(block, {.layers = 1, .width = 16, .heads = 2, .length = 12}, Spec::parse(spec)))
        .tap_names();
  };
  EXPECT_EQ(names("gpt", "sinusoidal"), (std::vector<std::string>{"words",
                                                                  "positions",
                                                                  "embedded",
                                                                  "layers.0.resid_pre",
                                                                  "layers.0.attention.read",
                                                                  "layers.0.attention.q",
                                                                  "layers.0.attention.k",
                                                                  "layers.0.attention.v",
                                                                  "layers.0.attention.q_mapped",
                                                                  "layers.0.attention.k_mapped",
                                                                  "layers.0.attention.v_mapped",
                                                                  "layers.0.attention.logits",
                                                                  "layers.0.attention.weights",
                                                                  "layers.0.attention.attended",
                                                                  "layers.0.attention.written",
                                                                  "layers.0.resid_mid",
                                                                  "layers.0.feed_forward.read",
                                                                  "layers.0.feed_forward.up",
                                                                  "layers.0.feed_forward.hidden",
                                                                  "layers.0.feed_forward.written",
                                                                  "layers.0.resid_post",
                                                                  "last",
                                                                  "logits"}));
  const auto bert = names("bert", "rope");
  EXPECT_EQ(std::count(bert.begin(), bert.end(), "transformed"), 1);
  EXPECT_EQ(std::count(bert.begin(), bert.end(), "positions"), 0);
}

TEST(Taps, ShapesAreThoseOfTheirValues) {
  Architecture a = make_block("llama", {.layers = 1, .width = 16, .heads = 4, .kv_heads = 2, .length = 12},
                              Spec::parse("rerope(window=4)"));
  Watched m(a);
  const auto shape = [&](const std::string& name) {
    std::vector<std::int64_t> found;
    m.logits({{name, [&](TapValue& value) { found = value.shape(); }}});
    return found;
  };
  using Extents = std::vector<std::int64_t>;
  EXPECT_EQ(shape("words"), (Extents{kB, kT, 16}));
  EXPECT_EQ(shape("layers.0.attention.q"), (Extents{kB, 4, kT, 4}));
  EXPECT_EQ(shape("layers.0.attention.k"), (Extents{kB, 2, kT, 4}));
  EXPECT_EQ(shape("layers.0.attention.k_mapped"),
            (Extents{kB, 2, kT, 8}));  // with the far rotation beside it
  EXPECT_EQ(shape("layers.0.attention.v_mapped"), (Extents{kB, 2, kT, 4}));
  EXPECT_EQ(shape("layers.0.attention.weights"), (Extents{kB, 4, kT, kT}));
  EXPECT_EQ(shape("layers.0.feed_forward.up"), (Extents{kB, kT, 2 * a.feed_forward.hidden}));
  EXPECT_EQ(shape("logits"), (Extents{kB, kT, kVocabulary}));
}

// Every value, on its way into logits, with encodings of every kind: written as it was it changes nothing, written as another
// it changes something.
TEST(Taps, WhatIsWrittenGoesOn) {
  for (const char* spec :
       {"sinusoidal+alibi", "queries_keys(learned)+rope", "every_layer(sinusoidal)", "stick_breaking",
        "rerope(window=4)", "dape", "cope", "deberta", "shaw", "data_alibi", "[window(size=3), fox]"}) {
    for (const char* block : {"gpt", "llama", "bert"}) {
      Architecture a = make_block(block, kSmall, Spec::parse(spec));
      a.causal = true;
      Watched m(a);
      const Floats intact = m.logits({});
      for (const std::string& name : m.model.tap_names()) {
        SCOPED_TRACE(std::string(spec) + " " + block + " " + name);
        const Floats same = m.with(name, [](const TapValue& value) { return value.read(); });
        const bool weights = name.ends_with("weights");  // whose logarithms are taken
        for (std::size_t n = 0; n < same.size(); ++n)
          ASSERT_NEAR(same[n], intact[n], weights ? 1e-5 * std::max(1.0f, std::abs(intact[n])) : 0.0) << n;
        const Floats other = m.with(name, [](const TapValue& value) {
          Floats x = value.read();
          for (std::size_t n = 0; n < x.size(); ++n) x[n] *= n % 3 ? 0.5f : 1.0f;
          return x;
        });
        EXPECT_NE(other, intact);
      }
    }
  }
}

// What is between a value and the logits is a function of it alone: the stream of another text makes that text's logits.
TEST(Taps, TheStreamOfAnotherTextMakesItsLogits) {
  Watched m("rope+alibi");
  Watched other("rope+alibi");
  for (auto& token : other.text.inputs) token = 255 - token;
  const Floats want = other.logits({});
  ASSERT_NE(want, m.logits({}));
  for (const char* name :
       {"words", "embedded", "layers.0.resid_pre", "layers.0.resid_post", "layers.1.resid_pre",
        "layers.1.resid_mid", "layers.1.resid_post", "last", "logits"}) {
    const Floats value = other.value(name);
    EXPECT_EQ(m.with(name, [&](const TapValue&) { return value; }), want) << name;
  }
}

TEST(Taps, AttentionGoesByRewrittenLogitsAndWeights) {
  for (const char* spec : {"alibi", "stick_breaking(current=on)", "rope"}) {
    SCOPED_TRACE(spec);
    Watched m(spec);
    const Floats v = m.value("layers.0.attention.v");
    Floats attended;
    const auto with = [&](const char* name, float own, float hidden) {
      m.logits({{name,
                 [&](TapValue& value) {
                   Floats x = value.read();
                   for (std::size_t n = 0; n < x.size(); ++n) x[n] = n / kT % kT == n % kT ? own : hidden;
                   value.write(x);
                 }},
                {"layers.0.attention.attended", [&](TapValue& value) { attended = value.read(); }}});
    };
    // Every token its own value; and twice it, which no softmax makes.
    with("layers.0.attention.logits", 0, -INFINITY);
    for (std::size_t n = 0; n < v.size(); ++n) ASSERT_NEAR(attended[n], v[n], 1e-6);
    with("layers.0.attention.weights", 2, 0);
    for (std::size_t n = 0; n < v.size(); ++n) ASSERT_NEAR(attended[n], 2 * v[n], 1e-6);
  }
}

TEST(Taps, OfNewTokensAreThoseOfTheWholePass) {
  Watched m("rope");
  const std::int64_t V = kVocabulary, C = 16;
  const Floats whole = m.value("layers.1.resid_mid");
  Floats logits(std::size_t(kB * V)), seen;
  std::vector<std::int32_t> next(static_cast<std::size_t>(kB));
  const Taps taps{{"layers.1.resid_mid", [&](TapValue& value) { seen = value.read(); }}};
  m.session.begin(kB, kT);
  for (std::int64_t t = 0; t < kT; ++t) {
    for (std::int64_t b = 0; b < kB; ++b) next[std::size_t(b)] = m.text.inputs[std::size_t(b * kT + t)];
    Tokens one{kB, 1, next, {}};
    one.taps = &taps;
    m.session.extend(one, m.w, logits);
    for (std::int64_t n = 0; n < kB * C; ++n)
      ASSERT_NEAR(seen[std::size_t(n)], whole[std::size_t((n / C * kT + t) * C + n % C)], 1e-5);
  }
}

template <class F>
std::string refusal(const F& f) {
  try {
    f();
  } catch (const Error& e) {
    EXPECT_EQ(e.fault(), Fault::usage);
    return e.what();
  }
  return "it was not refused";
}
void expect_says(const std::string& why, const std::string& part) {
  EXPECT_NE(why.find(part), std::string::npos) << why;
}

TEST(Taps, WhatIsNoneIsRefused) {
  Watched m("rope");
  const auto looking = [&](const std::string& name) {
    return refusal([&] { m.logits({{name, [](TapValue&) {}}}); });
  };
  expect_says(looking("layers.0.attention.weight"), "did you mean 'layers.N.attention.weights'?");
  expect_says(looking("positions"), "Allowed: words, embedded, layers.N.resid_pre");
  expect_says(looking("layers.2.resid_mid"), "the model has layers 0 to 1; found 2");
  for (const char* name : {"", "resid_mid", "layers.N.resid_mid", "layers..resid_mid", "layers.-1.resid_mid",
                           "layers.01.resid_mid", "layers.0.", "layers.0", "transformed"})
    expect_says(looking(name), "unknown tap");
  expect_says(refusal([&] { m.logits({{"last", nullptr}}); }), "empty function");
  const auto writing = [&](const char* name, float x, int more) {
    return refusal([&] {
      m.with(name, [&](const TapValue& value) { return Floats(std::size_t(value.size() + more), x); });
    });
  };
  for (const std::string& name : m.model.tap_names()) expect_says(writing(name.c_str(), 1, 1), name + " has");
  for (const float x : {-0.5f, NAN, INFINITY})
    expect_says(writing("layers.0.attention.weights", x, 0), "a weight of");
}

TEST(Taps, NeitherGradientsNorInsideACache) {
  Watched m("rope");
  const Taps taps{{"last", [](TapValue&) {}}};
  Floats losses(std::size_t(kB * kT)), gradient(m.w.size()), rows(std::size_t(kB * kT * 16));
  m.tokens.taps = &taps;
  expect_says(refusal([&] { m.session.loss(m.tokens, m.w, losses, gradient); }), "passes without a gradient");
  expect_says(refusal([&] { m.session.hidden_backward(m.tokens, m.w, rows, gradient); }),
              "passes without a gradient");
  const Taps inside{{"layers.1.attention.weights", [](TapValue&) {}}};
  m.tokens.taps = &inside;
  Floats logits(std::size_t(kB * kVocabulary));
  m.session.begin(kB, kT);
  expect_says(refusal([&] { m.session.extend(m.tokens, m.w, logits); }), "does not exist with a key cache");
  // A pass that a tap gave up has appended its tokens to some layers: it cannot go on.
  struct Enough {};
  const Taps breaks{{"layers.1.resid_mid", [](TapValue&) { throw Enough(); }}};
  m.tokens.taps = &breaks;
  EXPECT_THROW(m.session.extend(m.tokens, m.w, logits), Enough);
  m.tokens.taps = nullptr;
  expect_says(refusal([&] { m.session.extend(m.tokens, m.w, logits); }), "extend() without begin()");
  EXPECT_EQ(m.logits({}).size(), std::size_t(kB * kT * kVocabulary));
}

}  // namespace
}  // namespace gnomon
