#include "gnomon/pages/check.h"

#include <nlohmann/json.hpp>

#include "gnomon/core/unprintable.h"

namespace gnomon::pages {
namespace {

nlohmann::ordered_json json_of(const HeldHypothesis& h) {
  nlohmann::ordered_json one{{"spec", h.spec.print_given()},
                             {"apart", h.apart},
                             {"faulty", h.faulty},
                             {"error", h.error},
                             {"rounding", h.ratio}};
  const auto add = [&](const char* name, std::int64_t at) {
    if (at >= 0) one["at"][name] = at;
  };
  add("token", h.place.token), add("head", h.place.head), add("channel", h.place.channel);
  return one;
}
nlohmann::ordered_json json_of(const std::vector<HeldHypothesis>& all) {
  auto list = nlohmann::ordered_json::array();
  for (const HeldHypothesis& h : all) list.push_back(json_of(h));
  return list;
}

}  // namespace

std::string check_json(const Dump& dump, const std::vector<Checked>& all, int indent) {
  auto list = nlohmann::ordered_json::array();
  for (const Checked& c : all) {
    nlohmann::ordered_json one{
        {"looked_at", c.looked_at}, {"follows", c.follows}, {"fits", c.named}, {"words", c.words}};
    if (!c.best.spec.name.empty()) one.update(json_of(c.best));
    one["unit"] = c.unit, one["also"] = json_of(c.also), one["ruled_out"] = json_of(c.ruled_out);
    one["remarks"] = c.remarks, one["evidence"] = nlohmann::ordered_json::object();
    for (const CheckEvidence& e : c.evidence) one["evidence"][e.name] = e.value;
    list.push_back(one);
  }
  const nlohmann::ordered_json said{{"checked", list}, {"passed_over", dump.passed_over}};
  return without_unprintables(said.dump(indent));
}

}  // namespace gnomon::pages
