#include "gnomon/claims/answer.h"

#include <chrono>

#include "gnomon/core/error.h"

namespace gnomon::claims {
namespace {

Answered measured(const Claim& c, Desk& desk) {
  const auto start = std::chrono::steady_clock::now();
  Answered a{&c, {}, Verdict::unmeasurable, 0};
  try {
    a.finding = c.measure(desk);
    a.verdict = judge(c, a.finding, desk.quick);
  } catch (const NotMeasurable& missing) {
    a.finding.answer = missing.what();
  } catch (const Error& refused) {  // a lens that was given what this text makes of it: no rows, no variance
    if (refused.fault() != Fault::usage) throw;
    a.finding.answer = text("The text gives too little to look at: ", refused.what(), ".");
  }
  a.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return a;
}

}  // namespace

std::optional<std::vector<Answered>> answer(Desk& desk, const std::vector<const Claim*>& claims,
                                            const MeasureHooks& hooks) {
  std::vector<Recipe> needed;
  for (const Claim* c : claims) {
    require_decidable(*c);
    if (!c->recipes) continue;
    for (Recipe& r : c->recipes(desk)) needed.push_back(std::move(r));
  }
  if (!desk.train(needed, hooks.train)) return std::nullopt;
  hooks.trained();
  std::vector<Answered> out;
  for (const Claim* c : claims) {
    out.push_back(measured(*c, desk));
    hooks.measured(out.back());
  }
  return out;
}

}  // namespace gnomon::claims
