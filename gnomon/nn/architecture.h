#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "gnomon/encodings/entry.h"
#include "gnomon/kernels/norm.h"
#include "gnomon/kernels/pointwise.h"
#include "gnomon/spec/spec.h"

namespace gnomon {

inline constexpr std::int64_t kVocabulary = 256;  // bytes: the vocabulary of a study

// What a norm does to a row: see kernels/norm.h. Some layer norms have no bias, OLMo's neither gain nor bias (layer_plain; arXiv
// 2402.00838); Gemma's RMS norm multiplies by 1 + gain (arXiv 2403.08295).
enum class NormForm { layer, layer_no_bias, rms, rms_one_plus, layer_plain };

// Where the norms of a sublayer f stand on its way into the residual stream h.
enum class NormPlace {
  before,            // h + f(norm(h)): pre-norm, Xiong et al. 2020, arXiv 2002.04745. GPT-2, Llama
  before_and_after,  // h + norm(f(norm(h))): Gemma 2, arXiv 2408.00118
  after_sublayer,    // h + norm(f(h)): OLMo 2, arXiv 2501.00656
  after_sum          // norm(h + f(h)): post-norm, Vaswani et al. 2017, arXiv 1706.03762. BERT
};

// What is normalised of q, and of k.
enum class QkNorm {
  none,
  shared,  // each head, with one gain for all heads: Qwen 3, arXiv 2505.09388
  own,     // each head, with its own gain: StableLM 2
  whole    // all heads as one row: OLMo 2, arXiv 2501.00656
};

struct Norms {
  NormForm form = NormForm::layer;
  double epsilon = double(kNormEpsilon);
  NormPlace place = NormPlace::before;
  bool embedding = false;  // of what enters the first layer: BERT
  QkNorm qk = QkNorm::none;
  std::optional<NormForm> qk_form = {};  // nothing: that of the others
  bool values = false;                   // RMS of each head of v, without a gain: Gemma 4
  bool last = true;                      // of what leaves the last layer
  bool first =
      true;  // false: none before the attention of layer 0, which the norm of the embedding replaces. ModernBERT
  bool before_sublayers() const { return place == NormPlace::before || place == NormPlace::before_and_after; }
  Norms of_qk() const {
    Norms norms = *this;
    norms.form = qk_form.value_or(form);
    return norms;
  }
};

struct AttentionRule {
  std::int64_t heads = 4;  // of q
  std::int64_t kv_heads =
      4;  // of k and v; query head h reads head h / (heads/kv_heads). Ainslie et al. 2023, arXiv 2305.13245
  std::int64_t head_dim = 32;
  double scale = 0;     // of q·k; 0 = 1/√head_dim
  double soft_cap = 0;  // of the logits, with their biases; 0 = none. Gemma 2
  bool sinks = false;   // one more logit a head, learned, of no value: gpt-oss, arXiv 2508.10925
  double clip = 0;      // q, k and v as projected are cut to [-clip, clip]; 0 = none. MPT, OLMo
  bool keys_are_values =
      false;             // values are the keys as projected, before norms: no matrix makes them. Gemma 4
  bool borrows = false;  // of a layer in attention_in(): its keys and values are another's
  std::int64_t q_width() const { return heads * head_dim; }
  std::int64_t kv_width() const { return kv_heads * head_dim; }
  std::int64_t qkv_width() const { return q_width() + 2 * kv_width(); }
  // Rows of the matrix that makes them.
  std::int64_t projected_width() const {
    return q_width() + (borrows ? 0 : keys_are_values ? 1 : 2) * kv_width();
  }
  double scale_of_product() const;
};

// Layers, in rising order, with heads of another width, or another number of them for keys and values: Gemma 4's with full
// attention.
struct OtherHeads {
  std::vector<std::int64_t> layers = {};
  std::int64_t kv_heads = 1, head_dim = 32;
  bool keys_are_values = false;
};

// A sublayer between attention and the feed-forward part of every layer: queries of the residual stream to keys and values
// of the rows that an encoder left, with the heads of attention, and no positions. Vaswani et al. 2017, section 3.2.3.
struct CrossAttention {
  double scale = 0;  // of q·k; 0 = 1/√head_dim
};

// How the weights of the chosen experts follow from the router's logits: by a softmax over the chosen alone (Mixtral, arXiv
// 2401.04088; gpt-oss), or over all experts, so that they sum to less than 1 (Qwen3-MoE without norm_topk_prob); or as σ of each,
// plain, or over the sum of the chosen ones (DeepSeek V3, arXiv 2412.19437; GLM-4.5).
enum class Routing { of_chosen, of_all, sigmoid, sigmoid_of_chosen };

// Instead of one feed-forward part `count`, each of the same form. A matrix, the router, gives each token a logit for each; the
// token goes through the `active` ones with the largest logits, and their outputs are added up with the router's weights.
// Shazeer et al. 2017, arXiv 1701.06538.
struct Experts {
  std::int64_t count = 0, active = 0;  // 0 = no experts
  Routing routing = Routing::of_chosen;
  bool bias = false;  // of the router
  bool choice =
      false;  // a number of each expert, added to its weight where the largest are chosen, and only there: DeepSeek V3
  double scale = 1;  // of the weights
  // Hidden width of one part more, through which every token goes; 0 = none. With a gate, its output times σ(gate·x): Qwen 1.5 MoE.
  std::int64_t shared = 0;
  bool shared_gate = false;
  explicit operator bool() const { return count > 0; }
};

// down(f(up(x))), or gated: down(f(gate(x))·up(x)), gate and up one matrix of 2·hidden rows. Shazeer 2020, arXiv 2002.05202.
// Clamped: down(f(min(gate(x), limit))·(clamp(up(x), −limit, limit) + 1)). gpt-oss, arXiv 2508.10925.
enum class Gating { off, on, clamped };
// Layers, in rising order, that have one feed-forward part of this hidden width instead.
struct OtherHidden {
  std::vector<std::int64_t> layers = {};
  std::int64_t hidden = 0;
};
struct FeedForward {
  std::int64_t hidden = 512;  // of one expert
  Activation activation = Activation::gelu_tanh;
  Gating gating = Gating::off;
  double limit = 7;  // of a clamped gate
  Experts experts = {};
  OtherHidden others = {};
  bool gated() const { return gating != Gating::off; }
  std::int64_t up_width() const { return gated() ? 2 * hidden : hidden; }
  std::int64_t parts() const { return experts ? experts.count : 1; }
  FeedForward shared_part() const {  // of the experts: what every token goes through
    return {experts.shared, activation, gating, limit};
  }
};

// Matrices of a layer that have a bias.
struct Biases {
  bool q = true, k = true, v = true, out = true, up = true, down = true;
  bool operator==(const Biases&) const = default;
};
inline constexpr Biases kNoBiases{false, false, false, false, false, false};

// How the two sublayers enter the residual stream: one after the other, or both read the same h. GPT-NeoX (arXiv
// 2204.06745), with one norm for both GPT-J.
enum class Residual { in_turn, parallel, parallel_one_norm };

// What makes logits of the last rows: nothing (the model ends in its rows), a matrix, or BERT's: norm(f(dense(h))), then a
// matrix, with the model's own norm.
enum class HeadForm { none, matrix, transform };
struct OutputHead {
  HeadForm form = HeadForm::matrix;
  bool tied = false;            // the matrix is the word table. Press, Wolf 2017, arXiv 1608.05859
  bool bias = false;            // of the logits
  bool transform_bias = false;  // of the dense layer before
  std::optional<Activation> activation =
      {};               // f; nothing: that of the feed-forward parts. RoBERTa's is GELU always
  double scale = 1;     // of the logits: Granite
  double soft_cap = 0;  // of the logits, after their scale; 0 = none. Gemma 2
};

// A word table that is narrower than the stream. A matrix leads from its rows to the stream's: of the words alone, to which positions
// are then added (OPT-350M, arXiv 2205.01068), or of words, positions and types joined, after the norm of the embedding (ELECTRA,
// arXiv 2003.10555). The head reads rows of this width again: its matrix, or the dense layer of its transform, leads back.
enum class Widened { words, embedding };
struct NarrowWords {
  std::int64_t width = 0;
  Widened widened = Widened::words;
  bool bias = false;  // of the matrix
};

// A Transformer as data: what a model card says. Positions are its spec's. As text in the order of the pass:
//
//   h = norm?(combination(word_scale·word[token], position) + type?[type]), widened? before or after
//   h = attention sublayer, cross attention sublayer?, feed-forward sublayer: residual and norms as above, for each layer;
//       the words of the layer? a scale?
//   logits = head(norm?(h))
struct Architecture {
  std::int64_t layers = 4, width = 128;
  std::int64_t vocabulary = kVocabulary;
  std::optional<NarrowWords> narrow = {};
  std::int64_t token_types = 0;  // 0 = none. BERT's segments
  std::int64_t length = 128;     // tokens of a training window
  bool causal = true;            // next token; false: an encoder, which fills in masked ones
  double word_scale = 1;         // of word vectors, beside what the combination does: Gemma's √width
  AttentionRule attention;
  OtherHeads other_heads = {};
  // The last layers, as many as there are numbers, make no keys and values: each reads those of this earlier layer, to which its own
  // encodings are applied. Gemma 3n, Gemma 4
  std::vector<std::int64_t> keys_from = {};
  std::optional<CrossAttention> cross =
      {};  // of a decoder beside an encoder, which is an architecture of its own: T5
  FeedForward feed_forward;
  Norms norm;
  Biases biases;
  Residual residual = Residual::in_turn;
  double residual_scale = 1;  // of what a sublayer adds to the residual stream: Granite
  // Channels of a word that each layer reads once more, behind its two sublayers; 0 = none. With u, the rows that a second table and
  // a matrix make of the words, of this width for each layer:
  //   u = (norm(matrix(words)/√width) + √layer_words·table[token])/√2
  //   h += norm(out(f(gate(h))·u))
  // Gemma 3n, Gemma 4: modeling_gemma4.py, project_per_layer_inputs
  std::int64_t layer_words = 0;
  bool layer_scale = false;  // a learned number for each layer, times the stream that leaves it: Gemma 4
  OutputHead head;
  Spec position;  // [a, b] for layers that differ

  FeedForward feed_forward_in(std::int64_t layer) const;  // of `others`, without experts
  AttentionRule attention_in(std::int64_t layer) const;
  // The layer that makes the keys and values that this one reads: itself, or of a borrowing layer an earlier one.
  std::int64_t keys_of(std::int64_t layer) const;
  bool has_equal_heads() const { return other_heads.layers.empty() && keys_from.empty(); }
  // What is joined, and normed, before the first layer; and what the matrix of the head reads.
  std::int64_t embedding_width() const {
    return narrow && narrow->widened == Widened::embedding ? narrow->width : width;
  }
  std::int64_t head_width() const { return narrow ? narrow->width : width; }
  Shape shape() const { return {width, attention.heads, attention.head_dim, length, causal}; }
  Shape shape_in(std::int64_t layer) const;
  // Throws Error(usage) that names what was found and what is allowed: sizes out of bounds, parts that contradict each
  // other, and a spec that this architecture cannot take.
  void check() const;
  Activation head_activation() const { return head.activation.value_or(feed_forward.activation); }
};

// The spec of an architecture, made for its shapes (spec/scheme.h). Throws Error(usage).
struct Scheme;
Scheme make_scheme(const Architecture& a);

}  // namespace gnomon
