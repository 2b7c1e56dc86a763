#include "gnomon/combine/plan.h"

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
    const Widths more = a.encoding->widths();
    room.added.joined += more.joined, room.added.far += more.far;
  }
  for (OwnChannels& own : room.own) own.far += room.added.joined;
  return room;
}

// f(encoding, its channels, index into ends) for those that read content, or for the others. Those that do not come first.
template <class Body>
void each(std::span<const Acting> acting, bool content, const Body& f) {
  const Room room = room_of(acting);
  std::size_t part = 0;
  for (const bool reading : {false, true}) {
    for (std::size_t n = 0; n < acting.size(); ++n) {
      if (acting[n].encoding->reads_content() != reading) continue;
      if (reading == content) f(acting[n], room.own[n], part);
      ++part;
    }
  }
}
std::span<const Step> part_of(const Plan& plan, std::size_t part) {
  const std::size_t begin = part ? plan.ends[part - 1] : 0;
  return std::span(plan.steps).subspan(begin, plan.ends[part] - begin);
}
const Floats kNoTables;

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
    const Batch batch{places, kNoTables, a.w};
    a.encoding->map(batch, own, plan.steps);
    a.encoding->lower(batch, plan.terms);
    plan.ends.push_back(plan.steps.size());
  });
  return plan;
}
Terms compile_terms(std::span<const Acting> acting, const Placement& places, bool causal) {
  Terms terms = terms_for(places, causal);
  each(acting, false, [&](const Acting& a, const OwnChannels&, std::size_t) {
    a.encoding->lower({places, kNoTables, a.w}, terms);
  });
  return terms;
}
bool complete(std::span<const Acting> acting, const Positions& places, const Content& content, Plan& plan) {
  if (!reads_content(acting)) return false;
  each(acting, true, [&](const Acting& a, const OwnChannels& own, std::size_t) {
    const Batch batch{places, kNoTables, a.w, &content};
    a.encoding->map(batch, own, plan.steps);
    a.encoding->lower(batch, plan.terms);
    plan.ends.push_back(plan.steps.size());
  });
  return true;
}

void compile_backward(std::span<const Acting> acting, const Positions& places, const Plan& plan,
                      const Plan& dplan) {
  each(acting, false, [&](const Acting& a, const OwnChannels&, std::size_t part) {
    const Batch batch{places, kNoTables, a.w};
    a.encoding->map_backward(batch, part_of(plan, part), part_of(dplan, part), {a.dw});
    a.encoding->lower_backward(batch, dplan.terms, {a.dw});
  });
}
void complete_backward(std::span<const Acting> acting, const PlanAt& at, const Plan& plan, const Plan& dplan,
                       ContentGrad& grad) {
  each(acting, true, [&](const Acting& a, const OwnChannels&, std::size_t part) {
    const Batch batch{at.places, kNoTables, a.w, &at.content};
    a.encoding->map_backward(batch, part_of(plan, part), part_of(dplan, part), {a.dw, &grad});
    a.encoding->lower_backward(batch, dplan.terms, {a.dw, &grad});
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
