// Learned tables, and what the weights say against the file.
#include <algorithm>
#include <cmath>

#include "gnomon/models/lint/rules/rule.h"
#include "gnomon/models/resolve/numbers.h"

namespace gnomon {
namespace {

bool offset_family(const LintContext& file) { return file.family() && file.family()->table_padded; }

Findings rows_lost(const LintContext& file) {
  const auto rows = file.whole("max_position_embeddings");
  if (!offset_family(file) || !rows || *rows < 16 || (*rows & (*rows - 1))) return {};
  const std::int64_t offset = file.whole("pad_token_id").value_or(1) + 1;
  return {finding(file, file.at("max_position_embeddings"), text(*rows + offset),
                  text("the first token has row ", offset, ": ", *rows - offset,
                       " tokens fit, the next is out of the table"))};
}

Findings context_twice(const LintContext& file) {
  const auto a = file.number("n_positions"), b = file.number("n_ctx");
  if (!a || !b || *a == *b) return {};
  return {
      finding(file, file.at("n_ctx"), shortest(*a),
              text("n_positions, the rows of the table, is ", shortest(*a), "; transformers reads that"))};
}

Findings table_rows(const LintContext& file) {
  const std::int64_t offset = file.family() ? file.family()->table_offset : 0;
  const auto rows = file.longest();
  for (const LintTensor& tensor : file.tensors()) {
    const bool table = tensor.name.ends_with("position_embeddings.weight") ||
                       tensor.name.ends_with("wpe.weight") || tensor.name.ends_with("embed_positions.weight");
    if (!table || file.gguf() || !rows || tensor.shape.size() != 2 || tensor.shape[0] == *rows + offset)
      continue;
    return {finding(file, file.at(file.family() ? file.family()->keys.longest : "max_position_embeddings"),
                    text(tensor.shape[0] - offset),
                    text("the table ", tensor.name, " has ", tensor.shape[0], " rows",
                         offset ? text(", ", offset, " of them before the first token's") : ""))};
  }
  return {};
}

Findings stored_frequencies(const LintContext& file) {
  const Resolved* read = file.read_by(Reader::v5);
  if (!read || read->layers.empty() || file.gguf()) return {};
  Findings all;
  std::vector<std::vector<double>> frequencies;
  for (const LayerPosition* layer : different_layers(read->layers, read->layers.size()))
    frequencies.push_back(numbers_of(*layer, double(std::max<std::int64_t>(read->longest, 1))).inv_freq);
  for (const LintTensor& tensor : file.tensors()) {
    if (tensor.values.empty()) continue;
    double best = 1e300;
    for (const std::vector<double>& said : frequencies) {
      if (said.size() != tensor.values.size()) continue;
      double worst = 0;
      for (std::size_t c = 0; c < said.size(); ++c) {
        const double off = std::abs(tensor.values[c] - said[c]) / std::max(said[c], 1e-30);
        worst = std::isfinite(off) ? std::max(worst, off) : 1e300;
      }
      best = std::min(best, worst);
    }
    if (best < 0.01) continue;  // tables rounded to bfloat16 are off by less
    all.push_back(finding(
        file, file.at("rope_theta"), "settings that give the stored frequencies, or weights without them",
        text(tensor.name, " holds ",
             best > 1e200 ? "other pairs, or values that are no numbers"
                          : text("frequencies that differ by up to ", fixed(100 * best, 1), " %"))));
    break;
  }
  return all;
}

Findings draft(const LintContext& file) {
  bool eagle = file.has("draft_vocab_size");
  for (const std::string& name : file.words("architectures").value_or(std::vector<std::string>{}))
    eagle |= name.find("Eagle") != std::string::npos || name.find("eagle") != std::string::npos;
  const auto theta = file.number("rope_theta");
  if (!eagle || !theta || *theta == 10000) return {};
  return {finding(
      file, file.at("rope_theta"),
      "the base that the draft was trained with; `gnomon inspect` tries bases against the weights",
      text("the file says ", shortest(*theta),
           ", the target's; drafts of SpecForge before #270 were trained with 10000 whatever it says"))};
}

const LintRule kRules[] = {
    {.id = "table-without-its-offset",
     .severity = Severity::warning,
     .title = "A table whose first rows belong to padding has no rows for them.",
     .explains =
         "RoBERTa's first token has row pad_token_id + 1 = 2, so 512 tokens need 514 rows. With 512 the last "
         "two tokens of a full text are out of the table: an error, or memory of another tensor.",
     .fix = "max_position_embeddings is the tokens and pad_token_id + 1.",
     .link = "https://github.com/huggingface/transformers/issues/1363",
     .fails =
         R"({"model_type": "roberta", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 512, "pad_token_id": 1})",
     .passes =
         R"({"model_type": "roberta", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 514, "pad_token_id": 1})",
     .find = rows_lost},
    {.id = "context-named-twice",
     .severity = Severity::warning,
     .title = "n_ctx and n_positions differ.",
     .explains = "transformers makes the table with n_positions rows and reads n_ctx nowhere; older code and "
                 "converters take n_ctx for the context.",
     .fix = "Write the same number.",
     .link = "https://github.com/huggingface/transformers/blob/main/src/transformers/models/gpt2/"
             "configuration_gpt2.py",
     .fails =
         R"({"model_type": "gpt2", "n_embd": 512, "n_head": 8, "n_layer": 2, "n_positions": 1024, "n_ctx": 2048})",
     .passes =
         R"({"model_type": "gpt2", "n_embd": 512, "n_head": 8, "n_layer": 2, "n_positions": 1024, "n_ctx": 1024})",
     .find = context_twice},
    {.id = "table-and-file-disagree",
     .severity = Severity::error,
     .title = "The learned table has another number of rows than the file says.",
     .explains = "Looked at where the weights stand beside the file. transformers refuses such weights, or, "
                 "told to ignore mismatched sizes, starts the table anew at random.",
     .fix = "Write the rows of the table.",
     .link = "https://github.com/huggingface/transformers/issues/5285",
     .fails =
         R"({"model_type": "bert", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 1024})",
     .passes =
         R"({"model_type": "bert", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 512})",
     .find = table_rows},
    {.id = "stored-frequencies-differ",
     .severity = Severity::error,
     .title = "The weights hold inv_freq, and it is not what the file's settings give.",
     .explains =
         "Older files store the buffer. Zeros, values that are no numbers or those of another base are what "
         "an uninitialised buffer, or training under other settings, leaves: a loss of 11.08 where "
         "3.63 was right. Readers that load buffers use these, others the settings.",
     .fix = "Check a running model with `gnomon check`; take the buffer out of the weights, or correct the "
            "settings.",
     .link = "https://github.com/pytorch/torchtitan/issues/4783",
     .fails =
         R"({"model_type": "llama", "hidden_size": 32, "num_attention_heads": 4, "num_hidden_layers": 2, "max_position_embeddings": 4096, "rope_theta": 500000})",
     .passes =
         R"({"model_type": "llama", "hidden_size": 32, "num_attention_heads": 4, "num_hidden_layers": 2, "max_position_embeddings": 4096, "rope_theta": 10000})",
     .find = stored_frequencies},
    {.id = "draft-with-the-base-of-its-target",
     .severity = Severity::warning,
     .title = "A draft model with a base that its training may not have used.",
     .explains = "A draft for speculative decoding copies its target's settings. SpecForge trained drafts "
                 "with 10000 while the file said 1000000; read as written, fewer drafts are accepted.",
     .fix = "Find the base in the weights, and write that.",
     .link = "https://github.com/sgl-project/SpecForge/issues/265",
     .fails =
         R"({"model_type": "llama", "architectures": ["LlamaForCausalLMEagle3"], "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 1,
 "max_position_embeddings": 8192, "rope_theta": 1000000, "draft_vocab_size": 32000})",
     .passes =
         R"({"model_type": "llama", "architectures": ["LlamaForCausalLMEagle3"], "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 1,
 "max_position_embeddings": 8192, "rope_theta": 10000, "draft_vocab_size": 32000})",
     .find = draft},
};

}  // namespace

std::span<const LintRule> tables_rules() { return kRules; }

}  // namespace gnomon
