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
#include "tests/models/wrong_conventions.h"
#include "tests/support/files.h"

namespace gnomon {
namespace {

const std::vector<std::string> kFolders{
    "bert", "bert_bare", "roberta", "mpnet", "deberta_v2", "modernbert", "t5", "gpt2", "gpt_neox", "gptj",
    "llama", "llama_bare", "mistral", "qwen2", "qwen3", "smollm3", "gemma2", "gemma3", "phi3", "gguf_llama",
    "gguf_llama_tied", "gguf_qwen2", "gguf_phi3", "gguf_gemma2", "gguf_gpt2", "gguf_gpt_neox", "gguf_bert",
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
                                     "electra_small",
                                     "electra_wide",
                                     "opt_narrow",
                                     "opt_narrow_own_head",
                                     "qwen3_moe_first_dense",
                                     "qwen3_moe_every_second",
                                     "gpt_oss_mxfp4",
                                     "gpt_oss_mxfp4_wide",
                                     "gpt_oss_mxfp4_deep",
                                     "gemma4",
                                     "gemma4_keys_are_values",
                                     "gemma4_biased",
                                     "gemma4_larger",
                                     "t5_whole",
                                     "t5_gated",
                                     "t5_other_head",
                                     "t5_gelu",
                                     "mt5",
                                     "umt5",
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
                                     "gguf_gpt_oss_mxfp4",
                                     "gguf_exaone4",
                                     "gguf_t5",
                                     "gguf_t5_gated",
                                     "gguf_umt5",
                                     "gguf_t5_encoder",
                                     "gguf_mt5",
                                     "gguf_t5_first_files",
                                     "gguf_nomic_bert",
                                     "gguf_nomic_bert_one_head"};
std::vector<std::string> all_folders() {
  std::vector<std::string> all = kFolders;
  all.insert(all.end(), kMore.begin(), kMore.end());
  return all;
}

class Opened : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Folders, Opened, testing::ValuesIn(all_folders()),
                         [](const auto& p) { return p.param; });

TEST_P(Opened, GivesTheNumbersOfTransformers) {
  Expected e = expected_of(GetParam());
  const OpenedModel opened = open_model(path_of(GetParam()));
  read_source(opened, e);
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
  Expected e = expected_of(GetParam());
  const OpenedModel opened = open_model(path_of(GetParam()));
  read_source(opened, e);
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
  tokens.taps = &taps, tokens.encoder = e.beside();
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
  Expected e = expected_of(GetParam());
  if (e.generated.empty()) GTEST_SKIP() << "an encoder";
  const OpenedModel opened = open_model(path_of(GetParam()));
  read_source(opened, e);
  const std::int64_t V = opened.model.architecture().vocabulary;
  Session session(opened.model);
  const auto count = std::int64_t(e.generated.front().size());
  session.begin(e.B, e.prompt + count);
  std::vector<std::int32_t> next;
  for (std::int64_t b = 0; b < e.B; ++b)
    next.insert(next.end(), e.inputs.begin() + b * e.T, e.inputs.begin() + b * e.T + e.prompt);
  for (std::int64_t n = 0; n < count; ++n) {
    Floats logits(std::size_t(e.B * V));
    Tokens tokens{e.B, std::int64_t(next.size()) / e.B, next, {}};
    if (n == 0) tokens.encoder = e.beside();
    session.extend(tokens, opened.w, logits);
    next.clear();
    for (std::int64_t b = 0; b < e.B; ++b) {
      const auto row = logits.begin() + b * V;
      next.push_back(std::int32_t(std::max_element(row, row + V) - row));
      EXPECT_EQ(next.back(), e.generated[std::size_t(b)][std::size_t(n)]) << "token " << n;
    }
  }
}

class OpenedPairs : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Folders, OpenedPairs,
                         testing::Values("t5_whole", "t5_gated", "t5_other_head", "t5_gelu", "mt5", "umt5",
                                         "gguf_t5", "gguf_t5_gated", "gguf_umt5", "gguf_mt5",
                                         "gguf_t5_first_files"),
                         [](const auto& p) { return p.param; });

// The encoder beside the decoder, and the same alone.
TEST_P(OpenedPairs, HaveTheEncoderOfTransformers) {
  Expected e = expected_of(GetParam());
  const OpenedModel whole = open_model(path_of(GetParam())),
                    alone = open_model(path_of(GetParam()), {}, Component::encoder);
  ASSERT_TRUE(whole.encoder);
  EXPECT_FALSE(alone.encoder);
  EXPECT_EQ(alone.w, whole.encoder->w);
  EXPECT_TRUE(whole.model.architecture().causal);
  EXPECT_EQ(whole.encoder->start, e.inputs.front());
  read_source(whole, e);
  std::vector<Floats> found;
  Taps taps{{"last", [&](TapValue& value) { found.push_back(value.read()); }}};
  for (std::int64_t l = 0; l < alone.model.architecture().layers; ++l)
    taps[text("layers.", l, ".resid_pre")] = [&](TapValue& value) { found.push_back(value.read()); };
  Tokens tokens = e.read();
  tokens.taps = &taps;
  Floats rows(e.rows.size());
  Session(alone.model).hidden(tokens, alone.w, rows);
  EXPECT_EQ(rows, e.rows);
  ASSERT_EQ(found.size(), e.encoder_layers.size());
  for (std::size_t l = 0; l < found.size(); ++l)
    EXPECT_LT(difference(found[l], e.encoder_layers[l]), 3e-5) << "layer " << l;
  // What the decoder reads of it matters: another row, padding that is not hidden.
  Expected other = e;
  std::rotate(other.rows.begin(), other.rows.begin() + other.rows.size() / 2, other.rows.end());
  EXPECT_GT(difference(outputs_of(whole.model, whole.w, other), e.outputs), 1e-2);
  other = e;
  std::fill(other.padding.begin(), other.padding.end(), 0);
  EXPECT_GT(difference(outputs_of(whole.model, whole.w, other), e.outputs), 1e-3);
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
  EXPECT_NE(page.find("forty families"), page.npos);
  EXPECT_EQ(rows.size(), 40u);
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
  // Saved without the whole of its head, as sentence-transformers saves encoders: opened as one without.
  EXPECT_EQ(refusal("bert_bare", {{"architectures", {"BertForMaskedLM"}}}), "opened");
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
  expect_words(refusal("gemma4", {{"enable_moe_block", true}}), {"enable_moe_block", "false"});
  expect_words(refusal("gemma4", {{"vocab_size_per_layer_input", 20}}), {"vocab_size_per_layer_input"});
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
