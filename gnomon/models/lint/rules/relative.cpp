// Relative encodings: BERT's distance table, DeBERTa's terms, T5's buckets.
#include <algorithm>

#include "gnomon/models/lint/rules/rule.h"

namespace gnomon {
namespace {

Findings table_dropped(const LintContext& file) {
  const auto type = file.word("position_embedding_type");
  if (!type || !type->starts_with("relative_key")) return {};
  return {finding(file, file.at("position_embedding_type"),
                  "know it: transformers 4, or a class that kept it",
                  "transformers 5 has no code for it in BERT and its kin: distance_embedding.weight is left "
                  "unread, and positions are absolute alone")};
}

bool is_deberta(const LintContext& file) { return file.type() == "deberta-v2" || file.type() == "deberta"; }

Findings attention_off(const LintContext& file) {
  if (!is_deberta(file) || file.has("relative_attention")) return {};
  return {finding(file, file.at("relative_attention"), "true",
                  "the class's default is false, whatever its documentation says: no relative attention")};
}

Findings terms_missing(const LintContext& file) {
  if (!is_deberta(file) || !file.flag("relative_attention").value_or(false)) return {};
  const auto word = file.word("pos_att_type");
  const auto list = file.words("pos_att_type");
  if ((word && !word->empty()) || (list && !list->empty())) return {};
  return {finding(file, file.at("pos_att_type"), "\"c2p|p2c\"",
                  "relative attention without a term: the table is there and added to nothing")};
}

Findings no_position(const LintContext& file) {
  if (!is_deberta(file) || file.flag("position_biased_input").value_or(true) ||
      file.flag("relative_attention").value_or(false))
    return {};
  return {finding(file, file.at("position_biased_input"), "true, or relative_attention true",
                  "neither the input nor attention knows position: the model sees a bag of words")};
}

bool is_t5(const LintContext& file) {
  return file.type().ends_with("t5") || file.type() == "longt5" || file.type() == "switch_transformers";
}

Findings distance_fixed(const LintContext& file) {
  const auto distance = file.number("relative_attention_max_distance");
  const bool fixed = file.type() == "mpnet";
  if (!distance || *distance == 128 || (!is_t5(file) && !fixed)) return {};
  return {finding(
      file, file.at("relative_attention_max_distance"), "128, if the model is to run in llama.cpp",
      fixed ? "MPNet's class has 128 written into its code" : "llama.cpp has 128 written into its code")};
}

Findings buckets(const LintContext& file) {
  const auto count = file.whole("relative_attention_num_buckets");
  if (!count || (*count > 3 && *count % 4 == 0)) return {};
  return {finding(
      file, file.at("relative_attention_num_buckets"), "a multiple of 4, such as 32",
      text(*count,
           " buckets are halved by the sign in an encoder and halved again for the exact distances"))};
}

Findings count_unread(const LintContext& file) {
  return remarked(file, "bucket-count-unread", "32, or another class");
}
Findings talking_heads(const LintContext& file) {
  return remarked(file, "talking-heads-untold", "nothing; read the model's code beside what gnomon tells");
}

const LintRule kRules[] = {
    {.id = "relative-table-dropped",
     .severity = Severity::error,
     .title = "position_embedding_type relative_key, which transformers 5 has taken out.",
     .explains = "BERT and its kin had it until version 4. Version 5 loads such a file without the distance "
                 "table, with no more than a line about unused weights: another model.",
     .fix = "Run it with transformers 4.",
     .link = "https://github.com/huggingface/transformers/pull/41170",
     .fails =
         R"({"model_type": "bert", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 512,
 "position_embedding_type": "relative_key_query"})",
     .passes =
         R"({"model_type": "bert", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 512,
 "position_embedding_type": "absolute"})",
     .find = table_dropped},
    {.id = "relative-attention-unsaid",
     .severity = Severity::warning,
     .title = "DeBERTa without relative_attention, whose default is false.",
     .explains = "The documentation of transformers says true, the class false. A file written by hand that "
                 "leaves it out has no disentangled attention.",
     .fix = "Write relative_attention.",
     .link = "https://github.com/huggingface/transformers/blob/main/src/transformers/models/deberta_v2/"
             "configuration_deberta_v2.py",
     .fails =
         R"({"model_type": "deberta-v2", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 512})",
     .passes =
         R"({"model_type": "deberta-v2", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 512,
 "relative_attention": true, "pos_att_type": "c2p|p2c"})",
     .find = attention_off},
    {.id = "relative-attention-without-terms",
     .severity = Severity::error,
     .title = "DeBERTa's relative attention without a term.",
     .explains = "pos_att_type names what is added: c2p, p2c. Empty or absent, the table of distances is "
                 "made and not used.",
     .fix = "Write c2p|p2c.",
     .link = "https://github.com/huggingface/transformers/blob/main/src/transformers/models/deberta_v2/"
             "modeling_deberta_v2.py",
     .fails =
         R"({"model_type": "deberta-v2", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 512,
 "relative_attention": true})",
     .passes =
         R"({"model_type": "deberta-v2", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 512,
 "relative_attention": true, "pos_att_type": "c2p|p2c"})",
     .find = terms_missing},
    {.id = "encoder-without-position",
     .severity = Severity::error,
     .title = "An encoder that knows no position at all.",
     .explains = "Without a causal mask nothing tells the order of tokens: every permutation of a text gives "
                 "the same vectors.",
     .fix = "Switch on position_biased_input or relative_attention.",
     .link = "https://github.com/huggingface/transformers/blob/main/src/transformers/models/deberta_v2/"
             "modeling_deberta_v2.py",
     .fails =
         R"({"model_type": "deberta-v2", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 512,
 "relative_attention": false, "position_biased_input": false})",
     .passes =
         R"({"model_type": "deberta-v2", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 512,
 "relative_attention": false, "position_biased_input": true})",
     .find = no_position},
    {.id = "bucket-distance-fixed-elsewhere",
     .severity = Severity::warning,
     .title = "A largest distance of the buckets other than 128.",
     .explains = "T5's class reads it. llama.cpp has 128 in its code, as has transformers' MPNet: distant "
                 "tokens fall into other buckets.",
     .fix = "Know it before converting.",
     .link = "https://github.com/huggingface/transformers/issues/8518",
     .fails =
         R"({"model_type": "t5", "d_model": 512, "num_heads": 8, "num_layers": 2, "d_kv": 64, "relative_attention_num_buckets": 32,
 "relative_attention_max_distance": 256})",
     .passes =
         R"({"model_type": "t5", "d_model": 512, "num_heads": 8, "num_layers": 2, "d_kv": 64, "relative_attention_num_buckets": 32,
 "relative_attention_max_distance": 128})",
     .find = distance_fixed},
    {.id = "bucket-count-odd",
     .severity = Severity::error,
     .title = "A number of buckets that cannot be halved twice.",
     .explains = "An encoder gives half of the buckets to each direction, and half of those to exact "
                 "distances. Other counts leave buckets unused, or divide by zero below 4.",
     .fix = "A multiple of 4.",
     .link =
         "https://github.com/huggingface/transformers/blob/main/src/transformers/models/t5/modeling_t5.py",
     .fails =
         R"({"model_type": "t5", "d_model": 512, "num_heads": 8, "num_layers": 2, "d_kv": 64, "relative_attention_num_buckets": 2})",
     .passes =
         R"({"model_type": "t5", "d_model": 512, "num_heads": 8, "num_layers": 2, "d_kv": 64, "relative_attention_num_buckets": 32})",
     .find = buckets},
    {.id = "bucket-count-unread",
     .severity = Severity::error,
     .title = "A number of buckets that MPNet's class does not count by.",
     .explains = "The key sizes the table, and the function that puts distances into buckets is called "
                 "without it: 32 whatever the file says. With fewer rows a distant token is out of the "
                 "table, with more the others are never read.",
     .fix = "Write 32.",
     .link = "https://github.com/huggingface/transformers/blob/main/src/transformers/models/mpnet/"
             "modeling_mpnet.py",
     .fails =
         R"({"model_type": "mpnet", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 514,
 "relative_attention_num_buckets": 64})",
     .passes =
         R"({"model_type": "mpnet", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 514,
 "relative_attention_num_buckets": 32})",
     .find = count_unread},
    {.id = "talking-heads-untold",
     .severity = Severity::note,
     .title = "talking_head mixes the heads, which no encoding here says.",
     .explains = "The first DeBERTa can multiply logits and weights by a matrix over heads. transformers "
                 "does so; `gnomon explain` tells the relative attention of each head before it is mixed.",
     .fix = "Nothing in the file.",
     .link = "https://github.com/huggingface/transformers/blob/main/src/transformers/models/deberta/"
             "modeling_deberta.py",
     .fails =
         R"({"model_type": "deberta", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 512,
 "relative_attention": true, "pos_att_type": "c2p|p2c", "talking_head": true})",
     .passes =
         R"({"model_type": "deberta", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 512,
 "relative_attention": true, "pos_att_type": "c2p|p2c"})",
     .find = talking_heads},
};

}  // namespace

std::span<const LintRule> relative_rules() { return kRules; }

}  // namespace gnomon
