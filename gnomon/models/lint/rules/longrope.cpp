// LongRoPE: two lists of divisors, one for each pair, and the length at which they change.
#include <cmath>

#include "gnomon/models/lint/rules/rule.h"

namespace gnomon {
namespace {

bool is_longrope(const LintContext& file, const RopeDictionary& dict) {
  return file.has(dict, "short_factor") || file.has(dict, "long_factor");
}

Findings list_length(const LintContext& file) {
  Findings all;
  const auto dim = file.head_dim();
  if (!dim) return all;
  for (const RopeDictionary& dict : file.ropes()) {
    const auto pairs = std::size_t(double(*dim) * share_of_head(file, dict)) / 2;
    for (const std::string_view name : {"short_factor", "long_factor"}) {
      const std::string key = text(dict.key, ".", name);
      if (file.config().kind(key) != Config::Kind::list) continue;
      try {
        const std::size_t length = file.config().numbers(key)->size();
        if (length != pairs)
          all.push_back(finding(file, key,
                                text("a list of ", pairs, " numbers, one for each pair that turns"),
                                text("there are ", length)));
      } catch (const Error&) {
        all.push_back(
            finding(file, key, text("a list of ", pairs, " numbers"), "it holds what is no number"));
      }
    }
  }
  return all;
}

Findings explicit_factor(const LintContext& file) {
  Findings all;
  const auto longest = file.longest();
  for (const RopeDictionary& dict : file.ropes()) {
    const auto factor = file.number(dict, "factor");
    const auto outer = file.number("original_max_position_embeddings");
    if (!is_longrope(file, dict) || !factor || !outer || !longest || *outer <= 1) continue;
    const double ratio = double(*longest) / *outer;
    if (std::abs(*factor - ratio) < 1e-9 * ratio) continue;
    const auto scale = [&](double s) { return s <= 1 ? 1 : std::sqrt(1 + std::log(s) / std::log(*outer)); };
    all.push_back(finding(file, dict.key + ".factor", text(shortest(ratio), ", or no factor"),
                          text("transformers 5 multiplies cos and sin by ", fixed(scale(*factor), 4),
                               " (factor ", shortest(*factor), "), 4.57 by ", fixed(scale(ratio), 4),
                               " (max / original = ", shortest(ratio), ")")));
  }
  return all;
}

Findings old_name(const LintContext& file) { return remarked(file, "longrope-named-su", "\"longrope\""); }

Findings named_yarn(const LintContext& file) {
  Findings all;
  for (const RopeDictionary& dict : file.ropes())
    if (is_longrope(file, dict) && file.type_of(dict) != "longrope" && file.type_of(dict) != "su")
      all.push_back(finding(
          file, dict.key + (file.has(dict, "rope_type") ? ".rope_type" : ".type"), "\"longrope\"",
          text("the lists belong to LongRoPE; only Phi-3's class takes '", file.type_of(dict), "' for it")));
  return all;
}

Findings switches(const LintContext& file) {
  for (const RopeDictionary& dict : file.ropes())
    if (dict.live && is_longrope(file, dict)) {
      const auto outer = file.number("original_max_position_embeddings");
      const double at = outer.value_or(file.number(dict, "original_max_position_embeddings").value_or(0));
      return {finding(file, dict.key + ".long_factor", "know at which length what serves it changes the list",
                      text("the list changes behind token ",
                           at > 0 ? shortest(at) : std::string("max_position_embeddings")))};
    }
  return {};
}

const LintRule kRules[] = {
    {.id = "longrope-list-length",
     .severity = Severity::error,
     .title = "short_factor or long_factor has not one number for each pair that turns.",
     .explains = "The lists divide the frequencies pair by pair. transformers' Phi-3 refuses another length, "
                 "other classes only warn and fail when they compute.",
     .fix = "As many numbers as half the rotated width of the head.",
     .link = "https://github.com/TransformerLensOrg/TransformerLens/issues/894",
     .fails =
         R"({"model_type": "phi3", "hidden_size": 64, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 16384,
 "original_max_position_embeddings": 4096, "rope_theta": 10000, "rope_scaling": {"type": "longrope", "short_factor": [1, 1, 1], "long_factor": [1, 2, 3, 4]}})",
     .passes =
         R"({"model_type": "phi3", "hidden_size": 64, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 16384,
 "original_max_position_embeddings": 4096, "rope_theta": 10000, "rope_scaling": {"type": "longrope", "short_factor": [1, 1, 1, 1], "long_factor": [1, 2, 3, 4]}})",
     .find = list_length},
    {.id = "longrope-factor-explicit",
     .severity = Severity::warning,
     .title = "A factor of LongRoPE that is not the ratio of the two lengths.",
     .explains = "The factor sets what cos and sin are multiplied by. transformers 5 takes the factor of the "
                 "dictionary, 4.57 always the ratio max_position_embeddings / "
                 "original_max_position_embeddings.",
     .fix = "Leave the factor out, or write attention_factor.",
     .link = "https://github.com/huggingface/transformers/issues/33129",
     .fails =
         R"({"model_type": "phi3", "hidden_size": 64, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 131072,
 "original_max_position_embeddings": 4096, "rope_theta": 10000000,
 "rope_scaling": {"type": "longrope", "factor": 4.0, "short_factor": [1, 1, 1, 1], "long_factor": [1, 2, 3, 4]}})",
     .passes =
         R"({"model_type": "phi3", "hidden_size": 64, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 131072,
 "original_max_position_embeddings": 4096, "rope_theta": 10000000,
 "rope_scaling": {"type": "longrope", "factor": 32.0, "short_factor": [1, 1, 1, 1], "long_factor": [1, 2, 3, 4]}})",
     .find = explicit_factor},
    {.id = "longrope-named-su",
     .severity = Severity::error,
     .title = "LongRoPE under its old name su.",
     .explains = "Phi-3's first files call it su. transformers 5.23 still renames it, but after it has "
                 "filled in the original length for the names that it knows: the file fails with a "
                 "KeyError unless the dictionary has the length itself.",
     .fix = "Write longrope.",
     .link = "https://github.com/huggingface/transformers/blob/main/src/transformers/models/phi3/"
             "configuration_phi3.py",
     .fails =
         R"({"model_type": "phi3", "hidden_size": 64, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 16384,
 "original_max_position_embeddings": 4096, "rope_theta": 10000, "rope_scaling": {"type": "su", "short_factor": [1, 1, 1, 1], "long_factor": [1, 2, 3, 4]}})",
     .passes =
         R"({"model_type": "phi3", "hidden_size": 64, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 16384,
 "original_max_position_embeddings": 4096, "rope_theta": 10000, "rope_scaling": {"type": "longrope", "short_factor": [1, 1, 1, 1], "long_factor": [1, 2, 3, 4]}})",
     .find = old_name,
     .departs = true},
    {.id = "longrope-under-another-name",
     .severity = Severity::warning,
     .title = "Lists of LongRoPE under the name of another method.",
     .explains =
         "Phi-3's class takes yarn for longrope; every other reader computes YaRN, or ignores the lists.",
     .fix = "Write longrope.",
     .link = "https://github.com/ggml-org/llama.cpp/issues/8995",
     .fails =
         R"({"model_type": "phi3", "hidden_size": 64, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 16384,
 "original_max_position_embeddings": 4096, "rope_theta": 10000, "rope_scaling": {"type": "yarn", "short_factor": [1, 1, 1, 1], "long_factor": [1, 2, 3, 4]}})",
     .passes =
         R"({"model_type": "phi3", "hidden_size": 64, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 16384,
 "original_max_position_embeddings": 4096, "rope_theta": 10000, "rope_scaling": {"type": "longrope", "short_factor": [1, 1, 1, 1], "long_factor": [1, 2, 3, 4]}})",
     .find = named_yarn},
    {.id = "longrope-changes-while-writing",
     .severity = Severity::note,
     .title = "LongRoPE changes its list at the original length, in the middle of a text.",
     .explains = "transformers changes when a text passes the length, vLLM by the limit it was started with, "
                 "llama.cpp by the size of its context. Keys in the cache keep the old list: text is "
                 "garbled from token 4097 on, or short prompts suffer in a large context.",
     .fix = "Start a long text with the long list, or drop the cache at the change.",
     .link = "https://github.com/huggingface/transformers/issues/33129",
     .fails =
         R"({"model_type": "phi3", "hidden_size": 64, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 16384,
 "original_max_position_embeddings": 4096, "rope_theta": 10000, "rope_scaling": {"type": "longrope", "short_factor": [1, 1, 1, 1], "long_factor": [1, 2, 3, 4]}})",
     .passes =
         R"({"model_type": "phi3", "hidden_size": 64, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 4096, "rope_theta": 10000})",
     .find = switches},
};

}  // namespace

std::span<const LintRule> longrope_rules() { return kRules; }

}  // namespace gnomon
