// The size of a head, where the file leaves it to the class.
#include "gnomon/models/lint/rules/rule.h"

namespace gnomon {
namespace {

Findings null_head(const LintContext& file) {
  return remarked(file, "head-dim-null",
                  "a number, hidden_size / num_attention_heads where nothing else is meant");
}

Findings not_divisible(const LintContext& file) {
  if (file.gguf() || !file.family()) return {};
  const Family& family = *file.family();
  const std::string_view key = width_key(family.keys, [&](std::string_view k) { return file.has(k); });
  const auto width = file.whole(key);
  auto heads = file.whole(SizeKeys{}.heads);
  if (!heads) heads = file.whole(family.keys.heads);
  const bool said = file.has(family.keys.head_dim) || family.sizes.head_dim || family.mla.rope;
  if (!width || !heads || *width < 1 || *heads < 1 || *width % *heads == 0 ||
      (said && !family.width_by_heads))
    return {};
  return {finding(file, file.at(key), text("a multiple of ", *heads, said ? "" : ", or a head_dim"),
                  family.width_by_heads
                      ? text("the class of ", file.type(), " refuses a width that ", *heads,
                             " heads do not divide", said ? ", whatever head_dim says" : "")
                      : text(*heads, " heads of ", *width / *heads, " channels are ",
                             *width / *heads * *heads, ": the class rounds down without a word"))};
}

Findings not_shared(const LintContext& file) {
  return remarked(file, "key-heads-not-shared", "a divisor of num_attention_heads");
}

const LintRule kRules[] = {
    {.id = "head-dim-null",
     .severity = Severity::error,
     .title = "head_dim is null, or absent where the class leaves it null.",
     .explains =
         "Linear and Llama 3 scaling then divide hidden_size by the heads; dynamic scaling, YaRN and "
         "LongRoPE of transformers 5.23 multiply the null and raise TypeError. So do Mixtral's and "
         "HunYuan's files without the key, and a null in most classes; those whose class has a number "
         "(Gemma, Qwen3, GLM-4) refuse a null whatever the type. `gnomon explain` reads the width "
         "divided by the heads, or the class's number.",
     .fix = "Write the number.",
     .link = "https://github.com/huggingface/transformers/blob/main/src/transformers/modeling_rope_utils.py",
     .fails =
         R"({"model_type": "mixtral", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 16384,
 "rope_theta": 1000000, "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 4096}})",
     .passes =
         R"({"model_type": "mixtral", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "head_dim": 64, "max_position_embeddings": 16384,
 "rope_theta": 1000000, "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 4096}})",
     .find = null_head,
     .departs = true},
    {.id = "width-not-divisible",
     .severity = Severity::error,
     .title = "The heads do not divide hidden_size.",
     .explains =
         "Without a head_dim a head has hidden_size / num_attention_heads channels. Llama, Gemma 2, "
         "StableLM, ModernBERT and BERT refuse a remainder, Llama even beside a head_dim; Qwen2, OLMo "
         "and others round down, and the weights of q have fewer columns than the model is wide.",
     .fix = "Correct one of the two numbers, or write head_dim.",
     .link = "https://github.com/huggingface/transformers/blob/main/src/transformers/models/llama/"
             "configuration_llama.py",
     .fails =
         R"({"model_type": "llama", "hidden_size": 516, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 8192, "rope_theta": 10000})",
     .passes =
         R"({"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 8192, "rope_theta": 10000})",
     .find = not_divisible},
    {.id = "key-heads-not-shared",
     .severity = Severity::error,
     .title = "The heads of keys do not divide the heads of queries.",
     .explains = "Each head of keys and values serves as many heads of queries as the others. Where a file "
                 "leaves num_key_value_heads out, some classes have a number of their own: Gemma 2's is 4, "
                 "Mistral's 8. transformers 5.23 raises an error when such a model runs.",
     .fix = "Write num_key_value_heads: num_attention_heads or a divisor of it.",
     .link = "https://github.com/huggingface/transformers/blob/main/src/transformers/models/gemma2/"
             "configuration_gemma2.py",
     .fails =
         R"({"model_type": "gemma2", "hidden_size": 128, "num_attention_heads": 2, "num_hidden_layers": 2, "head_dim": 64, "max_position_embeddings": 8192,
 "rope_theta": 10000})",
     .passes =
         R"({"model_type": "gemma2", "hidden_size": 128, "num_attention_heads": 2, "num_key_value_heads": 2, "num_hidden_layers": 2, "head_dim": 64, "max_position_embeddings": 8192,
 "rope_theta": 10000})",
     .find = not_shared,
     .departs = true},
};

}  // namespace

std::span<const LintRule> heads_rules() { return kRules; }

}  // namespace gnomon
