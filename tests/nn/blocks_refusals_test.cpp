// Blocks as text, and architectures and texts that are refused.
#include <gtest/gtest.h>

#include <cmath>

#include "gnomon/core/error.h"
#include "gnomon/nn/block.h"
#include "tests/nn/model_support.h"

namespace gnomon {
namespace {

std::string why(const Architecture& a) {
  try {
    Model{a};
  } catch (const Error& e) {
    EXPECT_EQ(e.fault(), Fault::usage) << e.what();
    return e.what();
  }
  return "no error";
}
template <class Change>
std::string changed(const Change& change, const char* spec = "none") {
  Architecture a = small(spec);
  change(a);
  return why(a);
}
void expect_has(const std::string& message, const char* part) {
  EXPECT_NE(message.find(part), std::string::npos) << message << "\nlacks: " << part;
}

TEST(Blocks, ImpossibleSizesAreRefused) {
  const auto sized = [](auto&& change) {
    BlockSizes sizes = kSmall;
    change(sizes);
    try {
      make_block("gpt", sizes, Spec::parse("none")).check();
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string("no error");
  };
  expect_has(sized([](auto& s) { s.heads = 0; }), "model.heads: found 0");
  expect_has(sized([](auto& s) { s.heads = 3; }), "16 is not divisible by model.heads 3");
  expect_has(sized([](auto& s) { s.length = 0; }), "model.length: found 0");
  expect_has(sized([](auto& s) { s.length = 1; }), "model.length: found 1");
  expect_has(sized([](auto& s) { s.layers = 0; }), "model.layers: found 0");
  expect_has(sized([](auto& s) { s.heads = 4, s.kv_heads = 3; }), "4 is not a multiple of model.kv_heads 3");
  expect_has(changed([](auto& a) { a.head.tied = true; }, "concat(sinusoidal, width=4)"), "model.tied");
  expect_has(changed([](auto& a) { a.attention.head_dim = 5; }, "rope"), "even numbers");
  try {
    make_block("gtp", kSmall, Spec::parse("none"));
    FAIL();
  } catch (const Error& e) {
    expect_has(e.what(), "did you mean 'gpt'? Allowed: gpt, llama, bert");
  }
}

// A block as text, and back: nothing of the architecture is lost.
TEST(Blocks, TextIsTheBlock) {
  const BlockSizes sizes{.layers = 2, .width = 64, .heads = 4, .length = 12};
  const auto made = [&](std::string_view block) { return make_block(block, sizes, Spec::parse("rope")); };
  for (const std::string_view name : block_names()) EXPECT_EQ(print_block(made(name)), name);
  for (const char* block :
       {"llama(group=4)", "llama(epsilon=1e-06, head_norm=on, group=2, hidden=3.5, tied=on)",
        "gpt(norm=rms_one_plus, scale=0.5, activation=relu, biases=q+v, word_scale=root, head_cap=30)",
        "gpt(scale=off, residual=parallel)", "bert(last_norm=on, types=0, head=matrix)",
        "bert(activation=relu, head_activation=gelu)", "bert(activation=relu)",
        "gpt(norm=layer_plain, head_norm=own, head_norm_form=layer_no_bias, clip=8)",
        "llama(head_norm=whole, activation=gelu_sigmoid, gated=clamped, gate_limit=5, experts=8, active=2, "
        "routing=of_all, router_bias=on, residual_scale=0.22, head_scale=0.125)"})
    EXPECT_EQ(print_block(made(block)), block);
  const Architecture gemma = made(
      "llama(norm=rms_one_plus, epsilon=1e-06, place=before_and_after, head_norm=on, group=2, scale=0.75, "
      "attention_cap=50, activation=gelu_tanh, hidden=6, word_scale=root, tied=on, head_cap=30)");
  EXPECT_EQ(gemma.norm.form, NormForm::rms_one_plus);
  EXPECT_EQ(gemma.norm.place, NormPlace::before_and_after);
  EXPECT_EQ(gemma.norm.qk, QkNorm::shared);
  EXPECT_EQ(gemma.attention.kv_heads, 2);
  EXPECT_DOUBLE_EQ(gemma.attention.scale, 0.75 / 4);  // of heads of 16 channels
  EXPECT_EQ(gemma.attention.soft_cap, 50);
  EXPECT_EQ(gemma.feed_forward.activation, Activation::gelu_tanh);
  EXPECT_EQ(gemma.feed_forward.hidden, 384);
  EXPECT_EQ(gemma.word_scale, 8);
  EXPECT_TRUE(gemma.head.tied);
  EXPECT_EQ(gemma.head.soft_cap, 30);
  EXPECT_EQ(gemma.biases, kNoBiases);
  // A feed-forward part and heads that are asked for are so whatever the block has; heads are shared as far as they divide.
  BlockSizes own = sizes;
  own.feed_forward = 2, own.kv_heads = 4;
  EXPECT_EQ(make_block("llama(group=2, hidden=6)", own, {}).feed_forward.hidden, 88);  // 2/3 of 128, up to 8
  EXPECT_EQ(make_block("llama(group=2)", own, {}).attention.kv_heads, 4);
  EXPECT_EQ(made("llama(group=3)").attention.kv_heads, 2);
}

TEST(Blocks, TextsThatAreNoBlockAreRefused) {
  const auto said = [](std::string_view block) {
    try {
      make_block(block, kSmall, Spec::parse("none"));
    } catch (const Error& e) {
      EXPECT_EQ(e.fault(), Fault::usage);
      return std::string(e.what());
    }
    return std::string("no error");
  };
  expect_has(said("llama(groups=4)"), "unknown option 'groups': did you mean 'group'?");
  expect_has(said("llama(norm=rmsnorm)"),
             "norm: found \"rmsnorm\", allowed are layer, layer_no_bias, rms, rms_one_plus, layer_plain");
  expect_has(said("llama(group=4"), "expected ')' at the end");
  expect_has(said("llama()"), "expected options between the brackets");
  expect_has(said("llama(group)"), "expected option=value");
  expect_has(said("llama(group=2, group=4)"), "group is given twice");
  expect_has(said("llama(epsilon=nan)"), "epsilon: found \"nan\"");
  expect_has(said("llama(hidden=-1)"), "hidden: found \"-1\"");
  expect_has(said("gpt(biases=q+w)"), "biases: found \"w\"");
  expect_has(said(""), "unknown model.block ''");
}

TEST(Blocks, ContradictionsAreRefused) {
  expect_has(changed([](auto& a) { a.attention.kv_heads = 3; }), "kv_heads: found 3, allowed are 1 to 2");
  expect_has(changed([](auto& a) { a.norm.epsilon = 0; }),
             "norm.epsilon: found 0, allowed are finite numbers above 0");
  expect_has(changed([](auto& a) { a.norm.epsilon = NAN; }), "norm.epsilon: found nan");
  expect_has(changed([](auto& a) { a.attention.scale = -1; }), "attention.scale: found -1");
  expect_has(changed([](auto& a) { a.head.soft_cap = INFINITY; }), "head.soft_cap: found inf");
  expect_has(changed([](auto& a) { a.vocabulary = 0; }), "vocabulary: found 0");
  expect_has(changed([](auto& a) { a.token_types = -1; }), "token_types: found -1");
  expect_has(changed([](auto& a) { a.feed_forward.hidden = 0; }), "hidden: found 0");
  expect_has(changed([](auto& a) { a.residual = Residual::parallel, a.norm.place = NormPlace::after_sum; }),
             "parallel sublayers need their norms before them");
  expect_has(changed([](auto& a) { a.norm.first = false, a.norm.place = NormPlace::after_sum; }),
             "the first norm can be omitted only");
  expect_has(changed([](auto& a) { a.head = {.form = HeadForm::none, .tied = true}; }),
             "a model without a head");
  expect_has(changed([](auto& a) { a.head = {.form = HeadForm::none, .scale = 2}; }),
             "a model without a head");
  expect_has(changed([](auto& a) { a.head.scale = 0; }), "head.scale: found 0");
  expect_has(changed([](auto& a) { a.residual_scale = 0; }), "residual_scale: found 0");
  expect_has(changed([](auto& a) { a.attention.clip = -1; }), "attention.clip: found -1");
  expect_has(changed([](auto& a) { a.attention.clip = 1, a.norm.qk = QkNorm::whole; }),
             "q and k with norms cannot be clipped");
  expect_has(changed([](auto& a) { a.norm.qk_form = NormForm::rms; }), "q and k have no norms");
  expect_has(changed([](auto& a) { a.feed_forward.experts = {.count = 4}; }), "experts.active: found 0");
  expect_has(changed([](auto& a) { a.feed_forward.experts = {.count = 4, .active = 5}; }),
             "experts.active: found 5, allowed are 1 to 4");
  expect_has(changed([](auto& a) { a.feed_forward.experts = {.active = 1}; }), "there are no experts");
  expect_has(changed([](auto& a) { a.feed_forward.experts.shared = 4; }), "there are no experts");
  expect_has(changed([](auto& a) {
               a.feed_forward.others = {{2}, 8};
             }),
             "feed_forward.others: found 2, allowed are 0 to 1");
  expect_has(changed([](auto& a) {
               a.feed_forward.others = {{1, 0}, 8};
             }),
             "found layers out of order or twice");
  expect_has(changed([](auto& a) {
               a.feed_forward.others = {{1}, 0};
             }),
             "feed_forward.others.hidden: found 0");
  expect_has(changed([](auto& a) { a.keys_from = {1}; }), "keys_from: found 1, allowed are 0 to 0");
  expect_has(changed([](auto& a) { a.keys_from = {0, 0}; }), "keys_from: found 2 layers, allowed are 0 to 1");
  expect_has(changed([](auto& a) { a.attention.keys_are_values = true, a.attention.clip = 1; }),
             "layers without a matrix of values cannot clip");
  const auto other = [](auto& a) { a.other_heads = {.layers = {1}, .kv_heads = 1, .head_dim = 12}; };
  expect_has(changed(other, "rope"), "'rope' is the same in all layers");
  expect_has(changed([&](auto& a) { other(a), a.keys_from = {0}; }, "[rope, alibi]"),
             "layers 1 and 0 have other heads");
  expect_has(changed([&](auto& a) { other(a), a.cross.emplace(); }, "[rope, alibi]"),
             "not defined with layers that make");
  expect_has(changed([](auto& a) {
               a.layer_words = 4, a.narrow = {8, Widened::words};
             }),
             "as wide as the stream");
  expect_has(changed([](auto& a) { a.head.transform_bias = true; }), "the head has no transform");
  expect_has(changed([](auto& a) { a.narrow = {0, Widened::words}; }), "narrow.width: found 0");
  expect_has(changed(
                 [](auto& a) {
                   a.narrow = {8, Widened::embedding};
                 },
                 "every_layer(learned)"),
             "adds positions of the stream's width in every layer");
  expect_has(changed([](auto& a) { a.head.activation = Activation::relu; }), "the head has no transform");
}

TEST(Blocks, SpecsThatAnArchitectureCannotTakeAreRefused) {
  const auto shared = [](auto& a) { a.attention.kv_heads = 1; };
  expect_has(changed(shared, "rope_learned"), "maps k in each of 2 heads: kv_heads is 1; allowed is 2");
  expect_has(changed(shared, "pope"), "kv_heads is 1; allowed is 2");
  expect_has(changed(shared, "tupe"), "kv_heads is 1; allowed is 2");
  expect_has(changed(shared, "deberta_v2"), "kv_heads is 1; allowed is 2");
  expect_has(changed([](auto& a) { a.norm.qk = QkNorm::shared; }, "deberta_v2"),
             "reads the projections of q and k: they have norms (norm.qk); allowed is none");
  expect_has(changed([](auto& a) { a.attention.clip = 1; }, "deberta_v2"),
             "reads the projections of q and k: attention.clip is on; allowed is 0");
  expect_has(changed([](auto& a) { a.attention.sinks = true; }, "stick_breaking"), "has no softmax");
  expect_has(changed([](auto& a) { a.causal = false; }, "cope"), "needs a causal model");
}

TEST(Blocks, WrongTokensAreRefused) {
  Architecture a = small("rope");
  a.vocabulary = 11, a.token_types = 2;
  const Model model(a);
  const Floats w = model.initial(1);
  Session session(model);
  std::vector<std::int32_t> inputs(6, 3), targets(6, 4), types(6, 1);
  Floats losses(6);
  const auto message = [&](const Tokens& tokens) {
    try {
      session.loss(tokens, w, losses);
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string("no error");
  };
  Tokens tokens{2, 3, inputs, targets};
  tokens.types = types;
  EXPECT_EQ(message(tokens), "no error");
  inputs[4] = 11;
  expect_has(message(tokens), "input 4 is 11; allowed are 0 to 10");
  inputs[4] = 0, types[2] = 2;
  expect_has(message(tokens), "type 2 is 2; allowed are 0 to 1");
  types[2] = 0, targets[5] = 11;
  expect_has(message(tokens), "target 5 is 11; allowed are 0 to 10");
  targets[5] = 0, tokens.targets = tokens.targets.first(5);
  expect_has(message(tokens), "targets has 5");
  tokens.targets = targets, tokens.types = tokens.types.first(2);
  expect_has(message(tokens), "types has 2");
  const Model plain(small("rope"));
  tokens.types = types;
  try {
    Session(plain).loss(tokens, plain.initial(1), losses);
    FAIL();
  } catch (const Error& e) {
    expect_has(e.what(), "the architecture has no token types");
  }
}

}  // namespace
}  // namespace gnomon
