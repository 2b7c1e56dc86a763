// What GGUF files call the tensors of all families.
#include "gnomon/models/run/name_tables.h"

namespace gnomon {
namespace {

// Norms of q and k; where each head has its own, one row for each head.
Sources qk_norm_names(const Architecture& a, const std::string& layer) {
  const std::string q = kAttentionNames + "q.norm", k = kAttentionNames + "k.norm";
  if (a.norm.qk != QkNorm::own)
    return norm_names(q, layer + "attn_q_norm") + norm_names(k, layer + "attn_k_norm");
  return {{q + ".gain", layer + "attn_q_norm.weight", 0, How::stacked, a.attention.heads},
          {k + ".gain", layer + "attn_k_norm.weight", 0, How::stacked, a.attention.kv_heads}};
}

}  // namespace

namespace {

// T5's encoder or decoder, whose tensors have words of their own.
Names gguf_t5(const Architecture& a) {
  const std::string stack = a.cross ? "dec." : "enc.", layer = stack + "blk.{}.";
  Sources all = Sources{{"embed.word", "token_embd.weight"},
                        {"position.attention.0.bias", stack + "blk.0.attn_rel_b.weight"},
                        {"position.attention.0.{}.bias", layer + "attn_rel_b.weight"}} +
                norm_names(kAttentionNames + "norm", layer + "attn_norm") +
                qkv_names(a, layer, "attn_q", "attn_k", "attn_v") +
                dense_names(kAttentionNames + "out", layer + "attn_o") +
                norm_names(kCrossNames + "norm", layer + "cross_attn_norm") +
                qkv_names(a, layer, "cross_attn_q", "cross_attn_k", "cross_attn_v", kCrossNames) +
                dense_names(kCrossNames + "out", layer + "cross_attn_o") +
                norm_names(kForwardNames + "norm", layer + "ffn_norm") +
                dense_names(kForwardNames + "up", layer + (a.feed_forward.gated() ? "ffn_gate" : "ffn_up")) +
                dense_names(kForwardNames + "down", layer + "ffn_down") +
                norm_names("head.norm", stack + "output_norm") + dense_names("head", "output");
  if (a.feed_forward.gated())
    all = all + dense_names(kForwardNames + "up", layer + "ffn_up", a.feed_forward.hidden);
  if (a.cross) return {all, "", {"enc.*", "dec.blk.0.cross_attn_rel_b.weight"}};
  return {all, "", {"dec.*", "output.weight"}};
}

}  // namespace

// gguf-py/gguf/constants.py, TENSOR_NAMES.
Names names_gguf(const Architecture& a, std::string_view family, InGguf form) {
  if (family == "t5") return gguf_t5(a);
  const std::string layer = "blk.{}.";
  const FeedForward& f = a.feed_forward;
  const bool after = a.norm.place == NormPlace::before_and_after || a.norm.place == NormPlace::after_sublayer;
  const bool fused_qkv = form == InGguf::fused || form == InGguf::fused_qkv,
             fused_gate = form == InGguf::fused || form == InGguf::fused_gate;
  // Falcon's norm before the feed-forward part is that before attention, and a second one stands before attention.
  const bool falcon = family == "falcon" && a.residual == Residual::parallel;
  Sources all = Sources{{"embed.word", "token_embd.weight"},
                        {"embed.type", "token_types.weight"},
                        {"position.input.table", "position_embd.weight"},
                        {kAttentionNames + "sinks", layer + "attn_sinks.weight"}} +
                norm_names("embed.norm", "token_embd_norm") +
                norm_names(kAttentionNames + "norm", layer + (falcon ? "attn_norm_2" : "attn_norm")) +
                (fused_qkv ? dense_names(kAttentionNames + "qkv", layer + "attn_qkv")
                           : qkv_names(a, layer, "attn_q", "attn_k", "attn_v")) +
                qk_norm_names(a, layer) + dense_names(kAttentionNames + "out", layer + "attn_output") +
                norm_names(kForwardNames + "norm", layer + (falcon                ? "attn_norm"
                                                            : family == "gpt_oss" ? "post_attention_norm"
                                                                                  : "ffn_norm")) +
                norm_names("head.norm", "output_norm") + dense_names("head", "output");
  if (f.experts) {
    all = all + dense_names(kForwardNames + "router", layer + "ffn_gate_inp");
    const auto stacked = [&](const std::string& ours, const std::string& theirs, std::int64_t first) {
      return dense_names(kForwardNames + ours, layer + theirs, first, How::stacked, f.experts.count);
    };
    all = all + stacked("up", "ffn_gate_exps", 0) + stacked("up", "ffn_up_exps", f.hidden) +
          stacked("down", "ffn_down_exps", 0);
  } else {
    const bool one_up = !f.gated() || fused_gate;
    all = all + dense_names(kForwardNames + "up", layer + (one_up ? "ffn_up" : "ffn_gate")) +
          dense_names(kForwardNames + "down", layer + "ffn_down");
    if (!one_up) all = all + dense_names(kForwardNames + "up", layer + "ffn_up", f.hidden);
  }
  if (after) {
    all = all + norm_names(kAttentionNames + "norm_after", layer + "post_attention_norm") +
          norm_names(kForwardNames + "norm_after", layer + "post_ffw_norm");
  }
  if (a.norm.place == NormPlace::after_sum) {
    all = all + norm_names(kAttentionNames + "norm_after", layer + "attn_output_norm") +
          norm_names(kForwardNames + "norm_after", layer + "layer_output_norm");
  }
  // Divisors of frequencies: resolve() reads them.
  return {all, "", {"rope_freqs.weight", "rope_factors_long.weight", "rope_factors_short.weight"}};
}

}  // namespace gnomon
