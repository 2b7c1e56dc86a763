// A decoder beside an encoder: generation, the gradient of both together, and what is refused. That each value and gradient of
// the decoder is its twin's says blocks_test.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "gnomon/core/error.h"
#include "gnomon/nn/sample.h"
#include "tests/nn/model_support.h"

namespace gnomon {
namespace {

constexpr std::int64_t kB = 2, kS = 5;

Architecture decoder(const char* spec) {
  Architecture a = small(spec);
  a.vocabulary = 19, a.cross = {.scale = 0.7};
  return a;
}
Architecture encoder() {
  Architecture a = small("t5");
  a.vocabulary = 19, a.causal = false, a.head = {.form = HeadForm::none};
  return a;
}

struct Pair {
  Model reads{encoder()}, writes{decoder("t5")};
  Floats w = shaken(reads), v = shaken(writes);
  std::vector<std::int32_t> source{5, 8, 7, 0, 3, 9, 2, 9, 18, 1};
  std::vector<std::uint8_t> padding{0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  Tokens asked() const {
    Tokens tokens{kB, kS, source, {}};
    tokens.padding = padding.data();
    return tokens;
  }
  Floats rows() const {
    Floats out(source.size() * 16);
    Session(reads).hidden(asked(), w, out);
    return out;
  }
};

TEST(CrossAttention, GreedyIsThatOfWholePasses) {
  const Pair pair;
  const Floats rows = pair.rows();
  constexpr std::int64_t kNew = 6;
  for (const char* spec : {"t5", "rope", "none", "[shaw, alibi]"}) {
    SCOPED_TRACE(spec);
    const Model model(decoder(spec));
    const Floats w = shaken(model);
    Session session(model);
    std::vector<std::int32_t> all{1, 2};
    for (std::int64_t T = 1; T <= kNew; ++T) {
      Tokens tokens{kB, T, all, {}};
      tokens.encoder = {kS, rows, pair.padding.data()};
      Floats logits(std::size_t(kB * T * 19));
      session.logits(tokens, w, logits);
      std::vector<std::int32_t> longer;
      for (std::int64_t b = 0; b < kB; ++b) {
        longer.insert(longer.end(), all.begin() + b * T, all.begin() + (b + 1) * T);
        const auto last = logits.begin() + ((b + 1) * T - 1) * 19;
        longer.push_back(std::int32_t(std::max_element(last, last + 19) - last));
      }
      all = longer;
    }
    const std::vector<std::int32_t> start{1, 2};
    Tokens prompt{kB, 1, start, {}};
    prompt.encoder = {kS, rows, pair.padding.data()};
    std::vector<std::int32_t> whole;
    for (std::int64_t b = 0; b < kB; ++b)
      whole.insert(whole.end(), all.begin() + b * (kNew + 1) + 1, all.begin() + (b + 1) * (kNew + 1));
    EXPECT_EQ(sample(session, w, prompt, {.count = kNew}), whole);
  }
}

// Through the decoder to the rows, and through the encoder to its parameters.
TEST(CrossAttention, TheGradientReachesTheEncoder) {
  Pair pair;
  Text text;
  Tokens tokens = text.tokens(kB, 7, 19);
  const Floats rows = pair.rows();
  tokens.encoder = {kS, rows, pair.padding.data()};
  Floats losses(14), drows(rows.size()), dv(pair.v.size()), dw(pair.w.size());
  Session(pair.writes).loss(tokens, pair.v, losses, dv, drows);
  Session(pair.reads).hidden_backward(pair.asked(), pair.w, drows, dw);
  std::vector<double> W(pair.w.begin(), pair.w.end()), V(pair.v.begin(), pair.v.end());
  const ReferenceModel reads(pair.reads, W);
  ReferenceModel writes(pair.writes, V);
  const auto objective = [&] {
    writes.encoder.clear();
    for (std::int64_t b = 0; b < kB; ++b) {
      for (const auto& row : reads.hidden(pair.asked(), b))
        writes.encoder.insert(writes.encoder.end(), row.begin(), row.end());
    }
    return writes.loss(tokens);
  };
  expect_gradient(W, dw, objective, 61, 2e-5);
}

std::string why(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    EXPECT_EQ(e.fault(), Fault::usage) << e.what();
    return e.what();
  }
  return "no error";
}
void expect_has(const std::string& message, const char* part) {
  EXPECT_NE(message.find(part), std::string::npos) << message << "\nlacks: " << part;
}

TEST(CrossAttention, RowsMustFitTheArchitecture) {
  const Pair pair;
  const Floats rows = pair.rows();
  const std::vector<std::int32_t> inputs(6, 3);
  const auto said = [&](const Model& model, const Floats& w, const EncoderRows& given) {
    Tokens tokens{kB, 3, inputs, inputs};
    tokens.encoder = given;
    Floats losses(6);
    return why([&] { Session(model).loss(tokens, w, losses); });
  };
  EXPECT_EQ(said(pair.writes, pair.v, {kS, rows}), "no error");
  expect_has(said(pair.writes, pair.v, {}), "has cross attention: found no encoder rows");
  expect_has(said(pair.writes, pair.v, {4, rows}), "encoder.rows");
  const Model plain(small("t5"));
  expect_has(said(plain, shaken(plain), {kS, rows}), "the architecture has no cross attention");
  Floats losses(6), drows(rows.size());
  Tokens tokens{kB, 3, inputs, inputs};
  tokens.encoder = {kS, rows};
  expect_has(why([&] { Session(pair.writes).loss(tokens, pair.v, losses, {}, drows); }),
             "dencoder is given without a gradient");
}

TEST(CrossAttention, RowsAreGivenOnceToNewTokens) {
  const Pair pair;
  const Floats rows = pair.rows();
  const std::vector<std::int32_t> two{1, 2};
  Floats logits(kB * 19);
  Session session(pair.writes);
  session.begin(kB, 4);
  Tokens tokens{kB, 1, two, {}};
  const auto extend = [&] { return why([&] { session.extend(tokens, pair.v, logits); }); };
  expect_has(extend(), "found no encoder rows");
  tokens.encoder = {kS, rows};
  EXPECT_EQ(extend(), "no error");
  expect_has(extend(), "encoder rows are given again");
  tokens.encoder = {};
  EXPECT_EQ(extend(), "no error");
  session.begin(kB, 4);  // another text, other rows
  expect_has(extend(), "found no encoder rows");
}

TEST(CrossAttention, WhatItIsNotDefinedWithIsRefused) {
  const auto changed = [](auto&& change) {
    Architecture a = decoder("rope");
    change(a);
    return why([&] { Model{a}; });
  };
  EXPECT_EQ(changed([](auto&) {}), "no error");
  expect_has(changed([](auto& a) { a.residual = Residual::parallel; }), "parallel sublayers");
  expect_has(changed([](auto& a) { a.norm.qk = QkNorm::shared; }), "norms of q and k");
  expect_has(changed([](auto& a) { a.attention.clip = 1; }), "a limit of q, k and v");
  expect_has(changed([](auto& a) { a.attention.sinks = true; }), "sinks");
  expect_has(changed([](auto& a) { a.cross->scale = -1; }), "cross.scale: found -1");
  expect_has(why([] { print_block(decoder("rope")); }), "a block has no cross attention");
}

}  // namespace
}  // namespace gnomon
