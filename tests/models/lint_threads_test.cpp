// Threads of 2026 whose fault could be seen in a config.json or a GGUF header alone: each has a rule of `gnomon lint` that finds the
// file of the thread, or a reason why there is none.
#include <gtest/gtest.h>

#include <array>
#include <regex>
#include <set>
#include <sstream>

#include "gnomon/core/text.h"
#include "gnomon/models/lint/context.h"
#include "gnomon/pages/lint.h"

namespace gnomon {
namespace {

std::set<std::string> found_in(std::string_view json, std::vector<LintTensor> tensors = {}) {
  std::set<std::string> ids;
  for (const LintResult& r : lint(LintContext(Config::parse(json, "config.json"), std::move(tensors))))
    ids.insert(std::string(r.rule->id));
  return ids;
}

struct Thread {
  std::string_view where, rule;
  std::string_view file;         // as in the thread, with small sizes
  std::string_view mended = {};  // without the fault; empty: nothing in the file is wrong
};

constexpr Thread kThreads[] = {
    {"vllm#56446, YaRN under another name", "length-multiplied-again",
     R"({"model_type": "deepseek_v3", "hidden_size": 1024, "num_attention_heads": 8, "num_hidden_layers": 2,
         "max_position_embeddings": 131072, "rope_theta": 10000, "rope_scaling": {"rope_type": "deepseek_yarn", "factor": 40,
         "original_max_position_embeddings": 3277, "mscale": 1.0, "mscale_all_dim": 1.0}})",
     R"({"model_type": "deepseek_v3", "hidden_size": 1024, "num_attention_heads": 8, "num_hidden_layers": 2,
         "max_position_embeddings": 131072, "rope_theta": 10000, "rope_scaling": {"rope_type": "yarn", "factor": 40,
         "original_max_position_embeddings": 3277, "mscale": 1.0, "mscale_all_dim": 1.0}})"},
    {"vllm#56446, TeleChat 3", "length-multiplied-again",
     R"({"model_type": "telechat3", "hidden_size": 1024, "num_attention_heads": 8, "num_hidden_layers": 2,
         "max_position_embeddings": 131072, "rope_theta": 1000000, "rope_scaling": {"rope_type": "telechat3-yarn", "factor": 4,
         "original_max_position_embeddings": 32768}})"},
    {"Safe-Synthesizer#623", "length-times-factor",
     R"({"model_type": "llama", "hidden_size": 1024, "num_attention_heads": 8, "num_hidden_layers": 2,
         "max_position_embeddings": 4096, "rope_theta": 10000, "rope_scaling": {"rope_type": "linear", "factor": 2.0}})",
     R"({"model_type": "llama", "hidden_size": 1024, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 2048,
         "max_sequence_length": 4096, "rope_theta": 10000, "rope_scaling": {"rope_type": "linear", "factor": 2.0}})"},
    {"ik_llama.cpp#2003", "gguf-mixing-weight-above-one",
     R"({"general.architecture": "llama", "llama.block_count": 2, "llama.context_length": 262144, "llama.embedding_length": 512,
         "llama.attention.head_count": 8, "llama.rope.freq_base": 10000, "llama.rope.scaling.type": "yarn",
         "llama.rope.scaling.factor": 64.0, "llama.rope.scaling.original_context_length": 4096,
         "llama.rope.scaling.yarn_ext_factor": 64.0})",
     R"({"general.architecture": "llama", "llama.block_count": 2, "llama.context_length": 262144, "llama.embedding_length": 512,
         "llama.attention.head_count": 8, "llama.rope.freq_base": 10000, "llama.rope.scaling.type": "yarn",
         "llama.rope.scaling.factor": 64.0, "llama.rope.scaling.original_context_length": 4096,
         "llama.rope.scaling.yarn_ext_factor": 1.0})"},
    {"vllm#56066", "theta-of-own-code",
     R"({"model_type": "bailing_moe_linear", "auto_map": {"AutoConfig": "configuration_bailing.BailingConfig"}, "hidden_size": 1024,
         "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 32768, "rope_theta": 600000})",
     R"({"model_type": "bailing_moe_linear", "auto_map": {"AutoConfig": "configuration_bailing.BailingConfig"}, "hidden_size": 1024,
         "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 32768, "rope_theta": 600000,
         "rope_parameters": {"rope_type": "default", "rope_theta": 600000}})"},
    {"vllm#56066, a type that vLLM knows", "bailing-base-lost",
     R"({"model_type": "bailing_moe", "auto_map": {"AutoConfig": "configuration_bailing.BailingConfig"}, "hidden_size": 1024,
         "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 32768, "rope_theta": 600000})"},
    {"vllm#43770", "bailing-turns-whole-heads",
     R"({"model_type": "bailing_moe", "hidden_size": 1024, "num_attention_heads": 8, "head_dim": 128, "num_hidden_layers": 2,
         "max_position_embeddings": 32768, "rope_theta": 600000, "partial_rotary_factor": 0.5})",
     R"({"model_type": "bailing_moe", "hidden_size": 1024, "num_attention_heads": 8, "head_dim": 128, "num_hidden_layers": 2,
         "max_position_embeddings": 32768, "rope_theta": 600000, "partial_rotary_factor": 0.5, "rotary_dim": 64})"},
    {"vllm#43770, both keys", "rotated-width-twice",
     R"({"model_type": "bailing_moe", "hidden_size": 1024, "num_attention_heads": 8, "head_dim": 128, "num_hidden_layers": 2,
         "max_position_embeddings": 32768, "rope_theta": 600000, "partial_rotary_factor": 0.5, "rotary_dim": 128})",
     R"({"model_type": "bailing_moe", "hidden_size": 1024, "num_attention_heads": 8, "head_dim": 128, "num_hidden_layers": 2,
         "max_position_embeddings": 32768, "rope_theta": 600000, "partial_rotary_factor": 0.5, "rotary_dim": 64})"},
    {"vllm#57289", "scaling-replaces-kinds",
     R"({"model_type": "gemma4_text", "hidden_size": 1024, "num_attention_heads": 8, "head_dim": 64, "num_hidden_layers": 2,
         "max_position_embeddings": 32768, "sliding_window": 512, "layer_types": ["sliding_attention", "full_attention"],
         "rope_scaling": null, "rope_theta": null, "rope_parameters": {
         "sliding_attention": {"rope_type": "default", "rope_theta": 10000},
         "full_attention": {"rope_type": "proportional", "rope_theta": 1000000, "partial_rotary_factor": 0.25}}})",
     R"({"model_type": "gemma4_text", "hidden_size": 1024, "num_attention_heads": 8, "head_dim": 64, "num_hidden_layers": 2,
         "max_position_embeddings": 32768, "sliding_window": 512, "layer_types": ["sliding_attention", "full_attention"],
         "rope_parameters": {
         "sliding_attention": {"rope_type": "default", "rope_theta": 10000},
         "full_attention": {"rope_type": "proportional", "rope_theta": 1000000, "partial_rotary_factor": 0.25}}})"},
    {"ModernBERT#215", "theta-impossible",
     R"({"model_type": "modernbert", "hidden_size": 768, "num_attention_heads": 12, "num_hidden_layers": 22,
         "max_position_embeddings": 8192, "global_rope_theta": 160000.0, "local_rope_theta": -1})",
     R"({"model_type": "modernbert", "hidden_size": 768, "num_attention_heads": 12, "num_hidden_layers": 22,
         "max_position_embeddings": 8192, "global_rope_theta": 160000.0, "local_rope_theta": 10000.0})"},
    {"MNN#4145", "theta-null-in-a-part",
     R"({"model_type": "qwen2_5_omni", "thinker_config": {"text_config": {"model_type": "qwen2_5_omni_text", "hidden_size": 1024,
         "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 32768, "rope_theta": 1000000}},
         "talker_config": {"hidden_size": 896, "num_attention_heads": 12, "rope_theta": null}})",
     R"({"model_type": "qwen2_5_omni", "thinker_config": {"text_config": {"model_type": "qwen2_5_omni_text", "hidden_size": 1024,
         "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 32768, "rope_theta": 1000000}},
         "talker_config": {"hidden_size": 896, "num_attention_heads": 12, "rope_theta": 1000000}})"},
    {"vllm#38735", "ernie-base-too-late",
     R"({"model_type": "ernie4_5_moe_vl", "auto_map": {"AutoConfig": "configuration_ernie4_5_vl.Ernie4_5_VLMoEConfig"},
         "transformers_version": "5.4.0", "hidden_size": 1024, "num_attention_heads": 8, "num_hidden_layers": 2,
         "max_position_embeddings": 131072, "rope_theta": 500000})",
     R"({"model_type": "ernie4_5_moe_vl", "transformers_version": "5.4.0", "hidden_size": 1024, "num_attention_heads": 8,
         "num_hidden_layers": 2, "max_position_embeddings": 131072, "rope_theta": 500000})"},
    {"sentence-transformers#3666", "scaling-type-missing",
     R"({"model_type": "qwen3", "hidden_size": 1024, "num_attention_heads": 8, "num_key_value_heads": 8, "head_dim": 128,
         "num_hidden_layers": 2, "max_position_embeddings": 32768, "rope_theta": 1000000,
         "rope_scaling": {"type": "default", "factor": 4.0}})",
     R"({"model_type": "qwen3", "hidden_size": 1024, "num_attention_heads": 8, "num_key_value_heads": 8, "head_dim": 128,
         "num_hidden_layers": 2, "max_position_embeddings": 32768, "rope_theta": 1000000})"},
    {"mlx-lm#768", "model-type-missing",
     R"({"architectures": ["LongcatFlashForCausalLM"], "hidden_size": 1024, "num_attention_heads": 8, "num_layers": 2,
         "max_position_embeddings": 131072, "rope_theta": 10000000, "rope_scaling": {"rope_type": "yarn", "factor": 10,
         "original_max_position_embeddings": 13107, "mscale": 1, "mscale_all_dim": 1}})",
     R"({"model_type": "longcat_flash", "architectures": ["LongcatFlashForCausalLM"], "hidden_size": 1024, "num_attention_heads": 8,
         "num_layers": 2, "max_position_embeddings": 131072, "rope_theta": 10000000, "rope_scaling": {"rope_type": "yarn", "factor": 10,
         "original_max_position_embeddings": 13107, "mscale": 1, "mscale_all_dim": 1}})"},
    {"Automodel#2920", "draft-base-in-a-dictionary",
     R"({"architectures": ["LlamaForCausalLMEagle3"], "model_type": "llama", "draft_vocab_size": 32000, "hidden_size": 1024,
         "num_attention_heads": 8, "num_hidden_layers": 1, "max_position_embeddings": 8192,
         "rope_parameters": {"rope_type": "default", "rope_theta": 500000}})",
     R"({"architectures": ["LlamaForCausalLMEagle3"], "model_type": "llama", "draft_vocab_size": 32000, "hidden_size": 1024,
         "num_attention_heads": 8, "num_hidden_layers": 1, "max_position_embeddings": 8192, "rope_theta": 500000,
         "rope_parameters": {"rope_type": "default", "rope_theta": 500000}})"},
    {"transformers#39408", "window-one-too-many",
     R"({"model_type": "mistral", "hidden_size": 1024, "num_attention_heads": 8, "num_hidden_layers": 2,
         "max_position_embeddings": 32768, "rope_theta": 10000, "sliding_window": 513})",
     R"({"model_type": "mistral", "hidden_size": 1024, "num_attention_heads": 8, "num_hidden_layers": 2,
         "max_position_embeddings": 32768, "rope_theta": 10000, "sliding_window": 512})"},
    {"llama.cpp#19928", "gguf-no-context-shift",
     R"({"general.architecture": "qwen2vl", "qwen2vl.block_count": 2, "qwen2vl.context_length": 32768, "qwen2vl.embedding_length": 1024,
         "qwen2vl.attention.head_count": 8, "qwen2vl.rope.freq_base": 1000000, "qwen2vl.rope.dimension_sections": [16, 24, 24, 0]})"},
    {"lattice#96", "sections-in-turn-are-not-pairs",
     R"({"model_type": "qwen3_5_text", "hidden_size": 1024, "num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 256,
         "num_hidden_layers": 4, "max_position_embeddings": 262144, "rope_parameters": {"rope_type": "default", "rope_theta": 10000000,
         "partial_rotary_factor": 0.25, "mrope_section": [11, 11, 10], "mrope_interleaved": true}})"},
};

TEST(LintThreads, EachIsFoundInTheFileOfTheThread) {
  for (const Thread& thread : kThreads) {
    EXPECT_TRUE(found_in(thread.file).contains(std::string(thread.rule)))
        << thread.where << ": " << thread.rule;
    const bool silent = thread.mended.empty() || !found_in(thread.mended).contains(std::string(thread.rule));
    EXPECT_TRUE(silent) << thread.where;
  }
}

// What the page of rules says of a rule.
std::string section_of(std::string_view rule) {
  const std::string page = pages::lint_markdown(), head = text("\n### ", rule, "\n");
  const std::size_t from = page.find(head);
  return page.substr(from, page.find("\n### ", from + head.size()) - from);
}
// Threads that share a rule with another report, or have none: the page links them beside what they are about.
TEST(LintThreads, ThePageLinksThem) {
  for (const auto& [rule, repository, number] : std::initializer_list<std::array<std::string_view, 3>>{
           {"theta-impossible", "AnswerDotAI/ModernBERT", "215"},
           {"scaling-type-missing", "huggingface/sentence-transformers", "3666"},
           {"model-type-missing", "ml-explore/mlx-lm", "768"},
           {"stored-frequencies-rounded", "Modalities/modalities", "462"},
           {"stored-frequencies-rounded", "huggingface/candle", "3520"},
           {"stored-frequencies-rounded", "huggingface/diffusers", "13920"},
           {"rope-interleave-unread", "NVIDIA/Megatron-LM", "3900"}}) {
    const std::regex link(text(R"(\(https://github\.com/)", repository, "/(issues|pull)/", number, R"(\))"));
    EXPECT_TRUE(std::regex_search(section_of(rule), link)) << rule << repository;
  }
  for (const char* rule : {"stored-frequencies-rounded", "rope-interleave-unread"})
    EXPECT_NE(section_of(rule).find("has no rule: "), std::string::npos) << rule;
}
TEST(LintThreads, FurtherReportsAreThreads) {
  const std::regex thread(R"(https://github\.com/[\w.-]+/[\w.-]+/(issues|pull)/\d+)");
  for (const LintRule* rule : lint_rules()) {
    std::istringstream also{std::string(rule->also)};
    for (std::string one; also >> one;) EXPECT_TRUE(std::regex_match(one, thread)) << rule->id << " " << one;
  }
}

// vllm#57289 again: of these classes rope_parameters is null or {} afterwards, in transformers 5.23; the last three fill it in.
TEST(LintThreads, AnEmptyScalingReplacesTheDictionariesOfSomeClasses) {
  for (const char* scaling : {"null", "{}"}) {
    const auto found = [&](const std::string& type) {
      return found_in(R"({"model_type": ")" + type + R"(", "rope_scaling": )" + scaling + "}")
          .contains("scaling-replaces-kinds");
    };
    for (const char* type :
         {"beam", "cohere_compass_text", "diffusion_gemma_text", "embedding_gemma2_text", "gemma4_text",
          "gemma4_unified_text", "laguna", "mellum", "mimo_v2_flash", "zaya"})
      EXPECT_TRUE(found(type)) << type << scaling;
    for (const char* type : {"lfm3", "gemma3n_text", "llama"}) EXPECT_FALSE(found(type)) << type << scaling;
  }
}

// Modalities#462, diffusers#13920, candle#3520: tables of cos and sin in half precision. A stored table is seen; the dtype of a file
// alone has no rule, for the reason that the page gives.
TEST(LintThreads, HalfPrecisionIsSeenInWhatIsStored) {
  constexpr std::string_view file =
      R"({"model_type": "llama", "torch_dtype": "bfloat16", "hidden_size": 8, "num_attention_heads": 1, "num_hidden_layers": 1,
          "max_position_embeddings": 131072, "rope_theta": 10000})";
  EXPECT_FALSE(found_in(file).contains("stored-frequencies-rounded"));
  EXPECT_TRUE(found_in(file, {{"model.layers.0.self_attn.rotary_emb.inv_freq",
                               {4},
                               {1, .10009765625F, .010009765625F, .00099945068F},
                               "BF16"}})
                  .contains("stored-frequencies-rounded"));
}

// Megatron-LM#3900: rotary_interleaved with latent attention, which no config.json has. The key of transformers' classes,
// rope_interleave, has a rule, whose section says so.
TEST(LintThreads, ThePairingOfLatentAttentionHasItsOwnKey) {
  constexpr std::string_view file =
      R"({"model_type": "deepseek_v2", "hidden_size": 1024, "num_attention_heads": 8, "num_hidden_layers": 2, "qk_rope_head_dim": 64,
          "qk_nope_head_dim": 128, "max_position_embeddings": 8192, "rope_theta": 10000, "rope_interleave": false})";
  EXPECT_TRUE(found_in(file).contains("rope-interleave-unread"));
}

}  // namespace
}  // namespace gnomon
