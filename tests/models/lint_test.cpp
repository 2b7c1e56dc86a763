// The rules of `gnomon lint`: each finds its own failing example and leaves the passing one, and what happened to people is
// found in files as they had them.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "gnomon/core/error.h"
#include "gnomon/models/lint/context.h"
#include "gnomon/models/resolve/place.h"

namespace gnomon {
namespace {

using Json = nlohmann::ordered_json;
using Ids = std::set<std::string>;

Ids ids_of(const std::vector<LintResult>& results, bool notes = true) {
  Ids all;
  for (const LintResult& r : results)
    if (notes || r.rule->severity != Severity::note) all.insert(std::string(r.rule->id));
  return all;
}
std::vector<LintResult> lint_text(std::string_view json, std::vector<LintTensor> tensors = {}) {
  if (tensors.empty()) return lint(text_for_lint(std::string(json), "config.json"));
  return lint(LintContext(Config::parse(json, "config.json"), std::move(tensors)));
}

// The weights beside the examples of rules that look at them: the same for the failing and the passing one.
std::vector<LintTensor> weights_for(std::string_view rule) {
  if (rule == "table-and-file-disagree") return {{"embeddings.position_embeddings.weight", {512, 512}, {}}};
  if (rule == "stored-frequencies-differ")
    return {{"model.layers.0.self_attn.rotary_emb.inv_freq", {4}, {1, .1F, .01F, .001F}}};
  if (rule == "stored-frequencies-rounded")  // to 8 bits of the mantissa
    return {{"model.layers.0.self_attn.rotary_emb.inv_freq",
             {4},
             {1, .10009765625F, .010009765625F, .00099945068F},
             "BF16"}};
  if (rule.starts_with("gguf-")) return {{"token_embd.weight", {512, 512}, {}}};
  return {};
}

// Errors and warnings that a failing example has beside its own. No passing example has any.
const std::map<std::string, Ids> kAlso{
    {"scaling-without-theta", {"theta-short-for-context"}},
    {"scaling-drops-theta", {"two-dictionaries"}},
    {"rope-key-misspelt", {"original-length-missing"}},
    {"type-unread-by-kind", {"scaling-key-unread"}},
    {"original-length-too-long", {"yarn-factor-and-length-disagree"}},
    {"layers-without-position-inverted", {"layers-without-position-lost-in-gguf"}},
};

TEST(Lint, EveryRuleFindsItsFailingExampleAndLeavesThePassingOne) {
  for (const LintRule* rule : lint_rules()) {
    const std::string id(rule->id);
    const Ids found = ids_of(lint_text(rule->fails, weights_for(id)), rule->severity == Severity::note);
    EXPECT_TRUE(found.contains(id)) << id;
    Ids others = ids_of(lint_text(rule->fails, weights_for(id)), false);
    others.erase(id);
    const auto also = kAlso.find(id);
    EXPECT_EQ(others, also == kAlso.end() ? Ids{} : also->second) << id;
    const std::vector<LintResult> passed = lint_text(rule->passes, weights_for(id));
    EXPECT_FALSE(ids_of(passed).contains(id)) << id;
    for (const LintResult& r : passed)
      EXPECT_EQ(r.rule->severity, Severity::note)
          << id << " passes: " << r.rule->id << ": " << r.finding.says;
  }
}

TEST(Lint, RulesAreWellFormed) {
  Ids seen;
  for (const LintRule* rule : lint_rules()) {
    const std::string id(rule->id);
    EXPECT_TRUE(seen.insert(id).second) << id;
    EXPECT_TRUE(std::regex_match(id, std::regex("[a-z][a-z0-9]*(-[a-z0-9]+)+"))) << id;
    EXPECT_TRUE(rule->title.ends_with('.') && rule->explains.ends_with('.') && rule->fix.ends_with('.'))
        << id;
    EXPECT_GE(rule->explains.size(), 60U) << id;
    EXPECT_TRUE(std::regex_match(std::string(rule->link),
                                 std::regex("https://github\\.com/[A-Za-z0-9-]+/[A-Za-z0-9._-]+/"
                                            "((issues|pull)/[0-9]+|(blob|tree)/main/.+)")))
        << rule->link;
    EXPECT_EQ(&find_rule(id), rule);
    for (const LintResult& r : lint_text(rule->fails, weights_for(id))) {
      if (r.rule != rule) continue;
      EXPECT_FALSE(r.finding.says.empty() || r.finding.expected.empty()) << id;
      EXPECT_FALSE(r.finding.key.empty() && id != "file-refused" && !rule->traits.unread) << id;
    }
  }
  EXPECT_GE(seen.size(), 40U);
  EXPECT_THROW(find_rule("scaling-without-teta"), Error);
}

struct Case {
  std::string what;  // "unsloth#7028"
  std::string json;
  std::string rule;
  std::vector<LintTensor> tensors = {};
};

constexpr std::string_view kSizes =
    R"("hidden_size": 1024, "num_attention_heads": 8, "num_hidden_layers": 4, )";
std::string model(std::string_view type, std::string_view rest) {
  return "{\"model_type\": \"" + std::string(type) + "\", " + std::string(kSizes) + std::string(rest) + "}";
}
std::string mla(std::string_view type, std::string_view rest) {
  return model(
      type,
      R"("qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "v_head_dim": 128, "kv_lora_rank": 512, "max_position_embeddings": 163840, "rope_theta": 10000, )" +
          std::string(rest));
}
const std::string kYarn =
    R"("type": "yarn", "factor": 40, "original_max_position_embeddings": 4096, "mscale": 0.707, "mscale_all_dim": 0.707)";

// What happened, in files as people had them, and the rule that tells.
const std::vector<Case> kIncidents{
    {"1 unsloth#7028",
     model(
         "llama",
         R"("max_position_embeddings": 262144, "rope_parameters": {"rope_type": "llama3", "rope_theta": 500000.0, "factor": 8.0, "low_freq_factor": 1.0,
      "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}, "rope_scaling": {"type": "linear", "factor": 2.0})"),
     "scaling-drops-theta"},
    {"1 unsloth#7028, saved",
     model("llama",
           R"("max_position_embeddings": 262144, "rope_scaling": {"type": "linear", "factor": 2.0})"),
     "scaling-without-theta"},
    {"1 unsloth#7028, linear for llama3",
     model(
         "llama",
         R"("max_position_embeddings": 262144, "rope_theta": 500000.0, "rope_scaling": {"type": "linear", "factor": 2.0})"),
     "linear-over-trained-scaling"},
    {"2 vllm-ascend#5201",
     model(
         "qwen3",
         R"("max_position_embeddings": 40960, "rope_parameters": {"rope_type": "yarn", "rope_theta": 1000, "factor": 4, "original_max_position_embeddings": 32768})"),
     "theta-short-for-context"},
    {"2 sglang#22739",
     model(
         "qwen3",
         R"("max_position_embeddings": 131072, "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768})"),
     "scaling-without-theta"},
    {"3 vllm#43419",
     model("olmo3", R"("max_position_embeddings": 65536, "sliding_window": 4096, "rope_parameters": {
      "full_attention": {"rope_type": "yarn", "factor": 8.0, "original_max_position_embeddings": 8192, "rope_theta": 500000},
      "sliding_attention": {"rope_type": "yarn", "factor": 8.0, "original_max_position_embeddings": 8192, "rope_theta": 500000}})"),
     "scaling-on-sliding-layers"},
    {"3 transformers#45945",
     model("olmo3", R"("max_position_embeddings": 65536, "sliding_window": 4096, "rope_theta": 500000,
      "rope_scaling": {"rope_type": "yarn", "factor": 8.0, "original_max_position_embeddings": 8192})"),
     "scaled-layers-unsaid"},
    {"4 transformers#48241",
     model("qwen3_moe",
           R"("head_dim": 128, "max_position_embeddings": 8192, "rope_theta": 5000000, "rotary_dim": 64)"),
     "rotary-key-unread"},
    {"4 maxtext#4616",
     model("qwen3",
           R"("max_position_embeddings": 8192, "rope_theta": 1000000, "partial_rotary_factor": 0.25)"),
     "partial-rotation-dropped"},
    {"4 GLM without the key", model("glm", R"("head_dim": 128, "max_position_embeddings": 8192)"),
     "partial-rotation-of-class"},
    {"5 vllm#41185", mla("bailing_hybrid", R"("partial_rotary_factor": 0.5)"), "rotary-slice-turns-whole"},
    {"6 vllm#28968", mla("deepseek_v32", R"("index_head_dim": 128, "index_n_heads": 64, "index_topk": 2048)"),
     "indexer-has-its-own-pairing"},
    {"6 transformers#46842", mla("glm_moe_dsa", R"("index_head_dim": 128, "indexer_rope_interleave": true)"),
     "indexer-interleave-unread"},
    {"7 transformers#43756",
     model("smollm3",
           R"("max_position_embeddings": 65536, "rope_theta": 5000000, "no_rope_layers": [1, 1, 0, 1])"),
     "layers-without-position-lost-in-gguf"},
    {"7 mobius#233",
     model("smollm3",
           R"("max_position_embeddings": 65536, "rope_theta": 5000000, "no_rope_layers": [0, 0, 0, 1])"),
     "layers-without-position-inverted"},
    {"7 in GGUF", R"({"general.architecture": "smollm3", "smollm3.rope.freq_base": 5000000})",
     "gguf-every-fourth-layer"},
    {"8 ik_llama.cpp#2290", R"({"general.architecture": "mellum2", "mellum2.rope.freq_base": 10000})",
     "gguf-pairing-unknown"},
    {"8 llama.cpp#22611", R"({"general.architecture": "llama", "llama.rope.freq_base": 100000})",
     "gguf-rows-are-permuted"},
    {"9 mobius#548", mla("deepseek_v2", "\"rope_scaling\": {" + kYarn + "}"), "mscale-has-two-places"},
    {"9 vllm#48351",
     model(
         "llama",
         R"("max_position_embeddings": 65536, "rope_theta": 1000000, "rope_scaling": {"rope_type": "yarn", "factor": 64, "original_max_position_embeddings": 1024,
      "attention_factor": 1.0})"),
     "attention-factor-explicit"},
    {"10 one base for two kinds",
     model(
         "gemma3_text",
         R"("head_dim": 128, "max_position_embeddings": 32768, "sliding_window": 1024, "sliding_window_pattern": 4, "rope_theta": 1000000, "rope_local_base_freq": 10000)"),
     "theta-by-kind-of-layer"},
    {"10 ferrox#39",
     model("gemma3_text",
           R"("head_dim": 128, "max_position_embeddings": 131072, "sliding_window": 1024, "rope_parameters": {
      "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1000000}, "sliding_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 10000}})"),
     "scaling-on-sliding-layers"},
    {"11 sglang#34792",
     model(
         "llama",
         R"("max_position_embeddings": 8192, "rope_theta": 10000, "rope_scaling": {"rope_type": "default", "rope_theta": 10000})"),
     "default-looks-like-scaling"},
    {"12 sglang#26187",
     model(
         "llama",
         R"("max_position_embeddings": 65536, "rope_parameters": {"rope_type": "yarn", "rope_theta": 1000000, "factor": 2.0, "original_max_position_embeddings": 32768})"),
     "theta-for-new-readers-only"},
    {"12 tpu-inference#2838", model("smollm3", R"("max_position_embeddings": 65536)"), "theta-of-class"},
    {"13 torchtitan#4783",
     model("llama", R"("max_position_embeddings": 8192, "rope_theta": 500000)"),
     "stored-frequencies-differ",
     {{"model.layers.0.self_attn.rotary_emb.inv_freq", {64}, std::vector<float>(64, 0.F)}}},
    {"14 LightLLM#1582",
     model(
         "qwen2_vl",
         R"("max_position_embeddings": 131072, "rope_theta": 1000000, "rope_scaling": {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768,
      "mrope_section": [16, 24, 24]})"),
     "sections-with-scaling"},
    {"15 SpecForge#265",
     model(
         "llama",
         R"("architectures": ["LlamaForCausalLMEagle3"], "max_position_embeddings": 8192, "rope_theta": 1000000, "draft_vocab_size": 32000)"),
     "draft-with-the-base-of-its-target"},
};

// What transformers 5.23.0 does without a word.
const std::vector<Case> kSilent{
    {"Qwen3 with an added YaRN",
     model(
         "qwen3",
         R"("max_position_embeddings": 40960, "rope_parameters": {"rope_type": "default", "rope_theta": 1000000},
      "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768})"),
     "scaling-drops-theta"},
    {"rope_scaling replaces rope_parameters",
     model(
         "llama",
         R"("max_position_embeddings": 8192, "rope_parameters": {"rope_type": "default", "rope_theta": 10000}, "rope_scaling": {"rope_type": "linear", "factor": 2.0, "rope_theta": 10000})"),
     "two-dictionaries"},
    {"OLMo 3 with a base at the top level",
     model("olmo3", R"("max_position_embeddings": 8192, "rope_theta": 1000000)"),
     "theta-for-half-the-layers"},
    {"Gemma 3 flat",
     model(
         "gemma3_text",
         R"("head_dim": 128, "max_position_embeddings": 131072, "rope_parameters": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1000000})"),
     "flat-dictionary-unread"},
    {"a misspelt length",
     model(
         "llama",
         R"("max_position_embeddings": 131072, "rope_theta": 1000000, "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "orignal_max_position_embeddings": 32768})"),
     "rope-key-misspelt"},
    {"nested truncate",
     model("gemma3_text",
           R"("max_position_embeddings": 131072, "head_dim": 64, "rope_parameters": {
      "full_attention": {"rope_type": "yarn", "rope_theta": 150000, "factor": 32.0, "original_max_position_embeddings": 4096, "truncate": false}})"),
     "truncate-unread-when-nested"},
    {"default forgets partial_rotary_factor",
     model("mistral",
           R"("max_position_embeddings": 8192, "rope_theta": 10000, "partial_rotary_factor": 0.5)"),
     "partial-rotation-dropped"},
    {"layer_rope_theta, bases",
     model("granite_swa", R"("max_position_embeddings": 8192, "layer_rope_theta": [10000, 0, 10000, 0])"),
     "no-position-spelling"},
    {"layer_rope_theta, elsewhere",
     model(
         "qwen3",
         R"("max_position_embeddings": 8192, "rope_theta": 1000000, "layer_rope_theta": [10000, 0, 10000, 0])"),
     "layer-bases-unread"},
    {"no position: null",
     model("mellum", R"("max_position_embeddings": 8192, "sliding_window": 512, "use_sliding_window": true,
      "layer_types": ["sliding_attention", "full_attention", "sliding_attention", "full_attention"],
      "rope_parameters": {"sliding_attention": {"rope_type": "default", "rope_theta": 10000}, "full_attention": null})"),
     "no-position-spelling"},
    {"no position: a slice of 0",
     model(
         "deepseek_v3",
         R"("qk_rope_head_dim": 0, "qk_nope_head_dim": 128, "max_position_embeddings": 8192, "rope_theta": 10000)"),
     "no-position-spelling"},
    {"SGLang's YaRN takes no attention_factor",
     model(
         "qwen3",
         R"("max_position_embeddings": 131072, "rope_theta": 1000000, "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768,
      "attention_factor": 0.8})"),
     "attention-factor-explicit"},
    {"the base: dictionary, then top level",
     model(
         "llama",
         R"("max_position_embeddings": 8192, "rope_theta": 10000, "rope_parameters": {"rope_type": "default", "rope_theta": 500000})"),
     "theta-twice"},
    {"the base: the class's", model("smollm3", R"("max_position_embeddings": 8192)"), "theta-of-class"},
    {"the part: top level or dictionary",
     model(
         "gpt_neox",
         R"("max_position_embeddings": 2048, "partial_rotary_factor": 0.5, "rope_parameters": {"rope_type": "default", "rope_theta": 10000, "partial_rotary_factor": 0.25})"),
     "partial-rotation-twice"},
    {"nested up to 5.17 or from 5.18",
     model("gemma3_text",
           R"("max_position_embeddings": 8192, "head_dim": 64, "rope_parameters": {
      "full_attention": {"rope_type": "default", "rope_theta": 1000000}, "factor": 2.0})"),
     "layer-labels-mixed"},
    {"the length at the top level, nested",
     model("gemma3_text",
           R"("max_position_embeddings": 131072, "original_max_position_embeddings": 32768, "head_dim": 64,
      "rope_parameters": {"full_attention": {"rope_type": "yarn", "rope_theta": 1000000, "factor": 4.0}})"),
     "original-length-unread"},
    {"the length twice",
     model(
         "llama",
         R"("max_position_embeddings": 131072, "rope_theta": 1000000, "original_max_position_embeddings": 16384,
      "rope_scaling": {"rope_type": "yarn", "factor": 8.0, "original_max_position_embeddings": 32768})"),
     "original-length-twice"},
    {"longrope's factor",
     R"({"model_type": "phi3", "hidden_size": 64, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 131072, "original_max_position_embeddings": 4096,
      "rope_theta": 10000, "rope_scaling": {"type": "longrope", "factor": 8.0, "short_factor": [1, 1, 1, 1], "long_factor": [1, 2, 3, 4]}})",
     "longrope-factor-explicit"},
    {"a factor below 1",
     model(
         "llama",
         R"("max_position_embeddings": 8192, "rope_theta": 10000, "rope_scaling": {"rope_type": "linear", "factor": 0.5})"),
     "factor-below-one"},
    {"a factor in quotes",
     model(
         "llama",
         R"("max_position_embeddings": 8192, "rope_theta": 10000, "rope_scaling": {"rope_type": "linear", "factor": "4"})"),
     "factor-below-one"},
    {"a missing key",
     model(
         "llama",
         R"("max_position_embeddings": 8192, "rope_theta": 10000, "rope_scaling": {"rope_type": "linear"})"),
     "scaling-key-missing"},
    {"an odd head", model("llama", R"("head_dim": 63, "max_position_embeddings": 8192, "rope_theta": 10000)"),
     "rotated-width-odd"},
    {"yarn_log_multiplier",
     R"({"general.architecture": "deepseek2", "deepseek2.rope.freq_base": 10000, "deepseek2.rope.scaling.yarn_log_multiplier": 0.707})",
     "gguf-log-multiplier-unscaled"},
};

TEST(Lint, EveryIncidentIsFound) {
  std::set<int> numbers;
  for (const Case& c : kIncidents) {
    numbers.insert(std::stoi(c.what));
    EXPECT_TRUE(ids_of(lint_text(c.json, c.tensors)).contains(c.rule)) << c.what << ": " << c.rule;
  }
  EXPECT_EQ(numbers.size(), 15U);
}
TEST(Lint, EverySilentTrapIsFound) {
  for (const Case& c : kSilent)
    EXPECT_TRUE(ids_of(lint_text(c.json, c.tensors)).contains(c.rule)) << c.what << ": " << c.rule;
}

// Of a class that is not known no error is said that rests on it, and no key is to be taken out.
TEST(Lint, NothingRestsOnAnUnknownClass) {
  std::size_t files = 0;
  const auto look = [&](Json document) {
    if (document.contains("general.architecture")) return;
    document["model_type"] = "newmodel";
    if (document.contains("text_config")) document["text_config"]["model_type"] = "newmodel_text";
    ++files;
    for (const LintResult& r : lint_text(document.dump())) {
      EXPECT_TRUE(r.rule->severity != Severity::error || r.rule->traits.any_class) << r.rule->id << document;
      EXPECT_EQ(r.finding.expected.find("remove the key"), std::string::npos) << r.rule->id << document;
    }
  };
  for (const LintRule* rule : lint_rules())
    if (!rule->traits.unread) look(Json::parse(rule->fails)), look(Json::parse(rule->passes));
  for (const auto* cases : {&kIncidents, &kSilent})
    for (const Case& c : *cases) look(Json::parse(c.json));
  EXPECT_GT(files, 200U);
}
TEST(Lint, KeysThatAnUnknownClassMayReadAreNamed) {
  const auto found = lint_text(model(
      "cohere9",
      R"("max_position_embeddings": 8192, "rope_theta": 10000, "sliding_window_size": 512, "rotary_part": 0.5)"));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].rule->id, "family-unknown");
  for (const char* key : {"sliding_window_size", "rotary_part"})
    EXPECT_NE(found[0].finding.says.find(key), std::string::npos) << found[0].finding.says;
}

TEST(Lint, FaultsOfVersionsAreToldWithinTheirVersions) {
  const auto found = [](const std::string& json, const LintPrograms& programs, const char* rule) {
    return ids_of(lint(LintContext(Config::parse(json, "config.json"), {}, {}, programs))).contains(rule);
  };
  const std::string qwen = model(
      "qwen2_5_vl",
      R"("max_position_embeddings": 32768, "rope_theta": 1000000, "rope_scaling": {"type": "mrope", "mrope_section": [16, 24, 24]})");
  const char* images = "qwen-vl-images-as-videos";
  EXPECT_FALSE(found(qwen, {}, images));  // nobody knows the version
  for (const char* with : {"5.3.0", "5.4", "5.5.3", "5.5.4.dev0", "5.5.4rc1", "5.4.0+cu130"})
    EXPECT_TRUE(found(qwen, {with, ""}, images)) << with;
  for (const char* without : {"5.2.0", "5.3.0rc0", "5.5.4", "5.10.0", "4.57.6"})
    EXPECT_FALSE(found(qwen, {without, ""}, images)) << without;
  const std::string bailing = model(
      "bailing_moe",
      R"("max_position_embeddings": 8192, "rope_parameters": {"rope_theta": 600000}, "partial_rotary_factor": 0.5)");
  const char* whole = "bailing-turns-whole-heads";
  EXPECT_TRUE(found(bailing, {}, whole));
  EXPECT_TRUE(found(bailing, {"", "0.22.1"}, whole));
  EXPECT_FALSE(found(bailing, {"", "0.23.0"}, whole));
  for (const char* wrong : {"five", ".", "5.x", "v5.4.0"})
    EXPECT_THROW(found(qwen, {wrong, ""}, images), Error) << wrong;
}

// One letter left out, doubled, exchanged, or of another alphabet; and keys of other programs that are near and mean else.
TEST(Lint, MisspeltPositionKeys) {
  const auto found = [](const std::string& key) {
    return ids_of(lint_text(model("llama", "\"" + key + "\": 500000"))).contains("position-key-misspelt");
  };
  for (const char* key : {"rope_th\u0435t\u0430", "rope_teta", "rope_theat", "rope_scalling",
                          "max_postion_embeddings", "max_position_embedding", "sliding_widnow", "layer_type"})
    EXPECT_TRUE(found(key)) << key;
  for (const char* key : {"rope_type", "rotary_emb", "rope_scale", "rope_theta", "max_length",
                          "sliding_window_size", "layer_norm_eps", "position_ids"})
    EXPECT_FALSE(found(key)) << key;
}

// Keys of one method are no misspellings of another's.
TEST(Lint, NoKeyIsSuggestedAcrossMethods) {
  const auto yarn = [](std::string_view more) {
    return lint_text(model(
        "llama",
        R"("max_position_embeddings": 16384, "rope_theta": 10000, "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 4096, )" +
            std::string(more) + "}"));
  };
  for (const char* key : {R"("attn_factor": 2.0)", R"("extrapolation_factor": 0.5)"}) {
    const auto found = yarn(key);
    EXPECT_TRUE(ids_of(found).contains("yarn-key-of-vllm")) << key;
    for (const LintResult& r : found) EXPECT_NE(r.rule->severity, Severity::error) << key << r.rule->id;
  }
  for (const LintResult& r : yarn(R"("attn_factor": 2.0)"))
    EXPECT_EQ(r.rule->id == "yarn-key-of-vllm",
              r.finding.expected.find("\"attention_factor\": 2.2773") != std::string::npos);
  EXPECT_TRUE(ids_of(yarn(R"("attn_factor": 1.0, "extrapolation_factor": 1)"), false).empty());
  for (const char* key :
       {R"("low_freq": 1.0)", R"("short_factors": [1, 2])", R"("beta": 32)", R"("ext_factor": 1)"})
    EXPECT_FALSE(ids_of(yarn(key)).contains("rope-key-misspelt")) << key;
  for (const char* key : {R"("beta_fst": 16)", R"("atention_factor": 1.2)", R"("mscale_al_dim": 1.2)"})
    EXPECT_TRUE(ids_of(yarn(key)).contains("rope-key-misspelt")) << key;
}

// Every value of every example replaced by values of other kinds: a rule may find anything, and throws nothing.
void replaced(const Json& document, const Json::json_pointer& at, const Json& value) {
  Json changed = document;
  changed[at] = value;
  EXPECT_NO_THROW(lint_text(changed.dump())) << changed.dump();
}
void every_value(const Json& document, const Json& part, const Json::json_pointer& at) {
  for (const auto& [key, value] : part.items()) {
    const Json::json_pointer here = at / key;
    for (const Json& other :
         {Json(nullptr), Json(true), Json("x"), Json(-1), Json(0), Json(0.3), Json(1e30), Json::array(),
          Json::array({1, "x"}), Json::object(), Json{{"full_attention", 1}}})
      replaced(document, here, other);
    if (value.is_object()) every_value(document, value, here);
  }
}
TEST(Lint, NoValueThrows) {
  for (const LintRule* rule : lint_rules()) {
    const Json document = Json::parse(rule->traits.unread ? rule->passes : rule->fails);
    every_value(document, document, Json::json_pointer());
  }
}

TEST(Lint, ErrorsComeFirstAndRulesCanBeChosen) {
  const std::string& json = kSilent.front().json;
  const LintContext context(Config::parse(json, "config.json"));
  const std::vector<LintResult> all = lint(context);
  ASSERT_GE(all.size(), 2U);
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return a.rule->severity < b.rule->severity;
  }));
  EXPECT_EQ(ids_of(lint(context, {{"two-dictionaries"}, {}})), Ids{"two-dictionaries"});
  EXPECT_FALSE(ids_of(lint(context, {{}, {"two-dictionaries"}})).contains("two-dictionaries"));
  EXPECT_THROW(lint(context, {{"no-such-rule"}, {}}), Error);
  EXPECT_THROW(lint(context, {{}, {"no-such-rule"}}), Error);
}

TEST(Lint, LinesAreThoseOfTheKeys) {
  const std::string json =
      "{\n \"a.b\": 1,\n \"a\": {\"x\": [1, {\"c\": 2}, \"}\\\"\"],\n  \"c\": 3,\n  \"d\": {\"e\":\n 4}},\n "
      "\"c\": 5, \"s\": \"{\\\"a\\\": 1\"\n,\"z\":0}";
  for (const auto& [key, line] : std::map<std::string, std::size_t>{{"a.b", 2},
                                                                    {"a", 3},
                                                                    {"a.c", 4},
                                                                    {"a.d", 5},
                                                                    {"a.d.e", 5},
                                                                    {"c", 7},
                                                                    {"z", 8},
                                                                    {"s", 7},
                                                                    {"a.d.missing", 5},
                                                                    {"a.missing", 3},
                                                                    {"missing", 1},
                                                                    {"", 1}})
    EXPECT_EQ(line_of(json, key), line) << key;
}

}  // namespace
}  // namespace gnomon
