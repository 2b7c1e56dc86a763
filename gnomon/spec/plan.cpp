#include "gnomon/spec/plan.h"

#include <algorithm>

namespace gnomon {
namespace {

// Where the channels of each encoding begin: those of the product after the head's, the others after all of these.
struct Room {
  std::vector<OwnChannels> own;
  Widths added;
};
Room room_of(std::span<const Acting> acting) {
  Room room;
  for (const Acting& a : acting) {
    const std::int64_t D = a.encoding->shape().D;
    room.own.push_back({D + room.added.joined, D + room.added.far});
    const Widths more = widths(*a.encoding);
    room.added.joined += more.joined, room.added.far += more.far;
  }
  for (OwnChannels& own : room.own) own.far += room.added.joined;
  return room;
}

// f(encoding, its channels, index into ends) for those that read content, or for the others. Those that do not come first.
template <class Body>
void each(std::span<const Acting> acting, bool content, const Body& f) {
  const Room room = room_of(acting);
  std::size_t index = 0;
  for (const bool reading : {false, true}) {
    for (std::size_t n = 0; n < acting.size(); ++n) {
      if (acting[n].encoding->reads_content() != reading) continue;
      if (reading == content) f(acting[n], room.own[n], index);
      ++index;
    }
  }
}
std::span<const Step> steps_of(const Plan& plan, std::size_t n) {
  const std::size_t begin = n ? plan.ends[n - 1] : 0;
  return std::span(plan.steps).subspan(begin, plan.ends[n] - begin);
}
const Floats kNoTables;

void add_terms(const Acting& a, const Batch& batch, Terms& terms) {
  const auto* of = part<TermsPart>(*a.encoding);
  if (!of) return;
  terms.content_scale *= float(of->content_scale());
  of->lower(batch, terms);
}
void add_to(const Acting& a, const OwnChannels& own, const Batch& batch, Plan& plan) {
  if (const auto* map = part<MapPart>(*a.encoding)) map->map(batch, own, plan.steps);
  add_terms(a, batch, plan.terms);
  plan.ends.push_back(plan.steps.size());
}
struct Gradients {
  const Plan &plan, &dplan;
  std::size_t n;  // of the encoding among `ends`
};
void add_back(const Acting& a, const Batch& batch, const Gradients& at, const BatchGrad& grad) {
  if (const auto* map = part<MapPart>(*a.encoding))
    map->map_backward(batch, steps_of(at.plan, at.n), steps_of(at.dplan, at.n), grad);
  if (const auto* terms = part<TermsPart>(*a.encoding)) terms->lower_backward(batch, at.dplan.terms, grad);
}

}  // namespace

bool Plan::acts_on(Role role) const {
  return std::any_of(steps.begin(), steps.end(), [&](const Step& step) { return step.acts_on(role); });
}
Plan Plan::zeros() const {
  Plan z{{}, ends, terms.zeros(), added};
  for (const Step& step : steps) z.steps.push_back(step.zeros());
  return z;
}

bool reads_content(std::span<const Acting> acting) {
  return std::any_of(acting.begin(), acting.end(),
                     [](const Acting& a) { return a.encoding->reads_content(); });
}

Plan compile(std::span<const Acting> acting, const Placement& places, bool causal) {
  Plan plan;
  plan.terms = terms_for(places, causal);
  plan.added = room_of(acting).added;
  each(acting, false, [&](const Acting& a, const OwnChannels& own, std::size_t) {
    add_to(a, own, {places, kNoTables, a.w}, plan);
  });
  return plan;
}
Terms compile_terms(std::span<const Acting> acting, const Placement& places, bool causal) {
  Terms terms = terms_for(places, causal);
  each(acting, false, [&](const Acting& a, const OwnChannels&, std::size_t) {
    add_terms(a, {places, kNoTables, a.w}, terms);
  });
  return terms;
}
bool complete(std::span<const Acting> acting, const Positions& places, const Content& content, Plan& plan) {
  if (!reads_content(acting)) return false;
  each(acting, true, [&](const Acting& a, const OwnChannels& own, std::size_t) {
    add_to(a, own, {places, kNoTables, a.w, &content}, plan);
  });
  return true;
}

void compile_backward(std::span<const Acting> acting, const Positions& places, const Plan& plan,
                      const Plan& dplan) {
  each(acting, false, [&](const Acting& a, const OwnChannels&, std::size_t n) {
    add_back(a, {places, kNoTables, a.w}, {plan, dplan, n}, {a.dw});
  });
}
void complete_backward(std::span<const Acting> acting, const PlanAt& at, const Plan& plan, const Plan& dplan,
                       ContentGrad& grad) {
  each(acting, true, [&](const Acting& a, const OwnChannels&, std::size_t n) {
    add_back(a, {at.places, kNoTables, a.w, &at.content}, {plan, dplan, n}, {a.dw, &grad});
  });
}

Plan outline(std::span<const Encoding* const> encodings, const Placement& places) {
  if (encodings.empty()) return compile({}, places, true);
  const Shape& s = encodings.front()->shape();
  const std::int64_t HD = s.H * s.D, B = places.rows, T = places.T();
  std::vector<Floats> w;
  std::vector<Acting> acting;
  for (const Encoding* e : encodings) w.emplace_back(std::size_t(e->param_count()));
  for (std::size_t n = 0; n < w.size(); ++n) acting.push_back({encodings[n], w[n].data()});
  const Floats rows(std::size_t(B * T * HD)), x(std::size_t(B * T * s.C)),
      weights(std::size_t(HD * (s.C + 1)));
  const float* p = weights.data();
  const Content content{B,
                        T,
                        {x.data(), s.C},
                        {B, T, s.H, T * HD, HD, s.D},
                        rows.data(),
                        rows.data(),
                        {p, p, p + HD * s.C, p + HD * s.C}};
  Plan plan = compile(acting, places, s.causal);
  complete(acting, places, content, plan);
  return plan;
}

}  // namespace gnomon
