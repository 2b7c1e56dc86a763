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
    room.own.push_back({D + room.added.joined, D + room.added.beside});
    const Widths more = a.encoding->widths();
    room.added.joined += more.joined, room.added.beside += more.beside;
  }
  for (OwnChannels& own : room.own) own.beside += room.added.joined;
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

bool has_rule(const Acting& a) {
  const std::vector<double> none;
  const Placement one = Placement::consecutive(0, 1);
  return a.encoding->rule({one, kNoTables, a.w}, {0, 0}) != nullptr;
}
void rule_backward(const Acting& a, const Plan& dplan, std::size_t& rule) {
  if (!has_rule(a)) return;
  const Floats& d = dplan.drules[rule++];
  for (std::size_t n = 0; n < d.size(); ++n) a.dw[n] += d[n];
}

}  // namespace

bool Plan::acts_on(Role role) const {
  return std::any_of(steps.begin(), steps.end(), [&](const Step& step) { return step.acts_on(role); });
}
Plan Plan::zeros() const {
  Plan z{{}, ends, terms.zeros(), {}, added};
  for (const auto& rule : terms.rules) z.drules.emplace_back(rule->param_count());
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
    if (auto rule = a.encoding->rule(batch, own)) plan.terms.rules.push_back(rule);
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
    if (auto rule = a.encoding->rule(batch, own)) plan.terms.rules.push_back(rule);
    plan.ends.push_back(plan.steps.size());
  });
  return true;
}

void compile_backward(std::span<const Acting> acting, const Positions& places, const Plan& plan,
                      const Plan& dplan) {
  std::size_t rule = 0;
  each(acting, false, [&](const Acting& a, const OwnChannels&, std::size_t part) {
    const Batch batch{places, kNoTables, a.w};
    a.encoding->map_backward(batch, part_of(plan, part), part_of(dplan, part), {a.dw});
    a.encoding->lower_backward(batch, dplan.terms, {a.dw});
    rule_backward(a, dplan, rule);
  });
}
void complete_backward(std::span<const Acting> acting, const PlanAt& at, const Plan& plan, const Plan& dplan,
                       ContentGrad& grad) {
  std::size_t rule = 0;
  for (const Acting& a : acting) rule += !a.encoding->reads_content() && has_rule(a) ? 1 : 0;
  each(acting, true, [&](const Acting& a, const OwnChannels&, std::size_t part) {
    const Batch batch{at.places, kNoTables, a.w, &at.content};
    a.encoding->map_backward(batch, part_of(plan, part), part_of(dplan, part), {a.dw, &grad});
    a.encoding->lower_backward(batch, dplan.terms, {a.dw, &grad});
    rule_backward(a, dplan, rule);
  });
}

}  // namespace gnomon
