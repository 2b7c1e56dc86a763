#include "gnomon/study/results/summary.h"

#include <algorithm>
#include <cmath>

#include "gnomon/core/text.h"
#include "gnomon/study/results/contrast.h"

namespace gnomon {
namespace {

double flops_of(const RunResult& r, const StudyConfig& c) {
  return r.flops_per_token * double(r.plan.steps * c.train.batch * c.model.length);
}

// Standard deviation over seeds of the paired differences; NaN for fewer than two.
double deviation_over_seeds(const AtBudget& a, const AtBudget& b) {
  std::vector<double> d;
  for (const RunResult& x : a.runs) {
    for (const RunResult& y : b.runs) {
      if (x.plan.seed == y.plan.seed) d.push_back(x.nats - y.nats);
    }
  }
  if (d.size() < 2) return std::nan("");
  double mean = 0, squares = 0;
  for (const double x : d) mean += x / double(d.size());
  for (const double x : d) squares += (x - mean) * (x - mean);
  return std::sqrt(squares / double(d.size() - 1));
}

// The runs of an arm, sorted to where they belong.
class Collected {
 public:
  Collected(const StudyConfig& config, const Data& data, const Found& found)
      : config_(config), data_(data), found_(found) {}

  ArmSummary arm(const Arm& arm) const {
    ArmSummary a;
    a.arm = arm.print();
    a.rates = tuned(config_, data_, arm, found_);
    for (const Tuned& t : a.rates) add_tuning(arm, t, a);
    for (const double share : config_.budgets) {
      AtBudget b;
      b.share = share, b.rate = followed(a.rates, share).chosen;
      b.at_edge = followed(a.rates, share).at_edge;
      const std::int64_t steps = steps_at(config_, arm, share);
      b.tokens = steps * config_.train.batch * config_.model.length;
      b.flops = 0;
      for (std::int64_t seed = 1; seed <= config_.seeds && b.rate; ++seed) {
        const RunResult* r = at({a.arm, seed, steps, *b.rate});
        if (!r) continue;
        b.flops = flops_of(*r, config_);
        (r->failure.empty() ? b.runs : b.failed).push_back(*r);
      }
      b.nats = interval(b.runs, losses);
      a.budgets.push_back(std::move(b));
    }
    std::vector<double> speeds;
    for (const RunResult& r : a.largest().runs) {
      speeds.push_back(r.cost.tokens_per_second);
      a.peak_memory_bytes = std::max(a.peak_memory_bytes, r.cost.peak_memory_bytes);
    }
    a.tokens_per_second = median(speeds);
    return a;
  }

 private:
  void add_tuning(const Arm& arm, const Tuned& t, ArmSummary& a) const {
    for (const TriedRate& tried : t.tried) {
      for (std::int64_t n = 0; n < config_.tuning.seeds; ++n) {
        if (const RunResult* r = at(tuning_trial(config_, arm, t.share, tried.rate, n)))
          a.tuning.push_back(*r);
      }
    }
  }
  const RunResult* at(const Trial& trial) const {
    const auto it = found_.find(plan_of(config_, data_, trial).key);
    return it == found_.end() ? nullptr : &it->second;
  }
  const StudyConfig& config_;
  const Data& data_;
  const Found& found_;
};

void count_answers(ArmSummary::AtLength& at, const std::vector<RunResult>& runs, std::size_t l) {
  std::vector<std::int64_t> right;
  std::int64_t asked = 0;
  for (const RunResult& r : runs) {
    const LengthLoss& here = r.by_length.at(l);
    if (!here.right) continue;
    right.push_back(here.right->right), asked = here.right->asked;
    at.solved += here.right->share() >= kSolved;
    at.by_depth.resize(here.by_depth.size());
    for (std::size_t d = 0; d < here.by_depth.size(); ++d)
      at.by_depth[d].right += here.by_depth[d].right, at.by_depth[d].asked += here.by_depth[d].asked;
  }
  if (right.empty()) return;
  at.share = share_interval(right, asked);
  for (const std::int64_t n : right) at.mean_share += double(n) / double(asked) / double(right.size());
}

// Every run of the largest budget has the same lengths; without one there are none to tell of.
std::vector<LengthLoss> lengths_of(const std::vector<ArmSummary>& arms) {
  for (const ArmSummary& a : arms) {
    if (!a.largest().runs.empty()) return a.largest().runs.front().by_length;
  }
  return {};
}

void measure_against(ArmSummary& a, const ArmSummary& base, const std::vector<LengthLoss>& lengths) {
  for (std::size_t i = 0; i < a.budgets.size(); ++i)
    a.budgets[i].difference = difference(a.budgets[i].runs, base.budgets[i].runs, losses);
  for (std::size_t l = 0; l < lengths.size(); ++l) {
    const Blocks of = losses_at(l);
    ArmSummary::AtLength at{lengths[l].factor, lengths[l].tokens, {}, {}, {}, {}, 0, 0, {}};
    if (const Estimate e = interval(a.largest().runs, of); e.n > 0) at.nats = e;
    if (const Estimate d = difference(a.largest().runs, base.largest().runs, of); d.n > 0) at.difference = d;
    count_answers(at, a.largest().runs, l);
    a.by_length.push_back(at);
  }
  const double deviation = deviation_over_seeds(a.largest(), base.largest());
  a.detectable = std::isnan(deviation) ? deviation : detectable_effect(deviation, a.largest().difference.n);
}

// What the arms' differences say, corrected for how many there are. A family is a list of places for answers.
struct Place {
  const Estimate* difference;
  std::optional<Comparison>* answer;
};
void decide(const std::vector<Place>& family, double margin) {
  std::vector<Estimate> differences;
  for (const Place& p : family) differences.push_back(*p.difference);
  if (differences.empty()) return;
  const std::vector<Comparison> all = compare(differences, margin);
  for (std::size_t i = 0; i < all.size(); ++i) *family[i].answer = all[i];
}

// The primary family: every arm against the baseline after the largest budget, at the training length and at twice it. Every
// smaller budget is a family of its own, and so is every arm against the best.
void decide_all(StudySummary& s) {
  const double margin = s.config.smallest_effect;
  for (std::size_t b = 0; b < s.config.budgets.size(); ++b) {
    std::vector<Place> family;
    for (std::size_t i = 0; i < s.arms.size(); ++i) {
      AtBudget& at = s.arms[i].budgets[b];
      if (i == s.baseline) continue;
      if (at.difference.n > 0) family.push_back({&at.difference, &at.comparison});
      for (auto& l : s.arms[i].by_length) {
        if (b + 1 == s.config.budgets.size() && l.factor == 2 && l.difference)
          family.push_back({&*l.difference, &l.comparison});
      }
    }
    decide(family, margin);
  }
  std::vector<Estimate> to_best;
  for (const ArmSummary& a : s.arms)
    to_best.push_back(difference(a.largest().runs, s.arms.front().largest().runs, losses));
  std::vector<Place> family;
  for (std::size_t i = 1; i < s.arms.size(); ++i) {
    if (to_best[i].n > 0) family.push_back({&to_best[i], &s.arms[i].to_best});
  }
  decide(family, margin);
}

// Of two arms after the largest budget, the better one came to the other's loss with less computing: how many times less. Below
// 1 where the baseline is the better one.
SpeedUp speed_up_over(const std::vector<Budget>& base, const std::vector<Budget>& own) {
  if (own.back().loss >= base.back().loss) return speed_up(base, own.back(), power_law(base));
  const SpeedUp needs = speed_up(own, base.back(), power_law(own));
  using enum SpeedUp::Bound;
  return {1 / needs.factor, needs.bound == at_most ? at_least : needs.bound == at_least ? at_most : equal};
}

void speed_up_all(StudySummary& s) {
  const auto curve = [](const ArmSummary& a) {
    std::vector<Budget> all;
    for (const AtBudget& b : a.budgets) {
      const bool larger = all.empty() || b.flops > all.back().compute;  // shares of few steps may be equal
      if (!b.runs.empty() && larger) all.push_back({b.flops, b.nats.mean});
    }
    return all;
  };
  const std::vector<Budget> base = curve(s.arms[s.baseline]);
  for (ArmSummary& a : s.arms) {
    const std::vector<Budget> own = curve(a);
    if (base.size() >= 2 && own.size() >= 2) a.speed_up = speed_up_over(base, own);
  }
  for (std::size_t i = 0; i < s.arms.size(); ++i) {
    for (std::size_t k = i + 1; k < s.arms.size(); ++k) {
      const std::vector<Budget> x = curve(s.arms[i]), y = curve(s.arms[k]);
      if (x.size() < 2 || y.size() < 2) continue;
      for (const double flops : crossings(x, y)) s.crossings.push_back({s.arms[i].arm, s.arms[k].arm, flops});
    }
  }
}

}  // namespace

StudySummary summarise(const StudyConfig& config, const Data& data, const Found& found) {
  StudySummary s;
  s.config = config;
  s.planned = plan_runs(config, data, found).size() + to_come(config, data, found).runs;
  const Collected collected(config, data, found);
  for (const Arm& arm : config.arms) {
    s.arms.push_back(collected.arm(arm));
    const ArmSummary& a = s.arms.back();
    const auto count = [&](const RunResult& r) {
      (r.failure.empty() ? s.finished : s.failed) += 1;
      s.flops += flops_of(r, config);
    };
    for (const AtBudget& b : a.budgets) {
      for (const auto* runs : {&b.runs, &b.failed}) std::for_each(runs->begin(), runs->end(), count);
    }
    for (const RunResult& r : a.tuning) count(r), s.tuning_flops += flops_of(r, config);
  }
  std::stable_sort(s.arms.begin(), s.arms.end(), [](const ArmSummary& x, const ArmSummary& y) {
    const AtBudget &a = x.largest(), &b = y.largest();
    return a.runs.empty() != b.runs.empty() ? b.runs.empty() : !a.runs.empty() && a.nats.mean < b.nats.mean;
  });
  const std::string base = config.base().print();
  const auto at =
      std::find_if(s.arms.begin(), s.arms.end(), [&](const ArmSummary& a) { return a.arm == base; });
  s.baseline = std::size_t(at - s.arms.begin());
  const ArmSummary baseline = *at;
  const std::vector<LengthLoss> lengths = lengths_of(s.arms);
  for (ArmSummary& a : s.arms) measure_against(a, baseline, lengths);
  decide_all(s);
  speed_up_all(s);
  s.reference = data.reference(), s.metric = data.metric(), s.chance = data.chance(),
  s.trained = data.trained(), s.unit = data.unit();
  return s;
}

}  // namespace gnomon
