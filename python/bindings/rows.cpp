// What the steps of a plan make of rows of q, k, v or of what attention returns, forward and backward.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "bindings.h"
#include "gnomon/core/check.h"

namespace gnomon::python {
namespace {

Role role_of(const std::string& name) {
  if (name == "q") return Role::q;
  if (name == "k") return Role::k;
  if (name == "v") return Role::v;
  if (name == "out") return Role::out;
  throw Error(Fault::usage, "role: found " + name + "; allowed are q, k, v and out",
              {"role", name, "q, k, v, out", {}});
}

// Rows with the channels that steps append, dense.
struct Rows {
  std::int64_t B, H, T, channels, width;
  Floats numbers;
  RowLayout layout() const { return {B, T, H, H * T * width, width, T * width}; }
};
Rows rows_of(const ConstView& x, std::int64_t more) {
  const auto [B, H, T, D] = x.extents;
  Floats dense;
  widen(x, dense);
  Rows rows{B, H, T, D, D + more, Floats(std::size_t(B * H * T * (D + more)))};
  for (std::int64_t n = 0; n < B * H * T; ++n) std::copy_n(&dense[n * D], D, &rows.numbers[n * rows.width]);
  return rows;
}
std::int64_t added(const Plan& plan, Role role) {
  return role == Role::q || role == Role::k ? plan.added.joined + plan.added.far : 0;
}

struct Turn {
  Plan plan;
  Placement places;
  Role role;
};
Turn turn_of(const Scheme& s, const std::string& role, const Dense<double>& positions,
             const Dense<float>& w) {
  Placement places = placement_of(positions);
  Plan plan = compile(s.acting(span_of(w)), places, s.attention().config().causal);
  return {std::move(plan), std::move(places), role_of(role)};
}
void check_places(const Turn& turn, const ConstView& x) {
  const Positions places = turn.places;
  if (places.T() != x.tokens() || (places.rows != 1 && places.rows != x.sequences()))
    throw Error(Fault::usage, text("positions: found ", places.rows, " x ", places.T(), "; allowed are ",
                                   x.tokens(), " for all sequences, or for each of ", x.sequences()));
}
// Applies the steps; `before`: the rows as each step found them that needs them for its gradient.
void run(const Turn& turn, Rows& rows, std::vector<Floats>* before) {
  for (const Step& step : turn.plan.steps) {
    if (!step.acts_on(turn.role)) continue;
    if (before && step.needs_input()) before->push_back(rows.numbers);
    apply(step, turn.role, rows.layout(), rows.numbers.data());
  }
}

View whole(Rows& rows) {
  return heads_first<void>(rows.numbers.data(), Number::float32, {rows.B, rows.H, rows.T, rows.width});
}

// x (B,heads,tokens,D) to out (B,heads,tokens,D + added channels).
void map_rows(const Scheme& s, const Read& x, const std::string& role, const Dense<double>& positions,
              const Dense<float>& w, const Write& out) {
  const ConstView from = read("x", x);
  const View to = write("out", out);
  const nb::gil_scoped_release unlocked;
  const Turn turn = turn_of(s, role, positions, w);
  check_places(turn, from);
  Rows rows = rows_of(from, added(turn.plan, turn.role));
  run(turn, rows, nullptr);
  check_view("out", read_only(to), whole(rows).extents, true);
  narrow(rows.numbers, to);
}
// dout as `out` of map_rows; dx as x, overwritten; dw is added to.
void map_rows_backward(const Scheme& s, const Read& x, const std::string& role,
                       const Dense<double>& positions, const Dense<float>& w, const Read& dout,
                       const Write& dx, const DenseOut<float>& dw) {
  const ConstView from = read("x", x), d = read("dout", dout);
  const View to = write("dx", dx);
  const nb::gil_scoped_release unlocked;
  const Turn turn = turn_of(s, role, positions, w);
  check_places(turn, from);
  Rows rows = rows_of(from, added(turn.plan, turn.role));
  check_view("dout", d, whole(rows).extents, false);
  check_view("dx", read_only(to), from.extents, true);
  std::vector<Floats> before;
  run(turn, rows, &before);
  widen(d, rows.numbers);
  Plan dplan = turn.plan.zeros();
  for (std::size_t n = turn.plan.steps.size(); n-- > 0;) {
    const Step& step = turn.plan.steps[n];
    if (!step.acts_on(turn.role)) continue;
    const float* found = nullptr;
    Floats kept;
    if (step.needs_input()) kept = std::move(before.back()), before.pop_back(), found = kept.data();
    apply_backward(step, turn.role, rows.layout(), found, rows.numbers.data(), dplan.steps[n]);
  }
  compile_backward(s.acting(span_of(w), span_of(dw)), turn.places, turn.plan, dplan);
  Floats narrowed(std::size_t(rows.B * rows.H * rows.T * rows.channels));
  for (std::int64_t n = 0; n < rows.B * rows.H * rows.T; ++n)
    std::copy_n(&rows.numbers[n * rows.width], rows.channels, &narrowed[n * rows.channels]);
  narrow(narrowed, to);
}

}  // namespace

void bind_rows(nb::module_& m) {
  m.def("map_rows", map_rows);
  m.def("map_rows_backward", map_rows_backward);
}

}  // namespace gnomon::python
