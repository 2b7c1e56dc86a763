// The feed-forward part: down(f(up(x))), or with a gate, down(f(gate(x))·up(x)).
#include "gnomon/kernels/matmul.h"
#include "gnomon/nn/layer.h"

namespace gnomon {
namespace {

struct Shapes {
  Linear up, down;
  std::int64_t hidden_numbers;
  Gate gate;
};
Shapes shapes(const LayerShape& s) {
  const FeedForward& f = s.a.feed_forward;
  const std::int64_t N = s.N(), C = s.a.width, step = row_step(C), up_step = row_step(f.up_width()),
                     hidden_step = row_step(f.hidden);
  return {{N, C, f.up_width(), step, up_step},
          {N, f.hidden, C, hidden_step, step},
          N * hidden_step,
          {f.activation, N, f.hidden, up_step, hidden_step}};
}

}  // namespace

void feed_forward(const LayerShape& s, const LayerAt& p, const LayerInput& in, LayerActivations& a,
                  float* to) {
  const Shapes shape = shapes(s);
  a.up.resize(s.N() * shape.up.y_step), a.hidden.resize(shape.hidden_numbers);
  linear(shape.up, in.h, in.w + p.up.weight, optional(in.w, p.up.bias), a.up.data());
  in.taps.show_rows("up", a.up, s.B, s.T, s.a.feed_forward.up_width());
  if (s.a.feed_forward.gated) {
    gate(shape.gate, a.up.data(), a.hidden.data());
  } else {
    activate(shape.gate.f, shape.hidden_numbers, a.up.data(), a.hidden.data());
  }
  in.taps.show_rows("hidden", a.hidden, s.B, s.T, s.a.feed_forward.hidden);
  linear(shape.down, a.hidden.data(), in.w + p.down.weight, optional(in.w, p.down.bias), to);
}

void feed_forward_backward(const LayerShape& s, const LayerAt& p, const FeedForwardBackward& at,
                           const LayerActivations& a) {
  const Shapes shape = shapes(s);
  Floats &dhidden = at.scratch.dhidden, &dup = at.scratch.dup;
  dhidden.resize(shape.hidden_numbers);
  linear_backward(shape.down, a.hidden.data(), at.w + p.down.weight, at.dy,
                  {dhidden.data(), at.g + p.down.weight, optional(at.g, p.down.bias)});
  const float* d = dhidden.data();
  if (s.a.feed_forward.gated) {
    dup.resize(a.up.size());
    gate_backward(shape.gate, a.up.data(), d, dup.data()), d = dup.data();
  } else {
    activate_backward(shape.gate.f, shape.hidden_numbers, a.up.data(), d, dhidden.data());
  }
  linear_backward(shape.up, at.x, at.w + p.up.weight, d,
                  {at.dx, at.g + p.up.weight, optional(at.g, p.up.bias)});
}

}  // namespace gnomon
