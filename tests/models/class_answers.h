// What gnomon explains of a layer, against what a class of transformers did in it when it ran: for classes_test and class_grid_test.
#pragma once
#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "gnomon/core/error.h"
#include "gnomon/encodings/encoding.h"
#include "gnomon/models/resolve/family.h"
#include "gnomon/spec/scheme.h"
#include "tests/models/class_files.h"
#include "tests/models/class_tables.h"
#include "tests/models/resolver_support.h"

namespace gnomon {

inline std::int64_t tokens() { return recorded_classes().at("tokens").get<std::int64_t>(); }
inline Shape one_head(const LayerPosition& layer) {
  return {layer.head_dim, 1, layer.head_dim, 1, layer.causal};
}

inline bool sees(const LayerPosition& layer, std::int64_t query, std::int64_t key) {
  if (layer.causal && key > query) return false;
  std::vector<double> places;
  for (std::int64_t t = 0; t < tokens(); ++t) places.push_back(double(t));
  for (const Named& named : layer.spec.attention) {
    const auto encoding = make_encoding(named, one_head(layer));
    const auto* mask = part<MaskPart>(*encoding);
    if (mask && !mask->sees(Scene{places, {}, {}, {}}, query, key)) return false;
  }
  return true;
}
inline std::int64_t first_seen(const LayerPosition& layer) {
  std::int64_t key = 0;
  while (!sees(layer, tokens() - 1, key)) ++key;
  return key;
}

inline std::int64_t last_seen(const LayerPosition& layer) {
  std::int64_t key = tokens() - 1;
  while (!sees(layer, 0, key)) --key;
  return key;
}

// The stream of positions by which each pair turns: the one that moves its first channel.
inline std::string streams_of(const LayerPosition& layer, const Numbers& numbers) {
  std::string out;
  for (const Named& named : layer.spec.attention) {
    const auto encoding = make_encoding(named, one_head(layer));
    if (!part<TurnPart>(*encoding)) continue;
    for (std::size_t pair = 0; pair < numbers.inv_freq.size(); ++pair) {
      out.push_back('?');
      for (std::int64_t axis = 0; axis < 3; ++axis) {
        std::vector<double> places(3, 0.0), row(std::size_t(layer.head_dim), 0.0);
        places[std::size_t(axis)] = 64;
        const bool adjacent = numbers.pairing == Pairing::adjacent;
        const std::size_t channel = std::size_t(numbers.first) + pair * (adjacent ? 2 : 1);
        row[channel] = 1;
        part<MapPart>(*encoding)->map_row(Scene{Positions(places, 1, 3), {}, {}, {}}, Role::q, 0, 0, row);
        if (row[channel] != 1) out.back() = char('0' + axis);
      }
    }
  }
  return out;
}
inline bool moves_by_streams(const LayerPosition& layer) {
  return std::any_of(layer.spec.attention.begin(), layer.spec.attention.end(),
                     [](const Named& named) { return named.name.starts_with("mrope"); });
}
inline bool same_streams(const std::string& own, const std::string& want) {
  if (own.size() != want.size()) return false;
  for (std::size_t i = 0; i < want.size(); ++i)
    if (want[i] != '?' && want[i] != own[i]) return false;
  return true;
}

inline std::int64_t kept_per_token(const LayerPosition& layer) {
  if (layer.kept.elsewhere) return 0;
  if (layer.kept.latent) return layer.kept.latent;
  const std::int64_t values = layer.kept.shared ? 0 : layer.value_dim ? layer.value_dim : layer.head_dim;
  return layer.kv_heads * (layer.head_dim + values);
}

inline std::string wrong_rotation(const LayerPosition& layer, const Json& want) {
  const Numbers numbers = numbers_of(layer, double(tokens()));
  if (want.at("turned").is_null()) return numbers.inv_freq.empty() ? "" : "it turns";
  const bool halves = numbers.pairing == Pairing::halves || numbers.rotary_dim == 2;  // one pair is both
  const Json own = Json::array({numbers.first, numbers.rotary_dim, halves ? "halves" : "adjacent"});
  if (numbers.backward != want.value("backward", false)) return "direction";
  if (own != want.at("turned")) return text("channels ", own.dump(), ", not ", want.at("turned").dump());
  if (const auto wrong = difference(numbers, want.at("f"), tolerance(layer)); !wrong.empty()) return wrong;
  if (!want.contains("streams")) return {};
  if (want.at("streams") == "none") return moves_by_streams(layer) ? "it turns by streams" : "";
  const std::string streams = streams_of(layer, numbers);
  return same_streams(streams, want.at("streams")) ? "" : text("streams ", streams);
}

// The first difference of a layer from what the class did in it, in words; empty: none.
inline std::string difference(const LayerPosition& layer, const Json& want) {
  if (want.at("heads").is_null() || !layer.mixer.empty())
    return want.at("heads").is_null() == !layer.mixer.empty() ? "" : text("mixer '", layer.mixer, "'");
  const Json heads = Json::array({layer.heads, layer.kv_heads, layer.head_dim});
  if (heads != want.at("heads")) return text("heads ", heads.dump(), ", not ", want.at("heads").dump());
  if (first_seen(layer) != want.at("first"))
    return text("sees from ", first_seen(layer), " on, not ", want.at("first").dump());
  if (sees(layer, 0, tokens() - 1) != want.at("later")) return "sees later keys, or not";
  if (want.contains("beyond") && last_seen(layer) != want.at("beyond"))
    return text("the first query sees up to ", last_seen(layer), ", not ", want.at("beyond").dump());
  if (want.contains("scale")) {
    const double scale = (layer.scale == 0 ? 1 / std::sqrt(double(layer.head_dim)) : layer.scale) *
                         numbers_of(layer, double(tokens())).softmax_factor;
    if (!(std::abs(scale / want.at("scale").get<double>() - 1) <= 2e-7))
      return text("scale ", scale, ", not ", want.at("scale").dump());
  }
  if (want.contains("kept") && kept_per_token(layer) != want.at("kept"))
    return text("keeps ", kept_per_token(layer), " numbers of a token, not ", want.at("kept").dump());
  if (want.contains("bias"))
    if (const auto wrong = wrong_bias(layer, want.at("bias"), tokens()); !wrong.empty()) return wrong;
  const auto slopes = numbers_of(layer, double(tokens())).slopes;
  if (const auto wrong = wrong_slopes(slopes, want.value("slopes", Json::array())); !wrong.empty())
    return wrong;
  return wrong_rotation(layer, want);
}

// The attention that chooses keys for this layer.
inline std::string wrong_indexer(const Resolved& answer, std::int64_t number, const Json& want) {
  const auto own = std::find_if(answer.layers.begin(), answer.layers.end(), [&](const LayerPosition& layer) {
    return layer.number == number && layer.component == "indexer";
  });
  const bool there = own != answer.layers.end();
  if (there != want.contains("indexer")) return there ? "an indexer that is none" : "no indexer";
  if (!there) return {};
  const Json& indexer = want.at("indexer");
  const Json heads = Json::array({own->heads, own->kv_heads, own->head_dim});
  if (heads != indexer.at("heads")) return text("heads ", heads.dump(), " of the indexer");
  const std::string wrong = wrong_rotation(*own, indexer);
  return wrong.empty() ? "" : text("indexer: ", wrong);
}

// Of the stack that is called so, of a model with two.
inline std::string difference_of_layers(const Resolved& answer, const Json& groups,
                                        const std::string& component = {}) {
  std::vector<const LayerPosition*> layers;
  for (const LayerPosition& layer : answer.layers)
    if (layer.component == component) layers.push_back(&layer);
  std::size_t count = 0;
  for (const Json& group : groups)
    for (const std::size_t l : group.at("layers").get<std::vector<std::size_t>>()) {
      if (l >= layers.size()) return text("no layer ", l);
      if (const auto wrong = difference(*layers[l], group); !wrong.empty())
        return text("layer ", l, ": ", wrong);
      if (const auto wrong = wrong_indexer(answer, layers[l]->number, group); !wrong.empty())
        return text("layer ", l, ": ", wrong);
      ++count;
    }
  return count == layers.size() ? "" : text(layers.size(), " layers, not ", count);
}

// What a group of layers would do by another convention: other pairs, another base, a wider window, other heads. nullopt: it says
// nothing of that.
inline constexpr const char* kConventions[] = {"pairs", "frequency", "first", "heads",
                                               "kept",  "scale",     "later", "slopes"};
inline std::optional<Json> otherwise(Json group, std::string_view what) {
  if (group.at("heads").is_null()) return std::nullopt;
  if (what == "pairs" || what == "frequency") {
    if (group.at("turned").is_null() || group.at("turned")[1] == 2) return std::nullopt;
    Json& pairs = group["turned"][2];
    if (what == "pairs") pairs = pairs == "halves" ? "adjacent" : "halves";
    if (what == "frequency")
      for (Json& f : group["f"]["f"]) f = f.get<double>() * 1.001;
  } else if (what == "heads") {
    group["heads"][1] = 99;
  } else if (what == "later") {
    group["later"] = !group["later"].get<bool>();
  } else if (what == "slopes") {
    if (!group.contains("slopes")) return std::nullopt;
    group["slopes"].back() = group["slopes"].back().get<double>() * 1.001;
  } else {
    const std::string key(what);
    if (!group.contains(key)) return std::nullopt;
    group[key] =
        what == "scale" ? Json(group[key].get<double>() * 1.001) : Json(group[key].get<std::int64_t>() + 1);
  }
  return group;
}

inline bool known(const Json& c) { return find_family(c.at("type").get<std::string>()) != nullptr; }

// Of a file, from what class `c` did with it.
inline std::string difference(const Json& file, const Json& c) {
  try {
    const Resolved answer = resolve(Config::parse(file.dump(), "config.json"));
    const std::string component = c.value("component", "");
    const auto wrong = difference_of_layers(answer, c.at("layers"), component);
    return wrong.empty() && c.contains("table") ? wrong_table(of_stack(answer, component), c.at("table"))
                                                : wrong;
  } catch (const Error& error) {
    return text("refused: ", error.what());
  }
}

// The class of full size, of a file that leaves out what the class has by itself.
inline std::string wrong_bare(const Json& file, const Json& want, const std::string& component = {}) {
  const Resolved answer = of_stack(resolve(Config::parse(file.dump(), "config.json")), component);
  if (answer.width != want.at("width")) return text("width ", answer.width);
  if (want.contains("table")) {
    Json rows = want.at("table");
    rows.erase("words");  // of the narrower model that was run, like the sines
    if (rows.contains("sines")) rows["sines"] = Json::array();
    if (const auto wrong = wrong_table(answer, rows); !wrong.empty()) return wrong;
  }
  std::set<std::int64_t> numbers;
  std::set<std::size_t> used;
  bool heads = false;
  for (const LayerPosition& layer : answer.layers) {
    if (layer.component != component) continue;
    numbers.insert(layer.number);
    heads = heads || want.at("heads").is_null() || layer.heads == want.at("heads");
    if (!layer.mixer.empty() || numbers_of(layer, 1).inv_freq.empty()) continue;
    std::string wrong = "no rotation";
    bool found = false;
    for (std::size_t r = 0; r < want.at("rotations").size(); ++r) {
      const auto here = difference(numbers_of(layer, 1), want.at("rotations")[r], tolerance(layer));
      if (here.empty()) used.insert(r), found = true;
      wrong = here.empty() ? wrong : here;
    }
    if (!found) return text("layer ", layer.number, ": ", wrong);
  }
  if (std::int64_t(numbers.size()) != want.at("layers")) return text(numbers.size(), " layers");
  if (!heads) return "heads";
  return used.size() == want.at("rotations").size() ? "" : "a rotation of no layer";
}

}  // namespace gnomon
