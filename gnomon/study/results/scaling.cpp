#include "gnomon/study/results/scaling.h"

#include <algorithm>
#include <cmath>

namespace gnomon {
namespace {

const ArmSummary* find(const StudySummary& s, const std::string& arm) {
  const auto at =
      std::find_if(s.arms.begin(), s.arms.end(), [&](const ArmSummary& a) { return a.arm == arm; });
  return at == s.arms.end() ? nullptr : &*at;
}

// The losses of seed 1, 2 and so on, as far as all have finished.
std::vector<double> by_seed(const AtBudget& b) {
  std::vector<double> all;
  for (const RunResult& r : b.runs) {
    if (r.plan.seed != std::int64_t(all.size()) + 1) break;
    all.push_back(r.nats);
  }
  return all;
}
double parameters_of(const StudySummary& s, const std::string& arm) {
  return double(
      Model(model_of(settings_of(Arm(arm), s.config, s.config.base()), Arm(arm).spec)).param_count());
}

class Collected {
 public:
  explicit Collected(const std::vector<Told>& studies)
      : studies_(studies), baseline_(name_of(*studies[0].summary)) {}
  static std::string name_of(const StudySummary& s) { return s.arms.at(s.baseline).arm; }

  ScaledArm arm(const std::string& name) const {
    ScaledArm a;
    a.arm = name;
    for (const Told& t : studies_) add(*t.summary, a);
    a.law = scaling_law(a.reached);
    if (name != baseline_) a.slopes = gnomon::slopes(a.differences);
    foretell(a);
    return a;
  }

 private:
  void add(const StudySummary& s, ScaledArm& a) const {
    const ArmSummary *own = find(s, a.arm), *base = find(s, baseline_);
    if (!own || !base) return;
    for (std::size_t n = 0; n < own->budgets.size(); ++n) {
      const AtBudget &b = own->budgets[n], &other = base->budgets[n];
      std::vector<double> found = by_seed(b), less = by_seed(other);
      if (found.empty()) continue;
      a.reached.push_back({double(b.runs[0].parameters), double(b.tokens), found});
      const std::size_t both = std::min(found.size(), less.size());
      if (a.arm == baseline_ || both == 0) continue;
      for (std::size_t i = 0; i < both; ++i) found[i] -= less[i];
      found.resize(both);
      a.differences.push_back({double(other.runs[0].parameters), double(other.tokens), found});
      a.intervals.push_back(b.difference);
    }
  }
  // What the smaller sizes say of the largest, by laws that know nothing of it.
  void foretell(ScaledArm& a) const {
    const StudySummary& largest = *studies_.back().summary;
    const auto planned = largest.config.arms;
    if (std::none_of(planned.begin(), planned.end(), [&](const Arm& one) { return one.print() == a.arm; }))
      return;
    const double own = parameters_of(largest, a.arm), others = parameters_of(largest, baseline_);
    const std::vector<Reached> points = smaller(a.arm), base = smaller(baseline_);
    for (const double share : largest.config.budgets) {
      const auto tokens = double(steps_at(largest.config, Arm(a.arm), share) * largest.config.train.batch *
                                 largest.config.model.length);
      const int seeds = int(largest.config.seeds);
      const ArmSummary* found = find(largest, a.arm);
      const AtBudget* at = nullptr;
      for (std::size_t n = 0; found && n < found->budgets.size(); ++n) {
        if (found->budgets[n].share == share && std::int64_t(found->budgets[n].runs.size()) == seeds)
          at = &found->budgets[n];
      }
      if (const auto e = predicted_loss(points, {own, tokens, seeds}))
        a.losses.push_back({tokens, *e, at ? std::optional(at->nats) : std::nullopt});
      if (a.arm == baseline_) continue;
      if (const auto e = predicted_difference(points, {own, tokens, seeds}, base, {others, tokens, seeds}))
        a.leads.push_back({tokens, *e, at ? std::optional(at->difference) : std::nullopt});
    }
  }
  std::vector<Reached> smaller(const std::string& name) const {
    ScaledArm a;
    a.arm = name;
    for (std::size_t n = 0; n + 1 < studies_.size(); ++n) add(*studies_[n].summary, a);
    return a.reached;
  }

  const std::vector<Told>& studies_;
  const std::string baseline_;
};

Scaling::Count count(const std::vector<ScaledArm>& arms, std::vector<Foretold> ScaledArm::*which) {
  Scaling::Count n;
  for (const ScaledArm& a : arms) {
    for (const Foretold& f : a.*which) {
      if (f.found) ++n.of, n.held += f.held();
    }
  }
  return n;
}

}  // namespace

bool Foretold::held() const { return found && std::abs(found->mean - expected.mean) <= expected.half_width; }
Scaling::Count Scaling::losses() const { return count(arms, &ScaledArm::losses); }
Scaling::Count Scaling::leads() const { return count(arms, &ScaledArm::leads); }

std::optional<Scaling> scaling_of(const std::vector<Told>& studies) {
  if (studies.size() < 3) return std::nullopt;
  const StudyConfig& first = studies[0].summary->config;
  double parameters = 0;
  for (const Told& t : studies) {
    const StudyConfig& c = t.summary->config;
    const double here = parameters_of(*t.summary, c.base().print());
    if (!c.has_text() || c.text_path != first.text_path || c.data != first.data || c.base() != first.base() ||
        here <= parameters)
      return std::nullopt;
    parameters = here;
  }
  Scaling s{Collected::name_of(*studies[0].summary), studies.back().name, {}};
  const Collected collected(studies);
  for (const Arm& arm : first.arms) s.arms.push_back(collected.arm(arm.print()));
  return s;
}

}  // namespace gnomon
