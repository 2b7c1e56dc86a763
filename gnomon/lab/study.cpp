#include "gnomon/lab/study.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"

namespace gnomon {
namespace {

// The keys of study.toml that a single run's result does not depend on.
constexpr std::string_view kNotOfARun[] = {"study.text",  "study.arms",    "study.baseline",
                                           "study.seeds", "study.workers", "train.checkpoint_seconds"};

std::string run_key(StudyConfig config, const std::string& arm, std::int64_t seed, const Corpus& corpus) {
  std::string everything =
      text("gnomon ", GNOMON_VERSION, "\narm ", arm, "\nseed ", seed, "\ntext ", corpus.sha256(), "\n");
  const std::string settings = print_toml(config);
  for (const std::string_view line : split(settings, '\n')) {
    everything += text(line.substr(0, line.find("  #")), "\n");
  }
  return sha256(everything).substr(0, 16);
}

double median(std::vector<double> x) {
  if (x.empty()) return 0;
  std::sort(x.begin(), x.end());
  return (x[(x.size() - 1) / 2] + x[x.size() / 2]) / 2;
}

}  // namespace

std::vector<RunPlan> plan_runs(const StudyConfig& config, const Corpus& corpus) {
  StudyConfig of_a_run = config;
  const StudyConfig standard;
  const auto actual = fields(of_a_run);
  StudyConfig blank = standard;
  const auto neutral = fields(blank);
  for (std::size_t i = 0; i < actual.size(); ++i) {
    if (std::find(std::begin(kNotOfARun), std::end(kNotOfARun), actual[i].key) == std::end(kNotOfARun))
      continue;
    std::visit([&](auto* to) { *to = *std::get<decltype(to)>(neutral[i].value); }, actual[i].value);
  }
  std::vector<RunPlan> plan;
  for (std::int64_t seed = 1; seed <= config.seeds; ++seed) {
    for (const auto& arm : config.arms) {
      const std::string printed = Spec::parse(arm).print();
      plan.push_back({run_key(of_a_run, printed, seed, corpus), printed, seed});
    }
  }
  return plan;
}

RunEstimate estimate(const StudyConfig& c, const RunPlan& plan, const Corpus& corpus) {
  Trainer trainer(model_of(c, plan.arm), c.train, std::uint64_t(plan.seed));
  const std::int64_t T = c.model.length, B = c.train.batch, tokens = B * T;
  std::vector<std::int64_t> starts(B);
  for (std::int64_t b = 0; b < B; ++b)
    starts[b] = corpus.training_start(T, b * corpus.training_windows(T) / B);
  const Random masks(0, "estimate");
  const Windows w = windows_at(corpus, starts, T, c.model.causal, &masks);
  std::vector<double> seconds;
  for (int i = 0; i < 4; ++i) {
    const auto start = std::chrono::steady_clock::now();
    trainer.train({B, T, w.inputs, w.targets});
    if (i) seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  double evaluated = double(c.windows * T + c.points * std::min<std::int64_t>(c.windows, 32) * T);
  for (const double factor : c.lengths) evaluated += double(c.windows * c.tokens_at(factor));
  const double a_token = median(seconds) / double(tokens);
  RunEstimate e{};
  e.parameters = trainer.model.param_count();
  e.training_flops = trainer.model.training_flops_per_token(T) * double(tokens * c.train.steps);
  e.seconds = a_token * (double(tokens * c.train.steps) + evaluated / 3);  // forward is a third of a step
  const auto& m = c.model;
  const std::int64_t a_layer =
      5 * row_step(m.width) + row_step(3 * m.width) + 2 * row_step(m.feed_forward * m.width);
  const std::int64_t in_flight = std::max(tokens, c.longest());
  e.memory_bytes = 4 * (4 * e.parameters + in_flight * (a_layer * m.layers + a_layer)) +
                   2 * std::int64_t(corpus.bytes().size()) + (40 << 20);
  e.disk_bytes = 4 * e.parameters + (1 << 16);
  return e;
}

namespace {

std::vector<double> losses_of(const std::vector<RunResult>& runs,
                              const std::function<std::optional<double>(const RunResult&)>& value) {
  std::vector<double> all;
  for (const auto& run : runs) {
    if (const auto x = value(run)) all.push_back(*x);
  }
  return all;
}

// Pairs runs of equal seed.
Estimate difference(const ArmSummary& arm, const ArmSummary& base,
                    const std::function<std::optional<double>(const RunResult&)>& value) {
  std::vector<double> a, b;
  for (const auto& run : arm.runs) {
    for (const auto& other : base.runs) {
      if (run.plan.seed != other.plan.seed || !value(run) || !value(other)) continue;
      a.push_back(*value(run));
      b.push_back(*value(other));
    }
  }
  return paired_interval(a, b);
}

}  // namespace

StudySummary summarise(const StudyConfig& config, const std::vector<RunPlan>& plan,
                       const std::vector<RunResult>& results) {
  StudySummary s;
  s.config = config;
  s.planned = plan.size();
  for (const auto& arm : config.arms) {
    ArmSummary a;
    a.arm = Spec::parse(arm).print();
    for (const auto& r : results) {
      if (r.plan.arm == a.arm) (r.failure.empty() ? a.runs : a.failed).push_back(r);
    }
    const auto by_seed = [](const RunResult& x, const RunResult& y) { return x.plan.seed < y.plan.seed; };
    std::sort(a.runs.begin(), a.runs.end(), by_seed);
    std::sort(a.failed.begin(), a.failed.end(), by_seed);
    s.finished += a.runs.size();
    s.failed += a.failed.size();
    a.nats = mean_interval(losses_of(a.runs, [](const RunResult& r) { return std::optional(r.nats); }));
    a.tokens_per_second =
        median(losses_of(a.runs, [](const RunResult& r) { return std::optional(r.cost.tokens_per_second); }));
    for (const auto& r : a.runs)
      a.peak_memory_bytes = std::max(a.peak_memory_bytes, r.cost.peak_memory_bytes);
    s.arms.push_back(std::move(a));
  }
  const std::string base = Spec::parse(config.baseline).print();
  std::stable_sort(s.arms.begin(), s.arms.end(), [](const ArmSummary& x, const ArmSummary& y) {
    return x.runs.empty() != y.runs.empty() ? y.runs.empty() : !x.runs.empty() && x.nats.mean < y.nats.mean;
  });
  s.baseline = std::size_t(
      std::find_if(s.arms.begin(), s.arms.end(), [&](const ArmSummary& a) { return a.arm == base; }) -
      s.arms.begin());
  for (auto& a : s.arms) {
    a.difference =
        difference(a, s.arms[s.baseline], [](const RunResult& r) { return std::optional(r.nats); });
    for (std::size_t l = 0; l < config.lengths.size(); ++l) {
      const auto value = [l](const RunResult& r) {
        return l < r.by_length.size() ? r.by_length[l].nats : std::nullopt;
      };
      ArmSummary::AtLength at{config.lengths[l], config.tokens_at(config.lengths[l]), {}, {}};
      const auto values = losses_of(a.runs, value);
      if (!values.empty()) at.nats = mean_interval(values);
      if (const auto d = difference(a, s.arms[s.baseline], value); d.n > 0) at.difference = d;
      a.by_length.push_back(at);
    }
  }
  return s;
}

std::string results_csv(const StudySummary& s) {
  const auto cell = [](const std::string& x) {
    return x.find_first_of(",\"\n") == std::string::npos ? x : "\"" + x + "\"";
  };
  std::string out =
      "arm,seed,key,status,parameters,training_flops_per_token,nats_per_byte,bits_per_byte,tokens_per_second,"
      "peak_memory_bytes";
  for (const double factor : s.config.lengths)
    out += text(",nats_last_", s.config.score, "_at_", shortest(factor), "x");
  out += "\n";
  for (const auto& arm : s.arms) {
    for (const auto* runs : {&arm.runs, &arm.failed}) {
      for (const auto& r : *runs) {
        const bool ok = r.failure.empty();
        out += text(cell(arm.arm), ",", r.plan.seed, ",", r.plan.key, ",", ok ? "done" : cell(r.failure), ",",
                    r.parameters, ",", shortest(r.flops_per_token), ",", ok ? shortest(r.nats) : "", ",",
                    ok ? shortest(r.nats / std::log(2.0)) : "", ",",
                    shortest(std::round(r.cost.tokens_per_second)), ",", r.cost.peak_memory_bytes);
        for (std::size_t l = 0; l < s.config.lengths.size(); ++l)
          out += "," + (l < r.by_length.size() && r.by_length[l].nats ? shortest(*r.by_length[l].nats) : "");
        out += "\n";
      }
    }
  }
  return out;
}

std::string results_json(const StudySummary& s) {
  using Json = nlohmann::ordered_json;
  const auto interval = [](const Estimate& e) {
    return Json{{"mean", e.mean}, {"half_width_95", e.half_width}, {"n", e.n}};
  };
  Json j{{"schema", 1},          {"version", GNOMON_VERSION}, {"baseline", s.arms.at(s.baseline).arm},
         {"planned", s.planned}, {"finished", s.finished},    {"failed", s.failed}};
  j["arms"] = Json::array();
  for (const auto& arm : s.arms) {
    Json a{{"arm", arm.arm},
           {"nats_per_byte", interval(arm.nats)},
           {"bits_per_byte", arm.nats.mean / std::log(2.0)},
           {"difference_to_baseline", interval(arm.difference)}};
    a["by_length"] = Json::array();
    for (const auto& l : arm.by_length) {
      a["by_length"].push_back({{"factor", l.factor},
                                {"tokens", l.tokens},
                                {"nats_per_byte", l.nats ? interval(*l.nats) : Json()},
                                {"difference_to_baseline", l.difference ? interval(*l.difference) : Json()}});
    }
    a["tokens_per_second"] = arm.tokens_per_second;
    a["peak_memory_bytes"] = arm.peak_memory_bytes;
    a["runs"] = Json::array();
    for (const auto* runs : {&arm.runs, &arm.failed}) {
      for (const auto& r : *runs) {
        a["runs"].push_back(Json::parse(result_json(r)));
        a["runs"].back().erase("sha256");  // the seal of result.json, which covers the cost too
      }
    }
    j["arms"].push_back(std::move(a));
  }
  return j.dump(1) + "\n";
}

}  // namespace gnomon
