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
Path path_of(const std::string& name) {
  return name.rfind("gguf", 0) == 0 ? kOpened / name / "model.gguf" : kOpened / name;
}

struct Expected {
  std::vector<std::int32_t> inputs;
  Floats outputs;
  std::int64_t B, T;
  bool head;
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

class Opened : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Folders, Opened, testing::ValuesIn(kFolders), [](const auto& p) { return p.param; });

TEST_P(Opened, GivesTheNumbersOfTransformers) {
  const Expected e = expected_of(GetParam());
  const OpenedModel opened = open_model(path_of(GetParam()));
  const Architecture& a = opened.model.architecture();
  ASSERT_EQ(a.head.form != HeadForm::none, e.head);
  ASSERT_EQ(std::int64_t(e.outputs.size()), e.B * e.T * (e.head ? a.vocabulary : a.width));
  const double off = difference(outputs_of(opened.model, opened.w, e), e.outputs);
  RecordProperty("difference", shortest(off));
  EXPECT_LT(off, 1e-4) << a.position.print();

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

TEST(OpenedFolders, AreOfEveryFamilyThatRuns) {
  for (std::string family :
       std::vector<std::string>(runnable_families().begin(), runnable_families().end())) {
    std::replace(family.begin(), family.end(), '-', '_');
    EXPECT_NE(std::find(kFolders.begin(), kFolders.end(), family), kFolders.end()) << family;
  }
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
  expect_words(refusal("deberta_v2", {{"share_att_key", false}}), {"share_att_key", "false", "true"});
  expect_words(refusal("deberta_v2", {{"share_att_key", nullptr}}), {"share_att_key"});
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
               {"rwkv", "cannot run it", "bert, deberta-v2", "t5"});
  expect_words(refusal("llama", {{"hidden_act", "laurel"}}), {"hidden_act", "laurel", "silu"});
}

}  // namespace
}  // namespace gnomon
