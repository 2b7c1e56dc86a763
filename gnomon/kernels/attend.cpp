#include "gnomon/kernels/attend.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "gnomon/core/parallel.h"
#include "gnomon/kernels/attend_check.h"
#include "gnomon/kernels/attend_head.h"
#include "gnomon/kernels/attend_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gnomon/kernels/attend.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h:
#include "gnomon/kernels/attend-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gnomon::HWY_NAMESPACE {
void AttendHead(const HeadTask& task) { Head(task).forward(); }
void AttendHeadBackward(const HeadTask& task) { Head(task).backward(); }
}  // namespace gnomon::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gnomon {
HWY_EXPORT(AttendHead);
HWY_EXPORT(AttendHeadBackward);

bool Terms::over_distances() const {
  return !(by_distance.empty() && query_cross.empty() && key_cross.empty() && value.empty());
}
Terms Terms::zeros() const {
  const auto like = [](const Floats& a) { return Floats(a.size()); };
  Terms t;
  t.first_distance = first_distance, t.distances = distances;
  t.by_distance = like(by_distance), t.by_query = like(by_query), t.by_key = like(by_key);
  t.query_cross = like(query_cross), t.key_cross = like(key_cross), t.value = like(value);
  return t;
}

namespace {

// Null stays null: rows that are none have no place in memory.
Rows rows(Heads<const float> heads, std::int64_t b, std::int64_t h) {
  return {heads.data ? const_cast<float*>(heads.row(b, 0, h)) : nullptr, heads.token};
}
Rows rows(Heads<float> heads, std::int64_t b, std::int64_t h) {
  return rows(Heads<const float>{heads.data, heads.batch, heads.token, heads.head}, b, h);
}

HeadTerms head_terms(const AttendShape& s, const Terms& t, std::int64_t b, std::int64_t h) {
  const auto at = [](const Floats& a, std::int64_t index) {
    return a.empty() ? nullptr : const_cast<float*>(a.data()) + index;
  };
  const std::int64_t R = t.distances, bh = b * s.H + h;
  return {t.first_distance,
          R,
          at(t.by_distance, h * R),
          at(t.by_query, bh * s.queries),
          at(t.by_key, bh * s.keys),
          at(t.query_cross, h * R * s.K),
          at(t.key_cross, h * R * s.K),
          at(t.value, h * R * s.D)};
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
          nullptr};
}

// What a head needs beside its rows and its arrays.
void set_terms(const AttendShape& s, const Terms& t, std::int64_t b, HeadTask& task) {
  const auto of_sequence = [&](const std::vector<std::int32_t>& x) -> const std::int32_t* {
    if (x.empty()) return nullptr;
    return x.data() + (std::int64_t(x.size()) > s.keys ? b * s.keys : 0);
  };
  task.shape.scale = s.scale * t.content_scale;
  task.padding = s.padding ? s.padding + b * s.keys : nullptr;
  task.first_key = of_sequence(t.first_key), task.end_key = of_sequence(t.end_key);
}

// The sequences of a batch share the arrays over distances: each sequence sums into its own copy, and the
// copies are added in order, so that the bits do not depend on who finishes first.
class SharedGradients {
 public:
  SharedGradients(std::int64_t B, Terms& total) : total_(total) {
    Terms one = total.zeros();
    one.by_query.clear();  // these are the sequence's own
    one.by_key.clear();
    per_sequence_.assign(B, one);
  }
  Terms& of(std::int64_t b) { return per_sequence_[b]; }
  void collect() {
    for (const Terms& t : per_sequence_) {
      add_to(total_.by_distance, t.by_distance);
      add_to(total_.query_cross, t.query_cross);
      add_to(total_.key_cross, t.key_cross);
      add_to(total_.value, t.value);
    }
  }

 private:
  static void add_to(Floats& sum, const Floats& part) {
    for (std::size_t i = 0; i < part.size(); ++i) sum[i] += part[i];
  }
  Terms& total_;
  std::vector<Terms> per_sequence_;
};

// Gradients of the rows of keys where heads share them: each query head's own, then added up in order.
class GroupGradients {
 public:
  GroupGradients(const AttendShape& s, std::int64_t width, Heads<float> total)
      : s_(s), width_(width), total_(total) {
    if (s.of_keys().H != s.H) own_.resize(s.B * s.H * s.keys * width);
  }
  Rows of(std::int64_t b, std::int64_t h) {
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

// f(b, h) for every head of every sequence. Those that add to the same numbers of the gradient of a bias go one after the
// other, in order.
template <class F>
void each_head(const AttendShape& s, const PairRows<float>& dbias, const F& f) {
  const std::int64_t sequences = dbias.data && dbias.batch == 0 ? 1 : s.B;
  const std::int64_t heads = dbias.data && dbias.head == 0 ? 1 : s.H;
  parallel_for(sequences * heads, [&](std::int64_t n) {
    for (std::int64_t b = n / heads; b < s.B; b += sequences) {
      for (std::int64_t h = n % heads; h < s.H; h += heads) f(b, h);
    }
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
  if (by_rows(terms)) return attend_rows(s, q, k, v, terms, out, lse);
  parallel_for(s.B * s.H, [&](std::int64_t n) {
    const std::int64_t b = n / s.H, h = n % s.H, of = s.key_head(h);
    HeadTask task{};
    task.shape = s;
    set_terms(s, terms, b, task);
    task.q = rows(q, b, h), task.k = rows(k, b, of), task.v = rows(v, b, of), task.out = rows(out, b, h);
    task.lse = lse + n * s.queries;
    task.terms = head_terms(s, terms, b, h);
    task.extras = head_extras(extras, {}, b, h);
    HWY_DYNAMIC_DISPATCH(AttendHead)(task);
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
  check_extras_gradients(s, f.extras, grad.dextras);
  if (s.B == 0 || s.H == 0) return;
  if (by_rows(terms)) return attend_rows_backward(s, f, terms, grad);
  Terms none;
  Terms& dterms = grad.dterms ? *grad.dterms : none;
  SharedGradients shared(s.B, dterms);
  GroupGradients dk(s, s.K, grad.dk), dv(s, s.D, grad.dv);
  std::vector<double> dsinks(grad.dextras.sinks ? s.B * s.H : 0);
  each_head(s, grad.dextras.bias, [&](std::int64_t b, std::int64_t h) {
    const std::int64_t n = b * s.H + h, of = s.key_head(h);
    HeadTask task{};
    task.shape = s;
    set_terms(s, terms, b, task);
    task.q = rows(f.q, b, h), task.k = rows(f.k, b, of), task.v = rows(f.v, b, of),
    task.out = rows(f.out, b, h);
    task.dout = rows(f.dout, b, h);
    task.dq = rows(grad.dq, b, h), task.dk = dk.of(b, h), task.dv = dv.of(b, h);
    task.lse = const_cast<float*>(f.lse) + n * s.queries;
    task.terms = head_terms(s, terms, b, h);
    task.dterms = head_terms(s, shared.of(b), 0, h);
    const HeadTerms own = head_terms(s, dterms, b, h);
    task.dterms.by_query = own.by_query, task.dterms.by_key = own.by_key;
    task.extras = head_extras(f.extras, grad.dextras, b, h);
    if (!dsinks.empty()) task.extras.dsink = &dsinks[n];
    HWY_DYNAMIC_DISPATCH(AttendHeadBackward)(task);
  });
  shared.collect(), dk.collect(), dv.collect();
  for (std::size_t n = 0; n < dsinks.size(); ++n) grad.dextras.sinks[n % s.H] += float(dsinks[n]);
}
}  // namespace gnomon
#endif
