#include "gnomon/lab/study.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "gnomon/checkpoint/json-inl.h"
#include "gnomon/checkpoint/sha256.h"
#include "gnomon/core/error.h"
#include "gnomon/core/memory.h"
#include "gnomon/core/parallel.h"
#include "gnomon/core/text.h"
#include "gnomon/nn/memory.h"
#include "gnomon/nn/numerics.h"

namespace gnomon {
namespace {

double median(std::vector<double> x) {
  if (x.empty()) return 0;
  std::sort(x.begin(), x.end());
  return (x[(x.size() - 1) / 2] + x[x.size() / 2]) / 2;
}

}  // namespace

Job job_of(const StudyConfig& config, const Corpus& corpus, const Spec& arm, std::int64_t seed) {
  Job job;
  static_cast<RunSettings&>(job) = config;
  job.text = &corpus, job.spec = arm, job.seed = seed;
  return job;
}

std::vector<RunPlan> plan_runs(const StudyConfig& config, const Corpus& corpus) {
  const int threads = threads_granted(int(config.threads));
  std::vector<RunPlan> plan;
  for (std::int64_t seed = 1; seed <= config.seeds; ++seed) {
    for (const auto& arm : config.arms)
      plan.push_back(plan_of(job_of(config, corpus, Spec::parse(arm), seed), threads));
  }
  return plan;
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
        all.push_back({run.member("key").text(), run.member("arm").text(), run.member("seed").whole(1, 1000),
                       run.member("asked").text(), run.member("numerics").text()});
    }
  } catch (const Error&) {
    all.clear();
  }
  return all;
}

}  // namespace

Leftovers leftovers(const StudyFolder& folder, std::span<const RunPlan> plan) {
  std::map<std::string, const RunPlan*> of_asked;
  for (const RunPlan& run : plan) of_asked[run.asked] = &run;
  Leftovers left;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(folder.runs(), none)) {
    const Path result = RunFolder{entry.path()}.result();
    if (!std::filesystem::exists(result)) continue;
    try {
      const RunPlan found = result_from_json(result).plan;
      const auto same = of_asked.find(found.asked);
      if (same == of_asked.end() || same->second->key == found.key) continue;
      ++left.other_numerics, left.found = found.numerics;
    } catch (const Error&) {  // of another version of gnomon; one of this plan is met when it is collected
    }
  }
  for (const RunPlan& run : runs_shown(folder.json())) {
    if (!of_asked.count(run.asked)) left.lost.push_back(text(run.arm, ", seed ", run.seed));
  }
  return left;
}

namespace {

constexpr std::int64_t kProcessBytes =
    23'000'000;  // of a worker beside its arrays: libraries, compiled products

// FLOP a second of a small model of the arm, over a few steps; of one without position where the arm cannot be so small.
double measured_speed(const StudyConfig& c, const std::string& arm) {
  StudyConfig small = c;
  const std::int64_t head_size = c.model.width / c.model.heads;
  small.model.layers = 1, small.model.kv_heads = 0, small.train.shards = 1;
  small.model.heads = std::clamp<std::int64_t>(256 / head_size, 1, c.model.heads);
  small.model.width = head_size * small.model.heads;
  small.model.length = std::min<std::int64_t>(c.model.length, 128);
  try {
    Trainer trainer(model_of(small, Spec::parse(arm)), small.train, 1);
    const std::int64_t T = small.model.length, B = std::min<std::int64_t>(c.train.batch, 4);
    const std::vector<std::int32_t> tokens(std::size_t(B * T), 'e');
    std::vector<double> seconds;
    for (int i = 0; i < 4; ++i) {
      const auto start = std::chrono::steady_clock::now();
      trainer.train({B, T, tokens, tokens});
      if (i)
        seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    return trainer.model.training_flops_per_token(T) * double(B * T) / std::max(median(seconds), 1e-9);
  } catch (const Error&) {
    if (arm == "none") throw;
    return measured_speed(c, "none");
  }
}

}  // namespace

std::int64_t memory_of_a_run(const StudyConfig& c, const std::string& arm, const Corpus& corpus) {
  const Architecture model = model_of(c, Spec::parse(arm));
  const PassSize shard{c.train.batch / c.train.shards, c.model.length};
  std::int64_t most = 0;
  for (const double factor : c.lengths) {
    const std::int64_t T = c.tokens_at(factor),
                       windows = std::clamp<std::int64_t>(shard.windows * shard.tokens / T, 1, c.windows);
    most = std::max(most, trainer_bytes(model, shard, {windows, T}, int(c.threads), c.train.shards));
  }
  const std::int64_t held_out = c.windows * c.longest() * 2 * std::int64_t(sizeof(std::int32_t));
  return most + held_out + std::int64_t(corpus.bytes().size()) + kProcessBytes;
}

void check_memory(const StudyConfig& c, std::span<const RunPlan> plan, const Corpus& corpus) {
  std::int64_t most = 0;
  std::string arm;
  for (const RunPlan& run : plan) {
    if (run.seed != plan.front().seed) continue;
    if (const std::int64_t bytes = memory_of_a_run(c, run.arm, corpus); bytes > most)
      most = bytes, arm = run.arm;
  }
  const AvailableMemory there = available_memory();
  const std::int64_t side_by_side = std::clamp<std::int64_t>(c.workers, 1, std::int64_t(plan.size()));
  const auto refuse = [](std::int64_t needed, const std::string& by, std::int64_t found,
                         const std::string& what) {
    throw Error(Fault::usage,
                text("not enough memory: ", by, " would take about ", bytes_text(double(needed)), "; ",
                     bytes_text(double(found)), " are ", what,
                     " (lower study.workers, train.batch, model.length, model.width or evaluate.lengths)"));
  };
  if (most > there.own_bytes) refuse(most, text("a run of '", arm, "'"), there.own_bytes, there.own_by);
  if (most > there.shared_bytes / side_by_side)
    refuse(most * side_by_side, text(side_by_side, " runs side by side"), there.shared_bytes,
           there.shared_by);
}

RunEstimate estimate(const StudyConfig& c, const RunPlan& plan, const Corpus& corpus) {
  const Model model(model_of(c, Spec::parse(plan.arm)));
  const std::int64_t T = c.model.length, tokens = c.train.batch * T;
  double evaluated = double(c.windows * T + c.points * std::min<std::int64_t>(c.windows, 32) * T);
  for (const double factor : c.lengths) evaluated += double(c.windows * c.tokens_at(factor));
  const double a_token = model.training_flops_per_token(T);
  RunEstimate e{};
  e.parameters = model.param_count();
  e.training_flops = a_token * double(tokens) * double(c.train.steps);
  e.seconds = (e.training_flops + a_token * evaluated / 3) /
              measured_speed(c, plan.arm);  // forward is a third of a step
  e.memory_bytes = memory_of_a_run(c, plan.arm, corpus);
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
