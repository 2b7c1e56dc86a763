#include "gnomon/nn/layer.h"

#include <cmath>

#include "gnomon/kernels/matmul.h"
#include "gnomon/kernels/pointwise.h"

namespace gnomon {
namespace {

AttendShape attend_shape(const LayerShape& s) {
  return {.B = s.B,
          .H = s.H,
          .queries = s.T,
          .keys = s.T,
          .K = s.D(),
          .D = s.D(),
          .scale = float(1 / std::sqrt(double(s.D()))),
          .causal = s.causal,
          .padding = s.padding};
}
// Rows of qkv (N, 3C): q, k and v of all heads side by side.
template <class T>
Heads<T> part(const LayerShape& s, T* qkv, std::int64_t which) {
  const std::int64_t step = row_step(3 * s.C);
  return {qkv + which * s.C, s.T * step, step, s.D()};
}
template <class T>
Heads<T> heads(const LayerShape& s, T* rows) {
  const std::int64_t step = row_step(s.C);
  return {rows, s.T * step, step, s.D()};
}
RowLayout qkv_rows(const LayerShape& s) {
  const std::int64_t step = row_step(3 * s.C);
  return {s.B, s.T, s.H, s.T * step, step, s.D()};
}
const float* optional(const float* w, std::int64_t offset) { return offset < 0 ? nullptr : w + offset; }
float* optional(float* g, std::int64_t offset) { return offset < 0 ? nullptr : g + offset; }

}  // namespace

void layer_forward(const LayerShape& s, const LayerParams& p, const float* w, const LayerPositions& positions,
                   const float* h, LayerActivations& a) {
  const std::int64_t N = s.N(), C = s.C, step = row_step(C), qkv_step = row_step(3 * C),
                     hidden_step = row_step(s.hidden);
  for (Floats* rows : {&a.norm1, &a.attended, &a.middle, &a.norm2, &a.out}) rows->resize(N * step);
  a.qkv.resize(N * qkv_step), a.up.resize(N * hidden_step), a.hidden.resize(N * hidden_step);
  a.statistics1.resize(2 * N), a.statistics2.resize(2 * N), a.lse.resize(s.B * s.H * s.T);

  normalise({s.norm, N, C, step}, h, w + p.norm1_gain, optional(w, p.norm1_bias), a.norm1.data(),
            a.statistics1.data());
  linear({N, C, 3 * C, step, qkv_step}, a.norm1.data(), w + p.qkv, w + p.qkv_bias, a.qkv.data());
  for (const auto& at : positions.encodings) {
    at.encoding->map(at.batch, Role::q, qkv_rows(s), a.qkv.data());
    at.encoding->map(at.batch, Role::k, qkv_rows(s), a.qkv.data() + C);
  }
  const float* qkv = a.qkv.data();
  attend(attend_shape(s), part(s, qkv, 0), part(s, qkv, 1), part(s, qkv, 2), positions.terms,
         heads(s, a.attended.data()), a.lse.data());
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
                    LayerPositions& positions, const LayerActivations& a) {
  const std::int64_t N = s.N(), C = s.C, step = row_step(C), qkv_step = row_step(3 * C),
                     hidden_step = row_step(s.hidden);
  const float* w = at.w;
  float *g = at.g, *dh = at.dh;
  // out = middle + down(gelu(up(norm2(middle)))): dh is the gradient of out, and by the residual also of
  // middle.
  auto& [dhidden, drows, dqkv] = at.scratch;
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
  const float *qkv = a.qkv.data(), *attended = a.attended.data(), *dattended = drows.data();
  attend_backward(
      attend_shape(s),
      {part(s, qkv, 0), part(s, qkv, 1), part(s, qkv, 2), heads(s, attended), a.lse.data(),
       heads(s, dattended)},
      positions.terms,
      {part(s, dqkv.data(), 0), part(s, dqkv.data(), 1), part(s, dqkv.data(), 2), &positions.dterms});
  for (std::size_t n = positions.encodings.size(); n-- > 0;) {
    const auto& position = positions.encodings[n];
    position.encoding->map_backward(position.batch, Role::q, qkv_rows(s), dqkv.data(), position.dw);
    position.encoding->map_backward(position.batch, Role::k, qkv_rows(s), dqkv.data() + C, position.dw);
  }
  linear_backward({N, C, 3 * C, step, qkv_step}, a.norm1.data(), w + p.qkv, dqkv.data(),
                  {drows.data(), g + p.qkv, g + p.qkv_bias});
  normalise_backward({s.norm, N, C, step}, at.h, w + p.norm1_gain, a.statistics1.data(), drows.data(),
                     {dh, g + p.norm1_gain, optional(g, p.norm1_bias)});
}

}  // namespace gnomon
