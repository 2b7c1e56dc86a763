#pragma once
#include <cstdint>
#include <vector>

#include "gnomon/core/precision.h"
#include "gnomon/kernels/key_cache.h"
#include "gnomon/nn/execute.h"
#include "gnomon/nn/parameters.h"

namespace gnomon {

// The rows of an encoder that cross attention reads, (B·T,width), row_step(width) apart, and their gradient, which is added to.
struct EncoderAt {
  std::int64_t T = 0;
  const float* rows = nullptr;
  const std::uint8_t* padding = nullptr;  // (B,T): 1 = no key to anyone
  float* d = nullptr;                     // or null
};

// Keys and values (N, 2·kv_width), as projected, of a layer from which others borrow them, and their gradient.
struct SharedKeys {
  Floats rows, d;
};
// The words (N, layer_words) that a layer reads once more, `step` apart, and their gradient, which is added to.
struct LayerWordsOf {
  const float* rows = nullptr;
  float* d = nullptr;
  std::int64_t step = 0;
};

// One Transformer layer, forward and backward, in the parts of the paper: norm, projections, attention, feed-forward,
// residual. Rows of all arrays are row_step(width) apart.
struct LayerShape {
  const Architecture& a;  // with the layer's own heads
  std::int64_t B, T;
  const std::uint8_t* padding = nullptr;  // (B,T): 1 = no key to anyone
  EncoderAt encoder = {};
  SharedKeys* shared = nullptr;  // of the layer that makes them, and of those that borrow them
  LayerWordsOf words = {};
  Precision precision = Precision::float32;  // of Tokens
  std::int64_t N() const { return B * T; }
};

// What position does inside the attention of some layers.
struct LayerScheme {
  std::vector<Acting> acting;
  const Placement* places = nullptr;
  Plan plan, dplan;       // what depends on positions and parameters alone
  bool compiled = false;  // the plan is there
  bool reads_content = false;
  // Position vectors (rows·T,C) that enter what queries and keys are projected from, or null; de likewise.
  const float* e = nullptr;
  float* de = nullptr;
  std::int64_t e_rows = 1;
};

// What the norms of a sublayer keep: the rows that the first left, those that the second found, and their statistics.
struct SublayerKept {
  Floats before, found, statistics_before, statistics_after;
  Floats out;  // the residual stream after the sublayer
};
struct ProjectionsKept {
  Floats qkv;                   // (N, qkv_width): what attention reads
  Floats asked;                 // x + e, where positions enter queries and keys alone
  Floats unnormed, statistics;  // q and k before their norms; q, k and v before they are clipped
};
// Of a feed-forward part, before and after the activation.
struct PartKept {
  Floats up, hidden;
};
// Which rows go through which expert: those of expert e are the entries first[e] to first[e + 1] of `row`.
struct ExpertsKept {
  Floats logits, weights;  // (N,experts): of the router
  std::vector<std::int64_t> first, row;
  Floats x, written;    // of each entry: the row that it reads, and what its expert makes of it
  Floats shared, gate;  // what the shared expert makes of each row, and σ of its gate
};
// Queries (N,q_width), keys and values side by side (B·encoder.T, 2·kv_width), and what attention returned.
struct CrossKept {
  Floats q, kv, attended;
  AttentionKept kept;
};
// The stream before the words of the layer, their gate before and after the activation, times the words, and what is normed.
struct LayerWordsKept {
  Floats h, gate, hidden, found, statistics;
};
// What the forward pass keeps for the backward pass.
struct LayerActivations {
  SublayerKept attention, cross, feed_forward;
  ProjectionsKept projections;
  CrossKept crossed;
  Floats attended;  // (N, q_width): what attention returned
  AttentionKept kept;
  Plan plan;              // with what reads content; unused where nothing does
  PartKept part, shared;  // of experts, by chosen; of the one that every token goes through
  ExpertsKept experts;
  LayerWordsKept words;
  Floats unscaled;  // the stream before the scale of the layer
};

// h (N,width) is the residual stream; a.feed_forward.out holds it after the layer, a.attention.out between the sublayers.
// With a cache the tokens are new ones, that see what it holds; there is no way back from them.
struct LayerCache {
  KeyCache keys;
  Floats crossed;  // CrossKept::kv, which the first tokens make for all that follow
};
struct LayerInput {
  const float *w, *h;
  LayerCache* cache = nullptr;
  TapsAt taps = {};
};
void layer_forward(const LayerShape& s, const LayerAt& p, const LayerInput& in, const LayerScheme& scheme,
                   LayerActivations& a);

// g receives the gradients of w; dh comes in as the gradient of what the layer left and leaves as the gradient of h.
struct LayerScratch {
  Floats dcross, dcross_q, dcross_kv, dencoder;   // of cross attention
  Floats dhidden, drows, dqkv, dcontent, dasked;  // shared by the layers
  Floats dbranch, dsum, dscaled, dunnormed,
      dup;  // of parallel sublayers, norms after a sublayer, its scale, norms of q and k, gates
  Floats dx, dchosen, drouter;  // of experts: the rows that they read and wrote, their weights
  Floats dshared, dgate;        // of what the shared expert made, and of its gate
  Floats dfound, dwords;        // of the words of a layer
};
struct LayerBackward {
  const float *w, *h;
  float *g, *dh;
  LayerScratch& scratch;
};
void layer_backward(const LayerShape& s, const LayerAt& p, const LayerBackward& at, LayerScheme& scheme,
                    LayerActivations& a);

// --- The parts

// Norms of `rule` over rows of `width` numbers.
NormShape norm_shape(const Norms& rule, std::int64_t N, std::int64_t width, std::int64_t step);

// Queries, keys and values of the rows x: projections.cpp. Backward: from k.qkv's gradient dqkv, with what content received
// in dcontent, to dx, overwritten.
struct ProjectionsBackward {
  const float *w, *x;
  float *g, *dx;
  LayerScratch& scratch;
};
void project(const LayerShape& s, const AttentionAt& p, const LayerInput& in, const LayerScheme& scheme,
             ProjectionsKept& k);  // in.h: x
void project_backward(const LayerShape& s, const AttentionAt& p, const ProjectionsBackward& at,
                      LayerScheme& scheme, const ProjectionsKept& k);
// Keys and values as projected, to the other layers or from them: s.shared is there. Backward on their columns of dqkv.
void share_keys(const LayerShape& s, ProjectionsKept& k);
void share_keys_backward(const LayerShape& s, Floats& dqkv);
// What encodings read of x and k.
Content content_of(const LayerShape& s, const AttentionAt& p, const LayerInput& in, const ProjectionsKept& k);
ContentGrad content_grad_of(const LayerShape& s, const AttentionAt& p, float* g, LayerScratch& scratch);

// Attention between the projections: layer_attention.cpp. a.projections.qkv holds the projected rows; a.attended receives
// what goes into the output projection.
struct AttentionShape {
  std::int64_t B, T;
  AttentionRule rule;
  bool causal;
  const std::uint8_t* padding = nullptr;
  std::int64_t tile = 0;         // 0 = chosen for the machine
  const float* sinks = nullptr;  // (heads)
  float* dsinks = nullptr;
  TapsAt taps = {};
  Precision precision = Precision::float32;
};
void attention_forward(const AttentionShape& s, const LayerScheme& scheme, const Content& content,
                       LayerActivations& a);
// dreturned: gradient of what went into the output projection, overwritten. dqkv is overwritten; what content
// receives beside is added to `grad`, whose q and k point into dqkv.
struct AttentionBackward {
  float *dreturned, *dqkv;
  ContentGrad& grad;
};
void attention_backward(const AttentionShape& s, LayerScheme& scheme, const Content& content,
                        const AttentionBackward& at, LayerActivations& a);
// The same forward for new tokens, whose keys are appended to the cache.
void attention_decode(const AttentionShape& s, const LayerScheme& scheme, const Content& content,
                      KeyCache& cache, LayerActivations& a);

// What the backward pass of a sublayer reads: the rows x that the sublayer read, and the gradient dy of what it wrote.
struct SublayerBackward {
  const float *w, *x, *dy;
  float *g, *dx;  // dx is overwritten
  LayerScratch& scratch;
};
// Cross attention from the rows in.h to `to` (N,width), overwritten: cross_attention.cpp. The gradient of the encoder's rows is
// added to s.encoder.d.
void cross_attention(const LayerShape& s, const AttentionAt& p, const LayerInput& in, CrossKept& k,
                     float* to);
void cross_attention_backward(const LayerShape& s, const AttentionAt& p, const SublayerBackward& at,
                              CrossKept& k);

// Feed-forward part: feed_forward.cpp; of experts: experts.cpp. `to` (N,width) is overwritten with down(f(up(x))).
void feed_forward(const LayerShape& s, const LayerAt& p, const LayerInput& in, LayerActivations& a,
                  float* to);
void feed_forward_backward(const LayerShape& s, const LayerAt& p, const SublayerBackward& at,
                           LayerActivations& a);
// One part by itself, of the form f, which has no experts.
void plain_part(const LayerShape& s, const FeedForward& f, const PartAt& p, const LayerInput& in, PartKept& k,
                float* to);
void plain_part_backward(const LayerShape& s, const FeedForward& f, const PartAt& p,
                         const SublayerBackward& at, PartKept& k);
// The same for experts, from in.h. Taps see what the router says: `router`.
void experts(const LayerShape& s, const LayerAt& p, const LayerInput& in, LayerActivations& a, float* to);
void experts_backward(const LayerShape& s, const LayerAt& p, const SublayerBackward& at, LayerActivations& a);
// The words of the layer, then its scale, on a.feed_forward.out: layer_words.cpp. Backward on dh.
void add_layer_words(const LayerShape& s, const LayerAt& p, const float* w, LayerActivations& a);
void add_layer_words_backward(const LayerShape& s, const LayerAt& p, const LayerBackward& at,
                              const LayerActivations& a);
void scale_layer(const LayerShape& s, const LayerAt& p, const float* w, LayerActivations& a);
void scale_layer_backward(const LayerShape& s, const LayerAt& p, const LayerBackward& at,
                          const LayerActivations& a);
// f of N rows `up_step` apart, gated where the part is: to `hidden_step`. Backward: dup is overwritten, and may be dhidden
// where there is no gate.
struct Activated {
  const FeedForward& f;
  std::int64_t N, up_step, hidden_step;
};
void activate_rows(const Activated& s, const float* up, float* hidden);
void activate_rows_backward(const Activated& s, const float* up, const float* dhidden, float* dup);

}  // namespace gnomon
