// What transformers calls the tensors of encoders: models/NAME/modeling_NAME.py, 5.23.0.
#include <algorithm>

#include "gnomon/models/run/name_tables.h"

namespace gnomon {
namespace {

const std::vector<std::string_view> kHeadsForOtherTasks{"pooler.*", "classifier.*", "qa_outputs.*"};

std::vector<std::string_view> beside(std::vector<std::string_view> more) {
  more.insert(more.end(), kHeadsForOtherTasks.begin(), kHeadsForOtherTasks.end());
  return more;
}

// What BERT and those that took its file over share: norms after the sums, "encoder.layer.N".
Sources bert_layers(const std::string& layer, const std::string& attention_norm) {
  return norm_names(kAttentionNames + "norm_after", layer + attention_norm) +
         dense_names(kForwardNames + "up", layer + "intermediate.dense") +
         dense_names(kForwardNames + "down", layer + "output.dense") +
         norm_names(kForwardNames + "norm_after", layer + "output.LayerNorm");
}
Sources bert_body(const Architecture& a, const std::string& prefix) {
  const std::string layer = prefix + "encoder.layer.{}.", embed = prefix + "embeddings.";
  return Sources{{"embed.word", embed + "word_embeddings.weight"},
                 {"position.input.table", embed + "position_embeddings.weight"},
                 {"embed.type", embed + "token_type_embeddings.weight"}} +
         norm_names("embed.norm", embed + "LayerNorm") +
         qkv_names(a, layer + "attention.self.", "query", "key", "value") +
         dense_names(kAttentionNames + "out", layer + "attention.output.dense") +
         bert_layers(layer, "attention.output.LayerNorm");
}
// RoBERTa's head, MPNet's too: BERT's in other words. Its decoder is the word table, its bias the logits'.
Sources roberta_head() {
  return Sources{{"head.bias", "lm_head.bias"}} + dense_names("head.transform", "lm_head.dense") +
         norm_names("head.transform.norm", "lm_head.layer_norm");
}

}  // namespace

Names names_bert(const Architecture& a) {
  const std::string head = "cls.predictions.";
  return {bert_body(a, "bert.") + Sources{{"head.bias", head + "bias"}} +
              dense_names("head.transform", head + "transform.dense") +
              norm_names("head.transform.norm", head + "transform.LayerNorm"),
          "bert.",
          beside({"embeddings.position_ids", "embeddings.token_type_ids", "cls.seq_relationship.*",
                  "cls.predictions.decoder.*"})};
}

// Its generator has BERT's head in other words; its discriminator's head is another task's.
Names names_electra(const Architecture& a) {
  return {bert_body(a, "electra.") +
              Sources{{"head.bias", "generator_lm_head.bias"}, {"head.weight", "generator_lm_head.weight"}} +
              dense_names("embed.widen", "electra.embeddings_project") +
              dense_names("head.transform", "generator_predictions.dense") +
              norm_names("head.transform.norm", "generator_predictions.LayerNorm"),
          "electra.",
          beside({"embeddings.position_ids", "embeddings.token_type_ids", "generator_lm_head.weight",
                  "discriminator_predictions.*"})};
}

Names names_distilbert(const Architecture& a) {
  const std::string layer = "distilbert.transformer.layer.{}.", embed = "distilbert.embeddings.";
  return {Sources{{"embed.word", embed + "word_embeddings.weight"},
                  {"position.input.table", embed + "position_embeddings.weight"},
                  {"head.bias", "vocab_projector.bias"}} +
              norm_names("embed.norm", embed + "LayerNorm") +
              qkv_names(a, layer + "attention.", "q_lin", "k_lin", "v_lin") +
              dense_names(kAttentionNames + "out", layer + "attention.out_lin") +
              norm_names(kAttentionNames + "norm_after", layer + "sa_layer_norm") +
              dense_names(kForwardNames + "up", layer + "ffn.lin1") +
              dense_names(kForwardNames + "down", layer + "ffn.lin2") +
              norm_names(kForwardNames + "norm_after", layer + "output_layer_norm") +
              dense_names("head.transform", "vocab_transform") +
              norm_names("head.transform.norm", "vocab_layer_norm"),
          "distilbert.", beside({"embeddings.position_ids", "vocab_projector.weight", "pre_classifier.*"})};
}

// By the names of its own code, which transformers writes too.
Names names_nomic_bert(const Architecture& a) {
  const std::string layer = "nomic_bert.encoder.layers.{}.", head = "cls.predictions.",
                    embed = "nomic_bert.embeddings.";
  return {Sources{{"embed.word", embed + "word_embeddings.weight"},
                  {"embed.type", embed + "token_type_embeddings.weight"},
                  {"head.bias", head + "bias"}} +
              norm_names("embed.norm", "nomic_bert.emb_ln") +
              dense_names(kAttentionNames + "qkv", layer + "attn.Wqkv") +
              dense_names(kAttentionNames + "out", layer + "attn.out_proj") +
              norm_names(kAttentionNames + "norm_after", layer + "norm1") +
              dense_names(kForwardNames + "up", layer + "mlp.fc12") +
              dense_names(kForwardNames + "up", layer + "mlp.fc11", a.feed_forward.hidden) +
              dense_names(kForwardNames + "down", layer + "mlp.fc2") +
              norm_names(kForwardNames + "norm_after", layer + "norm2") +
              dense_names("head.transform", head + "transform.dense") +
              norm_names("head.transform.norm", head + "transform.layer_norm"),
          "nomic_bert.", beside({"cls.predictions.decoder.*", "*.rotary_emb.inv_freq"})};
}

Names names_roberta(const Architecture& a) {
  return {bert_body(a, "roberta.") + roberta_head(), "roberta.",
          beside({"embeddings.position_ids", "embeddings.token_type_ids", "lm_head.decoder.*"})};
}

Names names_mpnet(const Architecture& a) {
  const std::string layer = "mpnet.encoder.layer.{}.", embed = "mpnet.embeddings.";
  return {Sources{{"embed.word", embed + "word_embeddings.weight"},
                  {"position.input.table", embed + "position_embeddings.weight"},
                  {"position.attention.0.bias", "mpnet.encoder.relative_attention_bias.weight"}} +
              norm_names("embed.norm", embed + "LayerNorm") +
              qkv_names(a, layer + "attention.attn.", "q", "k", "v") +
              dense_names(kAttentionNames + "out", layer + "attention.attn.o") +
              bert_layers(layer, "attention.LayerNorm") + roberta_head(),
          "mpnet.", beside({"embeddings.position_ids", "lm_head.decoder.*"})};
}

namespace {

bool has_term(const Architecture& a, std::string_view term) {
  return std::any_of(a.position.attention.begin(), a.position.attention.end(), [&](const Named& named) {
    return named.name.starts_with("deberta") && named.option("terms")->word().find(term) != std::string::npos;
  });
}

// What both versions of DeBERTa share. The table of distances is one, whose projections a layer may have: then ours has a copy.
Names deberta_names(const Architecture& a, const Sources& attention, const std::string& key,
                    const std::string& query) {
  const std::string layer = "deberta.encoder.layer.{}.", embed = "deberta.embeddings.",
                    self = layer + "attention.self.", one = "position.attention.0.", own = one + "{}.";
  Sources all = Sources{{"embed.word", embed + "word_embeddings.weight"},
                        {"embed.type", embed + "token_type_embeddings.weight"},
                        {"position.input.table", embed + "position_embeddings.weight"}} +
                norm_names("embed.norm", embed + "LayerNorm") + attention +
                dense_names(kAttentionNames + "out", layer + "attention.output.dense") +
                bert_layers(layer, "attention.output.LayerNorm");
  // A layer projects the table for the terms that it has; what it does not project is not used.
  std::vector<std::string> zero;
  const auto project = [&](std::string_view term, const std::string& ours, const std::string& theirs) {
    if (has_term(a, term)) return void(all = all + dense_names(ours, self + theirs));
    zero.insert(zero.end(), {ours + ".weight", ours + ".bias"});
  };
  project("c2p", own + "key", key), project("p2c", own + "query", query);
  for (const std::string& at : {one, own}) {
    all = all + Sources{{at + "table", "deberta.encoder.rel_embeddings.weight"}} +
          norm_names(at + "norm", "deberta.encoder.LayerNorm");
  }
  return {all, "deberta.",
          beside({"embeddings.position_ids", "embeddings.position_embeddings.weight", "cls.*",
                  "lm_predictions.*", "mask_predictions.*"}),
          zero};
}

}  // namespace

Names names_deberta(const Architecture& a) {
  const std::string self = "deberta.encoder.layer.{}.attention.self.";
  Names names =
      deberta_names(a,
                    Sources{{kAttentionNames + "qkv.weight", self + "in_proj.weight", 0, How::of_heads},
                            {kAttentionNames + "q.bias", self + "q_bias"},
                            {kAttentionNames + "v.bias", self + "v_bias"}},
                    "pos_proj", "pos_q_proj");
  names.zero.push_back("position.attention.0.{}.key.bias");
  return names;
}

Names names_deberta_v2(const Architecture& a) {
  return deberta_names(
      a, qkv_names(a, "deberta.encoder.layer.{}.attention.self.", "query_proj", "key_proj", "value_proj"),
      "pos_key_proj", "pos_query_proj");
}

Names names_modernbert(const Architecture&) {
  const std::string layer = "model.layers.{}.";
  return {Sources{{"embed.word", "model.embeddings.tok_embeddings.weight"}, {"head.bias", "decoder.bias"}} +
              norm_names("embed.norm", "model.embeddings.norm") +
              norm_names(kAttentionNames + "norm", layer + "attn_norm") +
              dense_names(kAttentionNames + "qkv", layer + "attn.Wqkv") +
              dense_names(kAttentionNames + "out", layer + "attn.Wo") +
              norm_names(kForwardNames + "norm", layer + "mlp_norm") +
              dense_names(kForwardNames + "up", layer + "mlp.Wi") +
              dense_names(kForwardNames + "down", layer + "mlp.Wo") +
              norm_names("head.norm", "model.final_norm") + dense_names("head.transform", "head.dense") +
              norm_names("head.transform.norm", "head.norm"),
          "model.", beside({"decoder.weight"})};
}

// The encoder, or the decoder, which has a sublayer more. A stack's own word table goes before the shared one.
Names names_t5(const Architecture& a) {
  const std::string stack = a.cross ? "decoder." : "encoder.", other = a.cross ? "encoder." : "decoder.",
                    block = stack + "block.{}.", attention = block + "layer.0.SelfAttention.",
                    crossed = block + "layer.1.", last = block + (a.cross ? "layer.2." : "layer.1."),
                    mlp = last + "DenseReluDense.",
                    bias = "layer.0.SelfAttention.relative_attention_bias.weight";
  Sources all =
      Sources{{"embed.word", stack + "embed_tokens.weight"},
              {"embed.word", "shared.weight"},
              {"embed.word", other + "embed_tokens.weight"},
              {"head.weight", "lm_head.weight"},
              {"position.attention.0.bias", stack + "block.0." + bias},
              {"position.attention.0.{}.bias", block + bias}} +
      norm_names(kAttentionNames + "norm", block + "layer.0.layer_norm") +
      qkv_names(a, attention, "q", "k", "v") + dense_names(kAttentionNames + "out", attention + "o") +
      norm_names(kForwardNames + "norm", last + "layer_norm") +
      dense_names(kForwardNames + "down", mlp + "wo") + norm_names("head.norm", stack + "final_layer_norm");
  if (a.feed_forward.gated()) {
    all = all + dense_names(kForwardNames + "up", mlp + "wi_0") +
          dense_names(kForwardNames + "up", mlp + "wi_1", a.feed_forward.hidden);
  } else {
    all = all + dense_names(kForwardNames + "up", mlp + "wi");
  }
  if (!a.cross)
    return {all, "", {"shared.weight", "encoder.embed_tokens.weight", "decoder.*", "lm_head.weight"}};
  all = all + norm_names(kCrossNames + "norm", crossed + "layer_norm") +
        qkv_names(a, crossed + "EncDecAttention.", "q", "k", "v", kCrossNames) +
        dense_names(kCrossNames + "out", crossed + "EncDecAttention.o");
  // The first files of T5 have a table of distances between the two texts, which no layer reads.
  return {all,
          "",
          {"shared.weight", "decoder.embed_tokens.weight", "encoder.*", "lm_head.weight",
           "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"}};
}

}  // namespace gnomon
