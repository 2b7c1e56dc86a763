#include "gnomon/kernels/attend.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "gnomon/core/error.h"
#include "gnomon/core/parallel.h"
#include "gnomon/core/shares.h"
#include "gnomon/kernels/attend_check.h"
#include "gnomon/kernels/attend_head.h"
#include "gnomon/kernels/matmul.h"
#include "gnomon/kernels/terms.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gnomon/kernels/attend.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h:
#include "gnomon/kernels/attend-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gnomon::HWY_NAMESPACE {
void AttendHeads(std::span<HeadTask> tasks, const NextTasks& next) {
  if (!next(tasks)) return;
  Together heads(tasks);
  do heads.forward();
  while (next(tasks));
}
void AttendHeadsBackward(std::span<HeadTask> tasks, const NextTasks& next) {
  if (!next(tasks)) return;
  Together heads(tasks);
  do heads.backward();
  while (next(tasks));
}
}  // namespace gnomon::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gnomon {
HWY_EXPORT(AttendHeads);
HWY_EXPORT(AttendHeadsBackward);

namespace {

struct HeadIndex {
  std::int64_t b, h;
};

// Null stays null: rows that are none have no place in memory.
Strided<float> rows(Heads<const float> heads, std::int64_t b, std::int64_t h) {
  return {heads.data ? const_cast<float*>(heads.row(b, 0, h)) : nullptr, heads.token};
}
Strided<float> rows(Heads<float> heads, std::int64_t b, std::int64_t h) {
  return rows(Heads<const float>{heads.data, heads.batch, heads.token, heads.head}, b, h);
}

// What head h of sequence b has of an array of `size` numbers begins here.
std::int64_t begin_of(TermOf of, const AttendShape& s, std::size_t size, const HeadIndex& at) {
  const auto n = std::int64_t(size);
  switch (of) {
    case TermOf::head_of_sequence:
      return (at.b * s.H + at.h) * (n / (s.B * s.H));
    case TermOf::head:
      return at.h * (n / s.H);
    case TermOf::tokens:
      return n > s.keys ? at.b * s.keys : 0;
    case TermOf::all:
      return 0;
  }
  return 0;
}
HeadArrays head_arrays(const AttendShape& s, const Terms& t, const HeadIndex& at) {
  HeadArrays to;
  for (std::size_t n = 0; n < kTermArrays.size(); ++n) {
    const TermArray& a = kTermArrays[n];
    const Floats& x = t.*a.at;
    if (!x.empty()) to.at[n] = const_cast<float*>(x.data()) + begin_of(a.of, s, x.size(), at);
  }
  return to;
}
// Of the gradients that a head adds to; of one row of tokens it has its own.
HeadArrays head_gradients(const AttendShape& s, SharedGradients& shared, const HeadIndex& at) {
  HeadArrays to;
  for (std::size_t n = 0; n < kTermArrays.size(); ++n) {
    const TermArray& a = kTermArrays[n];
    Floats& x = shared.of(a, at.b, at.h).*a.at;
    if (!x.empty()) to.at[n] = x.data() + begin_of(a.of, s, x.size(), at);
  }
  return to;
}

template <class T>
Strided<T> of_head(const PairRows<T>& x, std::int64_t b, std::int64_t h) {
  return {x.data ? x.row(b, h, 0) : nullptr, x.query};
}
HeadExtras head_extras(const Extras& x, const ExtrasGrad& dx, std::int64_t b, std::int64_t h) {
  return {x.of_pairs(),
          x.soft_cap,
          x.sinks ? x.sinks[h] : -std::numeric_limits<float>::infinity(),
          of_head(x.bias, b, h),
          of_head(x.mask, b, h),
          of_head(dx.bias, b, h),
          nullptr,
          of_head(x.logits, b, h),
          of_head(x.instead, b, h),
          x.of_weights};
}

// Gradients of the rows of keys where heads share them: each query head's own, then added up in order.
class GroupGradients {
 public:
  GroupGradients(const AttendShape& s, std::int64_t width, Heads<float> total)
      : s_(s), width_(width), total_(total) {
    if (s.of_keys().H != s.H) own_.resize(s.B * s.H * s.keys * width);
  }
  Strided<float> of(std::int64_t b, std::int64_t h) {
    if (own_.empty()) return rows(total_, b, h);
    return {&own_[(b * s_.H + h) * s_.keys * width_], width_};
  }
  void collect() const {
    if (own_.empty()) return;
    const std::int64_t heads = s_.of_keys().H, group = s_.H / heads;
    parallel_for(s_.B * heads * s_.keys, [&](std::int64_t n) {
      const std::int64_t j = n % s_.keys, bh = n / s_.keys;
      float* to = total_.row(bh / heads, j, bh % heads);
      std::fill_n(to, width_, 0.0f);
      for (std::int64_t g = 0; g < group; ++g) {
        const float* from = &own_[((bh * group + g) * s_.keys + j) * width_];
        for (std::int64_t c = 0; c < width_; ++c) to[c] += from[c];
      }
    });
  }

 private:
  const AttendShape& s_;
  const std::int64_t width_;
  const Heads<float> total_;
  Scratch own_;
};

// What a head needs beside its rows and its gradients.
HeadTask head_task(const AttendShape& s, const Terms& t, std::int64_t b, std::int64_t h) {
  const auto of_sequence = [&](const auto& x) {
    return x.empty() ? nullptr : x.data() + (std::int64_t(x.size()) > s.keys ? b * s.keys : 0);
  };
  HeadTask task{};
  task.shape = s;
  if (s.firsts) task.shape.first = s.firsts[b];
  task.shape.scale = s.scale * t.content_scale;
  if (!multiplies_in(s.precision)) task.shape.precision = Precision::float32;
  task.padding = s.padding ? s.padding + b * s.keys : nullptr;
  task.first_key = of_sequence(t.first_key), task.end_key = of_sequence(t.end_key);
  task.places = of_sequence(t.places), task.sequence = b;
  task.given = &t;
  task.terms = head_arrays(s, t, {b, h});
  return task;
}

// What a worker computes, one after the other: the heads of sequence b from `first` on that are computed together: one, or all
// where a network mixes them.
struct HeadsAt {
  std::int64_t b, first;
};
// Those that add to the same numbers of the gradient of a bias go one after the other, in order.
class Lines {
 public:
  Lines(const AttendShape& s, const Terms& t, const PairRows<float>& dbias)
      : together_(t.mixes() ? s.H : 1),
        groups_(s.H / together_),
        B_(s.B),
        sequences_(dbias.data && dbias.batch == 0 ? 1 : s.B),
        heads_(dbias.data && dbias.head == 0 ? 1 : groups_) {}
  std::int64_t together() const { return together_; }
  std::int64_t count() const { return sequences_ * heads_; }
  std::int64_t length() const { return B_ / sequences_ * (groups_ / heads_); }
  HeadsAt at(std::int64_t line, std::int64_t n) const {
    const std::int64_t each = groups_ / heads_;
    return {line / heads_ + n / each * sequences_, (line % heads_ + n % each * heads_) * together_};
  }

 private:
  const std::int64_t together_, groups_, B_, sequences_, heads_;
};

// compute(tasks, next) on each of the threads, which asks for what is next until there is no more: so a thread makes its
// arrays once. fill(task, b, h) adds to a head what the direction needs.
template <class Compute, class Fill>
void each_task(const AttendShape& s, const Terms& t, const Lines& lines, const Compute& compute,
               const Fill& fill) {
  const std::int64_t workers = std::min<std::int64_t>(lines.count(), thread_count());
  Shares shares(lines.count(), workers);
  parallel_for(workers, [&](std::int64_t w) {
    std::vector<HeadTask> tasks(std::size_t(lines.together()));
    std::int64_t line = 0, n = lines.length();
    compute(tasks, [&](std::span<HeadTask> heads) {
      if (n == lines.length()) line = shares.next(w), n = 0;
      if (line < 0) return false;
      const HeadsAt at = lines.at(line, n++);
      for (std::size_t g = 0; g < heads.size(); ++g) {
        const std::int64_t h = at.first + std::int64_t(g);
        heads[g] = head_task(s, t, at.b, h);
        fill(heads[g], at.b, h);
      }
      return true;
    });
  });
}

}  // namespace

void attend(const AttendShape& s, Heads<const float> q, Heads<const float> k, Heads<const float> v,
            const Terms& terms, Heads<float> out, float* lse, const Extras& extras) {
  check_shape(s);
  const AttendShape of_keys = s.of_keys();
  check_heads(s, "q", q, {s.queries, s.K + s.beside});
  check_heads(of_keys, "k", k, {s.keys, s.K + s.beside});
  check_heads(of_keys, "v", v, {s.keys, s.D});
  check_heads(s, "out", out, {s.queries, s.D});
  check_pointers("attend", s.B * s.H * s.queries, {{"lse", lse}});
  check_terms(s, terms);
  check_extras(s, terms, extras);
  if (s.B == 0 || s.H == 0) return;
  each_task(s, terms, Lines(s, terms, {}), HWY_DYNAMIC_DISPATCH(AttendHeads),
            [&](HeadTask& task, std::int64_t b, std::int64_t h) {
              const std::int64_t of = s.key_head(h);
              task.q = rows(q, b, h), task.k = rows(k, b, of), task.v = rows(v, b, of);
              task.out = rows(out, b, h);
              task.extras = head_extras(extras, {}, b, h);
              task.lse = lse + (b * s.H + h) * s.queries;
            });
}

void attend_backward(const AttendShape& s, const AttendResult& f, const Terms& terms,
                     const AttendGrad& grad) {
  check_shape(s);
  const HeadRows asking{s.queries, s.K + s.beside}, asked{s.keys, s.K + s.beside}, given{s.keys, s.D},
      returned{s.queries, s.D};
  check_heads(s, "q", f.q, asking), check_heads(s, "dq", grad.dq, asking);
  const AttendShape of_keys = s.of_keys();
  check_heads(of_keys, "k", f.k, asked), check_heads(of_keys, "dk", grad.dk, asked);
  check_heads(of_keys, "v", f.v, given), check_heads(of_keys, "dv", grad.dv, given);
  check_heads(s, "out", f.out, returned), check_heads(s, "dout", f.dout, returned);
  check_pointers("attend_backward", s.B * s.H * s.queries, {{"lse", f.lse}});
  check_terms(s, terms);
  check_gradients(terms, grad);
  check_extras(s, terms, f.extras);
  if (f.extras.instead.data)
    throw Error(Fault::usage,
                "attend_backward: the forward pass replaced its logits (extras.instead); allowed is null");
  check_extras_gradients(s, f.extras, grad.dextras);
  if (s.B == 0 || s.H == 0) return;
  Terms none;
  Terms& dterms = grad.dterms ? *grad.dterms : none;
  SharedGradients shared(s.B, s.H, s.keys, dterms);
  GroupGradients dk(s, s.K + s.beside, grad.dk), dv(s, s.D, grad.dv);
  std::vector<double> dsinks(grad.dextras.sinks ? std::size_t(s.B * s.H) : 0);
  each_task(s, terms, Lines(s, terms, grad.dextras.bias), HWY_DYNAMIC_DISPATCH(AttendHeadsBackward),
            [&](HeadTask& task, std::int64_t b, std::int64_t h) {
              const std::int64_t n = b * s.H + h, of = s.key_head(h);
              task.q = rows(f.q, b, h), task.k = rows(f.k, b, of), task.v = rows(f.v, b, of);
              task.out = rows(f.out, b, h), task.dout = rows(f.dout, b, h);
              task.dq = rows(grad.dq, b, h), task.dk = dk.of(b, h), task.dv = dv.of(b, h);
              task.lse = const_cast<float*>(f.lse) + n * s.queries;
              task.dterms = head_gradients(s, shared, {b, h});
              task.extras = head_extras(f.extras, grad.dextras, b, h);
              if (!dsinks.empty()) task.extras.dsink = &dsinks[std::size_t(n)];
            });
  shared.collect(), dk.collect(), dv.collect();
  for (std::size_t n = 0; n < dsinks.size(); ++n)
    grad.dextras.sinks[std::int64_t(n) % s.H] += float(dsinks[n]);
}
}  // namespace gnomon
#endif
