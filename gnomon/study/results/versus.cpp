#include "gnomon/study/results/versus.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "gnomon/core/unprintable.h"

namespace gnomon {
namespace {

using Json = nlohmann::ordered_json;

std::vector<double> losses_of(const ArmSummary& a) {
  std::vector<double> all;
  for (const RunResult& r : a.largest().runs) all.push_back(r.nats);
  return all;
}

Estimate difference_of(const ArmSummary& a, const ArmSummary& b) {
  const std::vector<double> x = losses_of(a), y = losses_of(b);
  return x.empty() || y.empty() ? Estimate{std::nan(""), std::nan(""), 0} : welch_interval(y, x);
}

}  // namespace

std::vector<Versus> versus(const StudySummary& a, const StudySummary& b) {
  std::vector<Versus> all;
  std::vector<Estimate> differences;
  for (const ArmSummary& own : a.arms) {
    const auto other =
        std::find_if(b.arms.begin(), b.arms.end(), [&](const ArmSummary& x) { return x.arm == own.arm; });
    if (other == b.arms.end()) continue;
    all.push_back({own.arm, &own, &*other, difference_of(own, *other), {}});
    differences.push_back(all.back().difference);
  }
  if (all.empty()) return all;
  const std::vector<Comparison> said = compare(differences, a.config.smallest_effect);
  for (std::size_t i = 0; i < all.size(); ++i) all[i].comparison = said[i];
  return all;
}

std::vector<Changed> changed(StudyConfig a, StudyConfig b) {
  std::vector<Changed> all;
  const std::vector<Field> of_a = fields(a), of_b = fields(b);
  for (std::size_t i = 0; i < of_a.size(); ++i) {
    constexpr std::array<std::string_view, 3> kNoSettings{"prediction", "study.workers", "study.derived"};
    if (std::find(kNoSettings.begin(), kNoSettings.end(), of_a[i].key) != kNoSettings.end()) continue;
    const std::string x = print_value(of_a[i]), y = print_value(of_b[i]);
    if (x != y) all.push_back({std::string(of_a[i].key), x, y});
  }
  return all;
}

namespace {

Json json_of(const StudySummary& a, const StudySummary& b) {
  Json j{{"schema", 2}, {"unit", a.unit}, {"changed", Json::array()}, {"arms", Json::array()}};
  for (const Changed& c : changed(a.config, b.config))
    j["changed"].push_back({{"key", c.key}, {"a", c.a}, {"b", c.b}});
  for (const Versus& v : versus(a, b)) {
    const auto side = [](const ArmSummary& arm) {
      return Json{{"nats", arm.largest().nats.mean}, {"n", arm.largest().runs.size()}};
    };
    j["arms"].push_back(
        {{"arm", v.arm},
         {"a", side(*v.a)},
         {"b", side(*v.b)},
         {"difference",
          {{"mean", v.difference.mean}, {"half_width_95", v.difference.half_width}, {"n", v.difference.n}}},
         {"decision", name(v.comparison.decision)},
         {"p_holm", v.comparison.p}});
  }
  return j;
}

}  // namespace

std::string versus_json(const std::vector<Compared>& studies) {
  if (studies.size() == 1 && studies.front().name.empty())
    return without_unprintables(json_of(studies.front().a, studies.front().b).dump(1)) + "\n";
  Json j{{"schema", 2}, {"studies", Json::array()}};
  for (const Compared& c : studies)
    j["studies"].push_back({{"name", c.name}, {"comparison", json_of(c.a, c.b)}});
  return without_unprintables(j.dump(1)) + "\n";
}

}  // namespace gnomon
