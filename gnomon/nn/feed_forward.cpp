// The feed-forward part: down(f(up(x))), or with a gate, down(f(gate(x))·up(x)).
#include "gnomon/kernels/matmul.h"
#include "gnomon/nn/layer.h"

namespace gnomon {
namespace {

struct Shapes {
  Linear up, down;
  Activated activated;
};
Shapes shapes(const LayerShape& s) {
  const FeedForward& f = s.a.feed_forward;
  const std::int64_t N = s.N(), C = s.a.width, step = row_step(C), up_step = row_step(f.up_width()),
                     hidden_step = row_step(f.hidden);
  return {
      {N, C, f.up_width(), step, up_step}, {N, f.hidden, C, hidden_step, step}, {f, N, up_step, hidden_step}};
}
Gate gate_of(const Activated& s) {
  const bool clamped = s.f.gating == Gating::clamped;
  return {s.f.activation, s.N, s.f.hidden, s.up_step, s.hidden_step, clamped ? float(s.f.limit) : 0};
}

}  // namespace

void activate_rows(const Activated& s, const float* up, float* hidden) {
  s.f.gated() ? gate(gate_of(s), up, hidden) : activate(s.f.activation, s.N * s.hidden_step, up, hidden);
}
void activate_rows_backward(const Activated& s, const float* up, const float* dhidden, float* dup) {
  s.f.gated() ? gate_backward(gate_of(s), up, dhidden, dup)
              : activate_backward(s.f.activation, s.N * s.hidden_step, up, dhidden, dup);
}

void feed_forward(const LayerShape& s, const LayerAt& p, const LayerInput& in, LayerActivations& a,
                  float* to) {
  if (s.a.feed_forward.experts) return experts(s, p, in, a, to);
  const Shapes shape = shapes(s);
  a.up.resize(s.N() * shape.up.y_step), a.hidden.resize(s.N() * shape.down.x_step);
  linear(shape.up, in.h, in.w + p.up.weight, optional(in.w, p.up.bias), a.up.data());
  in.taps.show_rows("up", a.up, s.B, s.T, s.a.feed_forward.up_width());
  activate_rows(shape.activated, a.up.data(), a.hidden.data());
  in.taps.show_rows("hidden", a.hidden, s.B, s.T, s.a.feed_forward.hidden);
  linear(shape.down, a.hidden.data(), in.w + p.down.weight, optional(in.w, p.down.bias), to);
}

void feed_forward_backward(const LayerShape& s, const LayerAt& p, const SublayerBackward& at,
                           LayerActivations& a) {
  if (s.a.feed_forward.experts) return experts_backward(s, p, at, a);
  const Shapes shape = shapes(s);
  Floats &dhidden = at.scratch.dhidden, &dup = s.a.feed_forward.gated() ? at.scratch.dup : dhidden;
  dhidden.resize(s.N() * shape.down.x_step), dup.resize(a.up.size());
  linear_backward(shape.down, a.hidden.data(), at.w + p.down.weight, at.dy,
                  {dhidden.data(), at.g + p.down.weight, optional(at.g, p.down.bias)});
  activate_rows_backward(shape.activated, a.up.data(), dhidden.data(), dup.data());
  linear_backward(shape.up, at.x, at.w + p.up.weight, dup.data(),
                  {at.dx, at.g + p.up.weight, optional(at.g, p.up.bias)});
}

}  // namespace gnomon
