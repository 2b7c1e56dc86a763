// Attention of a layer: its plan, executed on the rows of qkv.
#include <cmath>

#include "gnomon/nn/layer.h"

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
          .padding = s.padding,
          .query_tile = s.tile,
          .key_tile = s.tile};
}
// Rows of qkv (N, 3C): q, k and v of all heads side by side; and of what attention returns.
AttentionRows<float> rows_of(const LayerShape& s, float* qkv, float* out) {
  const std::int64_t step = row_step(3 * s.C), out_step = row_step(s.C);
  const auto part = [&](std::int64_t which) {
    return Heads<float>{qkv + which * s.C, s.T * step, step, s.D()};
  };
  return {part(0), part(1), part(2), {out, s.T * out_step, out_step, s.D()}};
}
// What the layer shares with others: a content-reading encoding has arrays beside it.
void add_shared(const Plan& part, Plan& sum) {
  sum.terms.add(part.terms);
  for (std::size_t n = 0; n < sum.steps.size(); ++n) add(part.steps[n], sum.steps[n]);
}

}  // namespace

void attention_forward(const LayerShape& s, const LayerPositions& positions, const Content& content,
                       LayerActivations& a) {
  if (positions.reads_content) {
    a.plan = positions.plan;
    complete(positions.acting, *positions.places, content, a.plan);
  }
  const Plan& plan = positions.reads_content ? a.plan : positions.plan;
  execute({attend_shape(s), plan, !positions.reads_content}, rows_of(s, a.qkv.data(), a.attended.data()),
          a.kept);
}

void attention_backward(const LayerShape& s, LayerPositions& positions, const Content& content,
                        const AttentionBackward& at, LayerActivations& a) {
  const auto rows = rows_of(s, a.qkv.data(), a.attended.data()), d = rows_of(s, at.dqkv, at.dreturned);
  if (!positions.reads_content)
    return execute_backward({attend_shape(s), positions.plan, true}, rows, a.kept, d, positions.dplan);
  Plan dplan = a.plan.zeros();
  execute_backward({attend_shape(s), a.plan, false}, rows, a.kept, d, dplan);
  complete_backward(positions.acting, {*positions.places, content}, a.plan, dplan, at.grad);
  add_shared(dplan, positions.dplan);
}

}  // namespace gnomon
