// Models of families that people use, filled from files that transformers made: what they compute, their gradients, and what
// they write through the key cache. Facts of each family: tests/golden/make_architectures.py.
#include <gtest/gtest.h>

#include <set>

#include "gnomon/core/text.h"
#include "tests/unit/golden_model.h"

namespace gnomon {
namespace {

// --- The families

using Sources = std::vector<Source>;
Sources operator+(Sources a, const Sources& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
// A norm or a dense layer with bias.
Sources norm(const std::string& ours, const std::string& theirs, bool bias = true) {
  Sources all{{ours + ".gain", theirs + ".weight"}};
  if (bias) all.push_back({ours + ".bias", theirs + ".bias"});
  return all;
}
Sources dense(const std::string& ours, const std::string& theirs, std::int64_t first = 0,
              How how = How::plain) {
  return {{ours + ".weight", theirs + ".weight", first, how},
          {ours + ".bias", theirs + ".bias", first, how == How::of_heads ? how : How::plain}};
}
const std::string kAttention = "layers.{}.attention.", kForward = "layers.{}.feed_forward.";

// Positions by rotation, words as they are.
Spec rotated(const std::string& in_attention) { return Spec::parse("add(none, scale=off)+" + in_attention); }

// What all golden models share: 40 words, 24 channels, 4 heads, 2 layers.
Architecture base(std::int64_t width, std::int64_t hidden) {
  Architecture a;
  a.layers = 2, a.width = width, a.vocabulary = 40, a.length = 20;
  a.attention = {.heads = 4, .kv_heads = 4, .head_size = width / 4};
  a.feed_forward.hidden = hidden;
  return a;
}

Family bert() {
  Architecture a = base(24, 40);
  a.causal = false, a.token_types = 2;
  a.norm = {.epsilon = 1e-12, .place = NormPlace::after_sum, .embedding = true, .last = false};
  a.feed_forward.activation = Activation::gelu;
  a.head = {.form = HeadForm::transform, .tied = true, .bias = true, .transform_bias = true};
  a.position = Spec::parse("add(learned, scale=off)");
  const std::string layer = "bert.encoder.layer.{}.", embed = "bert.embeddings.", head = "cls.predictions.";
  return {"bert", a,
          Sources{{"embed.word", embed + "word_embeddings.weight"},
                  {"position.input.table", embed + "position_embeddings.weight"},
                  {"embed.type", embed + "token_type_embeddings.weight"},
                  {"head.bias", head + "bias"}} +
              norm("embed.norm", embed + "LayerNorm") +
              dense(kAttention + "qkv", layer + "attention.self.query") +
              dense(kAttention + "qkv", layer + "attention.self.key", 24) +
              dense(kAttention + "qkv", layer + "attention.self.value", 48) +
              dense(kAttention + "out", layer + "attention.output.dense") +
              norm(kAttention + "norm_after", layer + "attention.output.LayerNorm") +
              dense(kForward + "up", layer + "intermediate.dense") +
              dense(kForward + "down", layer + "output.dense") +
              norm(kForward + "norm_after", layer + "output.LayerNorm") +
              dense("head.transform", head + "transform.dense") +
              norm("head.transform.norm", head + "transform.LayerNorm")};
}

Family deberta_v2() {
  Architecture a = bert().architecture;
  a.token_types = 0, a.norm.epsilon = 1e-7, a.head = {.form = HeadForm::none};
  a.position = rotated("deberta_v2(buckets=8, distance=16)");
  const std::string layer = "encoder.layer.{}.";
  return {"deberta_v2", a,
          Sources{{"embed.word", "embeddings.word_embeddings.weight"},
                  {"position.attention.0.table", "encoder.rel_embeddings.weight"}} +
              norm("embed.norm", "embeddings.LayerNorm") +
              norm("position.attention.0.norm", "encoder.LayerNorm") +
              dense(kAttention + "qkv", layer + "attention.self.query_proj") +
              dense(kAttention + "qkv", layer + "attention.self.key_proj", 24) +
              dense(kAttention + "qkv", layer + "attention.self.value_proj", 48) +
              dense(kAttention + "out", layer + "attention.output.dense") +
              norm(kAttention + "norm_after", layer + "attention.output.LayerNorm") +
              dense(kForward + "up", layer + "intermediate.dense") +
              dense(kForward + "down", layer + "output.dense") +
              norm(kForward + "norm_after", layer + "output.LayerNorm")};
}

Family gpt2() {
  Architecture a = base(24, 40);
  a.head.tied = true;
  a.position = Spec::parse("add(learned, scale=off)");
  const std::string layer = "transformer.h.{}.";
  return {
      "gpt2", a,
      Sources{{"embed.word", "transformer.wte.weight"}, {"position.input.table", "transformer.wpe.weight"}} +
          norm(kAttention + "norm", layer + "ln_1") +
          dense(kAttention + "qkv", layer + "attn.c_attn", 0, How::transposed) +
          dense(kAttention + "out", layer + "attn.c_proj", 0, How::transposed) +
          norm(kForward + "norm", layer + "ln_2") +
          dense(kForward + "up", layer + "mlp.c_fc", 0, How::transposed) +
          dense(kForward + "down", layer + "mlp.c_proj", 0, How::transposed) +
          norm("head.norm", "transformer.ln_f")};
}

Family gpt_neox() {
  Architecture a = base(32, 40);
  a.residual = Residual::parallel;
  a.feed_forward.activation = Activation::gelu;
  a.position = rotated("rope(pairing=halves, fraction=0.5)");
  const std::string layer = "gpt_neox.layers.{}.";
  return {"gpt_neox", a,
          Sources{{"embed.word", "gpt_neox.embed_in.weight"}, {"head.weight", "lm_head.weight"}} +
              norm(kAttention + "norm", layer + "input_layernorm") +
              dense(kAttention + "qkv", layer + "attention.query_key_value", 0, How::of_heads) +
              dense(kAttention + "out", layer + "attention.dense") +
              norm(kForward + "norm", layer + "post_attention_layernorm") +
              dense(kForward + "up", layer + "mlp.dense_h_to_4h") +
              dense(kForward + "down", layer + "mlp.dense_4h_to_h") +
              norm("head.norm", "gpt_neox.final_layer_norm")};
}

Family gptj() {
  Architecture a = base(32, 40);
  a.residual = Residual::parallel_one_norm;
  a.biases = {.q = false, .k = false, .v = false, .out = false};
  a.head.bias = true;
  a.position = rotated("rope(pairing=adjacent, fraction=0.5)");
  const std::string layer = "transformer.h.{}.";
  return {"gptj", a,
          Sources{{"embed.word", "transformer.wte.weight"},
                  {kAttention + "qkv.weight", layer + "attn.q_proj.weight"},
                  {kAttention + "qkv.weight", layer + "attn.k_proj.weight", 32},
                  {kAttention + "qkv.weight", layer + "attn.v_proj.weight", 64},
                  {kAttention + "out.weight", layer + "attn.out_proj.weight"}} +
              norm(kAttention + "norm", layer + "ln_1") + dense(kForward + "up", layer + "mlp.fc_in") +
              dense(kForward + "down", layer + "mlp.fc_out") + norm("head.norm", "transformer.ln_f") +
              dense("head", "lm_head")};
}

// Llama and its kin: RMS norms, a gate, grouped queries, no biases.
Architecture llama_architecture(std::int64_t head_size, double epsilon) {
  Architecture a = base(24, 36);
  a.attention = {.heads = 4, .kv_heads = 2, .head_size = head_size};
  a.norm = {.form = NormForm::rms, .epsilon = epsilon};
  a.feed_forward = {36, Activation::silu, true};
  a.biases = kNoBiases;
  a.position = rotated("rope(pairing=halves)");
  return a;
}
Sources llama_sources(const Architecture& a) {
  const std::string layer = "model.layers.{}.", attention = layer + "self_attn.", mlp = layer + "mlp.";
  const std::int64_t q = a.attention.q_width(), kv = a.attention.kv_width();
  Sources all{{"embed.word", "model.embed_tokens.weight"},
              {kAttention + "qkv.weight", attention + "q_proj.weight"},
              {kAttention + "qkv.weight", attention + "k_proj.weight", q},
              {kAttention + "qkv.weight", attention + "v_proj.weight", q + kv},
              {kAttention + "out.weight", attention + "o_proj.weight"},
              {kForward + "up.weight", mlp + "gate_proj.weight"},
              {kForward + "up.weight", mlp + "up_proj.weight", 36},
              {kForward + "down.weight", mlp + "down_proj.weight"},
              {kAttention + "norm.gain", layer + "input_layernorm.weight"},
              {"head.norm.gain", "model.norm.weight"}};
  const bool gemma = a.norm.place == NormPlace::before_and_after;
  all.push_back({kForward + "norm.gain",
                 layer + (gemma ? "pre_feedforward_layernorm.weight" : "post_attention_layernorm.weight")});
  if (gemma) {
    all.push_back({kAttention + "norm_after.gain", layer + "post_attention_layernorm.weight"});
    all.push_back({kForward + "norm_after.gain", layer + "post_feedforward_layernorm.weight"});
  }
  if (a.norm.heads) {
    all.push_back({kAttention + "q.norm.gain", attention + "q_norm.weight"});
    all.push_back({kAttention + "k.norm.gain", attention + "k_norm.weight"});
  }
  if (!a.head.tied) all.push_back({"head.weight", "lm_head.weight"});
  return all;
}

Family llama() {
  const Architecture a = llama_architecture(6, 1e-6);
  return {"llama", a, llama_sources(a)};
}
Family qwen3() {
  Architecture a = llama_architecture(8, 1e-6);
  a.norm.heads = true, a.head.tied = true;
  return {"qwen3", a, llama_sources(a)};
}
Family gemma2() {
  Architecture a = llama_architecture(8, 1e-6);
  a.norm.form = NormForm::rms_one_plus, a.norm.place = NormPlace::before_and_after;
  a.feed_forward.activation = Activation::gelu_tanh;
  a.attention.scale = 1 / std::sqrt(5.0), a.attention.soft_cap = 2;
  a.head = {.tied = true, .soft_cap = 2};
  a.word_scale = std::sqrt(24.0);
  a.position = rotated("[rope(pairing=halves)+window(size=5), rope(pairing=halves)]");
  return {"gemma2", a, llama_sources(a)};
}
Family gemma3() {
  Architecture a = gemma2().architecture;
  a.layers = 4, a.attention.soft_cap = 0, a.head.soft_cap = 0, a.norm.heads = true;
  a.position = rotated(
      "[rope(pairing=halves)+window(size=5), rope(pairing=halves)+window(size=5), rope(pairing=halves, "
      "theta=1000000), rope(pairing=halves)+window(size=5)]");
  return {"gemma3", a, llama_sources(a)};
}
Family phi3() {
  Architecture a = llama_architecture(6, 1e-5);
  a.position = rotated("rope(pairing=halves)+window(size=6)");
  const std::string layer = "model.layers.{}.";
  return {"phi3",
          a,
          {{"embed.word", "model.embed_tokens.weight"},
           {kAttention + "norm.gain", layer + "input_layernorm.weight"},
           {kAttention + "qkv.weight", layer + "self_attn.qkv_proj.weight"},
           {kAttention + "out.weight", layer + "self_attn.o_proj.weight"},
           {kForward + "norm.gain", layer + "post_attention_layernorm.weight"},
           {kForward + "up.weight", layer + "mlp.gate_up_proj.weight"},
           {kForward + "down.weight", layer + "mlp.down_proj.weight"},
           {"head.norm.gain", "model.norm.weight"},
           {"head.weight", "lm_head.weight"}}};
}
Family gpt_oss() {
  Architecture a = llama_architecture(8, 1e-5);
  a.attention.sinks = true;
  a.biases = {.up = false, .down = false};
  const std::string yarn = "yarn(pairing=halves, theta=150000, factor=4, original=512, truncate=off)";
  a.position = rotated("[" + yarn + "+window(size=5), " + yarn + "]");
  const std::string attention = "model.layers.{}.self_attn.";
  return {"gpt_oss", a,
          llama_sources(a) + Sources{{kAttention + "qkv.bias", attention + "q_proj.bias"},
                                     {kAttention + "qkv.bias", attention + "k_proj.bias", 32},
                                     {kAttention + "qkv.bias", attention + "v_proj.bias", 48},
                                     {kAttention + "out.bias", attention + "o_proj.bias"},
                                     {kAttention + "sinks", attention + "sinks"}}};
}

Family modernbert() {
  Architecture a = base(24, 32);
  a.layers = 4, a.causal = false;
  a.norm = {.form = NormForm::layer_no_bias, .embedding = true, .first = false};
  a.feed_forward = {32, Activation::gelu, true};
  a.biases = kNoBiases;
  a.head = {.form = HeadForm::transform, .tied = true, .bias = true};
  a.position = rotated(
      "[rope(pairing=halves, theta=160000), rope(pairing=halves)+window(size=4), "
      "rope(pairing=halves)+window(size=4)]");
  const std::string layer = "model.layers.{}.";
  return {"modernbert",
          a,
          {{"embed.word", "model.embeddings.tok_embeddings.weight"},
           {"embed.norm.gain", "model.embeddings.norm.weight"},
           {kAttention + "norm.gain", layer + "attn_norm.weight"},
           {kAttention + "qkv.weight", layer + "attn.Wqkv.weight"},
           {kAttention + "out.weight", layer + "attn.Wo.weight"},
           {kForward + "norm.gain", layer + "mlp_norm.weight"},
           {kForward + "up.weight", layer + "mlp.Wi.weight"},
           {kForward + "down.weight", layer + "mlp.Wo.weight"},
           {"head.norm.gain", "model.final_norm.weight"},
           {"head.transform.weight", "head.dense.weight"},
           {"head.transform.norm.gain", "head.norm.weight"},
           {"head.bias", "decoder.bias"}}};
}

Family t5(bool gated) {
  Architecture a = base(24, 40);
  a.causal = false;
  a.attention.head_size = 8, a.attention.scale = 1;
  a.norm = {.form = NormForm::rms, .epsilon = 1e-6};
  a.feed_forward = {40, gated ? Activation::gelu_tanh : Activation::relu, gated};
  a.biases = kNoBiases;
  a.head = {.form = HeadForm::none};
  a.position = rotated("t5(buckets=16, distance=20)");
  const std::string block = "encoder.block.{}.", attention = block + "layer.0.SelfAttention.",
                    mlp = block + "layer.1.DenseReluDense.";
  Sources all{
      {"embed.word", "shared.weight"},
      {"position.attention.0.bias", "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight"},
      {kAttention + "norm.gain", block + "layer.0.layer_norm.weight"},
      {kAttention + "qkv.weight", attention + "q.weight"},
      {kAttention + "qkv.weight", attention + "k.weight", 32},
      {kAttention + "qkv.weight", attention + "v.weight", 64},
      {kAttention + "out.weight", attention + "o.weight"},
      {kForward + "norm.gain", block + "layer.1.layer_norm.weight"},
      {kForward + "up.weight", mlp + (gated ? "wi_0.weight" : "wi.weight")},
      {kForward + "down.weight", mlp + "wo.weight"},
      {"head.norm.gain", "encoder.final_layer_norm.weight"}};
  if (gated) all.push_back({kForward + "up.weight", mlp + "wi_1.weight", 40});
  return {gated ? "t5_gated" : "t5_relu", a, all};
}

std::vector<Family> families() {
  return {bert(),   deberta_v2(), gpt2(), gpt_neox(), gptj(),       llama(),   qwen3(),
          gemma2(), gemma3(),     phi3(), gpt_oss(),  modernbert(), t5(false), t5(true)};
}

// --- The comparison

constexpr std::int64_t B = 2, T = 16;

class Architectures : public testing::TestWithParam<Family> {
 protected:
  Architectures()
      : golden(read_golden_model(GetParam().name)),
        model(GetParam().architecture),
        session(model),
        w(model.param_count()) {
    std::vector<bool> filled(w.size());
    each_source(GetParam(), model, golden,
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
  each_source(GetParam(), model, golden, [&](const std::string& name, const GoldenTensor&, const auto& to) {
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
