// What transformers calls the tensors of decoders (models/NAME/modeling_NAME.py, 5.23.0), and what GGUF files call them.
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

Names names_llama(const Architecture& a) {
  const std::string layer = "model.layers.{}.", attention = layer + "self_attn.", mlp = layer + "mlp.";
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
                dense_names(kForwardNames + "up", mlp + "gate_proj") +
                dense_names(kForwardNames + "up", mlp + "up_proj", a.feed_forward.hidden) +
                dense_names(kForwardNames + "down", mlp + "down_proj") +
                norm_names("head.norm", "model.norm");
  if (both) {
    all = all + norm_names(kAttentionNames + "norm_after", layer + "post_attention_layernorm") +
          norm_names(kForwardNames + "norm_after", layer + "post_feedforward_layernorm");
  }
  std::vector<std::string_view> beside{"*.rotary_emb.inv_freq", "score.weight"};
  if (a.head.tied) beside.push_back("lm_head.weight");
  return {all, "model.", beside};
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

// gguf-py/gguf/constants.py, TENSOR_NAMES. `fused`: q, k and v are one tensor.
Names names_gguf(const Architecture& a, bool fused) {
  const std::string layer = "blk.{}.";
  const bool both = norms_after_too(a), sums = a.norm.place == NormPlace::after_sum;
  const bool one_up = !a.feed_forward.gated || fused;  // gate and up in one tensor, or no gate
  Sources all = Sources{{"embed.word", "token_embd.weight"},
                        {"embed.type", "token_types.weight"},
                        {"position.input.table", "position_embd.weight"},
                        {"head.weight", "output.weight"}} +
                norm_names("embed.norm", "token_embd_norm") +
                norm_names(kAttentionNames + "norm", layer + "attn_norm") +
                (fused ? dense_names(kAttentionNames + "qkv", layer + "attn_qkv")
                       : qkv_names(a, layer, "attn_q", "attn_k", "attn_v")) +
                norm_names(kAttentionNames + "q.norm", layer + "attn_q_norm") +
                norm_names(kAttentionNames + "k.norm", layer + "attn_k_norm") +
                dense_names(kAttentionNames + "out", layer + "attn_output") +
                norm_names(kForwardNames + "norm", layer + "ffn_norm") +
                dense_names(kForwardNames + "up", layer + (one_up ? "ffn_up" : "ffn_gate")) +
                dense_names(kForwardNames + "down", layer + "ffn_down") +
                norm_names("head.norm", "output_norm");
  if (!one_up) all = all + dense_names(kForwardNames + "up", layer + "ffn_up", a.feed_forward.hidden);
  if (both) {
    all = all + norm_names(kAttentionNames + "norm_after", layer + "post_attention_norm") +
          norm_names(kForwardNames + "norm_after", layer + "post_ffw_norm");
  }
  if (sums) {
    all = all + norm_names(kAttentionNames + "norm_after", layer + "attn_output_norm") +
          norm_names(kForwardNames + "norm_after", layer + "layer_output_norm");
  }
  // Divisors of frequencies: resolve() reads them.
  return {all, "", {"rope_freqs.weight", "rope_factors_long.weight", "rope_factors_short.weight"}};
}

}  // namespace gnomon
