#include "gnomon/kernels/attend_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "gnomon/core/parallel.h"
#include "gnomon/kernels/attend_head.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gnomon/kernels/attend_rows.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h:
#include "gnomon/kernels/attend_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gnomon::HWY_NAMESPACE {
void RowsForward(const RowsTask& task) { SequenceRows(task).forward(); }
void RowsBackward(const RowsTask& task) { SequenceRows(task).backward(); }
std::int64_t RowLanes() { return lanes(); }
}  // namespace gnomon::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gnomon {
HWY_EXPORT(RowsForward);
HWY_EXPORT(RowsBackward);
HWY_EXPORT(RowLanes);

namespace {

// Shares of a sequence: a function of the shape alone, so that the bits do not depend on the threads.
std::int64_t pieces_of(const AttendShape& s) { return s.B >= 4 || s.queries < 64 ? 1 : 4; }

RowsTask task_of(const AttendShape& s, const Terms& terms, std::int64_t n) {
  RowsTask task{};
  task.shape = s;
  task.shape.scale = s.scale * terms.content_scale;
  task.pieces = pieces_of(s);
  task.b = n / task.pieces, task.piece = n % task.pieces;
  task.padding = s.padding ? s.padding + task.b * s.keys : nullptr;
  task.terms = &terms;
  return task;
}
void add_to(Floats& sum, const Floats& part) {
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += part[i];
}

}  // namespace

void attend_rows(const AttendShape& s, Heads<const float> q, Heads<const float> k, Heads<const float> v,
                 const Terms& terms, Heads<float> out, float* lse) {
  parallel_for(s.B * pieces_of(s), [&](std::int64_t n) {
    RowsTask task = task_of(s, terms, n);
    task.q = q, task.k = k, task.v = v, task.out = out;
    task.lse = lse + task.b * s.H * s.queries;
    HWY_DYNAMIC_DISPATCH(RowsForward)(task);
  });
}

void attend_rows_backward(const AttendShape& s, const AttendResult& f, const Terms& terms,
                          const AttendGrad& grad) {
  const std::int64_t pieces = pieces_of(s), N = HWY_DYNAMIC_DISPATCH(RowLanes)(), W = s.K + s.beside;
  const std::int64_t Wp = round_up(W, N), Dp = round_up(s.D, N);
  // Each share sums into its own arrays; they are added in order.
  struct Share {
    Floats dk, dv;
    Terms dterms;
    std::vector<Floats> drules;
  };
  std::vector<Share> shares(pieces * s.B);
  for (Share& share : shares) {
    if (grad.dterms) share.dterms = grad.dterms->zeros();
    for (const auto& rule : terms.rules) share.drules.emplace_back(rule->param_count());
  }
  parallel_for(s.B * pieces, [&](std::int64_t n) {
    Share& share = shares[n];
    share.dk.resize(s.H * s.keys * Wp), share.dv.resize(s.H * s.keys * Dp);
    RowsTask task = task_of(s, terms, n);
    task.q = f.q, task.k = f.k, task.v = f.v, task.dout = f.dout, task.forward_out = f.out, task.dq = grad.dq;
    task.lse = const_cast<float*>(f.lse) + task.b * s.H * s.queries;
    task.dterms = &share.dterms, task.drules = &share.drules;
    task.dk = share.dk.data(), task.dv = share.dv.data();
    HWY_DYNAMIC_DISPATCH(RowsBackward)(task);
  });
  parallel_for(s.B * s.H, [&](std::int64_t n) {
    const std::int64_t b = n / s.H, h = n % s.H;
    for (std::int64_t j = 0; j < s.keys; ++j) {
      float *dk = grad.dk.row(b, j, h), *dv = grad.dv.row(b, j, h);
      std::fill_n(dk, W, 0.0f), std::fill_n(dv, s.D, 0.0f);
      for (std::int64_t p = 0; p < pieces; ++p) {
        const Share& share = shares[b * pieces + p];
        for (std::int64_t c = 0; c < W; ++c) dk[c] += share.dk[(h * s.keys + j) * Wp + c];
        for (std::int64_t c = 0; c < s.D; ++c) dv[c] += share.dv[(h * s.keys + j) * Dp + c];
      }
    }
  });
  for (const Share& share : shares) {
    if (Terms* d = grad.dterms) {
      add_to(d->by_distance, share.dterms.by_distance), add_to(d->by_query, share.dterms.by_query);
      add_to(d->by_key, share.dterms.by_key), add_to(d->query_cross, share.dterms.query_cross);
      add_to(d->key_cross, share.dterms.key_cross), add_to(d->value, share.dterms.value);
    }
    for (std::size_t r = 0; grad.drules && r < share.drules.size(); ++r)
      add_to((*grad.drules)[r], share.drules[r]);
  }
}

}  // namespace gnomon
#endif
