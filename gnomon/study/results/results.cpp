#include "gnomon/study/results/results.h"

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/core/unprintable.h"
#include "gnomon/study/results/judge.h"
#include "gnomon/study/results/scaling.h"

namespace gnomon {

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

// A mean of no runs is none.
Json mean_of(const Estimate& e, double per = 1) { return e.n ? Json(e.mean / per) : Json(); }
Json json_of(const Estimate& e) {
  return {{"mean", mean_of(e)}, {"half_width_95", e.half_width}, {"n", e.n}};
}

Json json_of(const std::optional<Comparison>& c) {
  if (!c) return {};
  return {{"decision", name(c->decision)},
          {"p_holm", c->p},
          {"p_equivalent_holm", c->p_equivalent},
          {"half_width_family", c->difference.half_width}};
}

Json json_of(const std::optional<ShareInterval>& s) {
  return s ? Json{{"share", s->share}, {"low", s->low}, {"high", s->high}} : Json();
}

Json json_of(const std::optional<SpeedUp>& s) {
  if (!s) return {};
  constexpr std::array<const char*, 3> kBounds{"equal", "at least", "at most"};
  return {{"factor", s->factor}, {"bound", kBounds[std::size_t(s->bound)]}};
}

Json json_of(const RunResult& r) {
  Json j = Json::parse(result_json(r));
  j.erase("sha256");  // the seal of result.json, which covers the cost too
  return j;
}

Json json_of(const AtBudget& b) {
  return {{"share", b.share},
          {"learning_rate", b.rate ? Json(*b.rate) : Json()},
          {"tokens", b.tokens},
          {"flops", b.flops},
          {"nats_per_byte", mean_of(b.nats)},
          {"half_width_95", b.nats.half_width},
          {"n", b.nats.n},
          {"difference_to_baseline", json_of(b.difference)},
          {"comparison", json_of(b.comparison)},
          {"failed", b.failed.size()}};
}

Json json_of(const ArmSummary& arm) {
  const AtBudget& largest = arm.largest();
  Json a{{"arm", arm.arm},
         {"learning_rate", largest.rate ? Json(*largest.rate) : Json()},
         {"rate_at_edge", largest.at_edge},
         {"rates", Json::array()},
         {"budgets", Json::array()},
         {"nats_per_byte", json_of(largest.nats)},
         {"bits_per_byte", mean_of(largest.nats, std::log(2.0))},
         {"difference_to_baseline", json_of(largest.difference)},
         {"comparison", json_of(largest.comparison)},
         {"to_best", json_of(arm.to_best)},
         {"detectable_difference", arm.detectable},
         {"speed_up", json_of(arm.speed_up)},
         {"by_length", Json::array()}};
  for (const Tuned& at : arm.rates) {
    for (const TriedRate& t : at.tried)
      a["rates"].push_back({{"share", at.share}, {"learning_rate", t.rate}, {"nats_per_byte", t.nats}});
  }
  for (const AtBudget& b : arm.budgets) a["budgets"].push_back(json_of(b));
  for (const auto& l : arm.by_length) {
    a["by_length"].push_back({{"factor", l.factor},
                              {"tokens", l.tokens},
                              {"nats_per_byte", l.nats ? json_of(*l.nats) : Json()},
                              {"difference_to_baseline", l.difference ? json_of(*l.difference) : Json()},
                              {"comparison", json_of(l.comparison)},
                              {"share", json_of(l.share)},
                              {"mean_share", l.share ? Json(l.mean_share) : Json()},
                              {"solved", l.solved}});
  }
  a["tokens_per_second"] = arm.tokens_per_second;
  a["peak_memory_bytes"] = arm.peak_memory_bytes;
  a["runs"] = Json::array();
  for (const auto* runs : {&largest.runs, &largest.failed}) {
    for (const RunResult& r : *runs) a["runs"].push_back(json_of(r));
  }
  return a;
}

template <class T>
Json json_of(const std::optional<T>& x) {
  return x ? Json(*x) : Json();
}

Json json_of(const Judged& j) {
  const Prediction& p = j.prediction;
  return {{"says", p.says},
          {"from", p.from},
          {"measure", p.measure},
          {"arm", p.arm->written},
          {"minus", p.minus ? Json(p.minus->written) : Json()},
          {"length", json_of(p.length)},
          {"budget", json_of(p.budget)},
          {"above", json_of(p.above)},
          {"below", json_of(p.below)},
          {"within", json_of(p.within)},
          {"exactly", json_of(p.exactly)},
          {"written_after_runs", p.after.value_or(0)},
          {"measured", measured_text(p)},
          {"found", j.found.n ? json_of(j.found) : Json()},
          {"share", json_of(j.share)},
          {"verdict", name(j.outcome)},
          {"why", j.why}};
}

Json json_of(const StudySummary& s) {
  Json j{{"schema", 2},          {"version", GNOMON_VERSION},     {"baseline", s.arms.at(s.baseline).arm},
         {"planned", s.planned}, {"finished", s.finished},        {"failed", s.failed},
         {"flops", s.flops},     {"tuning_flops", s.tuning_flops}};
  j["smallest_effect"] = s.config.smallest_effect;
  j["unit"] = s.unit;
  j["reference"] =
      s.reference ? Json{{"letters", s.reference->letters}, {"pairs", s.reference->pairs}} : Json();
  j["metric"] = s.metric ? Json{{"name", name(*s.metric)}, {"chance", s.chance}} : Json();
  j["crossings"] = Json::array();
  for (const auto& c : s.crossings)
    j["crossings"].push_back({{"arms", {c.one, c.other}}, {"flops", c.flops}});
  j["predictions_sha256"] = s.config.predictions.empty() ? Json() : Json(fingerprint(s.config.predictions));
  j["predictions"] = Json::array();
  for (const Judged& judged : judge(s)) j["predictions"].push_back(json_of(judged));
  j["arms"] = Json::array();
  for (const ArmSummary& arm : s.arms) j["arms"].push_back(json_of(arm));
  return j;
}

Json json_of(const std::vector<Foretold>& all) {
  Json j = Json::array();
  for (const Foretold& f : all) {
    j.push_back({{"tokens", f.tokens},
                 {"expected", json_of(f.expected)},
                 {"found", f.found ? json_of(*f.found) : Json()},
                 {"held", f.found ? Json(f.held()) : Json()}});
  }
  return j;
}
Json json_of(const std::vector<Reached>& all) {
  Json j = Json::array();
  for (const Reached& p : all)
    j.push_back({{"parameters", p.parameters}, {"tokens", p.tokens}, {"by_seed", p.by_seed}});
  return j;
}
Json json_of(const Scaling& s) {
  Json j{{"baseline", s.baseline}, {"largest", s.largest}, {"arms", Json::array()}};
  for (const ScaledArm& a : s.arms) {
    Json arm{{"arm", a.arm}, {"reached", json_of(a.reached)}, {"law", Json()}, {"slopes", Json()}};
    if (a.law)
      arm["law"] = {{"E", a.law->floor},
                    {"A", a.law->of_size},
                    {"a", a.law->size_exponent},
                    {"B", a.law->of_data},
                    {"b", a.law->data_exponent}};
    if (a.slopes)
      arm["slopes"] = {{"size", json_of(a.slopes->size)}, {"compute", json_of(a.slopes->compute)}};
    arm["losses_foretold"] = json_of(a.losses), arm["differences_foretold"] = json_of(a.leads);
    j["arms"].push_back(std::move(arm));
  }
  return j;
}

}  // namespace

std::string results_json(const StudySummary& s) { return without_unprintables(json_of(s).dump(1)) + "\n"; }

std::string results_json(const std::vector<Told>& studies) {
  Json j{{"schema", 2}, {"version", GNOMON_VERSION}, {"studies", Json::array()}};
  for (const Told& t : studies) j["studies"].push_back({{"name", t.name}, {"results", json_of(*t.summary)}});
  if (const auto scaling = scaling_of(studies)) j["scaling"] = json_of(*scaling);
  return without_unprintables(j.dump(1)) + "\n";
}

}  // namespace gnomon
