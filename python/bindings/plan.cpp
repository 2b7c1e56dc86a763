// What attention executes, as arrays: for printing, and for other devices, whose gradients come back to parameters here.
#include "gnomon/spec/plan.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>

#include "bindings.h"
#include "gnomon/kernels/terms.h"

namespace gnomon::python {
namespace {

// What encodings read of a layer: q and k (B,H,T,D) and x (B,T,width), as floats.
struct Seen {
  std::optional<Dense<float>> q, k, x, projections;
};

// A plan, and what it was made of.
struct Compiled {
  std::shared_ptr<BoundScheme> scheme;
  Placement places;
  Floats w, x, projections, q, k;
  std::int64_t B;
  Plan plan;

  Content content() const {
    const Shape& s = scheme->shape();
    const std::int64_t T = places.T(), weight = s.H * s.D * s.C;
    const float* p = projections.empty() ? nullptr : projections.data();
    Projections<const float> of{};
    if (p) of = {p, p + weight, p + 2 * weight, p + 2 * weight + s.H * s.D};
    return {B, T, {x.data(), s.C}, {B, T, s.H, s.H * T * s.D, s.D, T * s.D}, q.data(), k.data(), of};
  }
};

void take(std::string_view name, const std::optional<Dense<float>>& from, std::int64_t size, Floats& to) {
  if (!from) throw Error(Fault::usage, text("plan: ", name, " is needed, but not given"));
  if (std::int64_t(from->size()) != size)
    throw Error(Fault::usage, text("plan: ", name, ": found ", from->size(), " numbers; allowed are ", size));
  to.assign(from->data(), from->data() + from->size());
}

std::unique_ptr<Compiled> compiled(std::shared_ptr<BoundScheme> scheme, const Dense<double>& positions,
                                   const Dense<float>& w, std::int64_t B, const Seen& seen) {
  auto c = std::make_unique<Compiled>();
  c->places = placement_of(positions, scheme->axes());
  c->w.assign(w.data(), w.data() + w.size());
  c->B = B;
  const Shape& s = scheme->shape();
  const auto all = scheme->attention().inside().acting(c->w, {});
  c->scheme = std::move(scheme);
  c->plan = compile(all, c->places, s.causal);
  if (!reads_content(all)) return c;
  const std::int64_t T = c->places.T();
  const unsigned reads = c->scheme->reads();
  if (reads & kReadsRows)
    take("q", seen.q, B * s.H * T * s.D, c->q), take("k", seen.k, B * s.H * T * s.D, c->k);
  if (reads & kReadsInput) take("x", seen.x, B * T * s.C, c->x);
  if (reads & kReadsProjections)
    take("projections", seen.projections, 2 * s.H * s.D * (s.C + 1), c->projections);
  complete(all, c->places, c->content(), c->plan);
  return c;
}

nb::list roles_of(const Step& step) {
  nb::list all;
  for (const auto& [role, name] :
       {std::pair{Role::q, "q"}, {Role::k, "k"}, {Role::v, "v"}, {Role::out, "out"}})
    if (step.acts_on(role)) all.append(name);
  return all;
}

using Extents = std::vector<std::size_t>;
struct StepFields {
  nb::dict& d;
  void say(const Rotate& r) const {
    const Extents e{std::size_t(r.heads), std::size_t(r.tokens), std::size_t(r.pairs)};
    d["kind"] = "rotate", d["first"] = r.first, d["pairs"] = r.pairs, d["stride"] = r.stride,
    d["gap"] = r.gap;
    d["cos"] = numpy<float>(r.cos, e), d["sin"] = numpy<float>(r.sin, e);
    if (!r.angles.empty()) d["angles"] = numpy<double>(r.angles, e);
  }
  void say(const Scale& s) const {
    const auto heads = std::size_t(s.heads);
    d["kind"] = "scale", d["width"] = s.width,
    d["factor"] = numpy<float>(s.factor, Extents{heads, s.factor.size() / heads});
  }
  void say(const Softplus& s) const { d["kind"] = "softplus", d["width"] = s.width; }
  void say(const TurnPlane& p) const {
    const Extents e{p.a.size() / std::size_t(p.width), std::size_t(p.width)};
    d["kind"] = "turn_plane", d["width"] = p.width, d["a"] = numpy<float>(p.a, e),
    d["b"] = numpy<float>(p.b, e);
    d["places"] = numpy<double>(p.places);
  }
  void say(const MultiplyBlocks& m) const {
    const auto size = std::size_t(m.size);
    d["kind"] = "multiply", d["size"] = m.size, d["width"] = m.width();
    d["matrices"] = numpy<float>(
        m.matrices, {std::size_t(m.heads), std::size_t(m.tokens), std::size_t(m.blocks), size, size});
  }
  void say(const Widen& w) const {
    const auto heads = std::size_t(w.heads), width = std::size_t(w.width);
    d["kind"] = "widen", d["first"] = w.first, d["width"] = w.width;
    d["columns"] = numpy<float>(w.columns, {w.columns.size() / (heads * width), heads, width});
  }
  void say(const Repeat& r) const { d["kind"] = "repeat", d["to"] = r.to, d["width"] = r.width; }
};
nb::list steps(const Compiled& c) {
  nb::list all;
  for (const Step& step : c.plan.steps) {
    nb::dict d;
    std::visit([&](const auto& what) { StepFields{d}.say(what); }, step.what);
    d["roles"] = roles_of(step), d["learns"] = step.learns;
    all.append(d);
  }
  return all;
}

// What the axes of arrays of terms count, by the names that plain.py knows.
std::string_view name_of(Dim dim) {
  switch (dim) {
    case Dim::none:
      return "";
    case Dim::sequences:
      return "sequences";
    case Dim::heads:
      return "heads";
    case Dim::both:
      return "both";
    case Dim::rows:
      return "rows";
    case Dim::queries:
      return "queries";
    case Dim::tokens:
      return "queries";  // all tokens are
    case Dim::keys:
      return "keys";
    case Dim::distances:
      return "distances";
    case Dim::K:
      return "channels";
    case Dim::D:
      return "channels";
    case Dim::own:
      return "own";
  }
  return "";
}
nb::str to_python(std::string_view name) { return nb::str(name.data(), name.size()); }
// Arrays, and by their names what their axes count; the kinds that are given.
nb::dict terms(const Compiled& c) {
  const Terms& t = c.plan.terms;
  const Shape& s = c.scheme->shape();
  const AttendShape all{.B = c.B,
                        .H = s.H,
                        .queries = c.places.T(),
                        .keys = c.places.T(),
                        .K = s.D,
                        .D = s.D,
                        .scale = 1,
                        .causal = s.causal};
  nb::dict d, arrays, axes;
  nb::list kinds;
  for (const TermKind& kind : kTermKinds)
    if (kind.given(t)) kinds.append(to_python(kind.facts.name));
  for (const TermArray& a : kTermArrays) {
    if ((t.*a.at).empty()) continue;
    const TermExtents extents = term_extents(all, t, a);
    nb::list names;
    for (std::size_t n = 0; n < a.axes(); ++n) names.append(to_python(name_of(a.dims[n])));
    arrays[to_python(a.name)] =
        numpy<float>(t.*a.at, Extents(extents.begin(), extents.begin() + std::max<std::size_t>(1, a.axes())));
    axes[to_python(a.name)] = names;
  }
  d["kinds"] = kinds, d["axes"] = axes;
  d["arrays"] = arrays;
  d["first_distance"] = t.first_distance, d["distances"] = t.distances;
  d["content_scale"] = t.content_scale, d["far_from"] = t.far_from;
  d["weights"] = t.weights == Weighting::softmax ? "softmax"
                 : t.weights == Weighting::stick ? "stick"
                                                 : "stick_current";
  for (const TermFixed& a : kTermFixed) d[to_python(a.name)] = numpy<float>(t.*a.at);
  const auto T = std::size_t(c.places.T());
  if (!t.first_key.empty()) {
    d["first_key"] = numpy<std::int32_t>(t.first_key, {t.first_key.size() / T, T});
    d["end_key"] = numpy<std::int32_t>(t.end_key, {t.end_key.size() / T, T});
  }
  if (!t.code_ranges.empty()) {
    const std::size_t groups = t.code_ranges.size();
    const Extents codes{t.code_of_key.size() / (groups * T), groups, T};
    d["code_of_query"] = numpy<double>(t.code_of_query, codes);
    d["code_of_key"] = numpy<double>(t.code_of_key, codes);
    nb::list ranges;
    for (const CodeRange& range : t.code_ranges) ranges.append(nb::make_tuple(range.first, range.count));
    d["code_ranges"] = ranges;
  }
  if (!t.places.empty()) d["places"] = numpy<double>(t.places, {t.places.size() / T, T});
  return d;
}

void fill(const nb::dict& from, const char* key, Floats& to) {
  if (!from.contains(key)) return;
  const auto a = nb::cast<Dense<float>>(from[key]);
  if (a.size() != to.size())
    throw Error(Fault::usage,
                text("gradient of ", key, ": found ", a.size(), " numbers; allowed are ", to.size()));
  std::copy(a.data(), a.data() + a.size(), to.begin());
}
struct FillStep {
  const nb::dict& d;
  void of(Rotate& r) const { fill(d, "cos", r.cos), fill(d, "sin", r.sin); }
  void of(Scale& s) const { fill(d, "factor", s.factor); }
  void of(TurnPlane& p) const { fill(d, "a", p.a), fill(d, "b", p.b); }
  void of(MultiplyBlocks& m) const { fill(d, "matrices", m.matrices); }
  void of(Widen& w) const { fill(d, "columns", w.columns); }
  void of(Softplus&) const {}
  void of(Repeat&) const {}
};

// Gradients of the arrays of steps() and of terms()["arrays"], by the same names, to those of w and of what was read.
nb::dict gradient(const Compiled& c, const nb::list& dsteps, const nb::dict& dterms) {
  Plan d = c.plan.zeros();
  for (std::size_t n = 0; n < d.steps.size(); ++n) {
    const auto of = nb::cast<nb::dict>(dsteps[n]);
    if (d.steps[n].learns) std::visit([&](auto& what) { FillStep{of}.of(what); }, d.steps[n].what);
  }
  for (const TermArray& a : kTermArrays)
    if (!(c.plan.terms.*a.at).empty()) fill(dterms, std::string(a.name).c_str(), d.terms.*a.at);
  Floats dw(c.w.size()), dx(c.x.size()), dq(c.q.size()), dk(c.k.size()), dp(c.projections.size());
  const auto all = c.scheme->attention().inside().acting(c.w, dw);
  compile_backward(all, c.places, c.plan, d);
  if (reads_content(all)) {
    const Shape& s = c.scheme->shape();
    const std::int64_t weight = s.H * s.D * s.C;
    Projections<float> of{};
    if (!dp.empty())
      of = {dp.data(), dp.data() + weight, dp.data() + 2 * weight, dp.data() + 2 * weight + s.H * s.D};
    const Content content = c.content();
    ContentGrad grad{{dx.data(), s.C}, dq.data(), dk.data(), of};
    complete_backward(all, {c.places, content}, c.plan, d, grad);
  }
  nb::dict out;
  out["w"] = numpy<float>(dw), out["x"] = numpy<float>(dx), out["projections"] = numpy<float>(dp);
  out["q"] = numpy<float>(dq), out["k"] = numpy<float>(dk);
  return out;
}

}  // namespace

void bind_plan(nb::module_& m) {
  nb::class_<Seen>(m, "Seen")
      .def(nb::init<>())
      .def_rw("q", &Seen::q, nb::arg().none())
      .def_rw("k", &Seen::k, nb::arg().none())
      .def_rw("x", &Seen::x, nb::arg().none())
      .def_rw("projections", &Seen::projections, nb::arg().none());
  nb::class_<Compiled>(m, "Plan")
      .def("__str__", [](const Compiled& c) { return describe(c.plan); })
      .def_prop_ro("joined", [](const Compiled& c) { return c.plan.added.joined; })
      .def_prop_ro("far", [](const Compiled& c) { return c.plan.added.far; })
      .def_prop_ro("steps", steps)
      .def_prop_ro("terms", terms)
      .def("gradient", gradient);
  m.def("plan", compiled);
}

}  // namespace gnomon::python
