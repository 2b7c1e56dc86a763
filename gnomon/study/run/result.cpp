// The result of a run as JSON, there and back.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/files/json-inl.h"
#include "gnomon/study/run/curve_json-inl.h"
#include "gnomon/study/run/run.h"

namespace gnomon {
namespace {

using Json = StrictJson;
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

Json to_json(const Tally& c) { return {c.right, c.asked}; }
Tally count_from(const JsonValue& json) {
  const auto two = json.list(2);
  const std::int64_t asked = two[1].whole(0, kMost);
  return {two[0].whole(0, asked), asked};
}
std::vector<double> numbers_from(const JsonValue& json) {
  std::vector<double> all;
  for (const JsonValue& x : json.list()) all.push_back(x.number_or_nan());
  return all;
}
RunResult result_from(const JsonValue& j) {
  RunResult r{{{j.member("arm").text(), j.member("seed").whole(0, kMost), j.member("steps").whole(0, kMost),
                j.member("learning_rate").number()},
               j.member("key").text(),
               j.member("asked").text(),
               j.member("numerics").text()},
              j.member("failure").text(),
              j.member("parameters").whole(0, kMost),
              j.member("flops_per_token").number(),
              j.member("nats").number_or_nan(),
              numbers_from(j.member("by_block")),
              curve_from(j.member("curve"), kMost),
              {},
              {},
              j.member("weights_sha256").text(),
              {}};
  for (const JsonValue& l : j.member("by_length").list()) {
    const JsonValue nats = l.member("nats");
    r.by_length.push_back({l.member("factor").number(),
                           l.member("tokens").whole(1, kMost),
                           nats.null() ? std::nullopt : std::optional(nats.number()),
                           numbers_from(l.member("by_block")),
                           {},
                           {}});
    if (const JsonValue right = l.member("right"); !right.null())
      r.by_length.back().right = count_from(right),
      r.by_length.back().symbols = count_from(l.member("symbols"));
    for (const JsonValue& c : l.member("by_depth").list())
      r.by_length.back().by_depth.push_back(count_from(c));
  }
  r.by_position = numbers_from(j.member("by_position"));
  const JsonValue cost = j.member("cost");
  r.cost = {cost.member("training_seconds").number(), cost.member("evaluation_seconds").number(),
            cost.member("tokens_per_second").number(), cost.member("peak_memory_bytes").whole(0, kMost)};
  return r;
}

}  // namespace

std::vector<double> means_of_neighbours(const std::vector<double>& by_position) {
  std::vector<double> means;
  for (std::size_t from = 0; from < by_position.size(); from += kNeighbours) {
    double sum = 0, n = 0;
    for (std::size_t t = from; t < std::min(from + kNeighbours, by_position.size()); ++t) {
      if (std::isfinite(by_position[t])) sum += by_position[t], n += 1;
    }
    means.push_back(n > 0 ? sum / n : std::nan(""));
  }
  return means;
}

std::string result_json(const RunResult& r) {
  Json j{{"key", r.plan.key},
         {"asked", r.plan.asked},
         {"numerics", r.plan.numerics},
         {"arm", r.plan.arm},
         {"seed", r.plan.seed},
         {"steps", r.plan.steps},
         {"learning_rate", r.plan.learning_rate},
         {"failure", r.failure},
         {"parameters", r.parameters},
         {"flops_per_token", r.flops_per_token}};
  j["nats"] = r.nats;
  j["by_block"] = r.by_block;
  j["curve"] = curve_json(r.curve);
  j["by_length"] = Json::array();
  for (const auto& l : r.by_length) {
    j["by_length"].push_back({{"factor", l.factor},
                              {"tokens", l.tokens},
                              {"nats", l.nats ? Json(*l.nats) : Json()},
                              {"by_block", l.by_block},
                              {"right", l.right ? to_json(*l.right) : Json()},
                              {"by_depth", Json::array()}});
    if (l.symbols) j["by_length"].back()["symbols"] = to_json(*l.symbols);
    for (const Tally& c : l.by_depth) j["by_length"].back()["by_depth"].push_back(to_json(c));
  }
  j["by_position"] = r.by_position;
  j["weights_sha256"] = r.weights_sha256;
  j["cost"] = {{"training_seconds", r.cost.training_seconds},
               {"evaluation_seconds", r.cost.evaluation_seconds},
               {"tokens_per_second", r.cost.tokens_per_second},
               {"peak_memory_bytes", r.cost.peak_memory_bytes}};
  return sealed(j.dump(1));
}

RunResult result_from_text(const std::string& json, const std::string& where) {
  const StrictJson parsed = parse_json(json, where);
  return result_from(JsonValue(parsed, where));
}

RunResult result_from_json(const Path& path) {
  const std::string bytes = read_file(path);
  try {
    const StrictJson json = parse_sealed_json(bytes, path.string());
    return result_from(JsonValue(json, path.string()));
  } catch (const Error& e) {
    throw Error(e.fault(), text(e.what(), "; remove the file to run it again"));
  }
}

}  // namespace gnomon
