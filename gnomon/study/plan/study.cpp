#include "gnomon/study/plan/study.h"

#include <algorithm>
#include <cmath>

#include "gnomon/core/error.h"
#include "gnomon/core/parallel.h"
#include "gnomon/core/text.h"
#include "gnomon/files/json-inl.h"

namespace gnomon {
namespace {

constexpr std::int64_t kMostSteps = std::int64_t{1} << 40;

std::int64_t share_of(std::int64_t steps, double share) {
  return std::max<std::int64_t>(1, std::llround(share * double(steps)));
}

// Of one arm at one budget, as far as it is known from what was found.
Tuned tuned_at(const StudyConfig& c, const Data& data, const Arm& arm, double share, const Found& found) {
  std::vector<TriedRate> tried;
  for (;;) {
    Tuned t = tune(c.tuning, tried);
    t.share = share;
    bool more = false;
    for (const double rate : t.open) {
      TriedRate here{rate, {}};
      for (std::int64_t n = 0; n < c.tuning.seeds; ++n) {
        const auto it = found.find(plan_of(c, data, tuning_trial(c, arm, share, rate, n)).key);
        if (it != found.end()) here.nats.push_back(it->second.failure.empty() ? it->second.nats : INFINITY);
      }
      if (std::int64_t(here.nats.size()) < c.tuning.seeds) continue;
      tried.push_back(here), more = true;
    }
    if (!more) return t;
  }
}

// Every arm's n-th rate, then every arm's next one; the largest budget first, which takes longest.
std::vector<RunPlan> tuning_runs(const StudyConfig& c, const Data& data,
                                 const std::vector<std::vector<Tuned>>& rates) {
  std::vector<RunPlan> all;
  const auto add = [&](std::size_t a, const Tuned& t, std::size_t r) {
    for (std::int64_t n = 0; r < t.tried.size() && n < c.tuning.seeds; ++n)
      all.push_back(plan_of(c, data, tuning_trial(c, c.arms[a], t.share, t.tried[r].rate, n)));
  };
  std::size_t most = 0;
  for (const auto& arm : rates) {
    for (const Tuned& t : arm) most = std::max(most, t.tried.size());
  }
  for (std::size_t r = 0; r < most; ++r) {
    for (std::size_t b = c.tuning.budgets.size(); b-- > 0;) {
      for (std::size_t a = 0; a < rates.size(); ++a) {
        if (c.tuning.seeds) add(a, rates[a].at(b), r);
      }
    }
  }
  std::stable_partition(all.begin(), all.end(), [&](const RunPlan& run) { return extends(c, run); });
  return all;
}

// What an arm has where nothing is tuned.
std::vector<Tuned> untuned(const StudyConfig& c, const Arm& arm) {
  if (c.tuning.given.empty()) return {{1, {}, {}, c.train.learning_rate, false}};
  const auto before = std::size_t(std::find(c.arms.begin(), c.arms.end(), arm) - c.arms.begin());
  std::vector<Tuned> all;
  for (std::size_t b = 0; b < c.budgets.size(); ++b)
    all.push_back({c.budgets[b], {}, {}, c.tuning.given.at(before * c.budgets.size() + b), false});
  return all;
}

bool has_rate(const std::vector<Tuned>& rates, double rate) {
  return std::any_of(rates.begin(), rates.end(), [&](const Tuned& t) { return t.chosen == rate; });
}

}  // namespace

Trial tuning_trial(const StudyConfig& c, const Arm& arm, double share, double rate, std::int64_t n) {
  return {arm.print(), kTuningSeeds + n, steps_at(c, arm, share), rate};
}

bool extends(const StudyConfig& c, const Trial& trial) {
  const auto& given = c.tuning.rates;
  return tunes(trial) && std::find(given.begin(), given.end(), trial.learning_rate) == given.end();
}

std::int64_t steps_at(const StudyConfig& c, const Arm& arm, double share) {
  return share_of(settings_of(arm, c, c.base()).train.steps, share);
}

Job job_of(const StudyConfig& config, const Data& data, const Trial& trial) {
  const Arm arm(trial.arm);
  Job job;
  static_cast<RunSettings&>(job) = settings_of(arm, config, config.base());
  const bool largest = trial.steps == job.train.steps;
  job.train.steps = trial.steps, job.train.learning_rate = trial.learning_rate;
  job.data = &data, job.spec = arm.spec, job.seed = trial.seed;
  job.held = tunes(trial) ? Held::validation : Held::test;
  job.keep.reach = config.longest();  // the same windows whatever is evaluated
  if (!largest || tunes(trial)) job.lengths.clear();
  return job;
}

RunPlan plan_of(const StudyConfig& config, const Data& data, const Trial& trial) {
  RunPlan plan = plan_of(job_of(config, data, trial), threads_granted(int(config.threads)));
  plan.arm = trial.arm;
  return plan;
}

std::vector<Tuned> tuned(const StudyConfig& c, const Data& data, const Arm& arm, const Found& found) {
  if (!c.tuning.seeds) return untuned(c, arm);
  std::vector<Tuned> all;
  for (const double share : c.tuning.budgets) all.push_back(tuned_at(c, data, arm, share, found));
  return all;
}

std::vector<RunPlan> plan_runs(const StudyConfig& c, const Data& data, const Found& found) {
  std::vector<std::vector<Tuned>> rates;
  for (const Arm& arm : c.arms) rates.push_back(tuned(c, data, arm, found));
  std::vector<RunPlan> all = tuning_runs(c, data, rates);
  for (std::int64_t seed = 1; seed <= c.seeds; ++seed) {
    for (auto share = c.budgets.rbegin(); share != c.budgets.rend(); ++share) {
      for (std::size_t a = 0; a < c.arms.size(); ++a) {
        if (const auto rate = followed(rates[a], *share).chosen)
          all.push_back(plan_of(c, data, {c.arms[a].print(), seed, steps_at(c, c.arms[a], *share), *rate}));
      }
    }
  }
  return all;
}

Work to_come(const StudyConfig& c, const Data& data, const Found& found) {
  Work work;
  for (const Arm& arm : c.arms) {
    const std::vector<Tuned> rates = tuned(c, data, arm, found);
    for (const double share : c.budgets) {
      if (followed(rates, share).chosen) continue;
      work.runs += std::size_t(c.seeds), work.steps += double(c.seeds * steps_at(c, arm, share));
    }
  }
  return work;
}

namespace {

// The runs that a results.json shows; none of a file that cannot be read: it is written anew, from the run folders.
std::vector<RunPlan> runs_shown(const Path& results) {
  std::vector<RunPlan> all;
  std::error_code none;
  if (!std::filesystem::exists(results, none)) return all;
  try {
    const StrictJson json = parse_json(read_file(results), results.string());
    for (const JsonValue& arm : JsonValue(json, results.string()).member("arms").list()) {
      for (const JsonValue& run : arm.member("runs").list())
        all.push_back({{run.member("arm").text(), run.member("seed").whole(1, kTuningSeeds - 1),
                        run.member("steps").whole(1, kMostSteps), run.member("learning_rate").number()},
                       run.member("key").text(),
                       run.member("asked").text(),
                       run.member("numerics").text()});
    }
  } catch (const Error&) {
    all.clear();
  }
  return all;
}

// Whether this study has a run like that one, whoever computed it; then what it would be here.
std::optional<RunPlan> same_here(const StudyConfig& c, const Data& data, const RunPlan& shown) {
  for (const Arm& arm : c.arms) {
    if (arm.print() != shown.arm) continue;
    if (shown.seed > c.seeds && (!tunes(shown) || shown.seed >= kTuningSeeds + c.tuning.seeds)) return {};
    if (!c.tuning.seeds && !has_rate(untuned(c, arm), shown.learning_rate)) return {};
    const RunPlan here = plan_of(c, data, shown);
    if (here.asked == shown.asked) return here;
  }
  return {};
}

}  // namespace

Leftovers leftovers(const StudyConfig& c, const Data& data, const StudyFolder& folder) {
  Leftovers left;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(folder.runs(), none)) {
    const Path result = RunFolder{entry.path()}.result();
    if (!std::filesystem::exists(result)) continue;
    try {
      const RunPlan found = result_from_json(result).plan;
      const auto here = same_here(c, data, found);
      if (!here || here->key == found.key) continue;
      ++left.other_numerics, left.found = found.numerics;
    } catch (const Error&) {  // of another version of gnomon; one of this plan is met when it is collected
    }
  }
  for (const RunPlan& run : runs_shown(folder.json())) {
    if (!same_here(c, data, run)) left.lost.push_back(text(run.arm, ", seed ", run.seed));
  }
  return left;
}

std::string Leftovers::in_the_way(const StudyFolder& folder) const {
  if (lost.empty()) return {};
  return text(folder.report().string(), " shows ", counted(lost.size(), "run"),
              " that this command does not have (", lost.front(), lost.size() > 1 ? "; ..." : "",
              "); give another folder with --out, keep these settings (you may add arms or seeds), or use "
              "--replace");
}

}  // namespace gnomon
