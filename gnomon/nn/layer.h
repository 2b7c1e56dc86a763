#pragma once
#include <cstdint>
#include <vector>

#include "gnomon/encodings/encoding.h"
#include "gnomon/kernels/norm.h"

namespace gnomon {

// One Transformer layer, forward and backward. Rows of all arrays are row_step(width) apart.
struct LayerShape {
  std::int64_t B, T, C, H, hidden;
  bool causal;
  Norm norm;
  const std::uint8_t* padding;
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
      out;  // middle: h after attention; out: h after the layer
  Floats statistics1, statistics2, lse;
};
// An encoding that acts inside attention, with its batch; dw is where its gradient goes.
struct LayerPosition {
  const Encoding* encoding;
  Batch batch;
  float* dw;
};

// What position does inside attention: the same for every layer.
struct LayerPositions {
  std::vector<LayerPosition> encodings;
  Terms terms, dterms;
};

void layer_forward(const LayerShape& s, const LayerParams& p, const float* w, const LayerPositions& positions,
                   const float* h, LayerActivations& a);

// g receives the gradients of w; dh comes in as the gradient of a.out and leaves as the gradient of h.
struct LayerScratch {
  Floats dhidden, drows, dqkv;  // shared by the layers
};
struct LayerBackward {
  const float *w, *h;
  float *g, *dh;
  LayerScratch& scratch;
};
void layer_backward(const LayerShape& s, const LayerParams& p, const LayerBackward& at,
                    LayerPositions& positions, const LayerActivations& a);

}  // namespace gnomon
