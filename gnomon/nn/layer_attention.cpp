// Attention of a layer: its plan, executed on the rows of qkv.
#include "gnomon/nn/decode.h"
#include "gnomon/nn/layer.h"

namespace gnomon {
namespace {

AttendShape attend_shape(const AttentionShape& s) {
  return {.B = s.B,
          .H = s.rule.heads,
          .queries = s.T,
          .keys = s.T,
          .K = s.rule.head_dim,
          .D = s.rule.head_dim,
          .scale = float(s.rule.scale_of_product()),
          .causal = s.causal,
          .padding = s.padding,
          .query_tile = s.tile,
          .key_tile = s.tile,
          .kv_heads = s.rule.kv_heads,
          .precision = s.precision};
}
Extras extras_of(const AttentionShape& s) { return {.soft_cap = float(s.rule.soft_cap), .sinks = s.sinks}; }
// Rows of qkv (N, qkv_width): q, k and v of all heads side by side; and of what attention returns.
AttentionRows<float> rows_of(const AttentionShape& s, float* qkv, float* out) {
  const std::int64_t step = row_step(s.rule.qkv_width()), out_step = row_step(s.rule.q_width());
  const auto part = [&](std::int64_t first) {
    return Heads<float>{qkv + first, s.T * step, step, s.rule.head_dim};
  };
  const std::int64_t Q = s.rule.q_width();
  return {part(0), part(Q), part(Q + s.rule.kv_width()), {out, s.T * out_step, out_step, s.rule.head_dim}};
}
// What the layer shares with others: a content-reading encoding has arrays beside it.
void add_shared(const Plan& part, Plan& sum) {
  sum.terms.add(part.terms);
  for (std::size_t n = 0; n < sum.steps.size(); ++n) add(part.steps[n], sum.steps[n]);
}

}  // namespace

void attention_forward(const AttentionShape& s, const LayerScheme& scheme, const Content& content,
                       LayerActivations& a) {
  if (scheme.reads_content) {
    a.plan = scheme.plan;
    complete(scheme.acting, *scheme.places, content, a.plan);
  }
  const Plan& plan = scheme.reads_content ? a.plan : scheme.plan;
  execute({attend_shape(s), plan, !scheme.reads_content, extras_of(s), s.taps},
          rows_of(s, a.projections.qkv.data(), a.attended.data()), a.kept);
}

void attention_backward(const AttentionShape& s, LayerScheme& scheme, const Content& content,
                        const AttentionBackward& at, LayerActivations& a) {
  const auto rows = rows_of(s, a.projections.qkv.data(), a.attended.data()),
             d = rows_of(s, at.dqkv, at.dreturned);
  const ExtrasGrad dextras{.sinks = s.dsinks};
  if (!scheme.reads_content) {
    return execute_backward({attend_shape(s), scheme.plan, true, extras_of(s)}, rows, a.kept, d, scheme.dplan,
                            dextras);
  }
  Plan dplan = a.plan.zeros();
  execute_backward({attend_shape(s), a.plan, false, extras_of(s)}, rows, a.kept, d, dplan, dextras);
  complete_backward(scheme.acting, {*scheme.places, content}, a.plan, dplan, at.grad);
  add_shared(dplan, scheme.dplan);
}

void attention_decode(const AttentionShape& s, const LayerScheme& scheme, const Content& content,
                      KeyCache& cache, LayerActivations& a) {
  const AttentionRule& rule = s.rule;
  const std::int64_t step = row_step(rule.qkv_width()), out_step = row_step(rule.q_width()),
                     D = rule.head_dim;
  const auto view = [&](float* data, std::int64_t heads, std::int64_t token) {
    return View{data, Number::float32, {s.B, heads, s.T, D}, {s.T * token, D, token, 1}};
  };
  float* qkv = a.projections.qkv.data();
  AttentionInput in{.q = read_only(view(qkv, rule.heads, step)),
                    .k = read_only(view(qkv + rule.q_width(), rule.kv_heads, step)),
                    .v = read_only(view(qkv + rule.q_width() + rule.kv_width(), rule.kv_heads, step)),
                    .places = scheme.places,
                    .padding = s.padding,
                    .sinks = s.sinks};
  AttendShape shape = attend_shape(s);
  shape.padding = nullptr;  // the cache knows what it did not store
  decode({shape, scheme.acting, float(rule.soft_cap), content}, in, cache,
         view(a.attended.data(), rule.heads, out_step));
}

}  // namespace gnomon
