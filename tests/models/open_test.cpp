// Whole folders and GGUF files, opened end to end: what transformers computes from them (tests/golden/opened, by make_opened.py),
// and what is refused.
#include "gnomon/models/run/open.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "gnomon/core/text.h"
#include "gnomon/models/run/names.h"
#include "gnomon/nn/session.h"
#include "tests/support/files.h"

namespace gnomon {
namespace {

const Path kOpened = GNOMON_TESTS "/golden/opened";
const std::vector<std::string> kFolders{
    "bert", "bert_bare", "roberta", "mpnet", "deberta_v2", "modernbert", "t5", "t5_whole", "gpt2", "gpt_neox",
    "gptj", "llama", "llama_bare", "mistral", "qwen2", "qwen3", "smollm3", "gemma2", "gemma3", "phi3",
    "gguf_llama", "gguf_llama_tied", "gguf_qwen2", "gguf_phi3", "gguf_gemma2", "gguf_gpt2", "gguf_gpt_neox",
    "gguf_bert",
    // Settings beside the usual ones: activations of the head, rows of no token, types.
    "roberta_relu_pad0", "camembert_pad3", "xlm_roberta_new", "mpnet_relu", "bert_relu", "modernbert_silu",
    "deberta_v2_types"};
// With the rows between the layers, and what a decoder writes.
const std::vector<std::string> kMore{"gemma",
                                     "olmo",
                                     "olmo_biased",
                                     "olmo2",
                                     "olmo3",
                                     "exaone4",
                                     "ministral",
                                     "phi",
                                     "phi_qk_norms",
                                     "falcon",
                                     "falcon_new",
                                     "falcon_one_norm",
                                     "falcon_alibi",
                                     "stablelm",
                                     "stablelm_parallel",
                                     "glm",
                                     "glm4",
                                     "granite",
                                     "granite_biased",
                                     "mpt",
                                     "mpt_three_heads",
                                     "bloom",
                                     "bloom_three_heads",
                                     "opt",
                                     "opt_norms_after",
                                     "opt_plain",
                                     "mixtral",
                                     "qwen3_moe",
                                     "qwen3_moe_sums",
                                     "gpt_oss",
                                     "distilbert",
                                     "distilbert_bare",
                                     "deberta",
                                     "deberta_plain",
                                     "deberta_v2_own",
                                     "deberta_v2_one_term",
                                     "electra",
                                     "electra_bare",
                                     "nomic_bert",
                                     "nomic_bert_bare",
                                     "gguf_gemma",
                                     "gguf_olmo",
                                     "gguf_olmo2",
                                     "gguf_phi2",
                                     "gguf_falcon",
                                     "gguf_falcon_new",
                                     "gguf_stablelm",
                                     "gguf_stablelm_parallel",
                                     "gguf_glm",
                                     "gguf_glm4",
                                     "gguf_granite",
                                     "gguf_mpt",
                                     "gguf_bloom",
                                     "gguf_mixtral",
                                     "gguf_qwen3_moe",
                                     "gguf_gpt_oss",
                                     "gguf_exaone4"};
Path path_of(const std::string& name) {
  return name.rfind("gguf", 0) == 0 ? kOpened / name / "model.gguf" : kOpened / name;
}

struct Expected {
  std::vector<std::int32_t> inputs;
  Floats outputs;
  std::int64_t B, T;
  bool head;
  std::vector<Floats> layers;                        // of kMore
  std::vector<std::vector<std::int32_t>> generated;  // of decoders in kMore
};
Expected expected_of(const std::string& name) {
  const auto json = nlohmann::json::parse(read_file(kOpened / name / "expected.json"));
  Expected e;
  for (const auto& row : json.at("inputs")) {
    for (const std::int32_t token : row) e.inputs.push_back(token);
  }
  e.B = std::int64_t(json.at("inputs").size()), e.T = std::int64_t(e.inputs.size()) / e.B;
  for (const float x : json.at("outputs")) e.outputs.push_back(x);
  e.head = json.at("head");
  for (const auto& rows : json.value("layers", nlohmann::json::array())) {
    e.layers.emplace_back();
    for (const float x : rows) e.layers.back().push_back(x);
  }
  if (json.contains("generated")) e.generated = json.at("generated");
  return e;
}

Floats outputs_of(const Model& model, const Floats& w, const Expected& e, bool without_positions = false) {
  Tokens tokens{e.B, e.T, e.inputs, {}};
  tokens.drop_positions = without_positions;
  Floats rows(e.outputs.size());
  Session session(model);
  e.head ? session.logits(tokens, w, rows) : session.hidden(tokens, w, rows);
  return rows;
}
double difference(const Floats& a, const Floats& b) {
  double most = 0;
  for (std::size_t n = 0; n < a.size(); ++n) most = std::max(most, double(std::abs(a[n] - b[n])));
  return most;
}
// Turns the other pairs of channels; false where nothing turns.
bool turn_other_pairs(Spec& spec) {
  bool turns = false;
  const auto change = [&](Named& named) {
    if (named.name != "rope" && named.name != "llama3") return;
    turns = true;
    const auto pairing = std::find_if(named.options.begin(), named.options.end(),
                                      [](const auto& option) { return option.first == "pairing"; });
    if (pairing == named.options.end()) {
      named.options.emplace_back("pairing", "adjacent");  // halves is standard
    } else {
      pairing->second = pairing->second == OptionValue("halves") ? "adjacent" : "halves";
    }
  };
  for (Named& named : spec.attention) change(named);
  for (auto& layer : spec.layers) {
    for (Named& named : layer) change(named);
  }
  return turns;
}

std::vector<std::string> all_folders() {
  std::vector<std::string> all = kFolders;
  all.insert(all.end(), kMore.begin(), kMore.end());
  return all;
}

// --- Conventions that are not the model's

// w for another architecture: what has the same name and size; a norm that is not there takes another's numbers.
Floats transplanted(const Model& from, const Floats& w, const Model& to) {
  Floats out = to.initial(1);
  const auto of = [&](std::string name) -> const Param* {
    for (const Param& p : from.params()) {
      if (p.spec.name == name) return &p;
    }
    return nullptr;
  };
  const auto instead = [](std::string name, std::string_view word, std::string_view other) {
    const auto at = name.find(word);
    return at == name.npos ? name : name.replace(at, word.size(), other);
  };
  for (const Param& p : to.params()) {
    const std::string& name = p.spec.name;
    for (const std::string& theirs : {name, instead(name, ".norm.", ".norm_after."),
                                      instead(name, "feed_forward.norm.", "attention.norm.")}) {
      const Param* found = of(theirs);
      if (!found || found->spec.size() < p.spec.size()) continue;
      std::copy_n(w.begin() + found->offset, p.spec.size(), out.begin() + p.offset);
      break;
    }
  }
  return out;
}

struct Wrong {
  const char* name;
  bool (*applies)(const Architecture&);
  void (*change)(Architecture&);
};
const Wrong kWrong[] = {
    {"sublayers in turn", [](const Architecture& a) { return a.residual != Residual::in_turn; },
     [](Architecture& a) { a.residual = Residual::in_turn; }},
    {"sublayers in parallel",
     [](const Architecture& a) {
       return a.residual == Residual::in_turn && a.norm.place == NormPlace::before;
     },
     [](Architecture& a) { a.residual = Residual::parallel; }},
    {"an unscaled residual", [](const Architecture& a) { return a.residual_scale != 1; },
     [](Architecture& a) { a.residual_scale = 1; }},
    {"unscaled words", [](const Architecture& a) { return a.word_scale != 1; },
     [](Architecture& a) { a.word_scale = 1; }},
    {"unscaled logits", [](const Architecture& a) { return a.head.scale != 1; },
     [](Architecture& a) { a.head.scale = 1; }},
    {"q·k by the width of a head", [](const Architecture& a) { return a.attention.scale != 0; },
     [](Architecture& a) { a.attention.scale = 1.5 * a.attention.scale_of_product(); }},
    {"no limit of q, k and v", [](const Architecture& a) { return a.attention.clip != 0; },
     [](Architecture& a) { a.attention.clip = 0; }},
    {"no norms of q and k", [](const Architecture& a) { return a.norm.qk != QkNorm::none; },
     [](Architecture& a) { a.norm.qk = QkNorm::none, a.norm.qk_form = {}; }},
    {"norms of each head instead of the whole",
     [](const Architecture& a) { return a.norm.qk == QkNorm::whole; },
     [](Architecture& a) { a.norm.qk = QkNorm::own; }},
    {"one gain for all heads", [](const Architecture& a) { return a.norm.qk == QkNorm::own; },
     [](Architecture& a) { a.norm.qk = QkNorm::shared; }},
    {"norms before instead of after",
     [](const Architecture& a) { return a.norm.place == NormPlace::after_sublayer; },
     [](Architecture& a) { a.norm.place = NormPlace::before; }},
    {"no norms after", [](const Architecture& a) { return a.norm.place == NormPlace::before_and_after; },
     [](Architecture& a) { a.norm.place = NormPlace::before; }},
    {"rms instead of layer norm", [](const Architecture& a) { return a.norm.form == NormForm::layer_plain; },
     [](Architecture& a) { a.norm.form = NormForm::rms; }},
    {"no norm of the embedding", [](const Architecture& a) { return a.norm.embedding && a.norm.first; },
     [](Architecture& a) { a.norm.embedding = false; }},
    {"a softmax over all experts",
     [](const Architecture& a) {
       return a.feed_forward.experts && a.feed_forward.experts.routing == Routing::of_chosen;
     },
     [](Architecture& a) { a.feed_forward.experts.routing = Routing::of_all; }},
    {"a softmax over the chosen experts",
     [](const Architecture& a) { return a.feed_forward.experts.routing == Routing::of_all; },
     [](Architecture& a) { a.feed_forward.experts.routing = Routing::of_chosen; }},
    {"one expert less", [](const Architecture& a) { return a.feed_forward.experts.active > 1; },
     [](Architecture& a) { --a.feed_forward.experts.active; }},
    {"a gate without a limit", [](const Architecture& a) { return a.feed_forward.gating == Gating::clamped; },
     [](Architecture& a) { a.feed_forward.gating = Gating::on; }},
    {"no sinks", [](const Architecture& a) { return a.attention.sinks; },
     [](Architecture& a) { a.attention.sinks = false; }},
    {"another activation", [](const Architecture&) { return true; },
     [](Architecture& a) {
       Activation& f = a.feed_forward.activation;
       f = f == Activation::gelu ? Activation::gelu_tanh : Activation::gelu;
     }},
};
// The two forms of GELU are near each other, so that the difference may be small.
void expect_wrong_conventions_differ(const OpenedModel& opened, const Expected& e) {
  for (const Wrong& wrong : kWrong) {
    Architecture other = opened.model.architecture();
    if (!wrong.applies(other)) continue;
    wrong.change(other);
    const Model model(other);
    const Floats w = transplanted(opened.model, opened.w, model);
    EXPECT_GT(difference(outputs_of(model, w, e), e.outputs), 1e-4) << wrong.name;
  }
}

class Opened : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Folders, Opened, testing::ValuesIn(all_folders()),
                         [](const auto& p) { return p.param; });

TEST_P(Opened, GivesTheNumbersOfTransformers) {
  const Expected e = expected_of(GetParam());
  const OpenedModel opened = open_model(path_of(GetParam()));
  const Architecture& a = opened.model.architecture();
  ASSERT_EQ(a.head.form != HeadForm::none, e.head);
  ASSERT_EQ(std::int64_t(e.outputs.size()), e.B * e.T * (e.head ? a.vocabulary : a.width));
  const double off = difference(outputs_of(opened.model, opened.w, e), e.outputs);
  RecordProperty("difference", shortest(off));
  EXPECT_LT(off, e.layers.empty() ? 1e-4 : 3e-5) << a.position.print();

  EXPECT_GT(difference(outputs_of(opened.model, opened.w, e, true), e.outputs), 1e-2) << "without positions";
  Architecture other = a;
  if (a.head.activation) {
    other.head.activation.reset();
    EXPECT_GT(difference(outputs_of(Model(other), opened.w, e), e.outputs), 1e-4) << "hidden_act in the head";
    other = a;
  }
  if (!turn_other_pairs(other.position)) return;
  EXPECT_GT(difference(outputs_of(Model(other), opened.w, e), e.outputs), 1e-2) << other.position.print();
}

class OpenedLayers : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Folders, OpenedLayers, testing::ValuesIn(kMore),
                         [](const auto& p) { return p.param; });

TEST_P(OpenedLayers, AreThoseOfTransformers) {
  const Expected e = expected_of(GetParam());
  const OpenedModel opened = open_model(path_of(GetParam()));
  const std::int64_t L = opened.model.architecture().layers;
  ASSERT_EQ(std::int64_t(e.layers.size()), L + 1);
  std::vector<Floats> found(e.layers.size());
  Taps taps{{"last", [&](TapValue& value) { found.back() = value.read(); }}};
  for (std::int64_t l = 0; l < L; ++l) {
    taps[text("layers.", l, ".resid_pre")] = [&found, l](TapValue& value) {
      found[std::size_t(l)] = value.read();
    };
  }
  Tokens tokens{e.B, e.T, e.inputs, {}};
  tokens.taps = &taps;
  Floats rows(std::size_t(e.B * e.T * opened.model.architecture().width));
  Session(opened.model).hidden(tokens, opened.w, rows);
  for (std::size_t l = 0; l < found.size(); ++l) {
    ASSERT_EQ(found[l].size(), e.layers[l].size());
    EXPECT_LT(difference(found[l], e.layers[l]), 3e-5) << "layer " << l;
  }
  expect_wrong_conventions_differ(opened, e);
}

// Token by token through the key cache.
TEST_P(OpenedLayers, AreContinuedAsByTransformers) {
  const Expected e = expected_of(GetParam());
  if (e.generated.empty()) GTEST_SKIP() << "an encoder";
  const OpenedModel opened = open_model(path_of(GetParam()));
  const std::int64_t V = opened.model.architecture().vocabulary;
  Session session(opened.model);
  constexpr std::int64_t kPrompt = 4;
  const auto count = std::int64_t(e.generated.front().size());
  session.begin(e.B, kPrompt + count);
  std::vector<std::int32_t> next;
  for (std::int64_t b = 0; b < e.B; ++b)
    next.insert(next.end(), e.inputs.begin() + b * e.T, e.inputs.begin() + b * e.T + kPrompt);
  for (std::int64_t n = 0; n < count; ++n) {
    Floats logits(std::size_t(e.B * V));
    session.extend({e.B, std::int64_t(next.size()) / e.B, next, {}}, opened.w, logits);
    next.clear();
    for (std::int64_t b = 0; b < e.B; ++b) {
      const auto row = logits.begin() + b * V;
      next.push_back(std::int32_t(std::max_element(row, row + V) - row));
      EXPECT_EQ(next.back(), e.generated[std::size_t(b)][std::size_t(n)]) << "token " << n;
    }
  }
}

TEST(OpenedFolders, AreOfEveryFamilyThatRuns) {
  const std::vector<std::string> folders = all_folders();
  for (std::string family :
       std::vector<std::string>(runnable_families().begin(), runnable_families().end())) {
    std::replace(family.begin(), family.end(), '-', '_');
    EXPECT_NE(std::find(folders.begin(), folders.end(), family), folders.end()) << family;
  }
}

// docs/models.md has a row of a table for each of them, in order.
TEST(OpenedFolders, StandInTheTableOfTheDocs) {
  const std::string page = read_file(GNOMON_TESTS "/../docs/models.md");
  const std::size_t start = page.find("\n## Models that `inspect` runs\n");
  ASSERT_NE(start, page.npos);
  std::vector<std::string> rows;
  for (const std::string_view line :
       split(std::string_view(page).substr(start, page.find("\n## ", start + 1) - start), '\n')) {
    if (line.starts_with("| `")) rows.emplace_back(line.substr(3, line.find('`', 3) - 3));
  }
  EXPECT_EQ(rows, std::vector<std::string>(runnable_families().begin(), runnable_families().end()));
  EXPECT_NE(page.find("thirty-eight families"), page.npos);
  EXPECT_EQ(rows.size(), 38u);
}

TEST(OpenedFolders, TellHowFarTheyAre) {
  std::vector<std::int64_t> done;
  std::int64_t whole = 0;
  const OpenedModel opened =
      open_model(path_of("llama"), [&](std::int64_t n, std::int64_t all) { done.push_back(n), whole = all; });
  EXPECT_TRUE(std::is_sorted(done.begin(), done.end()));
  EXPECT_GT(done.size(), 10u);
  EXPECT_EQ(done.back(), whole);
  EXPECT_EQ(whole, opened.model.param_count() * 4);
}

// --- Folders that are wrong

class WrongFolder : public Files {
 protected:
  // Copies a folder with some keys of its config.json changed.
  Path changed(const std::string& name, const nlohmann::json& keys) {
    const Path to = folder_ / "model";
    std::filesystem::remove_all(to);
    std::filesystem::copy(kOpened / name, to);
    auto config = nlohmann::json::parse(read_file(to / "config.json"));
    config.update(keys);
    write_file(to / "config.json", config.dump());
    return to;
  }
  std::string refusal(const std::string& name, const nlohmann::json& keys) {
    try {
      open_model(changed(name, keys));
    } catch (const Error& error) {
      EXPECT_EQ(error.fault(), Fault::input);
      return error.what();
    }
    return "opened";
  }
};
void expect_words(const std::string& message, const std::vector<std::string>& words) {
  for (const std::string& word : words)
    EXPECT_NE(message.find(word), std::string::npos) << word << " in: " << message;
}

TEST_F(WrongFolder, IsRefusedWithTheNamesOfTensors) {
  EXPECT_EQ(refusal("llama", nlohmann::json::object()), "opened");
  expect_words(refusal("llama", {{"num_hidden_layers", 3}}),
               {"config.json", "9 tensors", "missing in the file", "model.layers.2.self_attn.q_proj.weight",
                "and 3 more"});
  expect_words(refusal("llama", {{"num_hidden_layers", 1}}),
               {"9 tensors in the file", "does not have", "model.layers.1.input_layernorm.weight"});
  expect_words(
      refusal("llama", {{"intermediate_size", 16}}),
      {"6 tensors", "another shape", "model.layers.0.mlp.gate_proj.weight has (12, 8) instead of (16, 8)"});
  expect_words(refusal("llama", {{"attention_bias", true}}),
               {"missing in the file", "model.layers.0.self_attn.q_proj.bias"});
  expect_words(refusal("llama_bare", {{"attention_bias", false}}),
               {"does not have", "layers.0.self_attn.q_proj.bias"});
  expect_words(refusal("bert_bare", {{"architectures", {"BertForMaskedLM"}}}),
               {"missing in the file", "cls.predictions.transform.dense.weight"});
}

// Keys that ask for what gnomon does not have are named, with what they say.
TEST_F(WrongFolder, IsRefusedWithTheKeyThatIsNotSupported) {
  for (const bool rooted : {true, false})
    expect_words(refusal("gpt2", {{"scale_attn_by_inverse_layer_idx", true}, {"scale_attn_weights", rooted}}),
                 {"config.json", "scale_attn_by_inverse_layer_idx", "layer 1", "scale"});
  for (const nlohmann::json& none : {nlohmann::json(false), nlohmann::json()}) {
    expect_words(refusal("deberta_v2", {{"share_att_key", none}}),
                 {"missing in the file", "deberta.encoder.layer.0.attention.self.pos_key_proj.weight"});
  }
  expect_words(refusal("deberta", {{"talking_head", true}}), {"talking_head", "false"});
  expect_words(refusal("deberta_v2", {{"type_vocab_size", 2}}),
               {"missing in the file", "deberta.embeddings.token_type_embeddings.weight"});
  expect_words(refusal("deberta_v2", {{"position_biased_input", true}}),
               {"missing in the file", "deberta.embeddings.position_embeddings.weight"});
  EXPECT_EQ(refusal("deberta_v2_types", nlohmann::json::object()), "opened");
}

// The first token's row of the table follows pad_token_id; MPNet's does not.
TEST_F(WrongFolder, RowsOfNoTokenFollowFromTheKey) {
  const OpenedModel one = open_model(changed("roberta", nlohmann::json::object()));
  for (const int pad : {0, 3, 5}) {
    const OpenedModel other = open_model(changed("roberta", {{"pad_token_id", pad}}));
    const Param &a = one.model.param("position.input.table"), &b = other.model.param("position.input.table");
    EXPECT_EQ(b.spec.shape[0], 14 - (pad + 1));
    const std::int64_t C = a.spec.shape[1];
    // Row r of the file is place r − 2 of the first, r − pad − 1 of the other.
    for (std::int64_t row = std::max(2, pad + 1); row < 14; ++row) {
      for (std::int64_t c = 0; c < C; ++c)
        EXPECT_EQ(one.w[std::size_t(a.offset + (row - 2) * C + c)],
                  other.w[std::size_t(b.offset + (row - pad - 1) * C + c)]);
    }
  }
  EXPECT_EQ(
      open_model(changed("mpnet", {{"pad_token_id", 5}})).model.param("position.input.table").spec.shape[0],
      12);
}

TEST_F(WrongFolder, OfAFamilyThatIsExplainedOnlySaysWhatRuns) {
  expect_words(refusal("llama", {{"model_type", "rwkv"}}),
               {"rwkv", "cannot run it", "bert, bloom, deberta", "t5"});
  expect_words(refusal("llama", {{"hidden_act", "laurel"}}), {"hidden_act", "laurel", "silu"});
}

}  // namespace
}  // namespace gnomon
