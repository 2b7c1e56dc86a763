// From the rows that the last layer left to logits.
#include <algorithm>

#include "gnomon/kernels/matmul.h"
#include "gnomon/nn/pass.h"

namespace gnomon {
namespace {

// The rows that the matrix of the logits reads, which of narrow words are narrower than the stream.
std::int64_t read_step(const Call& c) { return row_step(c.m.a.head_width()); }
Linear dense_shape(const Call& c) {
  return {c.N(), c.m.a.width, c.m.a.head_width(), c.step(), read_step(c), c.tokens.precision};
}
Linear head_shape(const Call& c) {
  return {c.N(),        c.m.a.head_width(),         c.m.a.vocabulary,
          read_step(c), row_step(c.m.a.vocabulary), c.tokens.precision};
}
NormShape norm_of(const Call& c) { return norm_shape(c.m.a.norm, c.N(), c.m.a.width, c.step()); }
NormShape transform_norm_of(const Call& c) {
  return norm_shape(c.m.a.norm, c.N(), c.m.a.head_width(), read_step(c));
}

// norm(f(dense(x))): BERT's.
const float* transform(const Call& c, const float* x) {
  const LinearAt& dense = c.m.at.transform;
  const NormAt& norm = c.m.at.transform_norm;
  HeadKept& k = c.p.head;
  const std::int64_t size = c.N() * read_step(c);
  for (Floats* rows : {&k.dense, &k.activated, &k.transformed}) rows->resize(size);
  k.transform_statistics.resize(2 * c.N());
  linear(dense_shape(c), x, c.w + dense.weight, optional(c.w, dense.bias), k.dense.data());
  activate(c.m.a.head_activation(), size, k.dense.data(), k.activated.data());
  normalise(transform_norm_of(c), k.activated.data(), optional(c.w, norm.gain), optional(c.w, norm.bias),
            k.transformed.data(), k.transform_statistics.data());
  c.taps().show_rows("transformed", k.transformed, c.tokens.B, c.tokens.T, c.m.a.head_width());
  return k.transformed.data();
}
// dx from the gradient dread of the transformed rows.
void transform_backward(const Call& c, const float* x, const Floats& dread, float* dx, float* g) {
  const LinearAt& dense = c.m.at.transform;
  const NormAt& norm = c.m.at.transform_norm;
  HeadKept& k = c.p.head;
  Floats& d = c.p.dhead;
  d.assign(dread.size(), 0.0f);
  normalise_backward(transform_norm_of(c), k.activated.data(), optional(c.w, norm.gain),
                     k.transform_statistics.data(), dread.data(),
                     {d.data(), optional(g, norm.gain), optional(g, norm.bias)});
  activate_backward(c.m.a.head_activation(), std::int64_t(d.size()), k.dense.data(), d.data(), d.data());
  linear_backward(dense_shape(c), x, c.w + dense.weight, d.data(),
                  {dx, g + dense.weight, optional(g, dense.bias)});
}

// What the matrix of the logits reads: the last rows, or what a transform or a matrix to narrow rows makes of them.
const float* read_rows(const Call& c, const float* last) {
  if (c.m.a.head.form == HeadForm::transform) return transform(c, last);
  if (c.m.at.narrow.weight < 0) return last;
  Floats& rows = c.p.head.narrow;
  rows.resize(c.N() * read_step(c));
  linear(dense_shape(c), last, c.w + c.m.at.narrow.weight, nullptr, rows.data());
  return rows.data();
}
}  // namespace

const float* last_rows(const Call& c, const float* h) {
  const NormAt& norm = c.m.at.last_norm;
  if (!norm && !c.taps().wants("last")) return h;
  HeadKept& k = c.p.head;
  k.last.resize(c.size()), k.statistics.resize(2 * c.N());
  if (norm) {
    normalise(norm_of(c), h, optional(c.w, norm.gain), optional(c.w, norm.bias), k.last.data(),
              k.statistics.data());
  } else {
    std::copy_n(h, c.size(), k.last.data());
  }
  c.taps().show_rows("last", k.last, c.tokens.B, c.tokens.T, c.m.a.width);
  return k.last.data();
}
void last_rows_backward(const Call& c, const float* h, float* g) {
  const NormAt& norm = c.m.at.last_norm;
  Pass& p = c.p;
  if (!norm) return p.dh.assign(p.dlast.begin(), p.dlast.end());
  p.dh.assign(c.size(), 0.0f);
  normalise_backward(norm_of(c), h, optional(c.w, norm.gain), p.head.statistics.data(), p.dlast.data(),
                     {p.dh.data(), optional(g, norm.gain), optional(g, norm.bias)});
}

void make_logits(const Call& c, const float* last) {
  const LinearAt& head = c.m.at.head;
  HeadKept& k = c.p.head;
  const float cap = float(c.m.a.head.soft_cap), factor = float(c.m.a.head.scale);
  const float* x = read_rows(c, last);
  k.logits.resize(c.N() * row_step(c.m.a.vocabulary));
  linear(head_shape(c), x, c.w + head.weight, optional(c.w, head.bias), k.logits.data());
  if (factor != 1) scale(std::int64_t(k.logits.size()), factor, k.logits.data());
  if (cap != 0) {
    soft_cap(std::int64_t(k.logits.size()), cap, k.logits.data());
    k.capped = k.logits;
  }
  c.taps().show_rows("logits", k.logits, c.tokens.B, c.tokens.T, c.m.a.vocabulary);
}
void make_logits_backward(const Call& c, const float* last, float* g) {
  const LinearAt& head = c.m.at.head;
  HeadKept& k = c.p.head;
  const float cap = float(c.m.a.head.soft_cap), factor = float(c.m.a.head.scale);
  const bool transforms = c.m.a.head.form == HeadForm::transform, narrows = c.m.at.narrow.weight >= 0;
  if (cap != 0) soft_cap_backward(std::int64_t(k.logits.size()), cap, k.capped.data(), k.logits.data());
  if (factor != 1) scale(std::int64_t(k.logits.size()), factor, k.logits.data());
  c.p.dlast.resize(c.size());
  Floats& dread = transforms || narrows ? c.p.dread : c.p.dlast;
  dread.resize(c.N() * read_step(c));
  const float* read = transforms ? k.transformed.data() : narrows ? k.narrow.data() : last;
  linear_backward(head_shape(c), read, c.w + head.weight, k.logits.data(),
                  {dread.data(), g + head.weight, optional(g, head.bias)});
  if (transforms) transform_backward(c, last, dread, c.p.dlast.data(), g);
  if (narrows) {
    linear_backward(dense_shape(c), last, c.w + c.m.at.narrow.weight, dread.data(),
                    {c.p.dlast.data(), g + c.m.at.narrow.weight, nullptr});
  }
}

}  // namespace gnomon
