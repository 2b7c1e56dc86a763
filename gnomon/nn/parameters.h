#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "gnomon/encodings/params.h"
#include "gnomon/nn/architecture.h"
#include "gnomon/spec/scheme.h"

namespace gnomon {

// Where a parameter lies in the one flat array of a model.
struct Param {
  ParamSpec spec;
  std::int64_t offset;
};

// Offsets of a norm and of a dense layer; −1 = absent. A norm may be there without a number of its own.
struct NormAt {
  std::int64_t gain = -1, bias = -1;
  bool there = false;
  explicit operator bool() const { return there; }
};
struct LinearAt {
  std::int64_t weight = -1, bias = -1;
};
inline const float* optional(const float* w, std::int64_t offset) {
  return offset < 0 || !w ? nullptr : w + offset;
}
inline float* optional(float* g, std::int64_t offset) { return offset < 0 || !g ? nullptr : g + offset; }

// The norms around a sublayer: before it, and after it or after the residual sum.
struct NormsAt {
  NormAt before, after;
};
struct AttentionAt {
  std::int64_t qkv = -1;                               // (qkv_width, width): rows of q, then k, then v
  std::int64_t q_bias = -1, k_bias = -1, v_bias = -1;  // where all three are, they follow each other
  NormAt q_norm, k_norm;    // (head_dim), of each head its own (heads·head_dim), or of the whole row
  std::int64_t sinks = -1;  // (heads)
  LinearAt out;
};
// The matrices of a feed-forward part.
struct PartAt {
  LinearAt up, down;
};
struct LayerAt {
  NormsAt attention_norms, cross_norms, feed_forward_norms;
  AttentionAt attention, cross;  // of cross, the rows of k and v read the encoder's
  FeedForward feed_forward;      // the layer's own
  LinearAt router;               // (experts, width)
  std::int64_t choice = -1;      // (experts)
  PartAt part, shared;  // of all experts, one after the other; of the one that every token goes through
  std::int64_t shared_gate = -1;   // (1, width)
  LinearAt words_gate, words_out;  // of the words of the layer
  NormAt words_norm;
  std::int64_t scale = -1;  // (1)
};
// Of the words that each layer reads once more: (vocabulary, layers·layer_words), (layers·layer_words, width).
struct LayerWordsAt {
  std::int64_t table = -1, project = -1;
  NormAt norm;  // (layer_words)
};

// Every parameter of a model in the order of the flat array, and the offsets by what they are for.
struct Layout {
  Layout(const Architecture& a, const Scheme& scheme);

  std::vector<Param> params;
  std::int64_t total = 0;
  std::int64_t word = -1, type = -1, combination = 0, input = 0;
  NormAt embedding_norm, last_norm, transform_norm;
  LayerWordsAt layer_words;
  LinearAt widen, narrow, transform,
      head;  // widen and narrow: of narrow words, before the layers and before the head
  std::vector<LayerAt> layers;
  // The parameters of scheme.attention[n] in layer l: one block for all layers, or each its own.
  std::int64_t encoding(std::size_t n, std::int64_t l) const {
    return encodings_[n * layers.size() + std::size_t(l)];
  }

 private:
  struct Array {
    std::vector<std::int64_t> shape;
    double mean, deviation;
    bool decay;
  };
  std::int64_t declare(std::string name, Array array);
  std::int64_t declare_all(const std::string& prefix, const std::vector<ParamSpec>& specs);
  NormAt declare_norm(const std::string& prefix, const Norms& norms, std::int64_t width);
  void declare_feed_forward(const Architecture& a, const std::string& at, LayerAt& p);
  PartAt declare_part(const Architecture& a, const FeedForward& f, const std::string& at);
  void declare_encoding(const Architecture& a, const Scheme& scheme, std::size_t n);
  void declare_layer_words(const Architecture& a);
  AttentionAt declare_attention(const Architecture& a, const AttentionRule& rule, const std::string& at);
  LayerAt declare_layer(const Architecture& a, std::int64_t l);
  std::vector<std::int64_t> encodings_;
};

}  // namespace gnomon
