#include "gnomon/kernels/stored.h"

#include "gnomon/core/parallel.h"
#include "gnomon/kernels/attend_check.h"

namespace gnomon {
namespace {

// Rows (B,H,tokens,width), dense, in float.
struct Wide {
  Scratch numbers;
  std::int64_t H, tokens, width;
  Wide(const AttendShape& s, std::int64_t token_count, std::int64_t row_width)
      : numbers(s.B * s.H * token_count * row_width), H(s.H), tokens(token_count), width(row_width) {}
  template <class S>
  Wide(const AttendShape& s, std::int64_t token_count, std::int64_t row_width, Heads<const S> from)
      : Wide(s, token_count, row_width) {
    each(s.B, [&](std::int64_t b, std::int64_t h, std::int64_t t, float* row) {
      for (std::int64_t c = 0; c < width; ++c) row[c] = float(from.row(b, t, h)[c]);
    });
  }
  template <class S>
  void store(std::int64_t B, Heads<S> to) {
    each(B, [&](std::int64_t b, std::int64_t h, std::int64_t t, const float* row) {
      for (std::int64_t c = 0; c < width; ++c) to.row(b, t, h)[c] = S(row[c]);
    });
  }
  template <class Body>
  void each(std::int64_t B, const Body& f) {
    parallel_for(B * H, [&](std::int64_t n) {
      for (std::int64_t t = 0; t < tokens; ++t) f(n / H, n % H, t, &numbers[(n * tokens + t) * width]);
    });
  }
  Heads<float> heads() { return {numbers.data(), H * tokens * width, width, tokens * width}; }
  Heads<const float> rows() const { return {numbers.data(), H * tokens * width, width, tokens * width}; }
};

}  // namespace

template <class S>
void rotate_stored(const Rotation& rotation, const RowLayout& rows, int sign, std::int64_t width, S* x) {
  const std::int64_t numbers = check_layout("rotate_stored", rows, width, x);
  check_extents("rotate_stored", {{"pairs", rotation.pairs, 0, width / 2}});
  if (numbers == 0) return;
  Scratch wide(numbers);
  const RowLayout dense{rows.B, rows.T, rows.H, rows.T * rows.H * width, rows.H * width, width};
  const auto each = [&](const auto& f) {
    for (std::int64_t n = 0; n < rows.B * rows.T * rows.H; ++n) {
      const std::int64_t h = n % rows.H, t = n / rows.H % rows.T, b = n / rows.H / rows.T;
      f(&wide[n * width], x + b * rows.batch + t * rows.token + h * rows.head);
    }
  };
  each([&](float* to, const S* from) {
    for (std::int64_t c = 0; c < width; ++c) to[c] = float(from[c]);
  });
  rotate(rotation, dense, sign, wide.data());
  each([&](const float* from, S* to) {
    for (std::int64_t c = 0; c < width; ++c) to[c] = S(from[c]);
  });
}

template <class S>
void attend_stored(const AttendShape& s, Heads<const S> q, Heads<const S> k, Heads<const S> v,
                   const Terms& terms, Heads<S> out, float* lse) {
  const std::int64_t W = s.K + s.beside;
  check_shape(s);
  const AttendShape g = s.of_keys();
  check_heads(s, "q", q, {s.queries, W}), check_heads(g, "k", k, {s.keys, W});
  check_heads(g, "v", v, {s.keys, s.D}), check_heads(s, "out", out, {s.queries, s.D});
  const Wide wq(s, s.queries, W, q), wk(g, s.keys, W, k), wv(g, s.keys, s.D, v);
  Wide wout(s, s.queries, s.D);
  attend(s, wq.rows(), wk.rows(), wv.rows(), terms, wout.heads(), lse);
  wout.store(s.B, out);
}

template <class S>
void attend_stored_backward(const AttendShape& s, const StoredResult<S>& f, const Terms& terms,
                            const StoredGrad<S>& grad) {
  const std::int64_t W = s.K + s.beside;
  check_shape(s);
  const AttendShape g = s.of_keys();
  check_heads(s, "q", f.q, {s.queries, W}), check_heads(s, "dq", grad.dq, {s.queries, W});
  check_heads(g, "k", f.k, {s.keys, W}), check_heads(g, "dk", grad.dk, {s.keys, W});
  check_heads(g, "v", f.v, {s.keys, s.D}), check_heads(g, "dv", grad.dv, {s.keys, s.D});
  check_heads(s, "out", f.out, {s.queries, s.D}), check_heads(s, "dout", f.dout, {s.queries, s.D});
  const Wide q(s, s.queries, W, f.q), k(g, s.keys, W, f.k), v(g, s.keys, s.D, f.v),
      out(s, s.queries, s.D, f.out), dout(s, s.queries, s.D, f.dout);
  Wide dq(s, s.queries, W), dk(g, s.keys, W), dv(g, s.keys, s.D);
  attend_backward(s, {q.rows(), k.rows(), v.rows(), out.rows(), f.lse, dout.rows()}, terms,
                  {dq.heads(), dk.heads(), dv.heads(), grad.dterms});
  dq.store(s.B, grad.dq), dk.store(s.B, grad.dk), dv.store(s.B, grad.dv);
}

#define GNOMON_STORED(S)                                                                          \
  template void rotate_stored(const Rotation&, const RowLayout&, int, std::int64_t, S*);          \
  template void attend_stored(const AttendShape&, Heads<const S>, Heads<const S>, Heads<const S>, \
                              const Terms&, Heads<S>, float*);                                    \
  template void attend_stored_backward(const AttendShape&, const StoredResult<S>&, const Terms&,  \
                                       const StoredGrad<S>&);
GNOMON_STORED(BFloat16)
GNOMON_STORED(Float16)
#undef GNOMON_STORED

}  // namespace gnomon
