// The feed-forward part: down(f(up(x))), or with a gate, down(f(gate(x))·up(x)).
#include "gnomon/kernels/matmul.h"
#include "gnomon/nn/layer.h"

namespace gnomon {
namespace {

struct Shapes {
  Linear up, down;
  Activated activated;
};
Shapes shapes(const LayerShape& s, const FeedForward& f) {
  const std::int64_t N = s.N(), C = s.a.width, step = row_step(C), up_step = row_step(f.up_width()),
                     hidden_step = row_step(f.hidden);
  return {{N, C, f.up_width(), step, up_step, s.precision},
          {N, f.hidden, C, hidden_step, step, s.precision},
          {f, N, up_step, hidden_step}};
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

void plain_part(const LayerShape& s, const FeedForward& f, const PartAt& p, const LayerInput& in, PartKept& k,
                float* to) {
  const Shapes shape = shapes(s, f);
  k.up.resize(s.N() * shape.up.y_step), k.hidden.resize(s.N() * shape.down.x_step);
  linear(shape.up, in.h, in.w + p.up.weight, optional(in.w, p.up.bias), k.up.data());
  in.taps.show_rows("up", k.up, s.B, s.T, f.up_width());
  activate_rows(shape.activated, k.up.data(), k.hidden.data());
  in.taps.show_rows("hidden", k.hidden, s.B, s.T, f.hidden);
  linear(shape.down, k.hidden.data(), in.w + p.down.weight, optional(in.w, p.down.bias), to);
}
void plain_part_backward(const LayerShape& s, const FeedForward& f, const PartAt& p,
                         const SublayerBackward& at, PartKept& k) {
  const Shapes shape = shapes(s, f);
  Floats &dhidden = at.scratch.dhidden, &dup = f.gated() ? at.scratch.dup : dhidden;
  dhidden.resize(s.N() * shape.down.x_step), dup.resize(k.up.size());
  linear_backward(shape.down, k.hidden.data(), at.w + p.down.weight, at.dy,
                  {dhidden.data(), at.g + p.down.weight, optional(at.g, p.down.bias)});
  activate_rows_backward(shape.activated, k.up.data(), dhidden.data(), dup.data());
  linear_backward(shape.up, at.x, at.w + p.up.weight, dup.data(),
                  {at.dx, at.g + p.up.weight, optional(at.g, p.up.bias)});
}

void feed_forward(const LayerShape& s, const LayerAt& p, const LayerInput& in, LayerActivations& a,
                  float* to) {
  p.feed_forward.experts ? experts(s, p, in, a, to) : plain_part(s, p.feed_forward, p.part, in, a.part, to);
}
void feed_forward_backward(const LayerShape& s, const LayerAt& p, const SublayerBackward& at,
                           LayerActivations& a) {
  p.feed_forward.experts ? experts_backward(s, p, at, a)
                         : plain_part_backward(s, p.feed_forward, p.part, at, a.part);
}

}  // namespace gnomon
