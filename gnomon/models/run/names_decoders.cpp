// What transformers calls the tensors of decoders: models/NAME/modeling_NAME.py, 5.23.0.
#include <algorithm>
#include <array>

#include "gnomon/models/run/name_tables.h"

namespace gnomon {
namespace {

// Norms of a sublayer, where a model may have one before and one after.
bool norms_after_too(const Architecture& a) { return a.norm.place == NormPlace::before_and_after; }

}  // namespace

Names names_gpt2(const Architecture&) {
  const std::string layer = "transformer.h.{}.";
  return {Sources{{"embed.word", "transformer.wte.weight"},
                  {"position.input.table", "transformer.wpe.weight"},
                  {"head.weight", "lm_head.weight"}} +
              norm_names(kAttentionNames + "norm", layer + "ln_1") +
              dense_names(kAttentionNames + "qkv", layer + "attn.c_attn", 0, How::transposed) +
              dense_names(kAttentionNames + "out", layer + "attn.c_proj", 0, How::transposed) +
              norm_names(kForwardNames + "norm", layer + "ln_2") +
              dense_names(kForwardNames + "up", layer + "mlp.c_fc", 0, How::transposed) +
              dense_names(kForwardNames + "down", layer + "mlp.c_proj", 0, How::transposed) +
              norm_names("head.norm", "transformer.ln_f"),
          "transformer.",
          {"*.attn.bias", "*.attn.masked_bias", "lm_head.weight"}};
}

Names names_gpt_neox(const Architecture&) {
  const std::string layer = "gpt_neox.layers.{}.";
  return {Sources{{"embed.word", "gpt_neox.embed_in.weight"},
                  {"head.weight", "lm_head.weight"},
                  {"head.weight", "embed_out.weight"}} +
              norm_names(kAttentionNames + "norm", layer + "input_layernorm") +
              dense_names(kAttentionNames + "qkv", layer + "attention.query_key_value", 0, How::of_heads) +
              dense_names(kAttentionNames + "out", layer + "attention.dense") +
              norm_names(kForwardNames + "norm", layer + "post_attention_layernorm") +
              dense_names(kForwardNames + "up", layer + "mlp.dense_h_to_4h") +
              dense_names(kForwardNames + "down", layer + "mlp.dense_4h_to_h") +
              norm_names("head.norm", "gpt_neox.final_layer_norm"),
          "gpt_neox.",
          {"*.attention.bias", "*.attention.masked_bias", "*.rotary_emb.inv_freq"}};
}

Names names_gptj(const Architecture& a) {
  const std::string layer = "transformer.h.{}.";
  return {Sources{{"embed.word", "transformer.wte.weight"}} +
              norm_names(kAttentionNames + "norm", layer + "ln_1") +
              qkv_names(a, layer + "attn.", "q_proj", "k_proj", "v_proj") +
              dense_names(kAttentionNames + "out", layer + "attn.out_proj") +
              dense_names(kForwardNames + "up", layer + "mlp.fc_in") +
              dense_names(kForwardNames + "down", layer + "mlp.fc_out") +
              norm_names("head.norm", "transformer.ln_f") + dense_names("head", "lm_head"),
          "transformer.",
          {"*.attn.bias", "*.attn.masked_bias", "*.attn.embed_positions"}};
}

namespace {

// Llama's words for all but the feed-forward part.
Names llama_names(const Architecture& a, const Sources& feed_forward) {
  const std::string layer = "model.layers.{}.", attention = layer + "self_attn.";
  const bool both = norms_after_too(a);
  Sources all = Sources{{"embed.word", "model.embed_tokens.weight"},
                        {"head.weight", "lm_head.weight"},
                        {kAttentionNames + "sinks", attention + "sinks"}} +
                norm_names(kAttentionNames + "norm", layer + "input_layernorm") +
                qkv_names(a, attention, "q_proj", "k_proj", "v_proj") +
                norm_names(kAttentionNames + "q.norm", attention + "q_norm") +
                norm_names(kAttentionNames + "k.norm", attention + "k_norm") +
                dense_names(kAttentionNames + "out", attention + "o_proj") +
                norm_names(kForwardNames + "norm",
                           layer + (both ? "pre_feedforward_layernorm" : "post_attention_layernorm")) +
                feed_forward + norm_names("head.norm", "model.norm");
  if (a.norm.place != NormPlace::before) {
    all = all + norm_names(kAttentionNames + "norm_after", layer + "post_attention_layernorm") +
          norm_names(kForwardNames + "norm_after", layer + "post_feedforward_layernorm");
  }
  std::vector<std::string_view> beside{"*.rotary_emb.inv_freq", "score.weight"};
  if (a.head.tied) beside.push_back("lm_head.weight");
  return {all, "model.", beside};
}
const std::string kLlamaMlp = "model.layers.{}.mlp.";

// Gate, up and down of each expert, by itself.
Sources expert_names(const Architecture& a, const std::string& mlp, const std::string& router,
                     const std::array<std::string, 3>& matrices) {
  const FeedForward& f = a.feed_forward;
  Sources all = dense_names(kForwardNames + "router", mlp + router);
  for (std::int64_t e = 0; e < f.experts.count; ++e) {
    const std::string expert = mlp + "experts." + std::to_string(e) + ".";
    const std::int64_t first = e * f.up_width();
    all = all + dense_names(kForwardNames + "up", expert + matrices[0], first) +
          dense_names(kForwardNames + "up", expert + matrices[1], first + f.hidden) +
          dense_names(kForwardNames + "down", expert + matrices[2], e * a.width);
  }
  return all;
}

// Gate, up and down of the layers with another hidden width.
Sources other_layer_names(const Architecture& a) {
  const OtherHidden& others = a.feed_forward.others;
  Sources all;
  for (const std::int64_t l : others.layers) {
    const std::string layer = std::to_string(l), ours = "layers." + layer + ".feed_forward.",
                      mlp = "model.layers." + layer + ".mlp.";
    all = all + dense_names(ours + "up", mlp + "gate_proj") +
          dense_names(ours + "up", mlp + "up_proj", others.hidden) +
          dense_names(ours + "down", mlp + "down_proj");
  }
  return all;
}

}  // namespace

Names names_llama(const Architecture& a) {
  return llama_names(a, dense_names(kForwardNames + "up", kLlamaMlp + "gate_proj") +
                            dense_names(kForwardNames + "up", kLlamaMlp + "up_proj", a.feed_forward.hidden) +
                            dense_names(kForwardNames + "down", kLlamaMlp + "down_proj"));
}

Names names_mixtral(const Architecture& a) {
  return llama_names(a, expert_names(a, "model.layers.{}.block_sparse_moe.", "gate", {"w1", "w3", "w2"}));
}
Names names_qwen3_moe(const Architecture& a) {
  return llama_names(
      a, expert_names(a, kLlamaMlp, "gate", {"gate_proj", "up_proj", "down_proj"}) + other_layer_names(a));
}
Names names_gpt_oss(const Architecture& a) {
  const std::int64_t E = a.feed_forward.experts.count;
  const std::string experts = kLlamaMlp + "experts.";
  return llama_names(
      a, dense_names(kForwardNames + "router", kLlamaMlp + "router") +
             Sources{{kForwardNames + "up.weight", experts + "gate_up_proj", 0, How::stacked_in_turn, E},
                     {kForwardNames + "up.bias", experts + "gate_up_proj_bias", 0, How::stacked_in_turn, E},
                     {kForwardNames + "down.weight", experts + "down_proj", 0, How::stacked_transposed, E},
                     {kForwardNames + "down.bias", experts + "down_proj_bias", 0, How::stacked, E}});
}

// Of each layer by its number: heads and hidden widths differ. The larger models have "language_model" within the names.
Names names_gemma4(const Architecture& a) {
  const std::string layer = "model.layers.{}.";
  Names names = names_llama(a);
  names.sources = names.sources + other_layer_names(a) +
                  Sources{{"embed.layers.word", "model.embed_tokens_per_layer.weight"},
                          {"embed.layers.project.weight", "model.per_layer_model_projection.weight"},
                          {"layers.{}.words.gate.weight", layer + "per_layer_input_gate.weight"},
                          {"layers.{}.words.out.weight", layer + "per_layer_projection.weight"},
                          {"layers.{}.scale", layer + "layer_scalar"}} +
                  norm_names("embed.layers.norm", "model.per_layer_projection_norm") +
                  norm_names("layers.{}.words.norm", layer + "post_per_layer_input_norm");
  for (std::int64_t l = 0; l < a.layers; ++l) {
    const AttentionRule rule = a.attention_in(l);
    const std::string number = std::to_string(l), own = "layers." + number + ".attention.",
                      ours = own + "qkv", theirs = "model.layers." + number + ".self_attn.";
    names.sources =
        names.sources + dense_names(ours, theirs + "q_proj") +
        Sources{{own + "q.bias", theirs + "q_proj.bias"}, {own + "k.bias", theirs + "k_proj.bias"}};
    if (rule.borrows) continue;
    names.sources = names.sources + dense_names(ours, theirs + "k_proj", rule.q_width());
    if (rule.keys_are_values) continue;
    names.sources = names.sources + dense_names(ours, theirs + "v_proj", rule.q_width() + rule.kv_width());
  }
  for (const Source& source : Sources(names.sources)) {
    if (!source.theirs.starts_with(names.prefix)) continue;
    Source& larger = names.sources.emplace_back(source);
    larger.theirs = "model.language_model." + source.theirs.substr(names.prefix.size());
  }
  for (const char* other : {"vision_tower.*", "audio_tower.*", "embed_vision.*", "embed_audio.*"})
    names.beside.emplace_back(other);
  if (!a.keys_from.empty()) {
    for (const char* unread :
         {"*.self_attn.k_proj.weight", "*.self_attn.v_proj.weight", "*.self_attn.k_norm.weight"})
      names.beside.emplace_back(unread);
  }
  return names;
}

Names names_phi3(const Architecture& a) {
  const std::string layer = "model.layers.{}.";
  return {Sources{{"embed.word", "model.embed_tokens.weight"}, {"head.weight", "lm_head.weight"}} +
              norm_names(kAttentionNames + "norm", layer + "input_layernorm") +
              dense_names(kAttentionNames + "qkv", layer + "self_attn.qkv_proj") +
              dense_names(kAttentionNames + "out", layer + "self_attn.o_proj") +
              norm_names(kForwardNames + "norm", layer + "post_attention_layernorm") +
              dense_names(kForwardNames + "up", layer + "mlp.gate_up_proj") +
              dense_names(kForwardNames + "down", layer + "mlp.down_proj") +
              norm_names("head.norm", "model.norm"),
          "model.", names_llama(a).beside};
}

// GLM, and GLM-4 with norms after its sublayers.
Names names_glm(const Architecture& a) {
  const std::string layer = "model.layers.{}.";
  Names names = llama_names(a, dense_names(kForwardNames + "up", kLlamaMlp + "gate_up_proj") +
                                   dense_names(kForwardNames + "down", kLlamaMlp + "down_proj"));
  if (!norms_after_too(a)) return names;
  std::erase_if(names.sources, [](const Source& s) {
    return s.ours.find("norm_after") != std::string::npos || s.ours.starts_with(kForwardNames + "norm.");
  });
  names.sources = names.sources + norm_names(kForwardNames + "norm", layer + "post_attention_layernorm") +
                  norm_names(kAttentionNames + "norm_after", layer + "post_self_attn_layernorm") +
                  norm_names(kForwardNames + "norm_after", layer + "post_mlp_layernorm");
  return names;
}

// Of q and k each head has a norm of its own.
Names names_stablelm(const Architecture& a) {
  Names names = names_llama(a);
  const std::int64_t D = a.attention.head_dim;
  const auto add = [&](const std::string& ours, const std::string& theirs, std::int64_t heads) {
    for (std::int64_t h = 0; h < heads; ++h) {
      names.sources.push_back(
          {kAttentionNames + ours + ".norm.gain",
           "model.layers.{}.self_attn." + theirs + ".norms." + std::to_string(h) + ".weight", h * D});
    }
  };
  add("q", "q_layernorm", a.attention.heads), add("k", "k_layernorm", a.attention.kv_heads);
  return names;
}

Names names_phi(const Architecture& a) {
  const std::string layer = "model.layers.{}.", attention = layer + "self_attn.";
  return {Sources{{"embed.word", "model.embed_tokens.weight"}} +
              norm_names(kAttentionNames + "norm", layer + "input_layernorm") +
              qkv_names(a, attention, "q_proj", "k_proj", "v_proj") +
              norm_names(kAttentionNames + "q.norm", attention + "q_layernorm") +
              norm_names(kAttentionNames + "k.norm", attention + "k_layernorm") +
              dense_names(kAttentionNames + "out", attention + "dense") +
              dense_names(kForwardNames + "up", layer + "mlp.fc1") +
              dense_names(kForwardNames + "down", layer + "mlp.fc2") +
              norm_names("head.norm", "model.final_layernorm") + dense_names("head", "lm_head"),
          "model.", names_llama(a).beside};
}

namespace {

// What BLOOM and Falcon share.
Sources bloom_body(const std::string& layer) {
  return Sources{{"embed.word", "transformer.word_embeddings.weight"}, {"head.weight", "lm_head.weight"}} +
         dense_names(kAttentionNames + "qkv", layer + "self_attention.query_key_value", 0, How::of_heads) +
         dense_names(kAttentionNames + "out", layer + "self_attention.dense") +
         dense_names(kForwardNames + "up", layer + "mlp.dense_h_to_4h") +
         dense_names(kForwardNames + "down", layer + "mlp.dense_4h_to_h") +
         norm_names("head.norm", "transformer.ln_f");
}

}  // namespace

Names names_bloom(const Architecture&) {
  const std::string layer = "transformer.h.{}.";
  return {bloom_body(layer) + norm_names("embed.norm", "transformer.word_embeddings_layernorm") +
              norm_names(kAttentionNames + "norm", layer + "input_layernorm") +
              norm_names(kForwardNames + "norm", layer + "post_attention_layernorm"),
          "transformer.",
          {"lm_head.weight"}};
}

Names names_falcon(const Architecture& a) {
  const std::string layer = "transformer.h.{}.";
  const bool two = a.residual == Residual::parallel;
  return {bloom_body(layer) +
              norm_names(kAttentionNames + "norm", layer + (two ? "ln_attn" : "input_layernorm")) +
              norm_names(kForwardNames + "norm", layer + (two ? "ln_mlp" : "post_attention_layernorm")),
          "transformer.",
          {"lm_head.weight", "*.rotary_emb.inv_freq"}};
}

Names names_mpt(const Architecture&) {
  const std::string layer = "transformer.blocks.{}.";
  return {Sources{{"embed.word", "transformer.wte.weight"}, {"head.weight", "lm_head.weight"}} +
              norm_names(kAttentionNames + "norm", layer + "norm_1") +
              dense_names(kAttentionNames + "qkv", layer + "attn.Wqkv") +
              dense_names(kAttentionNames + "out", layer + "attn.out_proj") +
              norm_names(kForwardNames + "norm", layer + "norm_2") +
              dense_names(kForwardNames + "up", layer + "ffn.up_proj") +
              dense_names(kForwardNames + "down", layer + "ffn.down_proj") +
              norm_names("head.norm", "transformer.norm_f"),
          "transformer.",
          {"lm_head.weight"}};
}

Names names_opt(const Architecture& a) {
  const std::string decoder = "model.decoder.", layer = decoder + "layers.{}.";
  const std::string norm = a.norm.place == NormPlace::before ? "norm" : "norm_after";
  return {Sources{{"embed.word", decoder + "embed_tokens.weight"},
                  {"embed.widen.weight", decoder + "project_in.weight"},
                  {"position.input.table", decoder + "embed_positions.weight"},
                  {"head.narrow.weight", decoder + "project_out.weight"},
                  {"head.weight", "lm_head.weight"}} +
              norm_names(kAttentionNames + norm, layer + "self_attn_layer_norm") +
              qkv_names(a, layer + "self_attn.", "q_proj", "k_proj", "v_proj") +
              dense_names(kAttentionNames + "out", layer + "self_attn.out_proj") +
              norm_names(kForwardNames + norm, layer + "final_layer_norm") +
              dense_names(kForwardNames + "up", layer + "fc1") +
              dense_names(kForwardNames + "down", layer + "fc2") +
              norm_names("head.norm", decoder + "final_layer_norm"),
          "model.",
          {"lm_head.weight"}};
}

}  // namespace gnomon
