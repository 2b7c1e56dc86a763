// Attention between the projections: the encodings map q, k and v, say their terms, and map what
// attention returns. The backward pass goes the same way back.
#include <algorithm>
#include <cmath>

#include "gnomon/core/parallel.h"
#include "gnomon/nn/layer.h"

namespace gnomon {
namespace {

// How wide the rows of q and k are: the head, what encodings join to the product, what far keys take
// in the place of its first channels, what encodings keep beside.
struct RowWidths {
  std::int64_t K, all, far = 0;
  std::vector<MapRows> own;  // of each encoding; the layout is that of the wide rows
  std::int64_t maps = 0;
};
RowWidths row_widths(const LayerShape& s, const LayerPositions& positions) {
  RowWidths w;
  w.K = w.all = s.D();
  for (const auto& at : positions.encodings) {
    const Widths widths = at.encoding->widths();
    w.K += widths.joined, w.far += widths.far, w.all += widths.joined + widths.far + widths.beside;
  }
  std::int64_t joined = s.D(), far = w.K, beside = w.K + w.far;
  for (const auto& at : positions.encodings) {
    const Widths widths = at.encoding->widths();
    w.own.push_back({{s.B, s.T, s.H, s.T * s.H * w.all, s.H * w.all, w.all}, joined, far, beside});
    joined += widths.joined, far += widths.far, beside += widths.beside;
    w.maps += at.acts & kQk ? 1 : 0;
  }
  return w;
}
// q and k need rows of their own when they become wider, when a later pass asks for what they were, or when
// more than one encoding maps them.
bool in_place(const LayerShape& s, const RowWidths& w, const LayerPositions& positions) {
  return w.maps == 0 || (w.all == s.D() && w.maps == 1 && !positions.reads_content);
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
template <class T>
Heads<T> wide(const LayerShape& s, const RowWidths& w, T* rows) {
  return {rows, s.T * s.H * w.all, s.H * w.all, w.all};
}
MapRows qkv_rows(const LayerShape& s) {
  const std::int64_t step = row_step(3 * s.C);
  return {{s.B, s.T, s.H, s.T * step, step, s.D()}, s.D(), s.D(), s.D()};
}
MapRows out_rows(const LayerShape& s) {
  const std::int64_t step = row_step(s.C);
  return {{s.B, s.T, s.H, s.T * step, step, s.D()}, s.D(), s.D(), s.D()};
}
bool maps_values(const LayerPositions& positions) {
  return std::any_of(positions.encodings.begin(), positions.encodings.end(),
                     [](const auto& at) { return (at.acts & kValue) && (at.acts & kQk); });
}
Batch with(const Batch& batch, const Content& content) {
  return {batch.positions, batch.tables, batch.w, &content};
}

AttendShape attend_shape(const LayerShape& s, const RowWidths& w) {
  return {.B = s.B,
          .H = s.H,
          .queries = s.T,
          .keys = s.T,
          .K = w.K,
          .D = s.D(),
          .scale = float(1 / std::sqrt(double(s.D()))),
          .causal = s.causal,
          .padding = s.padding,
          .beside = w.far,
          .query_tile = s.tile,
          .key_tile = s.tile};
}

void copy_rows(const LayerShape& s, Heads<const float> from, Heads<float> to, std::int64_t channels) {
  parallel_ranges(s.N(), 64, [&](auto begin, auto end) {
    for (auto n = begin; n < end; ++n) {
      for (std::int64_t h = 0; h < s.H; ++h)
        std::copy_n(from.row(n / s.T, n % s.T, h), channels, to.row(n / s.T, n % s.T, h));
    }
  });
}

void map_queries_and_keys(const LayerShape& s, const RowWidths& w, const LayerPositions& positions,
                          const Content& content, LayerActivations& a) {
  const bool here = in_place(s, w, positions);
  const std::int64_t size = s.N() * s.H * w.all;
  a.mapped.resize(here ? 0 : std::size_t(w.maps));
  std::size_t stage = 0;
  for (std::size_t n = 0; n < positions.encodings.size(); ++n) {
    const auto& at = positions.encodings[n];
    if (!(at.acts & kQk)) continue;
    const Batch batch = with(at.batch, content);
    if (here) {
      at.encoding->map(batch, Role::q, qkv_rows(s), a.qkv.data());
      at.encoding->map(batch, Role::k, qkv_rows(s), a.qkv.data() + s.C);
      continue;
    }
    Floats& rows = a.mapped[stage];
    if (stage == 0) {
      rows.assign(2 * size, 0.0f);
      const float* qkv = a.qkv.data();
      copy_rows(s, part(s, qkv, 0), wide(s, w, rows.data()), s.D());
      copy_rows(s, part(s, qkv, 1), wide(s, w, rows.data() + size), s.D());
    } else {
      rows = a.mapped[stage - 1];
    }
    at.encoding->map(batch, Role::q, w.own[n], rows.data());
    at.encoding->map(batch, Role::k, w.own[n], rows.data() + size);
    ++stage;
  }
}

// The rows that attention reads: q or k.
Heads<const float> asked(const LayerShape& s, const RowWidths& w, const LayerActivations& a,
                         std::int64_t which) {
  const float* qkv = a.qkv.data();
  if (a.mapped.empty()) return part(s, qkv, which);
  return wide(s, w, static_cast<const float*>(a.mapped.back().data()) + which * s.N() * s.H * w.all);
}

}  // namespace

void attention_forward(const LayerShape& s, const LayerPositions& positions, const Content& content,
                       LayerActivations& a) {
  const RowWidths w = row_widths(s, positions);
  a.terms = positions.terms;
  for (std::size_t n = 0; n < positions.encodings.size(); ++n) {
    const auto& at = positions.encodings[n];
    const Batch batch = with(at.batch, content);
    if (at.encoding->reads_content()) at.encoding->lower(batch, a.terms);
    if (at.acts & kValue) at.encoding->map(batch, Role::v, qkv_rows(s), a.qkv.data() + 2 * s.C);
  }
  map_queries_and_keys(s, w, positions, content, a);
  const float* qkv = a.qkv.data();
  attend(attend_shape(s, w), asked(s, w, a, 0), asked(s, w, a, 1), part(s, qkv, 2), a.terms,
         heads(s, a.attended.data()), a.lse.data());
  if (!maps_values(positions)) return;
  a.returned = a.attended;
  for (const auto& at : positions.encodings) {
    if (at.acts & kValue) at.encoding->map(at.batch, Role::out, out_rows(s), a.returned.data());
  }
}

void attention_backward(const LayerShape& s, LayerPositions& positions, const Content& content,
                        const AttentionBackward& at, LayerActivations& a) {
  const RowWidths w = row_widths(s, positions);
  const std::int64_t size = s.N() * s.H * w.all;
  const std::size_t count = positions.encodings.size();
  const auto grad_of = [&](std::size_t n) { return BatchGrad{positions.encodings[n].dw, &at.grad}; };
  for (std::size_t n = count; maps_values(positions) && n-- > 0;) {
    const auto& one = positions.encodings[n];
    if (one.acts & kValue)
      one.encoding->map_backward(one.batch, Role::out, out_rows(s), a.returned.data(), at.dreturned,
                                 grad_of(n));
  }
  Terms dterms = a.terms.zeros();
  Floats& dmapped = at.scratch.dmapped;
  if (!a.mapped.empty()) dmapped.resize(2 * size);
  const float *qkv = a.qkv.data(), *attended = a.attended.data(), *dreturned = at.dreturned;
  attend_backward(attend_shape(s, w),
                  {asked(s, w, a, 0), asked(s, w, a, 1), part(s, qkv, 2), heads(s, attended), a.lse.data(),
                   heads(s, dreturned)},
                  a.terms,
                  {a.mapped.empty() ? part(s, at.dqkv, 0) : wide(s, w, dmapped.data()),
                   a.mapped.empty() ? part(s, at.dqkv, 1) : wide(s, w, dmapped.data() + size),
                   part(s, at.dqkv, 2), &dterms});
  std::size_t stage = std::size_t(w.maps);
  for (std::size_t n = count; n-- > 0;) {
    const auto& one = positions.encodings[n];
    const Batch batch = with(one.batch, content);
    if (one.acts & kQk) {
      --stage;
      const bool here = a.mapped.empty();
      const MapRows rows = here ? qkv_rows(s) : w.own[n];
      const float* y = here ? qkv : a.mapped[stage].data();
      float* dy = here ? at.dqkv : dmapped.data();
      const std::int64_t keys = here ? s.C : size;
      one.encoding->map_backward(batch, Role::q, rows, y, dy, grad_of(n));
      one.encoding->map_backward(batch, Role::k, rows, y + keys, dy + keys, grad_of(n));
    }
    if (one.acts & kValue)
      one.encoding->map_backward(batch, Role::v, qkv_rows(s), qkv + 2 * s.C, at.dqkv + 2 * s.C, grad_of(n));
  }
  if (!a.mapped.empty()) {
    const float* from = dmapped.data();
    copy_rows(s, wide(s, w, from), part(s, at.dqkv, 0), s.D());
    copy_rows(s, wide(s, w, from + size), part(s, at.dqkv, 1), s.D());
  }
  for (std::size_t n = 0; n < count; ++n) {
    const auto& one = positions.encodings[n];
    if (one.encoding->reads_content())
      one.encoding->lower_backward(with(one.batch, content), dterms, grad_of(n));
  }
  positions.dterms.add(dterms);
}

}  // namespace gnomon
