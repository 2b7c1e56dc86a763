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
  if (!from) throw Error(Fault::usage, text("plan: ", name, " is read, and not given"));
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
  const auto all = scheme->attention().acting(c->w, {});
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
    d["kind"] = "scale", d["width"] = s.width, d["factor"] = numpy<float>(s.factor);
  }
  void say(const Softplus& s) const { d["kind"] = "softplus", d["width"] = s.width; }
  void say(const TurnPlane& p) const {
    const Extents e{p.a.size() / std::size_t(p.width), std::size_t(p.width)};
    d["kind"] = "turn_plane", d["width"] = p.width, d["a"] = numpy<float>(p.a, e),
    d["b"] = numpy<float>(p.b, e);
    d["places"] = numpy<double>(p.places);
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

// The extents of an array of terms.
Extents extents_of(const Compiled& c, const TermArray& a) {
  const Terms& t = c.plan.terms;
  const auto H = std::size_t(c.scheme->shape().H), R = std::size_t(t.distances), size = (t.*a.at).size(),
             B = std::size_t(c.B), T = std::size_t(c.places.T());
  if (a.name == "curve_slope" || a.name == "curve_intercept") return {H, size / H};
  if (a.name == "tilt") return {H};
  if (a.name == "counted") return {size / std::size_t(c.scheme->shape().D), std::size_t(c.scheme->shape().D)};
  if (a.name == "mix_up") return {t.mix_up_bias.size(), 2 * H};
  if (a.name == "mix_down") return {H, t.mix_up_bias.size()};
  if (a.of == TermOf::head) return a.name == "by_distance" ? Extents{H, R} : Extents{H, R, size / (H * R)};
  if (a.of == TermOf::head_of_sequence) {
    const std::size_t sequences = size % (B * H * T) ? 1 : B;
    const std::size_t width = size / (sequences * H * T);
    const bool wide = a.name.starts_with("profile") || a.name.starts_with("forget");
    return wide ? Extents{sequences, H, T, width} : Extents{sequences, H, T};
  }
  if (a.of == TermOf::tokens) return {size / T, T};
  return {size};
}
nb::dict terms(const Compiled& c) {
  const Terms& t = c.plan.terms;
  nb::dict d, arrays;
  for (const TermArray& a : kTermArrays)
    if (!(t.*a.at).empty())
      arrays[nb::str(a.name.data(), a.name.size())] = numpy<float>(t.*a.at, extents_of(c, a));
  d["arrays"] = arrays;
  d["first_distance"] = t.first_distance, d["distances"] = t.distances;
  d["content_scale"] = t.content_scale, d["far_from"] = t.far_from;
  d["weights"] = t.weights == Weighting::softmax ? "softmax"
                 : t.weights == Weighting::stick ? "stick"
                                                 : "stick_current";
  d["curve_knots"] = numpy<float>(t.curve_knots);
  const auto T = std::size_t(c.places.T());
  if (!t.first_key.empty()) {
    d["first_key"] = numpy<std::int32_t>(t.first_key, {t.first_key.size() / T, T});
    d["end_key"] = numpy<std::int32_t>(t.end_key, {t.end_key.size() / T, T});
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
  const auto all = c.scheme->attention().acting(c.w, dw);
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
