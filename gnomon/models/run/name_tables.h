#pragma once
// What the tables of names are written with. Internal to families.
#include <string>

#include "gnomon/models/run/names.h"

namespace gnomon {

using Sources = std::vector<Source>;
inline Sources operator+(Sources a, const Sources& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
// A norm or a dense layer; biases where the model has them. Parts have their biases as their matrices.
inline Sources norm_names(const std::string& ours, const std::string& theirs) {
  return {{ours + ".gain", theirs + ".weight"}, {ours + ".bias", theirs + ".bias"}};
}
inline Sources dense_names(const std::string& ours, const std::string& theirs, std::int64_t first = 0,
                           How how = How::plain, std::int64_t parts = 1) {
  return {{ours + ".weight", theirs + ".weight", first, how, parts},
          {ours + ".bias", theirs + ".bias", first, how == How::transposed ? How::plain : how, parts}};
}
inline const std::string kAttentionNames = "layers.{}.attention.", kCrossNames = "layers.{}.cross.",
                         kForwardNames = "layers.{}.feed_forward.";

// q, k and v as three tensors, whose names end in these words.
inline Sources qkv_names(const Architecture& a, const std::string& at, const std::string& q,
                         const std::string& k, const std::string& v,
                         const std::string& sublayer = kAttentionNames) {
  const std::int64_t keys = a.attention.q_width(), values = keys + a.attention.kv_width();
  const std::string ours = sublayer + "qkv";
  return dense_names(ours, at + q) + dense_names(ours, at + k, keys) + dense_names(ours, at + v, values);
}

// How GGUF files of a family hold q, k and v, and the two matrices of a gate: each by itself, or as one tensor.
enum class InGguf { none, split, fused_qkv, fused_gate, fused };

Names names_bert(const Architecture& a);
Names names_bloom(const Architecture& a);
Names names_deberta(const Architecture& a);
Names names_deberta_v2(const Architecture& a);
Names names_distilbert(const Architecture& a);
Names names_electra(const Architecture& a);
Names names_falcon(const Architecture& a);
Names names_gemma4(const Architecture& a);
Names names_gpt_oss(const Architecture& a);
Names names_gpt2(const Architecture& a);
Names names_gpt_neox(const Architecture& a);
Names names_gptj(const Architecture& a);
Names names_glm(const Architecture& a);
Names names_llama(const Architecture& a);
Names names_mixtral(const Architecture& a);
Names names_modernbert(const Architecture& a);
Names names_mpnet(const Architecture& a);
Names names_mpt(const Architecture& a);
Names names_nomic_bert(const Architecture& a);
Names names_opt(const Architecture& a);
Names names_phi(const Architecture& a);
Names names_phi3(const Architecture& a);
Names names_qwen3_moe(const Architecture& a);
Names names_roberta(const Architecture& a);
Names names_stablelm(const Architecture& a);
Names names_t5(const Architecture& a);
Names names_gguf(const Architecture& a, std::string_view family, InGguf form);

}  // namespace gnomon
