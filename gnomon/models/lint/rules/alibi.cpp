// Biases that fall with distance.
#include "gnomon/models/lint/rules/rule.h"

namespace gnomon {
namespace {

bool is_mpt(const LintContext& file) { return file.type() == "mpt"; }
bool uses(const LintContext& file) {
  return file.type() == "bloom" || is_mpt(file) ||
         (file.type() == "falcon" && file.flag("alibi").value_or(false)) ||
         file.word("position_embedding_type") == "alibi";
}
std::optional<std::int64_t> heads(const LintContext& file) {
  for (const std::string_view key : {"num_attention_heads", "n_head", "n_heads"})
    if (const auto x = file.whole(key)) return x;
  return std::nullopt;
}

Findings most_unread(const LintContext& file) {
  const auto most = file.number("attn_config.alibi_bias_max");
  if (!is_mpt(file) || !most || *most == 8) return {};
  return {finding(file, file.at("attn_config.alibi_bias_max"), "8, or MPT's own code",
                  text("transformers 5.23 computes slopes for 8, the file means ", shortest(*most)))};
}

Findings off_unread(const LintContext& file) {
  if (!is_mpt(file) || file.flag("attn_config.alibi").value_or(true)) return {};
  return {finding(file, file.at("attn_config.alibi"), "true, or MPT's own code",
                  "transformers 5.23 adds ALiBi all the same, and has no learned table for MPT")};
}

Findings two_series(const LintContext& file) {
  const auto count = heads(file);
  if (!uses(file) || !count || *count <= 0 || (*count & (*count - 1)) == 0) return {};
  return {finding(file,
                  file.at(file.has("num_attention_heads") ? "num_attention_heads"
                          : file.has("n_head")            ? "n_head"
                                                          : "n_heads"),
                  "nothing; check the slopes of what serves it",
                  text(*count,
                       " is no power of two: the authors' slopes are two series, a plain 2^(-8h/H) gives "
                       "others to every head"))};
}

Findings hides_rotation(const LintContext& file) {
  if (file.type() != "falcon" || !file.flag("alibi").value_or(false)) return {};
  for (const std::string_view key : {"rope_theta", "rope_scaling", "rope_parameters"})
    if (file.has(key))
      return {finding(file, file.at(key), "no such key, or \"alibi\": false", "with alibi nothing turns")};
  return {};
}

Findings half_precision(const LintContext& file) {
  std::string key = "dtype";
  auto type = file.word(key);
  if (!type) type = file.word(key = "torch_dtype");
  std::int64_t tokens = 0;
  for (const std::string_view name : {"seq_length", "max_seq_len", "max_position_embeddings"})
    tokens = std::max(tokens, file.whole(name).value_or(0));
  if (!uses(file) || !type || (*type != "bfloat16" && *type != "float16") ||
      (*type == "float16" && tokens <= 2048) || tokens <= 256)
    return {};
  return {finding(file, file.at(key), "biases computed in float32",
                  text("whole numbers are exact up to ", *type == "float16" ? 2048 : 256, " in ", *type,
                       ", texts have up to ", tokens, " tokens"))};
}

Findings slopes_rounded(const LintContext& file) {
  return remarked(file, "alibi-slopes-rounded", "nothing; train and serve with the same rounding");
}

const LintRule kRules[] = {
    {.id = "alibi-most-unread",
     .severity = Severity::error,
     .title = "alibi_bias_max other than 8, which transformers does not read.",
     .explains = "MPT's slopes are 2^(-max * h / H). The class keeps the key, and the model calls its "
                 "function without it: 8 for every file, in 4.57 and in 5.23.",
     .fix = "Run such a model with its own code.",
     .link =
         "https://github.com/huggingface/transformers/blob/main/src/transformers/models/mpt/modeling_mpt.py",
     .fails =
         R"({"model_type": "mpt", "d_model": 512, "n_heads": 8, "n_layers": 2, "max_seq_len": 2048, "attn_config": {"alibi": true, "alibi_bias_max": 16}})",
     .passes =
         R"({"model_type": "mpt", "d_model": 512, "n_heads": 8, "n_layers": 2, "max_seq_len": 2048, "attn_config": {"alibi": true, "alibi_bias_max": 8}})",
     .find = most_unread},
    {.id = "alibi-off-unread",
     .severity = Severity::error,
     .title = "An MPT without ALiBi, which transformers runs with ALiBi.",
     .explains = "The class keeps attn_config.alibi and the model does not look at it; the learned table of "
                 "such a model has no place in the class.",
     .fix = "Run such a model with its own code.",
     .link = "https://github.com/mosaicml/llm-foundry/issues/186",
     .fails =
         R"({"model_type": "mpt", "d_model": 512, "n_heads": 8, "n_layers": 2, "max_seq_len": 2048, "attn_config": {"alibi": false}})",
     .passes =
         R"({"model_type": "mpt", "d_model": 512, "n_heads": 8, "n_layers": 2, "max_seq_len": 2048, "attn_config": {"alibi": true}})",
     .find = off_unread},
    {.id = "alibi-heads-no-power-of-two",
     .severity = Severity::note,
     .title = "ALiBi with a number of heads that is no power of two.",
     .explains =
         "The authors' code, BLOOM and llama.cpp take the slopes of the next lower power and every other one "
         "of the next higher; mlx before 2026 and others a plain geometric series: 12 heads differ in "
         "all of them.",
     .fix = "Check the slopes of what serves the model.",
     .link = "https://github.com/ml-explore/mlx/issues/343",
     .fails = R"({"model_type": "bloom", "hidden_size": 768, "n_head": 12, "n_layer": 2})",
     .passes = R"({"model_type": "bloom", "hidden_size": 1024, "n_head": 16, "n_layer": 2})",
     .find = two_series},
    {.id = "alibi-hides-rotation",
     .severity = Severity::warning,
     .title = "Settings of RoPE in a Falcon with ALiBi.",
     .explains = "Falcon has one or the other: with alibi the settings of RoPE are kept and not read.",
     .fix = "Take one out.",
     .link = "https://github.com/huggingface/transformers/blob/main/src/transformers/models/falcon/"
             "modeling_falcon.py",
     .fails =
         R"({"model_type": "falcon", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "alibi": true, "rope_theta": 10000})",
     .passes =
         R"({"model_type": "falcon", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "alibi": false, "rope_theta": 10000})",
     .find = hides_rotation},
    {.id = "alibi-in-half-precision",
     .severity = Severity::note,
     .title = "ALiBi in bfloat16 or float16, where distances are not exact.",
     .explains =
         "bfloat16 knows whole numbers exactly to 256, float16 to 2048. At 2048 tokens and slope 1/2, 1407 "
         "of 2047 neighbouring keys get the same bias in bfloat16; Falcon's code rounds slopes to it.",
     .fix = "Compute biases in float32 in what serves the model.",
     .link = "https://github.com/ofirpress/attention_with_linear_biases/issues/17",
     .fails =
         R"({"model_type": "bloom", "hidden_size": 1024, "n_head": 16, "n_layer": 2, "seq_length": 2048, "torch_dtype": "bfloat16"})",
     .passes =
         R"({"model_type": "bloom", "hidden_size": 1024, "n_head": 16, "n_layer": 2, "seq_length": 2048, "torch_dtype": "float32"})",
     .find = half_precision},
    {.id = "alibi-slopes-rounded",
     .severity = Severity::note,
     .title = "Falcon's slopes are no bfloat16, and transformers rounds them to it.",
     .explains = "Only powers of two survive: up to 8 heads. With 16 or more transformers multiplies the "
                 "distance by slopes of 8 bits, at every length and whatever the dtype. `gnomon explain` "
                 "and exported frequencies have the exact ones, up to 0.4 % away.",
     .fix = "Nothing in the file; compare biases with that in mind.",
     .link = "https://github.com/huggingface/transformers/blob/main/src/transformers/models/falcon/"
             "modeling_falcon.py",
     .fails =
         R"({"model_type": "falcon", "hidden_size": 1024, "num_attention_heads": 16, "num_hidden_layers": 2, "alibi": true})",
     .passes =
         R"({"model_type": "falcon", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "alibi": true})",
     .find = slopes_rounded,
     .departs = true},
};

}  // namespace

std::span<const LintRule> alibi_rules() { return kRules; }

}  // namespace gnomon
