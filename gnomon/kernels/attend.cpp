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

bool empty(const AttendShape& s) { return s.B == 0 || s.H == 0 || s.keys == 0; }

Rows rows(Heads<const float> heads, std::int64_t b, std::int64_t h) {
  return {const_cast<float*>(heads.row(b, 0, h)), heads.token};
}
Rows rows(Heads<float> heads, std::int64_t b, std::int64_t h) { return {heads.row(b, 0, h), heads.token}; }

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

}  // namespace

void attend(const AttendShape& s, Heads<const float> q, Heads<const float> k, Heads<const float> v,
            const Terms& terms, Heads<float> out, float* lse) {
  check_shape(s);
  check_heads(s, "q", q, {s.queries, s.K + s.beside});
  check_heads(s, "k", k, {s.keys, s.K + s.beside});
  check_heads(s, "v", v, {s.keys, s.D});
  check_heads(s, "out", out, {s.queries, s.D});
  check_pointers("attend", s.B * s.H * s.queries, {{"lse", lse}});
  check_terms(s, terms);
  if (empty(s)) return;
  if (by_rows(terms)) return attend_rows(s, q, k, v, terms, out, lse);
  parallel_for(s.B * s.H, [&](std::int64_t n) {
    const std::int64_t b = n / s.H, h = n % s.H;
    HeadTask task{};
    task.shape = s;
    set_terms(s, terms, b, task);
    task.q = rows(q, b, h), task.k = rows(k, b, h), task.v = rows(v, b, h), task.out = rows(out, b, h);
    task.lse = lse + n * s.queries;
    task.terms = head_terms(s, terms, b, h);
    HWY_DYNAMIC_DISPATCH(AttendHead)(task);
  });
}

void attend_backward(const AttendShape& s, const AttendResult& f, const Terms& terms,
                     const AttendGrad& grad) {
  check_shape(s);
  const HeadRows asking{s.queries, s.K + s.beside}, asked{s.keys, s.K + s.beside}, given{s.keys, s.D},
      returned{s.queries, s.D};
  check_heads(s, "q", f.q, asking), check_heads(s, "dq", grad.dq, asking);
  check_heads(s, "k", f.k, asked), check_heads(s, "dk", grad.dk, asked);
  check_heads(s, "v", f.v, given), check_heads(s, "dv", grad.dv, given);
  check_heads(s, "out", f.out, returned), check_heads(s, "dout", f.dout, returned);
  check_pointers("attend_backward", s.B * s.H * s.queries, {{"lse", f.lse}});
  check_terms(s, terms);
  check_gradients(terms, grad);
  if (empty(s)) return;
  if (by_rows(terms)) return attend_rows_backward(s, f, terms, grad);
  Terms none;
  Terms& dterms = grad.dterms ? *grad.dterms : none;
  SharedGradients shared(s.B, dterms);
  parallel_for(s.B * s.H, [&](std::int64_t n) {
    const std::int64_t b = n / s.H, h = n % s.H;
    HeadTask task{};
    task.shape = s;
    set_terms(s, terms, b, task);
    task.q = rows(f.q, b, h), task.k = rows(f.k, b, h), task.v = rows(f.v, b, h),
    task.out = rows(f.out, b, h);
    task.dout = rows(f.dout, b, h);
    task.dq = rows(grad.dq, b, h), task.dk = rows(grad.dk, b, h), task.dv = rows(grad.dv, b, h);
    task.lse = const_cast<float*>(f.lse) + n * s.queries;
    task.terms = head_terms(s, terms, b, h);
    task.dterms = head_terms(s, shared.of(b), 0, h);
    const HeadTerms own = head_terms(s, dterms, b, h);
    task.dterms.by_query = own.by_query, task.dterms.by_key = own.by_key;
    HWY_DYNAMIC_DISPATCH(AttendHeadBackward)(task);
  });
  shared.collect();
}
}  // namespace gnomon
#endif
