#include "gnomon/nn/layer.h"

#include "gnomon/core/parallel.h"
#include "gnomon/kernels/matmul.h"
#include "gnomon/kernels/pointwise.h"

namespace gnomon {
namespace {

const float* optional(const float* w, std::int64_t offset) { return offset < 0 ? nullptr : w + offset; }
float* optional(float* g, std::int64_t offset) { return offset < 0 ? nullptr : g + offset; }

Content content_of(const LayerShape& s, const LayerParams& p, const float* w, const float* x,
                   const LayerActivations& a) {
  const std::int64_t step = row_step(3 * s.C);
  const float *qkv = w + p.qkv, *bias = w + p.qkv_bias;
  return {s.B,
          s.T,
          {x, row_step(s.C)},
          {s.B, s.T, s.H, s.T * step, step, s.D()},
          a.qkv.data(),
          a.qkv.data() + s.C,
          {qkv, qkv + s.C * s.C, bias, bias + s.C}};
}
// x + e, row by row.
void add_positions(const LayerShape& s, const LayerPositions& positions, const float* x, float* to) {
  const std::int64_t step = row_step(s.C);
  parallel_ranges(s.N(), 64, [&](auto begin, auto end) {
    for (auto n = begin; n < end; ++n) {
      const float* e = positions.e + (positions.e_rows > 1 ? n : n % s.T) * s.C;
      for (std::int64_t c = 0; c < s.C; ++c) to[n * step + c] = x[n * step + c] + e[c];
    }
  });
}
void add_positions_backward(const LayerShape& s, const LayerPositions& positions, const float* dx) {
  const std::int64_t step = row_step(s.C);
  for (std::int64_t n = 0; n < s.N(); ++n) {
    float* de = positions.de + (positions.e_rows > 1 ? n : n % s.T) * s.C;
    for (std::int64_t c = 0; c < s.C; ++c) de[c] += dx[n * step + c];
  }
}

}  // namespace

void layer_forward(const LayerShape& s, const LayerParams& p, const float* w, const LayerPositions& positions,
                   const float* h, LayerActivations& a) {
  const std::int64_t N = s.N(), C = s.C, step = row_step(C), qkv_step = row_step(3 * C),
                     hidden_step = row_step(s.hidden);
  for (Floats* rows : {&a.norm1, &a.attended, &a.middle, &a.norm2, &a.out}) rows->resize(N * step);
  a.qkv.resize(N * qkv_step), a.up.resize(N * hidden_step), a.hidden.resize(N * hidden_step);
  a.statistics1.resize(2 * N), a.statistics2.resize(2 * N);

  normalise({s.norm, N, C, step}, h, w + p.norm1_gain, optional(w, p.norm1_bias), a.norm1.data(),
            a.statistics1.data());
  const float* x = a.norm1.data();
  if (positions.e) {
    a.asked.resize(N * step);
    add_positions(s, positions, x, a.asked.data());
    linear({N, C, 2 * C, step, qkv_step}, a.asked.data(), w + p.qkv, w + p.qkv_bias, a.qkv.data());
    linear({N, C, C, step, qkv_step}, x, w + p.qkv + 2 * C * C, w + p.qkv_bias + 2 * C, a.qkv.data() + 2 * C);
    x = a.asked.data();
  } else {
    linear({N, C, 3 * C, step, qkv_step}, x, w + p.qkv, w + p.qkv_bias, a.qkv.data());
  }
  attention_forward(s, positions, content_of(s, p, w, x, a), a);
  linear({N, C, C, step, step}, a.attended.data(), w + p.out, w + p.out_bias, a.middle.data());
  add(N * step, h, a.middle.data(), a.middle.data());

  normalise({s.norm, N, C, step}, a.middle.data(), w + p.norm2_gain, optional(w, p.norm2_bias),
            a.norm2.data(), a.statistics2.data());
  linear({N, C, s.hidden, step, hidden_step}, a.norm2.data(), w + p.up, w + p.up_bias, a.up.data());
  gelu(N * hidden_step, a.up.data(), a.hidden.data());
  linear({N, s.hidden, C, hidden_step, step}, a.hidden.data(), w + p.down, w + p.down_bias, a.out.data());
  add(N * step, a.middle.data(), a.out.data(), a.out.data());
}

void layer_backward(const LayerShape& s, const LayerParams& p, const LayerBackward& at,
                    LayerPositions& positions, LayerActivations& a) {
  const std::int64_t N = s.N(), C = s.C, step = row_step(C), qkv_step = row_step(3 * C),
                     hidden_step = row_step(s.hidden);
  const float* w = at.w;
  float *g = at.g, *dh = at.dh;
  // out = middle + down(gelu(up(norm2(middle)))): dh is the gradient of out, and by the residual also of
  // middle.
  auto& [dhidden, drows, dqkv, dcontent, dasked] = at.scratch;
  dhidden.resize(N * hidden_step), drows.resize(N * step), dqkv.resize(N * qkv_step);
  linear_backward({N, s.hidden, C, hidden_step, step}, a.hidden.data(), w + p.down, dh,
                  {dhidden.data(), g + p.down, g + p.down_bias});
  gelu_backward(N * hidden_step, a.up.data(), dhidden.data(), dhidden.data());
  linear_backward({N, C, s.hidden, step, hidden_step}, a.norm2.data(), w + p.up, dhidden.data(),
                  {drows.data(), g + p.up, g + p.up_bias});
  normalise_backward({s.norm, N, C, step}, a.middle.data(), w + p.norm2_gain, a.statistics2.data(),
                     drows.data(), {dh, g + p.norm2_gain, optional(g, p.norm2_bias)});
  // middle = h + out(attend(qkv(norm1(h))))
  linear_backward({N, C, C, step, step}, a.attended.data(), w + p.out, dh,
                  {drows.data(), g + p.out, g + p.out_bias});
  const float* x = positions.e ? a.asked.data() : a.norm1.data();
  if (positions.reads_content) dcontent.assign(N * step, 0.0f);
  float *dw = g + p.qkv, *dbias = g + p.qkv_bias;
  ContentGrad grad{{dcontent.data(), step}, dqkv.data(), dqkv.data() + C, {dw, dw + C * C, dbias, dbias + C}};
  attention_backward(s, positions, content_of(s, p, w, x, a), {drows.data(), dqkv.data(), grad}, a);
  if (positions.e) {
    dasked.resize(N * step);
    linear_backward({N, C, 2 * C, step, qkv_step}, x, w + p.qkv, dqkv.data(), {dasked.data(), dw, dbias});
    linear_backward({N, C, C, step, qkv_step}, a.norm1.data(), w + p.qkv + 2 * C * C, dqkv.data() + 2 * C,
                    {drows.data(), dw + 2 * C * C, dbias + 2 * C});
    if (positions.reads_content) add(N * step, dcontent.data(), dasked.data(), dasked.data());
    add_positions_backward(s, positions, dasked.data());
    add(N * step, dasked.data(), drows.data(), drows.data());
  } else {
    linear_backward({N, C, 3 * C, step, qkv_step}, a.norm1.data(), w + p.qkv, dqkv.data(),
                    {drows.data(), dw, dbias});
    if (positions.reads_content) add(N * step, dcontent.data(), drows.data(), drows.data());
  }
  normalise_backward({s.norm, N, C, step}, at.h, w + p.norm1_gain, a.statistics1.data(), drows.data(),
                     {dh, g + p.norm1_gain, optional(g, p.norm1_bias)});
}

}  // namespace gnomon
