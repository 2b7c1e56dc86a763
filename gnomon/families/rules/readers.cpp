// Files as wholes: refused, unknown, or understood differently by two readers.
#include "gnomon/families/numbers.h"
#include "gnomon/families/rules/rule.h"

namespace gnomon {
namespace {

Findings refused(const LintContext& file) {
  if (file.gguf() || file.read_by(Reader::v5)) return {};
  return {{"", "", "see the message", file.refusal(Reader::v5)}};
}

Findings unknown_family(const LintContext& file) {
  const Resolved* read = file.gguf() ? nullptr : file.read_by(Reader::v5);
  if (!read || read->known) return {};
  return {finding(file, file.at("model_type"), "rules that need the family were left out",
                  text("'", file.type(), "' is not a family that gnomon knows"))};
}

Findings differ(const LintContext& file) {
  if (file.gguf()) return {};
  const Resolved *now = file.read_by(Reader::v5), *before = file.read_by(Reader::v4);
  if (!now || !before || now->layers.size() != before->layers.size()) return {};
  std::size_t layers = 0, first = 0;
  for (std::size_t l = 0; l < now->layers.size(); ++l) {
    if (now->layers[l].same(before->layers[l])) continue;
    if (!layers++) first = l;
  }
  if (!layers) return {};
  return {finding(file, file.at(file.has("rope_parameters") ? "rope_parameters" : "rope_scaling"),
                  "settings that both read alike",
                  text(counted(layers, "layer"), ", the first ", first, ": 5.23 reads ",
                       now->layers[first].spec.print(), ", 4.57 ", before->layers[first].spec.print()))};
}

const Rule kRules[] = {
    {.id = "file-refused",
     .severity = Severity::error,
     .title = "The file cannot be resolved to positions.",
     .explains = "A value cannot be: a negative width, an unknown method, a missing number. Rules that need "
                 "the answer were left out.",
     .fix = "Correct what the message names.",
     .link = "https://github.com/huggingface/transformers/blob/main/src/transformers/modeling_rope_utils.py",
     .fails =
         R"({"model_type": "llama", "hidden_size": -512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 8192})",
     .passes =
         R"({"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 8192})",
     .find = refused},
    {.id = "family-unknown",
     .severity = Severity::note,
     .title = "A family of models that gnomon does not know.",
     .explains = "Its class may have defaults, tables and pairings of its own. What is said here comes from "
                 "the keys alone.",
     .fix = "Compare with the model's own code.",
     .link = "https://github.com/huggingface/transformers/tree/main/src/transformers/models",
     .fails =
         R"({"model_type": "newmodel", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 8192, "rope_theta": 10000})",
     .passes =
         R"({"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 8192, "rope_theta": 10000})",
     .find = unknown_family},
    {.id = "versions-differ",
     .severity = Severity::note,
     .title = "transformers 5.23 and 4.57 compute different positions from this file.",
     .explains =
         "Where the two differ, files of one version run by the other write fluently and worse: ModernBERT's "
         "layers lost their base so, and a base that only version 5 finds is 10000 to version 4.",
     .fix = "Write the settings so that both read the same, or say which version the file is for.",
     .link = "https://github.com/deepspeedai/DeepSpeed/issues/8345",
     .fails =
         R"({"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 8192,
 "rope_parameters": {"rope_type": "default", "rope_theta": 500000}})",
     .passes =
         R"({"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 8192, "rope_theta": 500000})",
     .find = differ},
};

}  // namespace

std::span<const Rule> readers_rules() { return kRules; }

}  // namespace gnomon
