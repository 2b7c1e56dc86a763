#include "gnomon/spec/together.h"

#include <algorithm>
#include <set>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/kernels/terms.h"
#include "gnomon/spec/plan.h"

namespace gnomon {
namespace {

Plan alone(const Member& member) {
  const Encoding* const one[] = {member.encoding};
  return outline(one, Placement::consecutive(0, 1));
}

// Channels of the head that steps change in a way of their own: a factor of a whole row goes with everything.
std::set<std::int64_t> changed(const Plan& plan, unsigned roles, std::int64_t D) {
  std::set<std::int64_t> all;
  const auto add = [&](std::int64_t first, std::int64_t count) {
    for (std::int64_t c = first; c < first + count && c < D; ++c) all.insert(c);
  };
  for (const Step& step : plan.steps) {
    if (!(step.roles & roles)) continue;
    if (const auto* r = std::get_if<Rotate>(&step.what)) {
      for (std::int64_t n = 0; n < r->pairs; ++n) add(r->low(n), 1), add(r->low(n) + r->gap, 1);
    }
    if (const auto* s = std::get_if<Softplus>(&step.what)) add(0, s->width);
    if (const auto* p = std::get_if<TurnPlane>(&step.what)) add(0, p->width);
    if (const auto* m = std::get_if<MultiplyBlocks>(&step.what)) add(0, m->width());
  }
  return all;
}

// What a plan has room for once, and both do; "" if there is none.
std::string_view once(const Terms& a, const Terms& b) {
  for (const TermKind& kind : kTermKinds) {
    if (!kind.facts.once.empty() && kind.given(a) && kind.given(b)) return kind.facts.once;
  }
  return "";
}

bool reads(const Plan& plan, TermReads what) {
  return any_term(plan.terms, [&](const TermKind& kind) { return kind.facts.reads == what; });
}
// Steps that put a product of positions into the score.
bool widens(const Plan& plan) {
  return std::any_of(plan.steps.begin(), plan.steps.end(),
                     [](const Step& step) { return std::holds_alternative<Widen>(step.what); });
}
[[noreturn]] void refuse_product(const Member& one, std::string_view does, const Member& wide) {
  throw Error(Fault::usage, text(one.name, " ", does, " the product of q and k, but ", wide.name,
                                 " adds a product of positions to it; the two cannot act in the same layer"));
}

[[noreturn]] void refuse(const Member& a, const Member& b, std::string_view why) {
  throw Error(Fault::usage, text(a.name, " and ", b.name, " ", why, " in the same layer; only one may"));
}

void check_pair(const Member& a, const Member& b) {
  const auto multiplies = [](const Member& x, const Plan& of_x, const Member& y) {
    if (reads(of_x, TermReads::rows) && (y.acts & kQk)) {
      throw Error(Fault::usage, text(x.name, " uses q and k as projected, but ", y.name,
                                     " changes them; the two cannot act in the same layer"));
    }
  };
  const Plan of_a = alone(a), of_b = alone(b);
  multiplies(a, of_a, b), multiplies(b, of_b, a);
  const auto meets = [](const Member& x, const Plan& of_x, const Member& wide, const Plan& of_wide) {
    if (!widens(of_wide)) return;
    if (reads(of_x, TermReads::scores)) refuse_product(x, "reads", wide);
    if (of_x.terms.content_scale != 1) refuse_product(x, "scales", wide);
  };
  meets(a, of_a, b, of_b), meets(b, of_b, a, of_a);
  for (const unsigned roles : {Role::q | Role::k, Role::v | Role::out}) {
    const auto first = changed(of_a, roles, a.encoding->shape().D),
               second = changed(of_b, roles, b.encoding->shape().D);
    for (const std::int64_t channel : first) {
      if (second.count(channel))
        refuse(a, b,
               text("both change channel ", channel, " of ",
                    roles & unsigned(Role::q) ? "q and k" : "the values", " (the order would matter)"));
    }
  }
  const std::string_view both = once(of_a.terms, of_b.terms);
  if (!both.empty()) refuse(a, b, text("both ", both));
}

}  // namespace

void check_together(std::span<const Member> members) {
  for (std::size_t n = 0; n < members.size(); ++n) {
    for (std::size_t m = n + 1; m < members.size(); ++m) check_pair(members[n], members[m]);
  }
}

}  // namespace gnomon
