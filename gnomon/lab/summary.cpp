#include "gnomon/lab/summary.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"

namespace gnomon {
namespace {

// What is compared of a run: its mean loss, in blocks of the text. Empty: not defined.
using Blocks = std::function<const std::vector<double>&(const RunResult&)>;

const std::vector<double>& own_blocks(const RunResult& r) { return r.by_block; }

std::vector<double> losses(const AtBudget& at, const Blocks& of) {
  std::vector<double> all;
  for (const RunResult& run : at.runs) all.insert(all.end(), of(run).begin(), of(run).end());
  return all;
}

// Without runs, and where nothing is defined: of none.
Estimate over(const std::vector<double>& values, const std::vector<RunResult>& runs) {
  return values.empty() ? Estimate{0, std::nan(""), 0} : crossed_interval(values, std::int64_t(runs.size()));
}

Estimate interval(const AtBudget& at, const Blocks& of) { return over(losses(at, of), at.runs); }

// Of the runs whose seed both have.
Estimate difference(const AtBudget& arm, const AtBudget& base, const Blocks& of) {
  AtBudget a = arm, b = base;
  const auto keep_common = [](std::vector<RunResult>& own, const std::vector<RunResult>& others) {
    std::erase_if(own, [&](const RunResult& r) {
      return std::none_of(others.begin(), others.end(),
                          [&](const RunResult& o) { return o.plan.seed == r.plan.seed; });
    });
  };
  keep_common(a.runs, base.runs), keep_common(b.runs, arm.runs);
  std::vector<double> x = losses(a, of);
  const std::vector<double> y = losses(b, of);
  if (x.size() != y.size()) return over({}, {});  // not defined for one of them
  for (std::size_t i = 0; i < x.size(); ++i) x[i] -= y[i];
  return over(x, a.runs);
}

double flops_of(const RunResult& r, const StudyConfig& c) {
  return r.flops_per_token * double(r.plan.steps * c.train.batch * c.model.length);
}

// The runs of an arm, sorted to where they belong.
class Collected {
 public:
  Collected(const StudyConfig& config, const Corpus& corpus, const Found& found)
      : config_(config), corpus_(corpus), found_(found) {}

  ArmSummary arm(const std::string& words) const {
    const Arm arm = Arm::parse(words);
    ArmSummary a;
    a.arm = arm.print();
    a.rate = tuned(config_, corpus_, arm, found_);
    for (const TriedRate& tried : a.rate.tried) {
      for (std::int64_t n = 0; n < config_.tuning.seeds; ++n)
        if (const RunResult* r =
                at({a.arm, kTuningSeeds + n, steps_at(config_, arm, config_.tuning.share), tried.rate}))
          a.tuning.push_back(*r);
    }
    for (const double share : config_.budgets) {
      AtBudget b;
      b.share = share;
      const std::int64_t steps = steps_at(config_, arm, share);
      b.tokens = steps * config_.train.batch * config_.model.length;
      b.flops = 0;
      for (std::int64_t seed = 1; seed <= config_.seeds && a.rate.chosen; ++seed) {
        const RunResult* r = at({a.arm, seed, steps, *a.rate.chosen});
        if (!r) continue;
        b.flops = flops_of(*r, config_);
        (r->failure.empty() ? b.runs : b.failed).push_back(*r);
      }
      b.nats = interval(b, own_blocks);
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
  const RunResult* at(const Trial& trial) const {
    const auto it = found_.find(plan_of(config_, corpus_, trial).key);
    return it == found_.end() ? nullptr : &it->second;
  }
  const StudyConfig& config_;
  const Corpus& corpus_;
  const Found& found_;
};

void compare(ArmSummary& a, const ArmSummary& base, const StudyConfig& config) {
  for (std::size_t i = 0; i < a.budgets.size(); ++i)
    a.budgets[i].difference = difference(a.budgets[i], base.budgets[i], own_blocks);
  for (std::size_t l = 0; l < config.lengths.size(); ++l) {
    const Blocks of = [l](const RunResult& r) -> const std::vector<double>& {
      return r.by_length.at(l).by_block;
    };
    ArmSummary::AtLength at{config.lengths[l], config.tokens_at(config.lengths[l]), {}, {}};
    if (const Estimate e = interval(a.largest(), of); e.n > 0) at.nats = e;
    if (const Estimate d = difference(a.largest(), base.largest(), of); d.n > 0) at.difference = d;
    a.by_length.push_back(at);
  }
}

}  // namespace

StudySummary summarise(const StudyConfig& config, const Corpus& corpus, const Found& found) {
  StudySummary s;
  s.config = config;
  s.planned = plan_runs(config, corpus, found).size() + to_come(config, corpus, found).runs;
  const Collected collected(config, corpus, found);
  for (const auto& words : config.arms) {
    s.arms.push_back(collected.arm(words));
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
  const std::string base = Spec::parse(config.baseline).print();
  const auto at =
      std::find_if(s.arms.begin(), s.arms.end(), [&](const ArmSummary& a) { return a.arm == base; });
  s.baseline = std::size_t(at - s.arms.begin());
  const ArmSummary baseline = *at;
  for (ArmSummary& a : s.arms) compare(a, baseline, config);
  return s;
}

std::string results_csv(const StudySummary& s) {
  const auto cell = [](const std::string& x) {
    return x.find_first_of(",\"\n") == std::string::npos ? x : "\"" + x + "\"";
  };
  std::string out =
      "arm,purpose,learning_rate,steps,seed,key,status,parameters,training_flops_per_token,nats_per_byte,"
      "bits_per_byte,"
      "tokens_per_second,peak_memory_bytes";
  for (const double factor : s.config.lengths)
    out += text(",nats_last_", s.config.score, "_at_", shortest(factor), "x");
  out += "\n";
  const auto row = [&](const std::string& arm, const RunResult& r) {
    const bool ok = r.failure.empty();
    out += text(cell(arm), ",", tunes(r.plan) ? "tuning" : "test", ",", shortest(r.plan.learning_rate), ",",
                r.plan.steps, ",", r.plan.seed, ",", r.plan.key, ",", ok ? "done" : cell(r.failure), ",",
                r.parameters, ",", shortest(r.flops_per_token), ",", ok ? shortest(r.nats) : "", ",",
                ok ? shortest(r.nats / std::log(2.0)) : "", ",",
                shortest(std::round(r.cost.tokens_per_second)), ",", r.cost.peak_memory_bytes);
    for (std::size_t l = 0; l < s.config.lengths.size(); ++l)
      out += "," + (l < r.by_length.size() && r.by_length[l].nats ? shortest(*r.by_length[l].nats) : "");
    out += "\n";
  };
  for (const auto& arm : s.arms) {
    for (const RunResult& r : arm.tuning) row(arm.arm, r);
    for (const AtBudget& b : arm.budgets) {
      for (const auto* runs : {&b.runs, &b.failed}) {
        for (const RunResult& r : *runs) row(arm.arm, r);
      }
    }
  }
  return out;
}

namespace {

using Json = nlohmann::ordered_json;

Json json_of(const Estimate& e) { return {{"mean", e.mean}, {"half_width_95", e.half_width}, {"n", e.n}}; }

Json json_of(const RunResult& r) {
  Json j = Json::parse(result_json(r));
  j.erase("sha256");  // the seal of result.json, which covers the cost too
  return j;
}

Json json_of(const AtBudget& b) {
  return {{"share", b.share},
          {"tokens", b.tokens},
          {"flops", b.flops},
          {"nats_per_byte", b.nats.mean},
          {"half_width_95", b.nats.half_width},
          {"n", b.nats.n},
          {"difference_to_baseline", json_of(b.difference)},
          {"failed", b.failed.size()}};
}

Json json_of(const ArmSummary& arm) {
  const AtBudget& largest = arm.largest();
  Json a{{"arm", arm.arm},
         {"learning_rate", arm.rate.chosen ? Json(*arm.rate.chosen) : Json()},
         {"rate_at_edge", arm.rate.at_edge},
         {"rates", Json::array()},
         {"budgets", Json::array()},
         {"nats_per_byte", json_of(largest.nats)},
         {"bits_per_byte", largest.nats.mean / std::log(2.0)},
         {"difference_to_baseline", json_of(largest.difference)},
         {"by_length", Json::array()}};
  for (const TriedRate& t : arm.rate.tried)
    a["rates"].push_back({{"learning_rate", t.rate}, {"nats_per_byte", t.nats}});
  for (const AtBudget& b : arm.budgets) a["budgets"].push_back(json_of(b));
  for (const auto& l : arm.by_length) {
    a["by_length"].push_back({{"factor", l.factor},
                              {"tokens", l.tokens},
                              {"nats_per_byte", l.nats ? json_of(*l.nats) : Json()},
                              {"difference_to_baseline", l.difference ? json_of(*l.difference) : Json()}});
  }
  a["tokens_per_second"] = arm.tokens_per_second;
  a["peak_memory_bytes"] = arm.peak_memory_bytes;
  a["runs"] = Json::array();
  for (const auto* runs : {&largest.runs, &largest.failed}) {
    for (const RunResult& r : *runs) a["runs"].push_back(json_of(r));
  }
  return a;
}

}  // namespace

std::string results_json(const StudySummary& s) {
  Json j{{"schema", 2},          {"version", GNOMON_VERSION},     {"baseline", s.arms.at(s.baseline).arm},
         {"planned", s.planned}, {"finished", s.finished},        {"failed", s.failed},
         {"flops", s.flops},     {"tuning_flops", s.tuning_flops}};
  j["arms"] = Json::array();
  for (const ArmSummary& arm : s.arms) j["arms"].push_back(json_of(arm));
  return j.dump(1) + "\n";
}

}  // namespace gnomon
