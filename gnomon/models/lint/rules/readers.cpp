// Files as wholes: refused, unknown, or understood differently by two readers.
#include "gnomon/models/lint/rules/rule.h"
#include "gnomon/models/resolve/gguf_architectures.h"
#include "gnomon/models/resolve/numbers.h"

namespace gnomon {
namespace {

Findings refusal(const LintContext& file, Reader reader, std::string expected, std::string says) {
  const std::string& key = file.refused_key(reader);
  return {{key, key.empty() ? "" : file.config().printed(key), std::move(expected), std::move(says)}};
}
// A file of an architecture that llama.cpp has and gnomon leaves out: nothing need be wrong with it.
bool left_out(const LintContext& file) {
  return file.config().gguf() && !file.read_by(Reader::llama_cpp) &&
         file.refused_key(Reader::llama_cpp) == "general.architecture" && find_gguf_architecture(file.type());
}
Findings refused(const LintContext& file) {
  const Reader reader = file.config().gguf() ? Reader::llama_cpp : Reader::v5;
  if (file.gguf() != file.config().gguf() || file.read_by(reader) || left_out(file)) return {};
  return refusal(file, reader, "what the message allows", file.refusal(reader));
}
Findings not_read(const LintContext& file) {
  if (left_out(file))
    return refusal(file, Reader::llama_cpp, "nothing: llama.cpp may run what gnomon does not read",
                   file.refusal(Reader::llama_cpp));
  if (file.gguf() || file.family() || file.read_by(Reader::v5)) return {};
  return refusal(
      file, Reader::v5, "nothing: its class may read what gnomon does not",
      text("'", file.type(), "' is not a family that gnomon knows, and ", file.refusal(Reader::v5)));
}

Findings unknown_family(const LintContext& file) {
  const Resolved* read = file.gguf() ? nullptr : file.read_by(Reader::v5);
  if (!read || read->known) return {};
  std::string keys;
  for (const Remark& remark : read->remarks)
    if (remark.rule == "family-unknown" && remark.key != "model_type")
      keys += (keys.empty() ? "" : ", ") + remark.key;
  return {finding(file, file.at("model_type"), "rules that need the family were left out",
                  text("'", file.type(), "' is not a family that gnomon knows",
                       keys.empty() ? "" : ". Its class may read these keys, gnomon does not: ", keys))};
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

Findings own_code(const LintContext& file) {
  return remarked(file, "family-has-its-own-code", "nothing; run it with the code of its repository");
}
Findings unread(const LintContext& file) {
  return remarked(file, "position-key-unread", "no such key, or a class that reads it");
}

// By version 4 alone: what both refuse, file-refused says.
Findings refused_by_v4(const LintContext& file) {
  if (file.gguf() || !file.read_by(Reader::v5) || file.read_by(Reader::v4)) return {};
  return {finding(file, file.refused_key(Reader::v4), "what both versions take, if the older one matters",
                  text("transformers 4.57 does not run it: ", file.refusal(Reader::v4)))};
}

const LintRule kRules[] = {
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
     .find = refused,
     .general = true},
    {.id = "file-not-read",
     .severity = Severity::note,
     .title = "gnomon finds no language model's positions in this file.",
     .explains = "The family is not in gnomon's list, and its keys are not those that language models share: "
                 "BART has two halves, CLIP two models, BEiT sees pictures, and a class may have a rotation "
                 "of its own. Nothing need be wrong with the file; rules that need the answer were left out.",
     .fix = "Nothing; the model's own code counts.",
     .link = "https://github.com/huggingface/transformers/tree/main/src/transformers/models",
     .fails =
         R"({"model_type": "newmodel", "d_model": 512, "encoder_layers": 6, "encoder_attention_heads": 8, "decoder_layers": 6, "decoder_attention_heads": 8})",
     .passes =
         R"({"model_type": "newmodel", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 8192, "rope_theta": 10000})",
     .find = not_read},
    {.id = "family-unknown",
     .severity = Severity::note,
     .title = "A family of models that gnomon does not know.",
     .explains = "Its class may have defaults, tables and pairings of its own. What is said here comes from "
                 "the keys alone, and no error is reported that rests on the class.",
     .fix = "Compare with the model's own code.",
     .link = "https://github.com/huggingface/transformers/tree/main/src/transformers/models",
     .fails =
         R"({"model_type": "newmodel", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 8192, "rope_theta": 10000})",
     .passes =
         R"({"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 8192, "rope_theta": 10000})",
     .find = unknown_family},
    {.id = "family-has-its-own-code",
     .severity = Severity::note,
     .title = "A family that transformers 5.23 has no class for: the repository's own code counts.",
     .explains = "Baichuan, Jina's BERT and the first Falcons brought their code with them. `gnomon explain` "
                 "tells what that code computes. transformers without trust_remote_code refuses the "
                 "name, or, where Jina's file says bert, loads BERT with a learned table in place of ALiBi.",
     .fix = "Run it with the code of its repository.",
     .link = "https://github.com/huggingface/transformers/tree/main/src/transformers/models",
     .fails =
         R"({"model_type": "bert", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 8192, "position_embedding_type": "alibi"})",
     .passes =
         R"({"model_type": "bert", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 512, "position_embedding_type": "absolute"})",
     .find = own_code,
     .departs = true},
    {.id = "position-key-unread",
     .severity = Severity::note,
     .title = "A key about position that the class does not read.",
     .explains = "It came with another family's file, or from an export, and transformers 5.23 keeps it "
                 "without a word. A reader that goes by keys and not by classes obeys it: a "
                 "sliding_window in Llama's file makes windows there.",
     .fix = "Take it out.",
     .link = "https://github.com/huggingface/transformers/blob/main/src/transformers/configuration_utils.py",
     .fails =
         R"({"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 8192, "rope_theta": 10000,
 "sliding_window": 1024})",
     .passes =
         R"({"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 8192, "rope_theta": 10000})",
     .find = unread,
     .general = true},
    {.id = "refused-by-version-4",
     .severity = Severity::note,
     .title = "transformers 5.23 reads the file, 4.57 raises an error.",
     .explains = "Classes of version 4 check their rope_scaling themselves: OLMo's takes linear and dynamic "
                 "with exactly two members, Phi-3's longrope with three, Llama 4's llama3 alone, and "
                 "Mistral's computes no YaRN without head_dim.",
     .fix = "Nothing, if the older version does not matter.",
     .link = "https://github.com/huggingface/transformers/blob/main/src/transformers/models/olmo/"
             "configuration_olmo.py",
     .fails =
         R"({"model_type": "olmo", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 8192, "rope_theta": 10000,
 "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 2048}})",
     .passes =
         R"({"model_type": "olmo", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 8192, "rope_theta": 10000,
 "rope_scaling": {"type": "linear", "factor": 4.0}})",
     .find = refused_by_v4},
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

std::span<const LintRule> readers_rules() { return kRules; }

}  // namespace gnomon
