#include "gnomon/pages/extend.h"

#include <nlohmann/json.hpp>

#include "gnomon/core/unprintable.h"

namespace gnomon::pages {
namespace {

using Json = nlohmann::ordered_json;

Json json(const ExtendedGroup& g) {
  Json j{{"layers", g.layers}, {"spec", g.position.spec.print()}};
  if (!g.component.empty()) j["component"] = g.component;
  j["inv_freq"] = g.numbers.inv_freq;
  j["attention_factor"] = g.numbers.attention_factor;
  j["softmax_factor"] = g.numbers.softmax_factor;
  j["kept"] = g.kept, j["blended"] = g.blended, j["interpolated"] = g.interpolated;
  j["pairs"] = Json::array();
  for (const ExtendedPair& p : g.pairs)
    j["pairs"].push_back(
        {{"wavelength", p.wavelength}, {"turns", p.turns}, {"factor", p.factor}, {"today", p.today}});
  return j;
}

Json json(const ExtensionSnippet& s) {
  Json j{{"program", s.program}, {"where", s.where}};
  j["text"] = s.json ? Json::parse(s.text) : Json(s.text);
  j["readings"] = Json::array();
  for (const SnippetReading& r : s.readings)
    j["readings"].push_back({{"reader", reader_names()[std::size_t(r.reader)]},
                             {"reader_version", reader_version(r.reader)},
                             {"as_announced", r.differs.empty()},
                             {"differs", r.differs}});
  return j;
}

Json json(const Extension& e) {
  Json j{{"method", e.method->name},         {"title", e.method->title},     {"does", e.method->does},
         {"untrained", e.method->untrained}, {"trained", e.method->trained}, {"source", e.method->source},
         {"within", e.method->within},       {"beyond", e.method->beyond},   {"refused", e.refused},
         {"groups", Json::array()},          {"snippets", Json::array()},    {"missing", e.missing}};
  for (const ExtendedGroup& g : e.groups) j["groups"].push_back(json(g));
  for (const ExtensionSnippet& s : e.snippets) j["snippets"].push_back(json(s));
  return j;
}

}  // namespace

std::string extend_json(const ExtensionPlan& plan, int indent) {
  Json all{{"schema", kExtendSchema},
           {"file", plan.now.where},
           {"family", plan.now.model.family},
           {"trained_length", plan.now.trained()},
           {"longest", plan.now.model.longest},
           {"to", plan.to},
           {"factor", plan.factor},
           {"pairs_beyond_training", plan.beyond},
           {"cache_bytes", plan.cache_bytes ? Json(*plan.cache_bytes) : Json()},
           {"measured", kMeasured},
           {"advice",
            {{"method", plan.advice.way ? Json(plan.advice.way->name) : Json()}, {"says", plan.advice.says}}},
           {"notes", plan.notes},
           {"methods", Json::array()}};
  for (const Extension& e : plan.ways) all["methods"].push_back(json(e));
  return without_unprintables(all.dump(indent, ' ', false, Json::error_handler_t::replace));
}

}  // namespace gnomon::pages
