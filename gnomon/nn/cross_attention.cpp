// Cross attention: queries of the decoder's rows, keys and values of the encoder's.
#include <array>

#include "gnomon/kernels/matmul.h"
#include "gnomon/nn/layer.h"

namespace gnomon {
namespace {

struct Columns {
  std::int64_t q, kv, q_step, kv_step;  // kv: of keys alone
};
Columns columns_of(const LayerShape& s) {
  const std::int64_t Q = s.a.attention.q_width(), KV = s.a.attention.kv_width();
  return {Q, KV, row_step(Q), row_step(2 * KV)};
}
AttendShape attend_shape(const LayerShape& s) {
  AttentionRule rule = s.a.attention;
  rule.scale = s.a.cross->scale;
  return {.B = s.B,
          .H = rule.heads,
          .queries = s.T,
          .keys = s.encoder.T,
          .K = rule.head_dim,
          .D = rule.head_dim,
          .scale = float(rule.scale_of_product()),
          .causal = false,
          .padding = s.encoder.padding,
          .kv_heads = rule.kv_heads,
          .first = 0};
}
// Of q, keys, values and what attention returns, or of their gradients.
AttentionRows<float> rows_of(const LayerShape& s, float* q, float* kv, float* out) {
  const auto [Q, KV, q_step, kv_step] = columns_of(s);
  const std::int64_t D = s.a.attention.head_dim, T = s.T, S = s.encoder.T;
  return {{q, T * q_step, q_step, D},
          {kv, S * kv_step, kv_step, D},
          {kv + KV, S * kv_step, kv_step, D},
          {out, T * q_step, q_step, D}};
}

// The matrices of q, of k and of v, each with its columns in what it makes.
struct Dense {
  Linear shape;
  std::int64_t weight, bias, column;
};
Dense dense_of_q(const LayerShape& s, const AttentionAt& p) {
  const std::int64_t C = s.a.width;
  const auto [Q, KV, q_step, kv_step] = columns_of(s);
  return {{s.N(), C, Q, row_step(C), q_step}, p.qkv, p.q_bias, 0};
}
std::array<Dense, 2> dense_of_kv(const LayerShape& s, const AttentionAt& p) {
  const std::int64_t C = s.a.width;
  const auto [Q, KV, q_step, kv_step] = columns_of(s);
  const Linear shape{s.B * s.encoder.T, C, KV, row_step(C), kv_step};
  return {{{shape, p.qkv + Q * C, p.k_bias, 0}, {shape, p.qkv + (Q + KV) * C, p.v_bias, KV}}};
}
Linear out_shape(const LayerShape& s) {
  const auto [Q, KV, q_step, kv_step] = columns_of(s);
  return {s.N(), Q, s.a.width, q_step, row_step(s.a.width)};
}

void make_kv(const LayerShape& s, const AttentionAt& p, const float* w, Floats& kv) {
  kv.resize(s.B * s.encoder.T * columns_of(s).kv_step);
  for (const Dense& d : dense_of_kv(s, p))
    linear(d.shape, s.encoder.rows, w + d.weight, optional(w, d.bias), kv.data() + d.column);
}

void show(const LayerShape& s, const TapsAt& taps, std::string_view name, const Heads<float>& rows,
          std::int64_t heads, std::int64_t T) {
  taps.show(name, rows.data, {s.B, heads, T, s.a.attention.head_dim}, {rows.batch, rows.head, rows.token, 1});
}

const Plan kNoPositions{};

Execution execution_of(const LayerShape& s, const AttendShape& shape, const TapsAt& taps = {}) {
  return {shape, kNoPositions, true, {.soft_cap = float(s.a.attention.soft_cap)}, taps};
}

}  // namespace

void cross_attention(const LayerShape& s, const AttentionAt& p, const LayerInput& in, CrossKept& k,
                     float* to) {
  const AttentionRule& rule = s.a.attention;
  const Dense q = dense_of_q(s, p);
  k.q.resize(s.N() * q.shape.y_step), k.attended.resize(s.N() * q.shape.y_step);
  linear(q.shape, in.h, in.w + q.weight, optional(in.w, q.bias), k.q.data());
  Floats& kv = in.cache ? in.cache->crossed : k.kv;
  if (!in.cache || kv.empty()) make_kv(s, p, in.w, kv);
  const AttentionRows<float> rows = rows_of(s, k.q.data(), kv.data(), k.attended.data());
  show(s, in.taps, "q", rows.q, rule.heads, s.T);
  show(s, in.taps, "k", rows.k, rule.kv_heads, s.encoder.T);
  show(s, in.taps, "v", rows.v, rule.kv_heads, s.encoder.T);
  const AttendShape shape = attend_shape(s);
  execute(execution_of(s, shape, in.taps), rows, k.kept);
  show(s, in.taps, "attended", rows.out, rule.heads, s.T);
  linear(out_shape(s), k.attended.data(), in.w + p.out.weight, optional(in.w, p.out.bias), to);
}

void cross_attention_backward(const LayerShape& s, const AttentionAt& p, const SublayerBackward& at,
                              CrossKept& k) {
  LayerScratch& scratch = at.scratch;
  scratch.dcross.resize(k.attended.size());
  scratch.dcross_q.resize(k.q.size()), scratch.dcross_kv.resize(k.kv.size());
  linear_backward(out_shape(s), k.attended.data(), at.w + p.out.weight, at.dy,
                  {scratch.dcross.data(), at.g + p.out.weight, optional(at.g, p.out.bias)});
  const AttendShape shape = attend_shape(s);
  Plan none;
  execute_backward(execution_of(s, shape), rows_of(s, k.q.data(), k.kv.data(), k.attended.data()), k.kept,
                   rows_of(s, scratch.dcross_q.data(), scratch.dcross_kv.data(), scratch.dcross.data()),
                   none);
  const Dense q = dense_of_q(s, p);
  linear_backward(q.shape, at.x, at.w + q.weight, scratch.dcross_q.data(),
                  {at.dx, at.g + q.weight, optional(at.g, q.bias)});
  if (s.encoder.d) scratch.dencoder.resize(s.B * s.encoder.T * row_step(s.a.width));
  for (const Dense& d : dense_of_kv(s, p)) {
    linear_backward(
        d.shape, s.encoder.rows, at.w + d.weight, scratch.dcross_kv.data() + d.column,
        {s.encoder.d ? scratch.dencoder.data() : nullptr, at.g + d.weight, optional(at.g, d.bias)});
    if (s.encoder.d)
      add(std::int64_t(scratch.dencoder.size()), scratch.dencoder.data(), s.encoder.d, s.encoder.d);
  }
}

}  // namespace gnomon
