// Models of families that people use, filled from files that transformers made: what they compute, their gradients, and what
// they write through the key cache. Facts of each family: tests/golden/make_architectures.py.
#include <gtest/gtest.h>

#include <set>

#include "gnomon/core/text.h"
#include "tests/nn/golden_model.h"

namespace gnomon {
namespace {

// --- The families

// Positions by rotation, words as they are.
Spec rotated(const std::string& in_attention) { return Spec::parse("add(none, scale=off)+" + in_attention); }

// What all golden models share: 40 words, 24 channels, 4 heads, 2 layers.
Architecture base(std::int64_t width, std::int64_t hidden) {
  Architecture a;
  a.layers = 2, a.width = width, a.vocabulary = 40, a.length = 20;
  a.attention = {.heads = 4, .kv_heads = 4, .head_dim = width / 4};
  a.feed_forward.hidden = hidden;
  return a;
}

GoldenFamily bert() {
  Architecture a = base(24, 40);
  a.causal = false, a.token_types = 2;
  a.norm = {.epsilon = 1e-12, .place = NormPlace::after_sum, .embedding = true, .last = false};
  a.feed_forward.activation = Activation::gelu;
  a.head = {.form = HeadForm::transform, .tied = true, .bias = true, .transform_bias = true};
  a.position = Spec::parse("add(learned, scale=off)");
  return {"bert", a, {}};
}

GoldenFamily deberta_v2() {
  Architecture a = bert().architecture;
  a.token_types = 0, a.norm.epsilon = 1e-7, a.head = {.form = HeadForm::none};
  a.position = rotated("deberta_v2(buckets=8, distance=16)");
  return {"deberta_v2", a, "deberta-v2"};
}

GoldenFamily gpt2() {
  Architecture a = base(24, 40);
  a.head.tied = true;
  a.position = Spec::parse("add(learned, scale=off)");
  return {"gpt2", a, {}};
}

GoldenFamily gpt_neox() {
  Architecture a = base(32, 40);
  a.residual = Residual::parallel;
  a.feed_forward.activation = Activation::gelu;
  a.position = rotated("rope(pairing=halves, fraction=0.5)");
  return {"gpt_neox", a, {}};
}

GoldenFamily gptj() {
  Architecture a = base(32, 40);
  a.residual = Residual::parallel_one_norm;
  a.biases = {.q = false, .k = false, .v = false, .out = false};
  a.head.bias = true;
  a.position = rotated("rope(pairing=adjacent, fraction=0.5)");
  return {"gptj", a, {}};
}

// Llama and its kin: RMS norms, a gate, grouped queries, no biases.
Architecture llama_architecture(std::int64_t head_dim, double epsilon) {
  Architecture a = base(24, 36);
  a.attention = {.heads = 4, .kv_heads = 2, .head_dim = head_dim};
  a.norm = {.form = NormForm::rms, .epsilon = epsilon};
  a.feed_forward = {36, Activation::silu, Gating::on};
  a.biases = kNoBiases;
  a.position = rotated("rope(pairing=halves)");
  return a;
}

GoldenFamily llama() { return {"llama", llama_architecture(6, 1e-6), {}}; }
GoldenFamily qwen3() {
  Architecture a = llama_architecture(8, 1e-6);
  a.norm.qk = QkNorm::shared, a.head.tied = true;
  return {"qwen3", a, {}};
}
GoldenFamily gemma2() {
  Architecture a = llama_architecture(8, 1e-6);
  a.norm.form = NormForm::rms_one_plus, a.norm.place = NormPlace::before_and_after;
  a.feed_forward.activation = Activation::gelu_tanh;
  a.attention.scale = 1 / std::sqrt(5.0), a.attention.soft_cap = 2;
  a.head = {.tied = true, .soft_cap = 2};
  a.word_scale = std::sqrt(24.0);
  a.position = rotated("[rope(pairing=halves)+window(size=5), rope(pairing=halves)]");
  return {"gemma2", a, {}};
}
GoldenFamily gemma3() {
  Architecture a = gemma2().architecture;
  a.layers = 4, a.attention.soft_cap = 0, a.head.soft_cap = 0, a.norm.qk = QkNorm::shared;
  a.position = rotated(
      "[rope(pairing=halves)+window(size=5), rope(pairing=halves)+window(size=5), rope(pairing=halves, "
      "theta=1000000), rope(pairing=halves)+window(size=5)]");
  return {"gemma3", a, {}};
}
GoldenFamily phi3() {
  Architecture a = llama_architecture(6, 1e-5);
  a.position = rotated("rope(pairing=halves)+window(size=6)");
  return {"phi3", a, {}};
}
GoldenFamily gpt_oss() {
  Architecture a = llama_architecture(8, 1e-5);
  a.attention.sinks = true;
  a.biases = {.up = false, .down = false};
  const std::string yarn = "yarn(pairing=halves, theta=150000, factor=4, original=512, truncate=off)";
  a.position = rotated("[" + yarn + "+window(size=5), " + yarn + "]");
  return {"gpt_oss", a, "llama"};  // whose feed-forward part stands there for its experts
}

GoldenFamily modernbert() {
  Architecture a = base(24, 32);
  a.layers = 4, a.causal = false;
  a.norm = {.form = NormForm::layer_no_bias, .embedding = true, .first = false};
  a.feed_forward = {32, Activation::gelu, Gating::on};
  a.biases = kNoBiases;
  a.head = {.form = HeadForm::transform, .tied = true, .bias = true};
  a.position = rotated(
      "[rope(pairing=halves, theta=160000), rope(pairing=halves)+window(size=4), "
      "rope(pairing=halves)+window(size=4)]");
  return {"modernbert", a, {}};
}

GoldenFamily t5(bool gated) {
  Architecture a = base(24, 40);
  a.causal = false;
  a.attention.head_dim = 8, a.attention.scale = 1;
  a.norm = {.form = NormForm::rms, .epsilon = 1e-6};
  a.feed_forward = {40, gated ? Activation::gelu_tanh : Activation::relu, gated ? Gating::on : Gating::off};
  a.biases = kNoBiases;
  a.head = {.form = HeadForm::none};
  a.position = rotated("t5(buckets=16, distance=20)");
  return {gated ? "t5_gated" : "t5_relu", a, "t5"};
}

std::vector<GoldenFamily> families() {
  return {bert(),   deberta_v2(), gpt2(), gpt_neox(), gptj(),       llama(),   qwen3(),
          gemma2(), gemma3(),     phi3(), gpt_oss(),  modernbert(), t5(false), t5(true)};
}

// --- The comparison

constexpr std::int64_t B = 2, T = 16;

class Architectures : public testing::TestWithParam<GoldenFamily> {
 protected:
  Architectures()
      : golden(read_golden_model(GetParam().name)),
        model(GetParam().architecture),
        session(model),
        w(model.param_count()) {
    std::vector<bool> filled(w.size());
    each_piece(GetParam(), model, golden,
               [&](const std::string& name, const GoldenTensor& t, const auto& to) {
                 for (std::int64_t n = 0; n < std::int64_t(t.data.size()); ++n)
                   w[to(n)] = t.data[n], filled[to(n)] = true;
                 named.insert(name);
               });
    for (const Param& p : model.params()) {
      for (std::int64_t n = 0; n < p.spec.size(); ++n) whole = whole && filled[std::size_t(p.offset + n)];
      EXPECT_TRUE(whole) << "not filled: " << p.spec.name;
    }
    inputs = golden.at("inputs").whole();
    if (golden.has("token_types")) types = golden.at("token_types").whole();
    if (golden.has("mask")) {
      for (const float x : golden.at("mask").data) padding.push_back(x == 0);
    }
    if (golden.has("targets")) {
      for (const float x : golden.at("targets").data) targets.push_back(x < 0 ? kUnscored : std::int32_t(x));
    }
    tokens = {B, T, inputs, targets};
    tokens.types = types, tokens.padding = padding.empty() ? nullptr : padding.data();
  }
  bool headless() const { return model.architecture().head.form == HeadForm::none; }
  Floats output() {
    Floats rows(golden.at(headless() ? "hidden" : "logits").data.size());
    headless() ? session.hidden(tokens, w, rows) : session.logits(tokens, w, rows);
    return rows;
  }
  // Where there is a token.
  double difference(const Floats& a, const Floats& b) const {
    const std::size_t width = a.size() / (B * T);
    double most = 0;
    for (std::size_t n = 0; n < a.size(); ++n) {
      if (padding.empty() || !padding[n / width]) most = std::max(most, double(std::abs(a[n] - b[n])));
    }
    return most;
  }

  const GoldenModel golden;
  const Model model;
  Session session;
  Floats w;
  std::set<std::string> named;
  std::vector<std::int32_t> inputs, targets, types;
  std::vector<std::uint8_t> padding;
  Tokens tokens{};
  bool whole = true;
};
INSTANTIATE_TEST_SUITE_P(Families, Architectures, testing::ValuesIn(families()),
                         [](const auto& tested) { return tested.param.name; });

TEST_P(Architectures, GiveTheNumbersOfTransformers) {
  const Floats found = output();
  const GoldenTensor& want = golden.at(headless() ? "hidden" : "logits");
  RecordProperty("difference", shortest(difference(found, want.data)));
  EXPECT_LT(difference(found, want.data), 2e-4);
  EXPECT_GT(difference(found, golden.at("control").data), 1e-3) << "the wrong convention gives the same";
}

TEST_P(Architectures, HaveTheGradientsOfTorch) {
  Floats gradient(w.size());
  if (headless()) {
    Floats probe = golden.at("probe").data;
    double scored = 0;
    for (const auto hidden : padding) scored += hidden ? 0 : 1;
    for (float& x : probe) x = float(double(x) / scored);
    session.hidden_backward(tokens, w, probe, gradient);
  } else {
    Floats losses(B * T);
    EXPECT_NEAR(session.loss(tokens, w, losses, gradient), double(golden.at("loss").data[0]), 2e-5);
  }
  std::size_t compared = 0;
  double worst = 0;  // of any parameter, as a share of its largest
  each_piece(GetParam(), model, golden, [&](const std::string& name, const GoldenTensor&, const auto& to) {
    const GoldenTensor& want = golden.at("gradients." + name);
    double most = 0, off = 0;
    for (std::int64_t n = 0; n < std::int64_t(want.data.size()); ++n) {
      most = std::max(most, double(std::abs(want.data[n])));
      off = std::max(off, double(std::abs(gradient[to(n)] - want.data[n])));
    }
    // The bias of keys alone has none: a number added to all logits of a query.
    if (name.find(".key.bias") != std::string::npos && GetParam().name == "bert") {
      EXPECT_LT(most, 1e-6) << name;
      EXPECT_LT(off, 1e-6) << name;
    } else {
      EXPECT_GT(most, 0) << name;
      worst = std::max(worst, off / most);
      EXPECT_LT(off, 1e-3 * most) << name << ", whose largest is " << most;
    }
    ++compared;
  });
  RecordProperty("gradient", shortest(worst));
  std::size_t gradients = 0;
  for (const auto& [name, tensor] : golden.tensors) gradients += name.rfind("gradients.", 0) == 0;
  EXPECT_EQ(compared, gradients);
  EXPECT_EQ(named.size(), gradients);
}

TEST_P(Architectures, WriteTheSameThroughTheCache) {
  if (!golden.has("generated")) {
    EXPECT_FALSE(model.architecture().causal);
    return;
  }
  std::vector<std::int32_t> prompt;
  for (std::int64_t b = 0; b < B; ++b) prompt.insert(prompt.end(), &inputs[b * T], &inputs[b * T] + 6);
  EXPECT_EQ(sample(session, w, {B, 6, prompt, {}}, {.count = 8}), golden.at("generated").whole());
  // Token by token, and some at once: the logits of the whole pass.
  const std::int64_t V = model.architecture().vocabulary;
  const Floats want = output();
  Floats logits(B * V);
  session.begin(B, T);
  for (std::int64_t t = 0, n; t < T; t += n) {
    n = t == 3 ? 5 : 1;
    std::vector<std::int32_t> next;
    for (std::int64_t b = 0; b < B; ++b) next.insert(next.end(), &inputs[b * T + t], &inputs[b * T + t] + n);
    session.extend({B, n, next, {}}, w, logits);
    for (std::int64_t i = 0; i < B * V; ++i)
      ASSERT_NEAR(logits[i], want[(i / V * T + t + n - 1) * V + i % V], 1e-4) << "token " << t + n - 1;
  }
  EXPECT_EQ(session.length(), T);
}

}  // namespace
}  // namespace gnomon
