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
// A norm or a dense layer; biases where the model has them.
inline Sources norm_names(const std::string& ours, const std::string& theirs) {
  return {{ours + ".gain", theirs + ".weight"}, {ours + ".bias", theirs + ".bias"}};
}
inline Sources dense_names(const std::string& ours, const std::string& theirs, std::int64_t first = 0,
                           How how = How::plain) {
  return {{ours + ".weight", theirs + ".weight", first, how},
          {ours + ".bias", theirs + ".bias", first, how == How::of_heads ? how : How::plain}};
}
inline const std::string kAttentionNames = "layers.{}.attention.", kForwardNames = "layers.{}.feed_forward.";

// q, k and v as three tensors, whose names end in these words.
inline Sources qkv_names(const Architecture& a, const std::string& at, const std::string& q,
                         const std::string& k, const std::string& v) {
  const std::int64_t keys = a.attention.q_width(), values = keys + a.attention.kv_width();
  const std::string ours = kAttentionNames + "qkv";
  return dense_names(ours, at + q) + dense_names(ours, at + k, keys) + dense_names(ours, at + v, values);
}

Names names_bert(const Architecture& a);
Names names_deberta_v2(const Architecture& a);
Names names_gpt2(const Architecture& a);
Names names_gpt_neox(const Architecture& a);
Names names_gptj(const Architecture& a);
Names names_llama(const Architecture& a);
Names names_modernbert(const Architecture& a);
Names names_mpnet(const Architecture& a);
Names names_phi3(const Architecture& a);
Names names_roberta(const Architecture& a);
Names names_t5(const Architecture& a);
Names names_gguf(const Architecture& a, bool fused);

}  // namespace gnomon
