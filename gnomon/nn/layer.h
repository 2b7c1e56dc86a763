#pragma once
#include <cstdint>
#include <vector>

#include "gnomon/kernels/norm.h"
#include "gnomon/nn/execute.h"

namespace gnomon {

// One Transformer layer, forward and backward. Rows of all arrays are row_step(width) apart.
struct LayerShape {
  std::int64_t B, T, C, H, hidden;
  bool causal;
  Norm norm;
  const std::uint8_t* padding;
  std::int64_t tile = 0;  // of attention; 0 = chosen for the machine
  std::int64_t N() const { return B * T; }
  std::int64_t D() const { return C / H; }
};

// Offsets into the flat array of parameters; −1 = absent.
struct LayerParams {
  std::int64_t norm1_gain, norm1_bias, qkv, qkv_bias, out, out_bias, norm2_gain, norm2_bias, up, up_bias,
      down, down_bias;
};

// What the forward pass keeps for the backward pass.
struct LayerActivations {
  Floats norm1, qkv, attended, middle, norm2, up, hidden,
      out;  // attended: what attention returned; middle: h after it; out: h after the layer
  Floats statistics1, statistics2;
  Floats asked;  // norm1 + e, where positions enter queries and keys alone
  AttentionKept kept;
  Plan plan;  // with what reads content; unused where nothing does
};

// What position does inside the attention of some layers.
struct LayerPositions {
  std::vector<Acting> acting;
  const Placement* places = nullptr;
  Plan plan, dplan;  // what depends on positions and parameters alone
  bool reads_content = false;
  // Position vectors (rows·T,C) that enter what queries and keys are projected from, or null; de likewise.
  const float* e = nullptr;
  float* de = nullptr;
  std::int64_t e_rows = 1;
};

void layer_forward(const LayerShape& s, const LayerParams& p, const float* w, const LayerPositions& positions,
                   const float* h, LayerActivations& a);

// g receives the gradients of w; dh comes in as the gradient of a.out and leaves as the gradient of h.
struct LayerScratch {
  Floats dhidden, drows, dqkv, dcontent, dasked;  // shared by the layers
};
struct LayerBackward {
  const float *w, *h;
  float *g, *dh;
  LayerScratch& scratch;
};
void layer_backward(const LayerShape& s, const LayerParams& p, const LayerBackward& at,
                    LayerPositions& positions, LayerActivations& a);

// Attention of a layer, between the projections: layer_attention.cpp. a.qkv holds the projected rows; a.attended receives
// what goes into the output projection.
void attention_forward(const LayerShape& s, const LayerPositions& positions, const Content& content,
                       LayerActivations& a);
// dreturned: gradient of what went into the output projection, overwritten. dqkv is overwritten; what content
// receives beside is added to `grad`, whose q and k point into dqkv.
struct AttentionBackward {
  float *dreturned, *dqkv;
  ContentGrad& grad;
};
void attention_backward(const LayerShape& s, LayerPositions& positions, const Content& content,
                        const AttentionBackward& at, LayerActivations& a);

}  // namespace gnomon
