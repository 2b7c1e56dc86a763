// No false alarms: files as they were published (their keys of sizes and position) have no error, and no warning but those named.
#include <gtest/gtest.h>

#include <set>

#include "gnomon/models/lint/context.h"

namespace gnomon {
namespace {

struct Published {
  std::string name, json;
  std::set<std::string> warnings = {}, notes = {};
};

std::string factors(double last) {  // of LongRoPE, 48 pairs: those of the file grow likewise
  std::string all = "[";
  for (int c = 0; c < 48; ++c) all += (c ? ", " : "") + std::to_string(1 + (last - 1) * c / 47);
  return all + "]";
}
std::string kinds(int layers, int every) {
  std::string all = "[";
  for (int l = 1; l <= layers; ++l)
    all += std::string(l > 1 ? ", " : "") + (l % every ? "\"sliding_attention\"" : "\"full_attention\"");
  return all + "]";
}
std::string turning(int layers) {
  std::string all = "[";
  for (int l = 1; l <= layers; ++l) all += std::string(l > 1 ? ", " : "") + (l % 4 ? "1" : "0");
  return all + "]";
}

const std::vector<Published> kPublished{
    {"meta-llama/Llama-2-7b-hf",
     R"({"model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 32, "num_hidden_layers": 32, "max_position_embeddings": 4096,
      "rope_scaling": null})"},
    {"lmsys/vicuna-7b-v1.5-16k",
     R"({"model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32, "num_hidden_layers": 32, "max_position_embeddings": 4096,
      "max_sequence_length": 16384, "rope_scaling": {"factor": 4.0, "type": "linear"}})"},
    {"meta-llama/Llama-3.1-8B",
     R"({"model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 8, "num_hidden_layers": 32, "max_position_embeddings": 131072,
      "rope_theta": 500000.0, "rope_scaling": {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192, "rope_type": "llama3"}})"},
    {"mistralai/Mistral-7B-v0.1",
     R"({"model_type": "mistral", "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 8, "num_hidden_layers": 32, "max_position_embeddings": 32768,
      "rope_theta": 10000.0, "sliding_window": 4096})"},
    {"Qwen/Qwen2.5-7B",
     R"({"model_type": "qwen2", "hidden_size": 3584, "num_attention_heads": 28, "num_key_value_heads": 4, "num_hidden_layers": 28, "max_position_embeddings": 131072,
      "max_window_layers": 28, "rope_theta": 1000000.0, "sliding_window": 131072, "use_mrope": false, "use_sliding_window": false})"},
    {"Qwen/Qwen3-8B",
     R"({"model_type": "qwen3", "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 8, "num_hidden_layers": 36, "head_dim": 128, "max_position_embeddings": 40960,
      "max_window_layers": 36, "rope_theta": 1000000, "rope_scaling": null, "sliding_window": null, "use_sliding_window": false})"},
    {"Qwen/Qwen2-VL-7B-Instruct",
     R"({"model_type": "qwen2_vl", "hidden_size": 3584, "num_attention_heads": 28, "num_key_value_heads": 4, "num_hidden_layers": 28, "max_position_embeddings": 32768,
      "max_window_layers": 28, "rope_theta": 1000000.0, "rope_scaling": {"type": "mrope", "mrope_section": [16, 24, 24]}, "sliding_window": 32768, "use_sliding_window": false})",
     {},
     {"sections-invisible-in-text"}},
    {"google/gemma-3-4b-it",
     R"({"model_type": "gemma3", "text_config": {"model_type": "gemma3_text", "hidden_size": 2560, "num_hidden_layers": 34, "rope_scaling": {"factor": 8.0,
      "rope_type": "linear"}, "sliding_window": 1024}})",
     {"theta-of-class"},
     {"theta-by-kind-of-layer", "scaled-layers-unsaid"}},
    {"allenai/Olmo-3-1025-7B",
     R"({"model_type": "olmo3", "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 32, "num_hidden_layers": 32, "max_position_embeddings": 65536,
      "rope_theta": 500000, "rope_scaling": {"attention_factor": 1.2079441541679836, "beta_fast": 32.0, "beta_slow": 1.0, "factor": 8.0,
      "original_max_position_embeddings": 8192, "rope_type": "yarn"}, "sliding_window": 4096, "layer_types": )" +
         kinds(32, 4) + "}",
     {},
     {"scaled-layers-unsaid"}},
    {"openai/gpt-oss-20b",
     R"({"model_type": "gpt_oss", "hidden_size": 2880, "num_attention_heads": 64, "num_key_value_heads": 8, "num_hidden_layers": 24, "head_dim": 64, "max_position_embeddings": 131072,
      "initial_context_length": 4096, "rope_theta": 150000, "rope_scaling": {"beta_fast": 32.0, "beta_slow": 1.0, "factor": 32.0, "original_max_position_embeddings": 4096,
      "rope_type": "yarn", "truncate": false}, "sliding_window": 128, "layer_types": )" +
         kinds(24, 2) + "}",
     {},
     {"yarn-ramp-not-rounded"}},
    {"HuggingFaceTB/SmolLM3-3B",
     R"({"model_type": "smollm3", "hidden_size": 2048, "num_attention_heads": 16, "num_key_value_heads": 4, "num_hidden_layers": 36, "max_position_embeddings": 65536,
      "rope_theta": 5000000.0, "rope_scaling": null, "no_rope_layer_interval": 4, "use_sliding_window": false, "sliding_window": null, "no_rope_layers": )" +
         turning(36) + "}"},
    {"microsoft/Phi-3-mini-128k-instruct",
     R"({"model_type": "phi3", "hidden_size": 3072, "num_attention_heads": 32, "num_key_value_heads": 32, "num_hidden_layers": 32, "max_position_embeddings": 131072,
      "original_max_position_embeddings": 4096, "rope_theta": 10000.0, "sliding_window": 262144, "rope_scaling": {"type": "longrope", "short_factor": )" +
         factors(2.8) + ", \"long_factor\": " + factors(64.8) + "}}",
     {},
     {"longrope-changes-while-writing", "window-beyond-context"}},
    {"deepseek-ai/DeepSeek-V3",
     R"({"model_type": "deepseek_v3", "hidden_size": 7168, "num_attention_heads": 128, "num_key_value_heads": 128, "num_hidden_layers": 61, "max_position_embeddings": 163840,
      "kv_lora_rank": 512, "q_lora_rank": 1536, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "rope_theta": 10000, "rope_scaling": {"beta_fast": 32,
      "beta_slow": 1, "factor": 40, "mscale": 1.0, "mscale_all_dim": 1.0, "original_max_position_embeddings": 4096, "type": "yarn"}})",
     {},
     {"mscale-has-two-places"}},
    {"moonshotai/Kimi-K2-Instruct",
     R"({"model_type": "kimi_k2", "hidden_size": 7168, "num_attention_heads": 64, "num_key_value_heads": 64, "num_hidden_layers": 61, "max_position_embeddings": 131072,
      "kv_lora_rank": 512, "q_lora_rank": 1536, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "rope_theta": 50000.0, "rope_scaling": {"beta_fast": 1.0,
      "beta_slow": 1.0, "factor": 32.0, "mscale": 1.0, "mscale_all_dim": 1.0, "original_max_position_embeddings": 4096, "type": "yarn"}})",
     {},
     {"mscale-has-two-places", "family-has-its-own-code"}},
    {"meta-llama/Llama-4-Scout-17B-16E-Instruct",
     R"({"model_type": "llama4", "text_config": {"model_type": "llama4_text", "hidden_size": 5120, "num_attention_heads": 40, "num_key_value_heads": 8, "num_hidden_layers": 48,
      "head_dim": 128, "max_position_embeddings": 10485760, "rope_theta": 500000.0, "attention_chunk_size": 8192, "attn_temperature_tuning": true, "no_rope_layers": [],
      "rope_scaling": {"factor": 16.0, "high_freq_factor": 1.0, "low_freq_factor": 1.0, "original_max_position_embeddings": 8192, "rope_type": "llama3"}}})"},
    {"stepfun-ai/Step-3.5-Flash, four of its layers",
     R"({"model_type": "step3p5", "hidden_size": 4096, "num_attention_heads": 64, "num_attention_groups": 8, "head_dim": 128, "num_hidden_layers": 4,
      "max_position_embeddings": 262144, "rope_theta": [5000000.0, 10000.0, 10000.0, 10000.0], "partial_rotary_factors": [0.5, 1.0, 1.0, 1.0], "sliding_window": 512,
      "layer_types": ["full_attention", "sliding_attention", "sliding_attention", "sliding_attention"]})",
     {},
     {"theta-by-kind-of-layer", "refused-by-version-4"}},
    {"deepseek-ai/DeepSeek-OCR",
     R"({"model_type": "deepseek_vl_v2", "language_config": {"model_type": "deepseek_v2", "hidden_size": 1280, "num_attention_heads": 10, "num_key_value_heads": 10,
      "num_hidden_layers": 12, "max_position_embeddings": 8192, "kv_lora_rank": null, "q_lora_rank": null, "qk_nope_head_dim": 0, "qk_rope_head_dim": 0, "use_mla": false,
      "v_head_dim": 0}})",
     {},
     {"family-has-its-own-code", "position-key-unread"}},
    {"Alibaba-NLP/gte-Qwen2-7B-instruct, with is_causal",
     R"({"model_type": "qwen2", "hidden_size": 3584, "num_attention_heads": 28, "num_key_value_heads": 4, "num_hidden_layers": 28, "max_position_embeddings": 131072,
      "rope_theta": 1000000.0, "is_causal": false, "use_sliding_window": false})",
     {},
     {"mask-by-version"}},
    {"EleutherAI/pythia-160m",
     R"({"model_type": "gpt_neox", "hidden_size": 768, "num_attention_heads": 12, "num_hidden_layers": 12, "max_position_embeddings": 2048, "rotary_emb_base": 10000,
      "rotary_pct": 0.25})"},
    {"openai-community/gpt2",
     R"({"model_type": "gpt2", "n_embd": 768, "n_head": 12, "n_layer": 12, "n_positions": 1024, "n_ctx": 1024})"},
    {"google-bert/bert-base-uncased",
     R"({"model_type": "bert", "hidden_size": 768, "num_attention_heads": 12, "num_hidden_layers": 12, "max_position_embeddings": 512, "position_embedding_type": "absolute"})"},
    {"FacebookAI/roberta-base",
     R"({"model_type": "roberta", "hidden_size": 768, "num_attention_heads": 12, "num_hidden_layers": 12, "max_position_embeddings": 514, "pad_token_id": 1})"},
    {"jinaai/jina-embeddings-v3",
     R"({"model_type": "xlm-roberta", "auto_map": {"AutoConfig": "jinaai/xlm-roberta-flash-implementation--configuration_xlm_roberta.XLMRobertaFlashConfig",
      "AutoModel": "jinaai/xlm-roberta-flash-implementation--modeling_lora.XLMRobertaLoRA"}, "hidden_size": 1024, "num_attention_heads": 16, "num_hidden_layers": 24,
      "max_position_embeddings": 8194, "pad_token_id": 1, "position_embedding_type": "rotary", "rotary_emb_base": 20000.0})",
     {},
     {"own-code-beside-class"}},
    {"microsoft/deberta-v3-base",
     R"({"model_type": "deberta-v2", "hidden_size": 768, "num_attention_heads": 12, "num_hidden_layers": 12, "max_position_embeddings": 512, "relative_attention": true,
      "position_buckets": 256, "norm_rel_ebd": "layer_norm", "share_att_key": true, "pos_att_type": "p2c|c2p", "max_relative_positions": -1, "position_biased_input": false})"},
    {"google-t5/t5-small",
     R"({"model_type": "t5", "d_model": 512, "num_heads": 8, "num_layers": 6, "d_kv": 64, "n_positions": 512, "relative_attention_num_buckets": 32})",
     {},
     {"position-key-unread"}},
    {"bigscience/bloom-560m",
     R"({"model_type": "bloom", "n_embed": 1024, "num_attention_heads": 16, "n_layer": 24, "seq_length": 2048})"},
    {"tiiuae/falcon-7b",
     R"({"model_type": "falcon", "hidden_size": 4544, "num_attention_heads": 71, "num_hidden_layers": 32, "alibi": false, "multi_query": true,
      "new_decoder_architecture": false})"},
    {"mosaicml/mpt-7b",
     R"({"model_type": "mpt", "d_model": 4096, "n_heads": 32, "n_layers": 32, "max_seq_len": 2048, "attn_config": {"alibi": true, "alibi_bias_max": 8}, "torch_dtype": "bfloat16"})",
     {},
     {"alibi-in-half-precision"}},
    {"answerdotai/ModernBERT-base",
     R"({"model_type": "modernbert", "hidden_size": 768, "num_attention_heads": 12, "num_hidden_layers": 22, "max_position_embeddings": 8192, "global_rope_theta": 160000.0,
      "local_rope_theta": 10000.0, "local_attention": 128, "global_attn_every_n_layers": 3, "position_embedding_type": "absolute"})",
     {},
     {"theta-by-kind-of-layer"}},
    {"HuggingFaceTB/SmolLM2-135M in GGUF",
     R"({"general.architecture": "llama", "llama.block_count": 30, "llama.context_length": 8192, "llama.embedding_length": 576, "llama.attention.head_count": 9,
      "llama.attention.head_count_kv": 3, "llama.rope.freq_base": 100000.0, "llama.rope.dimension_count": 64})",
     {},
     {"gguf-rows-are-permuted"}},
};

TEST(LintPublished, NoFalseAlarm) {
  for (const Published& model : kPublished) {
    const LintContext context(Config::parse(model.json, model.name));
    std::set<std::string> warnings, notes;
    for (const auto& [rule, finding] : lint(context)) {
      EXPECT_NE(rule->severity, Severity::error) << model.name << ": " << rule->id << ": " << finding.says;
      if (rule->severity == Severity::warning) warnings.insert(std::string(rule->id));
      if (rule->severity == Severity::note && rule->id != "family-unknown")
        notes.insert(std::string(rule->id));
    }
    EXPECT_EQ(warnings, model.warnings) << model.name;
    EXPECT_EQ(notes, model.notes) << model.name;
  }
}

}  // namespace
}  // namespace gnomon
