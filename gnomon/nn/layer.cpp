// The residual stream through one layer: two sublayers, each between its norms.
#include "gnomon/nn/layer.h"

#include <algorithm>

#include "gnomon/kernels/matmul.h"

namespace gnomon {
namespace {

// --- A sublayer's way in: the rows it reads, h itself where no norm stands before it.

const float* enter(const LayerShape& s, const NormAt& norm, const LayerInput& in, SublayerKept& k) {
  if (!norm && !in.taps.wants("read")) return in.h;
  const std::int64_t N = s.N(), C = s.a.width, step = row_step(C);
  k.before.resize(N * step), k.statistics_before.resize(2 * N);
  if (!norm) {
    std::copy_n(in.h, N * step, k.before.data());
  } else {
    normalise(norm_shape(s.a.norm, N, C, step), in.h, optional(in.w, norm.gain), optional(in.w, norm.bias),
              k.before.data(), k.statistics_before.data());
  }
  in.taps.show_rows("read", k.before, s.B, s.T, C);
  return k.before.data();
}
// dh += what dx, the gradient of the rows it read, is for h.
void enter_backward(const LayerShape& s, const NormAt& norm, const LayerBackward& at, const SublayerKept& k,
                    const float* dx) {
  const std::int64_t N = s.N(), C = s.a.width, step = row_step(C);
  if (!norm) return add(N * step, at.dh, dx, at.dh);
  normalise_backward(norm_shape(s.a.norm, N, C, step), at.h, optional(at.w, norm.gain),
                     k.statistics_before.data(), dx,
                     {at.dh, optional(at.g, norm.gain), optional(at.g, norm.bias)});
}

// --- Its way out. Where a norm follows, the sublayer writes what that norm finds.

Floats& written(const LayerShape& s, const NormAt& norm, SublayerKept& k) {
  Floats& rows = norm ? k.found : k.out;
  rows.resize(s.N() * row_step(s.a.width));
  return rows;
}
// k.out = h + what was written and scaled, with the norm after the sublayer or after the sum.
void leave(const LayerShape& s, const NormAt& norm, const LayerInput& in, SublayerKept& k) {
  const std::int64_t N = s.N(), C = s.a.width, step = row_step(C);
  const auto add_residual = [&](Floats& rows) {
    if (s.a.residual_scale != 1) scale(N * step, float(s.a.residual_scale), rows.data());
    in.taps.show_rows("written", rows, s.B, s.T, C);
    add(N * step, in.h, rows.data(), rows.data());
  };
  if (!norm) return add_residual(k.out);
  const bool of_sum = s.a.norm.place == NormPlace::after_sum;
  k.out.resize(N * step), k.statistics_after.resize(2 * N);
  if (of_sum) add_residual(k.found);
  normalise(norm_shape(s.a.norm, N, C, step), k.found.data(), optional(in.w, norm.gain),
            optional(in.w, norm.bias), k.out.data(), k.statistics_after.data());
  if (!of_sum) add_residual(k.out);
}
// The gradient of what the sublayer wrote, from dh, that of k.out; dh becomes what the residual carries to h.
const float* leave_backward(const LayerShape& s, const NormAt& norm, const LayerBackward& at,
                            const SublayerKept& k) {
  const std::int64_t N = s.N(), C = s.a.width, step = row_step(C);
  Floats &dsum = at.scratch.dsum, &dscaled = at.scratch.dscaled;
  const auto scaled = [&]() -> const float* {
    if (s.a.residual_scale == 1) return at.dh;
    dscaled.assign(at.dh, at.dh + N * step);
    scale(N * step, float(s.a.residual_scale), dscaled.data());
    return dscaled.data();
  };
  if (!norm) return scaled();
  const bool of_sum = s.a.norm.place == NormPlace::after_sum;
  dsum.assign(N * step, 0.0f);
  normalise_backward(norm_shape(s.a.norm, N, C, step), k.found.data(), optional(at.w, norm.gain),
                     k.statistics_after.data(), of_sum ? at.dh : scaled(),
                     {dsum.data(), optional(at.g, norm.gain), optional(at.g, norm.bias)});
  if (!of_sum) return dsum.data();
  std::copy(dsum.begin(), dsum.end(), at.dh);
  return scaled();
}

// --- Attention between its norms

AttentionShape attention_shape(const LayerShape& s, const AttentionAt& p, const float* w, float* g) {
  return {.B = s.B,
          .T = s.T,
          .rule = s.a.attention,
          .causal = s.a.causal,
          .padding = s.padding,
          .sinks = optional(w, p.sinks),
          .dsinks = optional(g, p.sinks),
          .precision = s.precision};
}
Linear out_shape(const LayerShape& s) {
  const std::int64_t Q = s.a.attention.q_width();
  return {s.N(), Q, s.a.width, row_step(Q), row_step(s.a.width), s.precision};
}

// Heads side by side among the columns of qkv.
void show_heads(const LayerShape& s, const TapsAt& taps, std::string_view name, float* first,
                std::int64_t heads) {
  const std::int64_t D = s.a.attention.head_dim, step = row_step(s.a.attention.qkv_width());
  taps.show(name, first, {s.B, heads, s.T, D}, {s.T * step, D, step, 1});
}

// From the rows in.h on to a.attended.
void attention_part(const LayerShape& s, const AttentionAt& p, const LayerInput& in,
                    const LayerScheme& scheme, LayerActivations& a) {
  const AttentionRule& rule = s.a.attention;
  project(s, p, in, scheme, a.projections);
  if (s.shared) share_keys(s, a.projections);
  show_heads(s, in.taps, "q", a.projections.qkv.data(), rule.heads);
  show_heads(s, in.taps, "k", a.projections.qkv.data() + rule.q_width(), rule.kv_heads);
  show_heads(s, in.taps, "v", a.projections.qkv.data() + rule.q_width() + rule.kv_width(), rule.kv_heads);
  a.attended.resize(s.N() * row_step(rule.q_width()));
  AttentionShape shape = attention_shape(s, p, in.w, nullptr);
  shape.taps = in.taps;
  if (in.cache) {
    attention_decode(shape, scheme, content_of(s, p, in, a.projections), in.cache->keys, a);
  } else {
    attention_forward(shape, scheme, content_of(s, p, in, a.projections), a);
  }
  const std::int64_t T = s.T, D = rule.head_dim, step = row_step(rule.q_width());
  in.taps.show("attended", a.attended.data(), {s.B, rule.heads, T, D}, {T * step, D, step, 1});
}

// x: the rows that attention read, dy the gradient of what it wrote. Returns the gradient of x, in scratch.
struct AttentionPartBackward {
  const float *w, *x, *dy;
  float* g;
  LayerScratch& scratch;
};
const float* attention_part_backward(const LayerShape& s, const AttentionAt& p,
                                     const AttentionPartBackward& at, LayerScheme& scheme,
                                     LayerActivations& a) {
  const std::int64_t N = s.N(), step = row_step(s.a.width);
  LayerScratch& scratch = at.scratch;
  scratch.drows.resize(N * std::max(step, row_step(s.a.attention.q_width())));
  scratch.dqkv.resize(N * row_step(s.a.attention.qkv_width()));
  linear_backward(out_shape(s), a.attended.data(), at.w + p.out.weight, at.dy,
                  {scratch.drows.data(), at.g + p.out.weight, optional(at.g, p.out.bias)});
  if (scheme.reads_content) scratch.dcontent.assign(N * step, 0.0f);
  ContentGrad grad = content_grad_of(s, p, at.g, scratch);
  attention_backward(attention_shape(s, p, at.w, at.g), scheme, content_of(s, p, {at.w, at.x}, a.projections),
                     {scratch.drows.data(), scratch.dqkv.data(), grad}, a);
  if (s.shared) share_keys_backward(s, scratch.dqkv);
  project_backward(s, p, {at.w, at.x, at.g, scratch.drows.data(), scratch}, scheme, a.projections);
  return scratch.drows.data();
}

// --- Cross attention between its norms: from the stream after attention to the one that it leaves.

const Floats& cross_part(const LayerShape& s, const LayerAt& p, const LayerInput& in, LayerActivations& a) {
  const LayerInput here{in.w, a.attention.out.data(), in.cache, in.taps.under("cross.")};
  const float* x = enter(s, p.cross_norms.before, here, a.cross);
  cross_attention(s, p.cross, {in.w, x, in.cache, here.taps}, a.crossed,
                  written(s, p.cross_norms.after, a.cross).data());
  leave(s, p.cross_norms.after, here, a.cross);
  in.taps.show_rows("resid_cross", a.cross.out, s.B, s.T, s.a.width);
  return a.cross.out;
}
// at.h: the stream after attention.
void cross_part_backward(const LayerShape& s, const LayerAt& p, const LayerBackward& at,
                         LayerActivations& a) {
  const float* x = p.cross_norms.before ? a.cross.before.data() : at.h;
  const float* dy = leave_backward(s, p.cross_norms.after, at, a.cross);
  Floats& dx = at.scratch.drows;
  dx.resize(s.N() * row_step(s.a.width));
  cross_attention_backward(s, p.cross, {at.w, x, dy, at.g, dx.data(), at.scratch}, a.crossed);
  enter_backward(s, p.cross_norms.before, at, a.cross, dx.data());
}

}  // namespace

NormShape norm_shape(const Norms& rule, std::int64_t N, std::int64_t width, std::int64_t step) {
  const bool rms = rule.form == NormForm::rms || rule.form == NormForm::rms_one_plus;
  return {rms ? Norm::rms : Norm::layer,
          N,
          width,
          step,
          float(rule.epsilon),
          rule.form == NormForm::rms_one_plus ? 1.0f : 0.0f};
}

void layer_forward(const LayerShape& s, const LayerAt& p, const LayerInput& in, const LayerScheme& scheme,
                   LayerActivations& a) {
  const LayerInput first{in.w, in.h, in.cache, in.taps.under("attention.")};
  const float* x = enter(s, p.attention_norms.before, first, a.attention);
  attention_part(s, p.attention, {in.w, x, in.cache, first.taps}, scheme, a);
  linear(out_shape(s), a.attended.data(), in.w + p.attention.out.weight, optional(in.w, p.attention.out.bias),
         written(s, p.attention_norms.after, a.attention).data());
  leave(s, p.attention_norms.after, first, a.attention);
  in.taps.show_rows("resid_mid", a.attention.out, s.B, s.T, s.a.width);
  const Floats& middle = s.a.cross ? cross_part(s, p, in, a) : a.attention.out;

  const bool parallel = s.a.residual != Residual::in_turn;
  const bool one_norm = s.a.residual == Residual::parallel_one_norm;
  const LayerInput second{in.w,
                          one_norm   ? x
                          : parallel ? in.h
                                     : middle.data(),
                          nullptr, in.taps.under("feed_forward.")};
  x = enter(s, p.feed_forward_norms.before, second, a.feed_forward);
  feed_forward(s, p, {in.w, x, nullptr, second.taps}, a,
               written(s, p.feed_forward_norms.after, a.feed_forward).data());
  leave(s, p.feed_forward_norms.after, {in.w, middle.data(), nullptr, second.taps}, a.feed_forward);
  if (s.a.layer_words > 0) add_layer_words(s, p, in.w, a);
  if (p.scale >= 0) scale_layer(s, p, in.w, a);
}

void layer_backward(const LayerShape& s, const LayerAt& p, const LayerBackward& at, LayerScheme& scheme,
                    LayerActivations& a) {
  const std::int64_t size = s.N() * row_step(s.a.width);
  const bool parallel = s.a.residual != Residual::in_turn,
             one_norm = s.a.residual == Residual::parallel_one_norm;
  LayerScratch& scratch = at.scratch;
  const float* middle = s.a.cross ? a.cross.out.data() : a.attention.out.data();
  const auto rows_in = [](const NormAt& norm, const SublayerKept& k, const float* h) {
    return norm ? k.before.data() : h;
  };
  if (p.scale >= 0) scale_layer_backward(s, p, at, a);
  if (s.a.layer_words > 0) add_layer_words_backward(s, p, at, a);
  // Parallel sublayers have the same dh: what the second is for h is added when the first has seen it.
  const float* x1 = rows_in(p.attention_norms.before, a.attention, at.h);
  const float* x2 = one_norm ? x1 : rows_in(p.feed_forward_norms.before, a.feed_forward, middle);
  Floats& dx2 = parallel ? scratch.dbranch : scratch.drows;
  dx2.resize(size);
  feed_forward_backward(s, p,
                        {at.w, x2, leave_backward(s, p.feed_forward_norms.after, at, a.feed_forward), at.g,
                         dx2.data(), scratch},
                        a);
  if (!parallel) {
    enter_backward(s, p.feed_forward_norms.before, {at.w, middle, at.g, at.dh, scratch}, a.feed_forward,
                   dx2.data());
  }
  if (s.a.cross) cross_part_backward(s, p, {at.w, a.attention.out.data(), at.g, at.dh, scratch}, a);
  const float* dy = leave_backward(s, p.attention_norms.after, at, a.attention);
  const float* dx1 = attention_part_backward(s, p.attention, {at.w, x1, dy, at.g, scratch}, scheme, a);
  if (one_norm) add(size, dx1, dx2.data(), dx2.data()), dx1 = dx2.data();
  if (parallel && !one_norm) enter_backward(s, p.feed_forward_norms.before, at, a.feed_forward, dx2.data());
  enter_backward(s, p.attention_norms.before, at, a.attention, dx1);
}

}  // namespace gnomon
