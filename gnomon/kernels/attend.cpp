#include "gnomon/kernels/attend.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "gnomon/core/error.h"
#include "gnomon/core/parallel.h"
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

void check(const AttendShape& s, const Terms& t) {
  const auto expect = [](const Floats& array, std::int64_t size, const char* name) {
    if (array.empty() || std::int64_t(array.size()) == size) return;
    throw Error(Fault::bug,
                text("attend: terms.", name, " has ", array.size(), " numbers, its shape asks for ", size));
  };
  expect(t.by_distance, s.H * t.distances, "by_distance");
  expect(t.by_query, s.B * s.H * s.queries, "by_query");
  expect(t.by_key, s.B * s.H * s.keys, "by_key");
  expect(t.query_cross, s.H * t.distances * s.K, "query_cross");
  expect(t.key_cross, s.H * t.distances * s.K, "key_cross");
  expect(t.value, s.H * t.distances * s.D, "value");
  const auto one_or_each = [&](std::size_t size, const char* name) {
    if (size == 0 || std::int64_t(size) == s.keys || std::int64_t(size) == s.B * s.keys) return;
    throw Error(Fault::bug, text("attend: terms.", name, " has ", size, " numbers for ", s.B,
                                 " sequences of ", s.keys, " tokens"));
  };
  one_or_each(t.first_key.size(), "first_key");
  one_or_each(t.end_key.size(), "end_key");
  one_or_each(t.places.size(), "places");
  const std::int64_t least = s.causal ? 0 : 1 - s.queries;
  if (t.over_distances() && t.places.empty() &&
      (t.first_distance > least || t.first_distance + t.distances < s.keys)) {
    throw Error(Fault::bug,
                text("attend: terms cover the distances ", t.first_distance, "..",
                     t.first_distance + t.distances - 1, ", attention needs ", least, "..", s.keys - 1));
  }
  if (s.queries > s.keys) throw Error(Fault::bug, "attend: more queries than keys");
}

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
  check(s, terms);
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
  check(s, terms);
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
