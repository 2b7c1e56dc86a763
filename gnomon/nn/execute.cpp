// Attention between the projections, by plans. The backward pass goes the same way back.
#include "gnomon/nn/execute.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "gnomon/core/error.h"
#include "gnomon/core/parallel.h"

namespace gnomon {
namespace {

// The rows of one role: where they lie and which tokens they are.
struct Place {
  Role role;
  std::int64_t B, T, H, width;
  std::int64_t first, of;
  std::int64_t size() const { return B * T * H * width; }
  Heads<float> dense(float* rows) const { return {rows, T * H * width, H * width, width}; }
  StepRows at(const Heads<float>& rows) const {
    return {RowLayout{B, T, H, rows.batch, rows.token, rows.head}, first, of};
  }
};
Place place_of(const Execution& e, Role role) {
  const AttendShape& s = e.shape;
  const bool asks = role == Role::q || role == Role::out;
  const std::int64_t more = role == Role::q || role == Role::k ? e.plan.added.joined + e.plan.added.far : 0;
  return {role,
          s.B,
          asks ? s.queries : s.keys,
          asks ? s.H : s.of_keys().H,
          more + (role == Role::q || role == Role::k ? s.K : s.D),
          asks ? s.place(0) : 0,
          s.keys};
}

// `channels` of each row, and behind them 0 in so many.
struct Channels {
  std::int64_t copied, zeros = 0;
};
void copy_rows(const Place& p, const Channels& c, const Heads<float>& from, const Heads<float>& to) {
  parallel_ranges(p.B * p.T, 64, [&](auto begin, auto end) {
    for (auto n = begin; n < end; ++n) {
      for (std::int64_t h = 0; h < p.H; ++h) {
        float* row = to.row(n / p.T, n % p.T, h);
        std::fill_n(std::copy_n(from.row(n / p.T, n % p.T, h), c.copied, row), c.zeros, 0.0f);
      }
    }
  });
}

bool needs_copy(const Execution& e, Role role, std::int64_t more) {
  if (more) return true;
  for (const Step& step : e.plan.steps) {
    if (step.acts_on(role) && (!e.overwrite || step.needs_input())) return true;
  }
  return false;
}

// The rows that attention reads: `given`, or a wider copy of them in `own`, after the steps.
Heads<float> mapped(const Execution& e, Role role, const Heads<float>& given, Scratch& own,
                    std::vector<Scratch>& before) {
  const Place p = place_of(e, role);
  const std::int64_t D = role == Role::v ? e.shape.D : e.shape.K;
  const bool copies = needs_copy(e, role, p.width - D);
  own.clear();
  if (copies) {
    own.resize(std::size_t(p.size()));
    copy_rows(p, {D, p.width - D}, given, p.dense(own.data()));
  }
  const Heads<float> rows = copies ? p.dense(own.data()) : given;
  for (const Step& step : e.plan.steps) {
    if (!step.acts_on(role)) continue;
    if (step.needs_input()) {
      before.emplace_back(own.size());
      copy_rows(p, {p.width}, rows, p.dense(before.back().data()));
    }
    apply(step, role, p.at(rows), rows.data);
  }
  return rows;
}
void mapped_backward(const Execution& e, Role role, const Heads<float>& d, std::vector<const float*>& before,
                     Plan& dplan) {
  const Place p = place_of(e, role);
  for (std::size_t n = e.plan.steps.size(); n-- > 0;) {
    const Step& step = e.plan.steps[n];
    if (!step.acts_on(role)) continue;
    const float* found = nullptr;
    if (step.needs_input()) found = before.back(), before.pop_back();
    apply_backward(step, role, p.at(d), found, d.data, dplan.steps[n]);
  }
}

// f(x, its row) of rows of `keys` numbers.
template <class Body>
void each_weight(Floats& pairs, std::int64_t keys, const Body& f) {
  for (std::int64_t n = 0; n < std::int64_t(pairs.size()); ++n) f(pairs[std::size_t(n)], n / keys);
}

AttendShape widened(const Execution& e) {
  AttendShape s = e.shape;
  s.K += e.plan.added.joined;
  s.beside = e.plan.added.far;
  return s;
}
Heads<const float> read(const Heads<float>& rows) { return {rows.data, rows.batch, rows.token, rows.head}; }
// The rows of a role after its steps.
Heads<float> kept_rows(const Execution& e, Role role, const Scratch& own, const Heads<float>& given) {
  return own.empty() ? given : place_of(e, role).dense(const_cast<float*>(own.data()));
}

void show_rows(const Execution& e, std::string_view name, Role role, const Heads<float>& rows) {
  const Place p = place_of(e, role);
  e.taps.show(name, rows.data, {p.B, p.H, p.T, p.width}, {rows.batch, rows.head, rows.token, 1});
}

// Attention, which makes its logits and weights for a tap, and is done again with what the tap makes of them.
void attend_tapped(const Execution& e, const AttentionRows<float>& rows, float* lse) {
  const AttendShape s = widened(e);
  Extras extras = e.extras;
  const auto again = [&] {
    attend(s, read(rows.q), read(rows.k), read(rows.v), e.plan.terms, rows.out, lse, extras);
  };
  if (!e.taps.wants("logits") && !e.taps.wants("weights")) return again();
  Floats pairs(std::size_t(s.B * s.H * s.queries * s.keys), -std::numeric_limits<float>::infinity());
  const auto show = [&](std::string_view name) {
    return e.taps.show(name, pairs.data(), {s.B, s.H, s.queries, s.keys},
                       {s.H * s.queries * s.keys, s.queries * s.keys, s.keys, 1});
  };
  extras.logits = {pairs.data(), s.H * s.queries * s.keys, s.queries * s.keys, s.keys};
  again();
  extras.logits = {}, extras.instead = {pairs.data(), s.H * s.queries * s.keys, s.queries * s.keys, s.keys};
  if (show("logits")) again();
  if (!e.taps.wants("weights")) return;
  each_weight(pairs, s.keys, [&](float& x, std::int64_t row) {
    x = x == -std::numeric_limits<float>::infinity() ? 0 : std::exp(x - lse[row]);
  });
  if (!show("weights")) return;
  each_weight(pairs, s.keys, [](float& x, std::int64_t) {
    if (!(x >= 0 && std::isfinite(x)))
      throw Error(Fault::usage,
                  text("tap 'weights': found a weight of ", x, "; allowed are finite numbers of 0 or more"));
    x = std::log(x);
  });
  extras.of_weights = true;
  again();
}

AttentionRows<float> mapped_rows(const Execution& e, const AttentionRows<float>& rows, AttentionKept& kept) {
  kept.before.clear();
  AttentionRows<float> to = rows;
  to.q = mapped(e, Role::q, rows.q, kept.q, kept.before);
  to.k = mapped(e, Role::k, rows.k, kept.k, kept.before);
  to.v = mapped(e, Role::v, rows.v, kept.v, kept.before);
  return to;
}

}  // namespace

void execute_again(const Execution& e, const AttentionRows<float>& rows, AttentionKept& kept) {
  mapped_rows(e, rows, kept);
}

void execute(const Execution& e, const AttentionRows<float>& rows, AttentionKept& kept) {
  const AttendShape& s = e.shape;
  const auto [q, k, v, out] = mapped_rows(e, rows, kept);
  show_rows(e, "q_mapped", Role::q, q), show_rows(e, "k_mapped", Role::k, k);
  show_rows(e, "v_mapped", Role::v, v);
  kept.lse.resize(std::size_t(s.B * s.H * s.queries));
  attend_tapped(e, {q, k, v, out}, kept.lse.data());
  kept.attended.clear();
  if (!e.plan.acts_on(Role::out)) return;
  const Place p = place_of(e, Role::out);
  kept.attended.resize(std::size_t(p.size()));
  copy_rows(p, {s.D}, rows.out, p.dense(kept.attended.data()));
  for (const Step& step : e.plan.steps) {
    if (!step.acts_on(Role::out)) continue;
    if (step.needs_input()) throw Error(Fault::bug, "the gradient of a step on the output needs its input");
    apply(step, Role::out, p.at(rows.out), rows.out.data);
  }
}

void execute_backward(const Execution& e, const AttentionRows<float>& rows, const AttentionKept& kept,
                      const AttentionRows<float>& d, Plan& dplan, const ExtrasGrad& dextras) {
  std::vector<const float*> before;
  for (const Scratch& rows_before : kept.before) before.push_back(rows_before.data());
  mapped_backward(e, Role::out, d.out, before, dplan);
  // The gradient of wide rows is wide.
  Scratch dq, dk, dv;
  const auto gradient = [&](Role role, const Scratch& own, Scratch& wide, const Heads<float>& narrow) {
    wide.resize(own.size());
    return kept_rows(e, role, wide, narrow);
  };
  const Heads<float> to_q = gradient(Role::q, kept.q, dq, d.q), to_k = gradient(Role::k, kept.k, dk, d.k),
                     to_v = gradient(Role::v, kept.v, dv, d.v);
  const Heads<float> out = kept_rows(e, Role::out, kept.attended, rows.out);
  attend_backward(
      widened(e),
      {read(kept_rows(e, Role::q, kept.q, rows.q)), read(kept_rows(e, Role::k, kept.k, rows.k)),
       read(kept_rows(e, Role::v, kept.v, rows.v)), read(out), kept.lse.data(), read(d.out), e.extras},
      e.plan.terms, {to_q, to_k, to_v, &dplan.terms, dextras});
  mapped_backward(e, Role::v, to_v, before, dplan);
  mapped_backward(e, Role::k, to_k, before, dplan);
  mapped_backward(e, Role::q, to_q, before, dplan);
  const auto narrow = [&](Role role, const Scratch& wide, const Heads<float>& from, const Heads<float>& to) {
    if (!wide.empty()) copy_rows(place_of(e, role), {role == Role::v ? e.shape.D : e.shape.K}, from, to);
  };
  narrow(Role::q, dq, to_q, d.q), narrow(Role::k, dk, to_k, d.k), narrow(Role::v, dv, to_v, d.v);
}

}  // namespace gnomon
