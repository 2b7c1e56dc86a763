#include "gnomon/nn/alone.h"

#include <algorithm>
#include <cmath>

#include "gnomon/core/check.h"
#include "gnomon/core/error.h"
#include "gnomon/core/half.h"
#include "gnomon/core/text.h"
#include "gnomon/kernels/terms.h"
#include "gnomon/nn/attention_inside.h"

namespace gnomon {
namespace {

[[noreturn]] void refuse(const Alone& at, const std::string& why) {
  throw Error(Fault::usage, text("attention: '", at.attention.spec(), "' ", why));
}

// The plan, where it is all that happens to rows.
Plan plan_of(const Alone& at) {
  for (const auto& each : at.attention.inside().scheme.attention) {
    if (each.encoding->reads_content() && (each.acts & (kQk | kValue)))
      refuse(at, "reads the content of a layer; rows alone do not determine the result");
  }
  return at.attention.inside().plan(at.places, at.w);
}

std::int64_t own_channels(const Alone& at, Role role) {
  const AttentionConfig& c = at.attention.config();
  return role == Role::v || role == Role::out ? c.value_dim : c.head_dim;
}

void check(const Alone& at, Role role, std::string_view name, const ConstView& rows) {
  const AttentionConfig& c = at.attention.config();
  const bool asks = role == Role::q || role == Role::out;
  check_view(name, rows,
             {rows.sequences(), asks ? c.heads : c.kv_heads, at.places.T(),
              own_channels(at, role) + added_channels(at.attention, role)},
             true);
  if (at.places.rows != 1 && at.places.rows != rows.sequences())
    refuse(at, text("has places for ", at.places.rows, " sequences; the rows have ", rows.sequences()));
}

std::int64_t numbers(const std::array<std::int64_t, 4>& e) { return e[0] * e[1] * e[2] * e[3]; }
RowLayout layout_of(const std::array<std::int64_t, 4>& e, const std::array<std::int64_t, 4>& steps) {
  return {e[0], e[2], e[1], steps[0], steps[2], steps[1]};
}
RowLayout dense(const std::array<std::int64_t, 4>& e) {
  return layout_of(e, {e[1] * e[2] * e[3], e[2] * e[3], e[3], 1});
}

// f(rows as float, how they lie): in place, or on a copy that is written back.
template <class F>
void with_floats(const View& view, const F& f) {
  if (view.plain()) return f(static_cast<float*>(view.data), layout_of(view.extents, view.steps));
  Floats own;
  widen(read_only(view), own);
  f(own.data(), dense(view.extents));
  narrow(own, view);
}

// Rows of 16 bits that one rotation alone acts on stay where they are; false: nothing was done.
bool rotated_in_place(const Plan& plan, Role role, Direction direction, const View& view) {
  if (view.number == Number::float32 || view.steps[3] != 1 || plan.added != Widths{}) return false;
  const auto acts = [&](const Step& s) { return s.acts_on(role); };
  if (std::count_if(plan.steps.begin(), plan.steps.end(), acts) != 1) return false;
  const Step& step = *std::find_if(plan.steps.begin(), plan.steps.end(), acts);
  const RowLayout rows = layout_of(view.extents, view.steps);
  return view.number == Number::bfloat16
             ? rotate_stored(step, role, rows, direction, static_cast<BFloat16*>(view.data))
             : rotate_stored(step, role, rows, direction, static_cast<Float16*>(view.data));
}

// Appended channels begin as 0.
void begin_added(const RowLayout& rows, std::int64_t own, std::int64_t channels, float* x) {
  for (std::int64_t n = 0; own < channels && n < rows.B * rows.T * rows.H; ++n) {
    float* row =
        x + n / (rows.T * rows.H) * rows.batch + n / rows.H % rows.T * rows.token + n % rows.H * rows.head;
    std::fill(row + own, row + channels, 0.0f);
  }
}

// The rows, dense, as each step found them whose gradient needs them.
std::vector<Floats> rows_before(const Alone& at, const Plan& plan, Role role, const ConstView& found) {
  std::vector<Floats> before(plan.steps.size());
  const auto needs = [&](const Step& s) { return s.acts_on(role) && s.needs_input(); };
  if (std::none_of(plan.steps.begin(), plan.steps.end(), needs)) return before;
  if (!found.data)
    refuse(at, "learns its map of rows; the gradient needs the rows as they were before the map");
  check(at, role, "rows", found);
  Floats x;
  widen(found, x);
  begin_added(dense(found.extents), own_channels(at, role), found.channels(), x.data());
  for (std::size_t n = 0; n < plan.steps.size(); ++n) {
    if (!plan.steps[n].acts_on(role)) continue;
    if (plan.steps[n].needs_input()) before[n] = x;
    apply(plan.steps[n], role, dense(found.extents), x.data());
  }
  return before;
}

}  // namespace

std::int64_t added_channels(const Attention& attention, Role role) {
  std::int64_t added = 0;
  for (const auto& each : attention.inside().scheme.attention)
    added += widths(*each.encoding).joined + widths(*each.encoding).far;
  return role == Role::q || role == Role::k ? added : 0;
}

void map_rows(const Alone& at, Role role, const View& rows) {
  check(at, role, "rows", read_only(rows));
  const Plan plan = plan_of(at);
  if (numbers(rows.extents) == 0 || rotated_in_place(plan, role, Direction::forward, rows)) return;
  with_floats(rows, [&](float* x, const RowLayout& layout) {
    begin_added(layout, own_channels(at, role), rows.channels(), x);
    for (const Step& step : plan.steps) {
      if (step.acts_on(role)) apply(step, role, layout, x);
    }
  });
}

void map_rows_backward(const Alone& at, Role role, const RowGradients& to) {
  check(at, role, "d", read_only(to.d));
  if (!to.dw.empty()) check_size("attention", "dw", to.dw.size(), at.attention.param_count());
  const Plan plan = plan_of(at);
  if (numbers(to.d.extents) == 0) return;
  if (to.found.data && to.found.extents != to.d.extents)
    check_view("rows", to.found, to.d.extents, false);                  // says what differs
  if (rotated_in_place(plan, role, Direction::backward, to.d)) return;  // it learns nothing
  const std::vector<Floats> before = rows_before(at, plan, role, to.found);
  Floats d;  // as `before` lies
  widen(read_only(to.d), d);
  Plan dplan = plan.zeros();
  for (std::size_t n = plan.steps.size(); n-- > 0;) {
    if (!plan.steps[n].acts_on(role)) continue;
    apply_backward(plan.steps[n], role, dense(to.d.extents), before[n].empty() ? nullptr : before[n].data(),
                   d.data(), dplan.steps[n]);
  }
  begin_added(dense(to.d.extents), own_channels(at, role), to.d.channels(), d.data());  // nobody found these
  narrow(d, to.d);
  if (!to.dw.empty()) compile_backward(at.attention.inside().acting(at.w, to.dw), at.places, plan, dplan);
}

void logit_table(const Alone& at, const AloneQueries& of, float* table) {
  const AttentionConfig& c = at.attention.config();
  const std::int64_t keys = at.places.T(), H = c.heads, Q = of.queries;
  check_extents(
      "bias table",
      {{"queries", Q, 0, keys}, {"first", of.first, 0, keys - Q}, {"rows of places", at.places.rows, 1, 1}});
  const Plan plan = at.attention.inside().plan(at.places, at.w);
  const Terms& t = plan.terms;
  const bool by_content =
      reads_content(at.attention.inside().acting(at.w, {})) ||
      any_term(t, [](const TermKind& kind) { return kind.facts.reads != TermReads::nothing; });
  if (by_content || plan.added != Widths{})
    refuse(at, "adds a bias that depends on q and k: there is no table of it");
  const std::int64_t pairs = count_numbers("bias table", {H, Q, keys});
  if (pairs == 0) return;
  check_pointers("bias table", pairs, {{"table", table}});
  // Attention of rows of one channel, all 0, shows its logits.
  const AttendShape shape{.B = 1,
                          .H = H,
                          .queries = Q,
                          .keys = keys,
                          .K = 1,
                          .D = 1,
                          .scale = 1,
                          .causal = c.causal,
                          .padding = at.places.padding.empty() ? nullptr : at.places.padding.data(),
                          .first = of.first};
  const Floats q(std::size_t(H * Q)), k(std::size_t(H * keys));
  Floats out(q.size()), lse(q.size());
  Extras extras;
  extras.logits = {table, pairs, Q * keys, keys};
  std::fill_n(table, pairs, -std::numeric_limits<float>::infinity());
  attend(shape, {q.data(), H * Q, 1, Q}, {k.data(), H * keys, 1, keys}, {k.data(), H * keys, 1, keys}, t,
         {out.data(), H * Q, 1, Q}, lse.data(), extras);
}

Floats position_vectors(std::string_view encoding, std::int64_t width, const Placement& places,
                        std::span<const float> w) {
  check_extents("position vectors", {{"width", width, 1, kMostWidth}});
  places.check();
  const auto made = make_encoding(encoding, {width, 1, width, std::max<std::int64_t>(places.T(), 1), true});
  const auto* input = part<InputPart>(*made);
  if (!input)
    throw Error(
        Fault::usage,
        text("'", encoding, "' is not an input encoding; allowed are encodings that act on the input"));
  if (made->reads_content())
    throw Error(Fault::usage,
                text("'", encoding, "' reads the word vectors; allowed are encodings of positions alone"));
  const Floats start = w.empty() ? initial_numbers(made->params(), 0) : Floats(w.begin(), w.end());
  check_size("position vectors", "w", start.size(), made->param_count());
  const Positions at = places;
  Floats e(std::size_t(count_numbers("position vectors", {at.size(), width})));
  const Floats tables = input->tables(at);
  if (!e.empty()) input->input({at, tables, start.data()}, e.data());
  return e;
}

void sample_positions(std::string_view sampler, const PositionDraw& draw, std::span<double> row) {
  const auto made =
      make_encoding(sampler, {64, 1, 64, std::max<std::int64_t>(std::int64_t(row.size()), 1), true});
  const auto* place = part<PlacePart>(*made);
  if (!place) throw Error(Fault::usage, text("'", sampler, "' is not a sampler of positions"));
  place->place(Random(draw.seed, "positions"), draw.number, draw.training, row);
}

}  // namespace gnomon
