#include "gnomon/pages/explain.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/core/unprintable.h"
#include "gnomon/lens/rotary_use.h"
#include "gnomon/models/explain/guesses.h"
#include "gnomon/pages/explain_words.h"
#include "gnomon/pages/tower_words.h"

namespace gnomon::pages {
namespace {

using Json = nlohmann::ordered_json;

Json json(const Explanation& e, const std::vector<Because>& all) {
  Json out = Json::array();
  for (const Because& b : all) {
    out.push_back({{"what", b.what}, {"value", b.value}, {"key", b.key}, {"rule", b.rule}});
    if (is_guess(e, b)) out.back()["guessed"] = true;
  }
  return out;
}

// Of an object, the members that are guesses, where any is.
void mark(Json& object, Json guesses) {
  if (!guesses.empty()) object["guessed"] = true, object["guesses"] = std::move(guesses);
}
// The members of a group of layers, and what they are.
Json guesses_of(const Explanation& e, const LayerGroup& g, const Json& object) {
  constexpr std::pair<std::string_view, Quantity> kMembers[] = {
      {"spec", Quantity::rotation},
      {"kind", Quantity::rotation},
      {"causal", Quantity::mask},
      {"heads", Quantity::heads},
      {"kv_heads", Quantity::kv_heads},
      {"head_dim", Quantity::head_dim},
      {"scale", Quantity::softmax_scale},
      {"softmax_factor", Quantity::softmax_factor},
      {"rotary_dim", Quantity::rotated_channels},
      {"first_channel", Quantity::first_channel},
      {"pairing", Quantity::pairing},
      {"inv_freq", Quantity::frequencies},
      {"attention_factor", Quantity::rotary_factor},
      {"turns_trained", Quantity::frequencies},
      {"turns_longest", Quantity::frequencies},
      {"slopes", Quantity::slopes},
      {"buckets", Quantity::relative_position},
      {"window", Quantity::window},
  };
  Json out = Json::array();
  for (const auto& [name, what] : kMembers)
    if (object.contains(name) && is_guess(e, g, what)) out.push_back(name);
  for (const std::string_view name : {"value_dim", "theta"})
    if (object.contains(name) && is_guess(e, g, name)) out.push_back(name);
  return out;
}

void add_rotation(const Explanation& e, const LayerGroup& g, Json& j) {
  const Numbers& n = g.numbers();
  j["rotary_dim"] = n.rotary_dim;
  j["first_channel"] = n.first;
  j["pairing"] = n.pairing == Pairing::halves ? "halves" : "adjacent";
  if (g.theta) j["theta"] = *g.theta;
  j["inv_freq"] = n.inv_freq;
  j["attention_factor"] = n.attention_factor;
  for (const auto& [key, length] :
       {std::pair{"turns_trained", e.trained()}, {"turns_longest", e.model.longest}}) {
    if (length <= 0) continue;
    const TurnsSeen t = turns_within(n.inv_freq, g.span(length));
    j[key] = {{"length", g.span(length)}, {"full", t.full}, {"partial", t.partial}, {"constant", t.constant}};
  }
}

Json json(const Explanation& e, const LayerGroup& g) {
  const LayerPosition& p = g.position;
  Json j{{"layers", g.layers}, {"spec", p.spec.print()}, {"kind", g.kind}};
  if (!p.component.empty()) j["component"] = p.component;
  j["causal"] = p.causal;
  if (!p.mixer.empty()) {  // no heads, no scale and no keys
    j["mixer"] = p.mixer;
    j["sources"] = json(e, p.because);
    mark(j, guesses_of(e, g, j));
    return j;
  }
  j["heads"] = p.heads;
  j["kv_heads"] = p.kv_heads;
  j["head_dim"] = p.head_dim;
  if (p.value_dim) j["value_dim"] = p.value_dim;
  j["scale"] = p.scale == 0 ? 1 / std::sqrt(double(p.head_dim)) : p.scale;
  j["softmax_factor"] = g.numbers().softmax_factor;
  if (!g.numbers().inv_freq.empty()) add_rotation(e, g, j);
  if (!g.numbers().slopes.empty()) j["slopes"] = g.numbers().slopes;
  if (!g.buckets.empty()) j["buckets"] = Json::array();
  for (const SharedBucket& b : g.buckets)
    j["buckets"].push_back(
        {{"bucket", b.bucket}, {"first", b.first}, {"last", b.last < 0 ? Json() : Json(b.last)}});
  j["window"] = g.window ? Json(*g.window) : Json();
  j["sources"] = json(e, p.because);
  mark(j, guesses_of(e, g, j));
  return j;
}

// The channels and the frequencies of each axis of a rotation.
Json axes_json(const Tower& t) {
  Json all = Json::array();
  for (const TowerAxis& axis : tower_axes(t)) {
    Json one{{"axis", axis.name}, {"channels", Json::array()}, {"inv_freq", Json::array()}};
    for (const TurnedPair& pair : axis.pairs) {
      one["channels"].push_back({pair.low, pair.high});
      one["inv_freq"].push_back(pair.frequency);
    }
    all.push_back(std::move(one));
  }
  return all;
}

Json json(const Explanation& e, const Tower& t) {
  Json j{{"part", t.part}, {"model_type", t.type}, {"known", t.known}, {"words", tower_answer(t)}};
  if (!t.known) return j;
  j["reads"] = t.sound ? "sound" : "images";
  j["layers"] = t.layers;
  j["width"] = t.width;
  j["heads"] = t.position.heads;
  j["kv_heads"] = t.position.kv_heads;
  j["head_dim"] = t.position.head_dim;
  j["spec"] = tower_spec(t).print();
  j["grid"] = t.grid_rows ? Json::array({t.grid_rows, t.grid_columns}) : Json();
  j["table"] = Json();
  if (t.rows)
    j["table"] = {{"rows", t.rows},
                  {"first", t.first},
                  {"by_coordinates", t.by_coordinates},
                  {"resized", t.resized},
                  {"only_if_asked", t.asked}};
  j["registers"] = t.without;
  j["axes"] = axes_json(t);
  j["unit"] = t.sound ? "frame" : t.unit.empty() ? "patch" : t.unit;
  if (!t.coordinates.empty()) j["coordinates"] = t.coordinates;
  if (!t.window.empty()) j["window"] = t.window;
  j["sources"] = json(e, t.because);
  for (const Json& one : json(e, t.position.because)) j["sources"].push_back(one);
  return j;
}

Json at(const Explanation& e, std::size_t n) {
  Json j{{"length", e.lengths[n]},
         {"times", double(e.lengths[n]) / double(e.trained())},
         {"positions", !e.positions_end || e.lengths[n] <= *e.positions_end},
         {"layers", Json::array()},
         {"words", at_length(e, n)}};
  for (const LayerGroup& g : e.groups) {
    const AtLength& a = g.at[n];
    Json one{{"layers", g.layers}};
    if (!g.position.component.empty()) one["component"] = g.position.component;
    one["changed"] = a.numbers.inv_freq != g.numbers().inv_freq;
    if (one["changed"]) one["inv_freq"] = a.numbers.inv_freq;
    one["attention_factor"] = a.numbers.attention_factor;
    one["softmax_factor"] = a.numbers.softmax_factor;
    one["temperature"] = a.temperature;
    one["pairs_beyond_training"] = a.beyond_training;
    if (!g.buckets.empty()) one["last_bucket_share"] = a.last_bucket;
    if (!e.model.known) one["guessed"] = true;
    j["layers"].push_back(std::move(one));
  }
  return j;
}

void add(const Differences& found, Json& j) {
  j["same"] = found.same();
  j["differences"] = Json::array();
  for (const Difference& d : found.computed) {
    Json one{{"layers", d.layers}, {"what", quantity_name(d.what)}, {"a", d.a}, {"b", d.b}};
    if (!d.component.empty()) one["component"] = d.component;
    if (d.ratio > 0) one["largest_ratio"] = d.ratio;
    Json guesses = Json::array();
    if (d.a_guess) guesses.push_back("a");
    if (d.b_guess) guesses.push_back("b");
    mark(one, std::move(guesses));
    j["differences"].push_back(std::move(one));
  }
  j["notes"] = found.notes;
}

std::string_view name(Reader reader) { return reader_names()[std::size_t(reader)]; }

// Those for which transformers refuses the file, or the others.
Json remarks_json(const std::vector<Remark>& remarks, bool refused = false) {
  Json all = Json::array();
  for (const Remark& r : remarks)
    if (r.refused == refused) all.push_back({{"key", r.key}, {"says", r.says}});
  return all;
}

// A stranger's strings may be no UTF-8.
std::string printed(const Json& j, int indent) {
  return without_unprintables(j.dump(indent, ' ', false, Json::error_handler_t::replace));
}

}  // namespace

std::string explain_json(const Explanation& e, int indent) {
  const Resolved& m = e.model;
  Json all{{"schema", kExplainSchema},
           {"file", e.where},
           {"format", e.gguf ? "gguf" : "json"},
           {"family", m.family},
           {"known", m.known},
           {"reader", name(m.reader)},
           {"reader_version", reader_version(m.reader)},
           {"causal", m.causal},
           {"width", m.width},
           {"trained_length", m.trained_length},
           {"longest", m.longest},
           {"encoder_longest", m.encoder_longest},
           {"table_rows", m.table_rows},
           {"input", m.input.print()},
           {"positions_end", e.positions_end ? Json(*e.positions_end) : Json()},
           {"sources", json(e, m.because)},
           {"answer", explain_answers(e)},
           {"layers", Json::array()},
           {"towers", Json::array()},
           {"lengths", Json::array()},
           {"key_cache", Json()}};
  for (const LayerGroup& g : e.groups) all["layers"].push_back(json(e, g));
  for (const Tower& tower : m.towers) all["towers"].push_back(json(e, tower));
  for (std::size_t n = 0; n < e.lengths.size() && !m.tower_alone; ++n) all["lengths"].push_back(at(e, n));
  if (e.cache) {
    all["key_cache"] = {{"bytes_per_token", e.cache->per_token},
                        {"bytes_per_token_beyond_windows", e.cache->beyond_windows},
                        {"at", Json::array()}};
    for (std::size_t n = 0; n < e.lengths.size(); ++n)
      all["key_cache"]["at"].push_back({{"length", e.lengths[n]}, {"bytes", e.cache->at[n]}});
  }
  if (!m.known) mark(all, {"causal", "input", "positions_end", "key_cache"});
  all["refused"] = remarks_json(m.remarks, true);
  all["remarks"] = remarks_json(m.remarks);
  return printed(all, indent);
}

OtherReader other_reader(const Config& config, Reader reader, const Explanation& first) {
  OtherReader other{reader, {}, ""};
  try {
    const Explanation own = gnomon::explain(config, reader);
    for (const std::string& sentence : refusal_sentences(own.model))
      other.refuses += (other.refuses.empty() ? "" : " ") + sentence;
    other.to_first = differences(first, own);
    other.table_rows = own.model.table_rows;
    for (const Remark& r : own.model.remarks)
      if (std::none_of(first.model.remarks.begin(), first.model.remarks.end(),
                       [&](const Remark& o) { return o.key == r.key && o.says == r.says; }))
        other.remarks.push_back(r);
  } catch (const Error& error) {
    other.refuses = error.what();
  }
  return other;
}

std::string readers_json(const Explanation& first, const std::vector<OtherReader>& others) {
  Json all{{"schema", kExplainSchema},
           {"file", first.where},
           {"reader", name(first.model.reader)},
           {"reader_version", reader_version(first.model.reader)},
           {"reader_title", reader_title(first.model.reader)},
           {"answer", explain_answers(first)},
           {"others", Json::array()}};
  for (const OtherReader& o : others) {
    Json one{{"reader", name(o.reader)},
             {"reader_version", reader_version(o.reader)},
             {"reader_title", reader_title(o.reader)},
             {"reads", o.refuses.empty()}};
    if (!o.refuses.empty()) {
      one["refuses"] = o.refuses;
    } else {
      add(o.to_first, one);
      one["table_rows"] = o.table_rows;
      one["remarks"] = remarks_json(o.remarks);
    }
    all["others"].push_back(std::move(one));
  }
  return printed(all, 1);
}

std::string differences_json(const Explanation& a, const Explanation& b, const Differences& found) {
  Json all{{"schema", kExplainSchema}, {"a", a.where}, {"b", b.where}};
  all["readers"] = {name(a.model.reader), name(b.model.reader)};
  all["reader_versions"] = {reader_version(a.model.reader), reader_version(b.model.reader)};
  add(found, all);
  return printed(all, 1);
}

}  // namespace gnomon::pages
