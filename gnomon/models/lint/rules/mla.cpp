// DeepSeek's attention: a rotary slice beside the rest of the head, and an indexer with a pairing of its own.
#include <algorithm>

#include "gnomon/models/lint/rules/rule.h"

namespace gnomon {
namespace {

Findings slice_whole(const LintContext& file) {
  if (!file.has("qk_rope_head_dim") || file.type() == "deepseek_v4") return {};  // V4's share is of the head
  Findings all;
  const auto slice = file.number("qk_rope_head_dim");
  const auto look = [&](const std::string& key) {
    const bool part = file.config().kind(key) == Config::Kind::number && *file.config().number(key) < 1;
    if (part)
      all.push_back(
          finding(file, key, file.family() ? "1, or no such key" : "nothing; check what serves it",
                  text("the slice of ", shortest(slice.value_or(0)), " channels turns whole",
                       file.family() ? "" : " in DeepSeek's classes", "; by this key a reader turns ",
                       shortest(slice.value_or(0) * *file.config().number(key)))));
  };
  look(file.at("partial_rotary_factor"));
  for (const RopeDictionary& dict : file.ropes()) look(dict.key + ".partial_rotary_factor");
  return all;
}

Findings indexer(const LintContext& file) {
  if (!file.has("index_head_dim") && !file.has("index_n_heads")) return {};
  const bool interleaved = file.type() == "glm_moe_dsa";
  return {finding(file, file.at(file.has("index_head_dim") ? "index_head_dim" : "index_n_heads"),
                  "nothing; check both pairings in what serves it",
                  text("the attention turns adjacent channels, the indexer ",
                       interleaved ? "adjacent ones too" : "halves", ", and no key says so"))};
}

Findings indexer_key(const LintContext& file) {
  if (!file.has("indexer_rope_interleave")) return {};
  return {finding(file, file.at("indexer_rope_interleave"), "know it: the class decides",
                  text("no class of transformers 5.23 reads it; that of ", file.type(), " turns ",
                       file.type() == "glm_moe_dsa" ? "adjacent channels" : "halves"))};
}

Findings interleave_unread(const LintContext& file) {
  constexpr std::array<std::string_view, 6> readers{"deepseek_v3", "kimi_k2", "glm4_moe_lite",
                                                    "mistral4",    "youtu",   "axk1"};
  if (!file.has("rope_interleave") || !file.family() ||
      std::find(readers.begin(), readers.end(), file.type()) != readers.end())
    return {};
  return {finding(file, file.at("rope_interleave"), "no such key; the class decides",
                  text("the class of ", file.type(), " does not read it"))};
}

Findings blocks(const LintContext& file) {
  return remarked(file, "positions-of-blocks-untold",
                  "nothing; read the model's code beside what gnomon tells");
}

Findings part_unsaid(const LintContext& file) {
  return remarked(file, "part-of-blocks-unsaid",
                  "partial_rotary_factor, qk_rope_head_dim / head_dim, in each of the two");
}
Findings temperature(const LintContext& file) {
  return remarked(file, "yarn-temperature-added", "\"attention_factor\": 1.0 in that dictionary");
}

const LintRule kRules[] = {
    {.id = "rotary-slice-turns-whole",
     .severity = Severity::warning,
     .title = "partial_rotary_factor in a model with a rotary slice.",
     .explains =
         "In DeepSeek's attention qk_rope_head_dim is the part that turns, all of it. A share below 1 "
         "belongs to other layers of the model, or nowhere: vLLM applied 0.5 to the slice of Ling-2.6 "
         "and turned 32 of 64 channels in every full layer.",
     .fix = "Take it out, or check that what serves the model keeps it from the slice.",
     .link = "https://github.com/vllm-project/vllm/pull/41185",
     .fails =
         R"({"model_type": "deepseek_v3", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128,
 "v_head_dim": 128, "kv_lora_rank": 64, "max_position_embeddings": 4096, "rope_theta": 10000, "partial_rotary_factor": 0.5})",
     .passes =
         R"({"model_type": "deepseek_v3", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128,
 "v_head_dim": 128, "kv_lora_rank": 64, "max_position_embeddings": 4096, "rope_theta": 10000})",
     .find = slice_whole},
    {.id = "indexer-has-its-own-pairing",
     .severity = Severity::note,
     .title = "An indexer beside the attention, with a pairing of its own.",
     .explains =
         "DeepSeek-V3.2's attention turns adjacent channels and its indexer halves; its first official code "
         "had the indexer wrong, and vLLM, SGLang and vllm-ascend copied or repeated it.",
     .fix = "Check the pairing of each in what serves the model.",
     .link = "https://github.com/vllm-project/vllm/issues/28968",
     .fails =
         R"({"model_type": "deepseek_v32", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128,
 "v_head_dim": 128, "kv_lora_rank": 64, "max_position_embeddings": 4096, "rope_theta": 10000, "index_head_dim": 128, "index_n_heads": 64})",
     .passes =
         R"({"model_type": "deepseek_v3", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128,
 "v_head_dim": 128, "kv_lora_rank": 64, "max_position_embeddings": 4096, "rope_theta": 10000})",
     .find = indexer},
    {.id = "indexer-interleave-unread",
     .severity = Severity::warning,
     .title = "indexer_rope_interleave is read by no class of transformers.",
     .explains = "The pairing of the indexer is fixed by the class: halves for DeepSeek-V3.2, adjacent "
                 "channels for GLM's. A file that says otherwise is computed as the class has it.",
     .fix = "Compare with the class.",
     .link = "https://github.com/huggingface/transformers/issues/46842",
     .fails =
         R"({"model_type": "deepseek_v32", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128,
 "v_head_dim": 128, "kv_lora_rank": 64, "max_position_embeddings": 4096, "rope_theta": 10000, "indexer_rope_interleave": true})",
     .passes =
         R"({"model_type": "deepseek_v3", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128,
 "v_head_dim": 128, "kv_lora_rank": 64, "max_position_embeddings": 4096, "rope_theta": 10000, "rope_interleave": true})",
     .find = indexer_key},
    {.id = "rope-interleave-unread",
     .severity = Severity::warning,
     .title = "rope_interleave in a class that does not read it.",
     .explains = "DeepSeek-V3, GLM-4.7-Flash, Mistral 4 and a few more read it. Elsewhere the pairing is the "
                 "class's own, and the wrong one still writes fluently: a perplexity of 4.26 became 252.8 "
                 "where 39 architectures got the other.",
     .fix = "Take it out.",
     .link = "https://github.com/ikawrakow/ik_llama.cpp/pull/2290",
     .fails =
         R"({"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 4096, "rope_theta": 10000,
 "rope_interleave": true})",
     .passes =
         R"({"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 4096, "rope_theta": 10000})",
     .find = interleave_unread},
    {.id = "part-of-blocks-unsaid",
     .severity = Severity::error,
     .title = "DeepSeek-V4's two dictionaries without partial_rotary_factor.",
     .explains =
         "A file with one dictionary gets qk_rope_head_dim / head_dim in both that the class makes of "
         "it. Where the file has main and compress itself, a dictionary of the type default without "
         "the key turns the whole head under transformers 5.23: 256 pairs where 32 are meant.",
     .fix = "Write the share into both.",
     .link = "https://github.com/huggingface/transformers/blob/main/src/transformers/models/deepseek_v4/"
             "configuration_deepseek_v4.py",
     .fails =
         R"({"model_type": "deepseek_v4", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "head_dim": 128, "qk_rope_head_dim": 32,
 "max_position_embeddings": 4096, "rope_parameters": {"main": {"rope_type": "default", "rope_theta": 10000},
 "compress": {"rope_type": "default", "rope_theta": 160000}}})",
     .passes =
         R"({"model_type": "deepseek_v4", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "head_dim": 128, "qk_rope_head_dim": 32,
 "max_position_embeddings": 4096, "rope_parameters": {"main": {"rope_type": "default", "rope_theta": 10000, "partial_rotary_factor": 0.25},
 "compress": {"rope_type": "default", "rope_theta": 160000, "partial_rotary_factor": 0.25}}})",
     .find = part_unsaid},
    {.id = "yarn-temperature-added",
     .severity = Severity::warning,
     .title = "DeepSeek-V4's YaRN in a dictionary of its own, without attention_factor.",
     .explains = "The reference does not multiply cos and sin. transformers 5.23 writes attention_factor 1 "
                 "where the file has one dictionary, as DeepSeek's own; where it has main and compress it "
                 "writes none, and YaRN's rule gives 0.1 ln 16 + 1 = 1.277 at the factor 16: logits 1.63 "
                 "times as large.",
     .fix = "Write attention_factor 1.0 beside the factor.",
     .link = "https://github.com/huggingface/transformers/blob/main/src/transformers/models/deepseek_v4/"
             "configuration_deepseek_v4.py",
     .fails =
         R"({"model_type": "deepseek_v4", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "head_dim": 128, "qk_rope_head_dim": 32,
 "max_position_embeddings": 65536, "rope_parameters": {"main": {"rope_type": "default", "rope_theta": 10000, "partial_rotary_factor": 0.25},
 "compress": {"rope_type": "yarn", "rope_theta": 160000, "partial_rotary_factor": 0.25, "factor": 16, "original_max_position_embeddings": 4096}}})",
     .passes =
         R"({"model_type": "deepseek_v4", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "head_dim": 128, "qk_rope_head_dim": 32,
 "max_position_embeddings": 65536, "rope_parameters": {"main": {"rope_type": "default", "rope_theta": 10000, "partial_rotary_factor": 0.25},
 "compress": {"rope_type": "yarn", "rope_theta": 160000, "partial_rotary_factor": 0.25, "factor": 16, "original_max_position_embeddings": 4096,
 "attention_factor": 1.0}}})",
     .find = temperature},
    {.id = "positions-of-blocks-untold",
     .severity = Severity::note,
     .title = "Compressed blocks of tokens have positions of their own, which no encoding here says.",
     .explains = "DeepSeek-V4's layers without a window see the nearest tokens one by one and those beyond "
                 "as blocks, each turned by the position of the block; values turn too and turn back. "
                 "`gnomon explain` tells the rotation, its base and its scaling, and leaves out the blocks.",
     .fix = "Nothing in the file.",
     .link = "https://github.com/huggingface/transformers/blob/main/src/transformers/models/deepseek_v4/"
             "modeling_deepseek_v4.py",
     .fails =
         R"({"model_type": "deepseek_v4", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 3, "head_dim": 128, "qk_rope_head_dim": 32,
 "max_position_embeddings": 65536, "rope_theta": 10000, "compress_rope_theta": 160000, "compress_ratios": [0, 4, 128]})",
     .passes =
         R"({"model_type": "deepseek_v4", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 3, "head_dim": 128, "qk_rope_head_dim": 32,
 "max_position_embeddings": 65536, "rope_theta": 10000, "compress_rope_theta": 160000, "compress_ratios": [0, 0, 0]})",
     .find = blocks},
};

}  // namespace

std::span<const LintRule> mla_rules() { return kRules; }

}  // namespace gnomon
