// Architectures against their twin in double: every option by itself and in the company it has in models that people use.
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
       a.feed_forward.experts = {.count = 3, .active = 2, .shared = 8};
       a.feed_forward.others = {{0}, 20};
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
    {"norms of values", [](Architecture& a) { a.norm.values = true; }},
    {"norms of values and keys",
     [](Architecture& a) { a.norm.values = true, a.norm.qk = QkNorm::whole, a.attention.kv_heads = 1; }},
    {"values that are keys", [](Architecture& a) { a.attention.keys_are_values = true; }},
    {"values that are keys, with norms",
     [](Architecture& a) {
       a.attention.keys_are_values = true, a.norm.values = true, a.norm.qk = QkNorm::shared;
     }},
    {"borrowed keys", [](Architecture& a) { a.keys_from = {0}; }},
    {"borrowed keys with norms",
     [](Architecture& a) {
       a.keys_from = {0}, a.norm.values = true, a.norm.qk = QkNorm::own, a.attention.kv_heads = 1;
     }},
    {"words of each layer", [](Architecture& a) { a.layer_words = 6; }},
    {"words of each layer and a scale",
     [](Architecture& a) {
       a.layer_words = 5, a.layer_scale = true, a.norm.form = NormForm::rms, a.word_scale = 1.5;
     }},
    {"scaled layers", [](Architecture& a) { a.layer_scale = true; }},
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

// Gemma 4: two kinds of layers, of which the last borrow keys, and the words of each layer.
TEST(Blocks, LayersThatDifferAreTheirTwins) {
  Architecture a =
      make_block("llama", {.layers = 4, .width = 16, .heads = 2, .feed_forward = 2, .length = 12},
                 Spec::parse("[rope+window(size=3), proportional(theta=500, share=0.5)]"));
  a.vocabulary = 19;
  a.other_heads = {.layers = {1, 3}, .kv_heads = 1, .head_dim = 12, .keys_are_values = true};
  a.norm = {
      .form = NormForm::rms, .place = NormPlace::before_and_after, .qk = QkNorm::shared, .values = true};
  a.attention.scale = 1;
  expect_model_is_its_twin(a);
  a.keys_from = {0, 1}, a.feed_forward.others = {{2, 3}, 20}, a.layer_words = 6, a.layer_scale = true;
  expect_model_is_its_twin(a);
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

}  // namespace
}  // namespace gnomon
