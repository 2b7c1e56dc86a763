// Architectures against their twin in double: every option by itself and in the company it has in models that people use;
// and what is refused.
#include <gtest/gtest.h>

#include <set>

#include "gnomon/core/error.h"
#include "gnomon/nn/block.h"
#include "tests/nn/model_support.h"

namespace gnomon {
namespace {

// With few words: the twin's time goes into logits.
Architecture tiny(const std::string& spec) {
  Architecture a = small(spec);
  a.vocabulary = 19;
  return a;
}

struct Option {
  const char* name;
  void (*change)(Architecture&);
};

const Option kOptions[] = {
    {"rms", [](Architecture& a) { a.norm.form = NormForm::rms; }},
    {"rms, gain from one", [](Architecture& a) { a.norm.form = NormForm::rms_one_plus; }},
    {"layer norm without bias", [](Architecture& a) { a.norm.form = NormForm::layer_no_bias; }},
    {"epsilon", [](Architecture& a) { a.norm.epsilon = 0.03; }},
    {"norms before and after", [](Architecture& a) { a.norm.place = NormPlace::before_and_after; }},
    {"norms after the sublayer", [](Architecture& a) { a.norm.place = NormPlace::after_sublayer; }},
    {"norms after the sum", [](Architecture& a) { a.norm.place = NormPlace::after_sum; }},
    {"norm of the embedding", [](Architecture& a) { a.norm.embedding = true; }},
    {"layer norm without gain", [](Architecture& a) { a.norm.form = NormForm::layer_plain; }},
    {"norms of heads", [](Architecture& a) { a.norm.qk = QkNorm::shared; }},
    {"a norm of each head", [](Architecture& a) { a.norm.qk = QkNorm::own; }},
    {"norms of q and k", [](Architecture& a) { a.norm.qk = QkNorm::whole; }},
    {"norms of q and k in another form",
     [](Architecture& a) { a.norm.qk = QkNorm::own, a.norm.qk_form = NormForm::rms; }},
    {"norms of shared keys",
     [](Architecture& a) { a.norm.qk = QkNorm::own, a.attention.kv_heads = 1, a.norm.form = NormForm::rms; }},
    {"norm of one key head", [](Architecture& a) { a.norm.qk = QkNorm::whole, a.attention.kv_heads = 1; }},
    {"clipped", [](Architecture& a) { a.attention.clip = 0.4; }},
    {"no last norm", [](Architecture& a) { a.norm.last = false; }},
    {"no first norm", [](Architecture& a) { a.norm.first = false, a.norm.embedding = true; }},
    {"gelu", [](Architecture& a) { a.feed_forward.activation = Activation::gelu; }},
    {"silu", [](Architecture& a) { a.feed_forward.activation = Activation::silu; }},
    {"relu", [](Architecture& a) { a.feed_forward.activation = Activation::relu; }},
    {"gate", [](Architecture& a) { a.feed_forward.gating = Gating::on; }},
    {"gelu by a sigmoid", [](Architecture& a) { a.feed_forward.activation = Activation::gelu_sigmoid; }},
    {"clamped gate",
     [](Architecture& a) { a.feed_forward.gating = Gating::clamped, a.feed_forward.limit = 0.3; }},
    {"experts", [](Architecture& a) { a.feed_forward.experts = {.count = 3, .active = 2}; }},
    {"one expert of five",
     [](Architecture& a) {
       a.feed_forward.experts = {5, 1, Routing::of_all, true};
     }},
    {"all experts",
     [](Architecture& a) {
       a.feed_forward.experts = {2, 2, Routing::of_chosen, true};
     }},
    {"weights of all experts",
     [](Architecture& a) {
       a.feed_forward.experts = {4, 2, Routing::of_all};
     }},
    {"gated experts",
     [](Architecture& a) {
       a.feed_forward.experts = {3, 2, Routing::of_chosen, true}, a.feed_forward.gating = Gating::clamped;
       a.residual = Residual::parallel_one_norm;
     }},
    {"experts by sigmoids",
     [](Architecture& a) {
       a.feed_forward.experts = {4, 2, Routing::sigmoid}, a.feed_forward.experts.scale = 1.5;
     }},
    {"experts by sigmoids and a choice",
     [](Architecture& a) { a.feed_forward.experts = {4, 2, Routing::sigmoid_of_chosen, true, true, 2.5}; }},
    {"a choice of softmaxes",
     [](Architecture& a) { a.feed_forward.experts = {4, 2, Routing::of_chosen, false, true, 0.7}; }},
    {"a shared expert",
     [](Architecture& a) {
       a.feed_forward.gating = Gating::on, a.feed_forward.experts = {.count = 3, .active = 1, .shared = 10};
     }},
    {"a shared expert with a gate",
     [](Architecture& a) {
       a.feed_forward.experts = {.count = 3, .active = 2, .shared = 24, .shared_gate = true};
       a.norm.place = NormPlace::after_sum;
     }},
    {"experts in some layers",
     [](Architecture& a) {
       a.feed_forward.experts = {.count = 3, .active = 2, .shared = 8, .dense = {0}, .dense_hidden = 20};
     }},
    {"scaled residual", [](Architecture& a) { a.residual_scale = 0.6; }},
    {"scaled residual, norms after",
     [](Architecture& a) { a.residual_scale = 0.6, a.norm.place = NormPlace::before_and_after; }},
    {"scaled residual in the sum",
     [](Architecture& a) { a.residual_scale = 0.6, a.norm.place = NormPlace::after_sum; }},
    {"scaled residual in parallel",
     [](Architecture& a) { a.residual_scale = 0.6, a.residual = Residual::parallel; }},
    {"odd hidden width", [](Architecture& a) { a.feed_forward.hidden = 13; }},
    {"no biases", [](Architecture& a) { a.biases = kNoBiases; }},
    {"bias of q and v", [](Architecture& a) { a.biases.k = a.biases.out = a.biases.up = false; }},
    {"bias of k", [](Architecture& a) { a.biases.q = a.biases.v = a.biases.down = false; }},
    {"bias of q and k", [](Architecture& a) { a.biases.v = false; }},
    {"head size", [](Architecture& a) { a.attention.head_dim = 6; }},
    {"wide heads", [](Architecture& a) { a.attention.head_dim = 12; }},
    {"shared keys", [](Architecture& a) { a.attention.heads = 4, a.attention.head_dim = 4; }},
    {"one key head", [](Architecture& a) { a.attention.kv_heads = 1; }},
    {"scale", [](Architecture& a) { a.attention.scale = 0.7; }},
    {"soft-cap of attention", [](Architecture& a) { a.attention.soft_cap = 0.5; }},
    {"sinks", [](Architecture& a) { a.attention.sinks = true; }},
    {"parallel", [](Architecture& a) { a.residual = Residual::parallel; }},
    {"parallel, one norm", [](Architecture& a) { a.residual = Residual::parallel_one_norm; }},
    {"token types", [](Architecture& a) { a.token_types = 3; }},
    {"word scale", [](Architecture& a) { a.word_scale = 2.5; }},
    {"tied head", [](Architecture& a) { a.head.tied = true; }},
    {"bias of the head", [](Architecture& a) { a.head.bias = true; }},
    {"scaled logits", [](Architecture& a) { a.head.scale = 0.3, a.head.soft_cap = 0.8; }},
    {"soft-cap of logits", [](Architecture& a) { a.head.soft_cap = 0.8; }},
    {"transform", [](Architecture& a) { a.head = {.form = HeadForm::transform, .transform_bias = true}; }},
    {"tied transform",
     [](Architecture& a) { a.head = {.form = HeadForm::transform, .tied = true, .bias = true}; }},
    {"transform with an activation of its own",
     [](Architecture& a) { a.head = {.form = HeadForm::transform, .activation = Activation::relu}; }},
    {"vocabulary", [](Architecture& a) { a.vocabulary = 11; }},
    {"narrow words",
     [](Architecture& a) {
       a.narrow = {6, Widened::words, false}, a.word_scale = 1.5;
     }},
    {"narrow words, tied head, no last norm",
     [](Architecture& a) {
       a.narrow = {6, Widened::words, true}, a.head.tied = true, a.norm.last = false;
     }},
    {"narrow embedding, tied transform, token types",
     [](Architecture& a) {
       a.narrow = {6, Widened::embedding, true}, a.token_types = 3, a.norm.embedding = true;
       a.head = {.form = HeadForm::transform, .tied = true, .bias = true, .transform_bias = true};
     }},
    {"wide embedding without a norm",
     [](Architecture& a) {
       a.narrow = {20, Widened::embedding, false};
     }},
    {"cross attention", [](Architecture& a) { a.cross.emplace(); }},
    {"scaled cross attention, shared keys",
     [](Architecture& a) { a.cross = {.scale = 0.8}, a.attention.kv_heads = 1; }},
    {"cross attention, norms after the sum, soft-cap",
     [](Architecture& a) {
       a.cross.emplace(), a.norm.place = NormPlace::after_sum, a.attention.soft_cap = 0.5;
     }},
    {"cross attention, scaled residual, norms after",
     [](Architecture& a) {
       a.cross.emplace(), a.residual_scale = 0.6, a.norm.place = NormPlace::before_and_after;
     }},
    {"cross attention, no first norm, bias of q and v",
     [](Architecture& a) {
       a.cross.emplace(), a.norm.first = false, a.norm.embedding = true, a.biases.k = a.biases.out = false;
     }},
};

TEST(Blocks, EveryOptionIsItsTwin) {
  struct At {
    const char* spec;
    bool causal;
  };
  for (const Option& option : kOptions) {
    for (const At& at :
         {At{"rope", true}, {"sinusoidal+t5", false}, {"[rope+window(size=4), alibi]", true}}) {
      SCOPED_TRACE(std::string(option.name) + ", " + at.spec);
      Architecture a = tiny(at.spec);
      a.causal = at.causal;
      option.change(a);
      if (a.attention.scale != 0 && std::string(at.spec) != "rope") continue;
      expect_model_is_its_twin(a);
      if (HasFatalFailure()) return;
    }
  }
}

// Encodings that read the layer's input, its rows or its projections, or enter them, meet the options that change these.
TEST(Blocks, OptionsMeetEncodingsThatReadTheLayer) {
  const std::set<std::string> options{"norms after the sum",
                                      "norms of heads",
                                      "norms of q and k",
                                      "no biases",
                                      "bias of q and v",
                                      "head size",
                                      "shared keys",
                                      "parallel, one norm",
                                      "scaled residual",
                                      "clipped",
                                      "sinks",
                                      "experts",
                                      "layer norm without gain",
                                      "soft-cap of attention"};
  for (const char* spec : {"fox", "queries_keys(learned)+rope", "deberta_v2", "relative_key_query",
                           "every_layer(learned)+transformer_xl", "stick_breaking(current=on)+t5"}) {
    for (const Option& option : kOptions) {
      if (!options.count(option.name)) continue;
      Architecture a = tiny(spec);
      option.change(a);
      SCOPED_TRACE(std::string(option.name) + ", " + spec);
      try {
        a.check();
      } catch (const Error&) {
        continue;  // below: which are refused
      }
      expect_model_is_its_twin(a);
      if (HasFatalFailure()) return;
    }
  }
}

std::vector<std::uint8_t> last_two_padded() {
  std::vector<std::uint8_t> padding(18);
  padding[16] = padding[17] = 1;
  return padding;
}

TEST(Blocks, CompaniesOfOptionsAreTheirTwins) {
  const std::vector<std::int32_t> types{0, 0, 1, 1, 2, 0, 1, 1, 1, 2, 2, 2, 0, 0, 0, 0, 0, 1};
  Architecture bert = make_block("bert", kSmall, Spec::parse("add(learned, scale=off)"));
  bert.token_types = 3;
  expect_model_is_its_twin(bert, last_two_padded(), types);
  for (const char* spec :
       {"rope", "alibi+[shaw, deberta]", "deberta(layers=own)", "concat(sinusoidal, width=6, scale=off)"})
    expect_model_is_its_twin(make_block("llama", kSmall, Spec::parse(spec)));
  Architecture gemma = make_block("llama", kSmall, Spec::parse("[rope+window(size=3), rope(theta=500)]"));
  gemma.attention = {.heads = 4, .kv_heads = 2, .head_dim = 6, .scale = 0.3, .soft_cap = 2};
  gemma.norm = {.form = NormForm::rms_one_plus,
                .epsilon = 1e-6,
                .place = NormPlace::before_and_after,
                .qk = QkNorm::shared};
  gemma.head = {.tied = true, .soft_cap = 3};
  gemma.word_scale = 4;
  expect_model_is_its_twin(gemma);
  Architecture all = gemma;
  all.position = Spec::parse("queries_keys(learned, scale=off)+rope");
  all.attention.sinks = true, all.biases = {.q = true, .k = false, .v = true, .out = true};
  expect_model_is_its_twin(all);
}

TEST(Blocks, HiddenRowsAndTheirGradient) {
  Architecture a = make_block("bert", kSmall, Spec::parse("t5"));
  a.head = {.form = HeadForm::none}, a.norm.last = true;
  const Model model(a);
  const Floats w = shaken(model);
  std::vector<double> W(w.begin(), w.end());
  Text text;
  const Tokens tokens = text.tokens(2, 9);
  const Floats probe = normals(18 * 16, 4);
  Session session(model);
  Floats rows(probe.size()), gradient(w.size());
  session.hidden(tokens, w, rows);
  session.hidden_backward(tokens, w, probe, gradient);
  const ReferenceModel twin(model, W);
  const auto objective = [&] {
    double sum = 0;
    for (std::int64_t b = 0; b < 2; ++b) {
      const auto h = twin.hidden(tokens, b);
      for (std::int64_t n = 0; n < 9 * 16; ++n) sum += h[n / 16][n % 16] * double(probe[b * 9 * 16 + n]);
    }
    return sum;
  };
  const auto first = twin.hidden(tokens, 0);
  for (std::int64_t n = 0; n < 9 * 16; ++n) ASSERT_NEAR(rows[n], first[n / 16][n % 16], 2e-5);
  expect_gradient(W, gradient, objective, 97, 2e-4);
  Floats losses(18);
  EXPECT_THROW(session.loss(tokens, w, losses), Error);
}

// --- Bad input

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
  const auto experts = [](std::vector<std::int64_t> dense, std::int64_t hidden) {
    return Experts{.count = 2, .active = 1, .dense = std::move(dense), .dense_hidden = hidden};
  };
  expect_has(changed([&](auto& a) { a.feed_forward.experts = experts({2}, 8); }),
             "experts.dense: found 2, allowed are 0 to 1");
  expect_has(changed([&](auto& a) {
               a.feed_forward.experts = experts({1, 0}, 8);
             }),
             "found layers out of order or twice");
  expect_has(changed([&](auto& a) { a.feed_forward.experts = experts({1}, 0); }),
             "experts.dense_hidden: found 0");
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
