// What llama.cpp's own library computed from GGUF files of each architecture (tests/golden/make_llama_cpp.py): the rotation of
// each layer's queries by its kernel, the factor on q·k, the keys that each query sees.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "gnomon/core/error.h"
#include "gnomon/core/file.h"
#include "gnomon/core/text.h"
#include "gnomon/encodings/encoding.h"
#include "gnomon/models/explain/explain.h"
#include "gnomon/models/resolve/gguf_architectures.h"
#include "gnomon/models/resolve/numbers.h"
#include "gnomon/models/resolve/resolved.h"
#include "gnomon/spec/scheme.h"
#include "tests/files/gguf_bytes.h"
#include "tests/support/files.h"

namespace gnomon {
namespace {

using Json = nlohmann::ordered_json;

const Json& recorded() {
  static const Json all = Json::parse(read_file(Path(GNOMON_TESTS) / "golden" / "llama_cpp.json"));
  return all;
}

void write_list(GgufBytes& to, const std::string& key, const Json& list) {
  if (list.at(0).is_boolean()) {
    to.flags(key, list.get<std::vector<bool>>());
  } else if (list.at(0).is_number_float()) {
    to.numbers(key, list.get<std::vector<float>>());
  } else {
    to.wholes(key, list.get<std::vector<std::uint32_t>>());
  }
}
std::string bytes_of(const Json& c) {
  Json keys;
  for (const auto& group : c.at("with")) keys.update(recorded().at("common").at(group));
  keys.update(c.at("keys"));
  GgufBytes file(c.at("arch"));
  for (const auto& [key, value] : keys.items()) {
    if (value.is_array()) {
      write_list(file, key, value);
    } else if (value.is_string()) {
      file.text(key, value);
    } else if (value.is_boolean()) {
      file.flag(key, value);
    } else if (value.is_number_float()) {
      file.number(key, value);
    } else {
      file.whole(key, value);
    }
  }
  if (c.contains("tensors"))
    for (const auto& [name, numbers] : c.at("tensors").items())
      file.tensor(name, numbers.get<std::vector<float>>());
  return file.bytes();
}

Shape shape_of(const LayerPosition& p) { return {p.head_dim, 1, p.head_dim, 1, p.causal}; }

// The bits of the keys that query i of `tokens` sees.
std::uint64_t keys_seen(const LayerPosition& layer, std::int64_t i, std::int64_t tokens) {
  std::vector<double> places;
  for (std::int64_t t = 0; t < tokens; ++t) places.push_back(double(t));
  std::uint64_t row = 0;
  for (std::int64_t j = 0; j < (layer.causal ? i + 1 : tokens); ++j) {
    bool sees = true;
    for (const Named& named : layer.spec.attention) {
      const auto encoding = make_encoding(named, shape_of(layer));
      if (const auto* mask = part<MaskPart>(*encoding))
        sees = sees && mask->sees(Scene{places, {}, {}, {}}, i, j);
    }
    if (sees) row |= std::uint64_t(1) << j;
  }
  return row;
}

// The coordinate by which each pair turns: the one that moves its first channel.
std::vector<std::int64_t> streams_of(const LayerPosition& layer, const Numbers& n) {
  std::vector<std::int64_t> out;
  for (const Named& named : layer.spec.attention) {
    const auto encoding = make_encoding(named, shape_of(layer));
    if (!part<TurnPart>(*encoding)) continue;
    for (std::size_t pair = 0; pair < n.inv_freq.size(); ++pair) {
      out.push_back(-1);
      for (std::int64_t axis = 0; axis < 3; ++axis) {
        std::vector<double> places(3, 0.0), row(std::size_t(layer.head_dim), 0.0);
        places[std::size_t(axis)] = 64;
        const std::size_t channel = std::size_t(n.first) + pair * (n.pairing == Pairing::adjacent ? 2 : 1);
        row[channel] = 1;
        part<MapPart>(*encoding)->map_row(Scene{Positions(places, 1, 3), {}, {}, {}}, Role::q, 0, 0, row);
        if (row[channel] != 1) out.back() = axis;
      }
    }
  }
  return out;
}

// The first difference of two rotations, in words; empty: none. The kernel multiplies the angle from pair to pair in float32.
std::string rotation_difference(const Numbers& n, const Json& want) {
  const std::int64_t channels = want.at("channels"), first = want.at("first");
  const auto frequencies = want.at("frequencies").get<std::vector<double>>();
  if (n.inv_freq.empty()) return text("no rotation, not of ", channels, " channels");
  if (n.rotary_dim != channels) return text(n.rotary_dim, " channels, not ", channels);
  if (n.first != first) return text("first channel ", n.first, ", not ", first);
  const bool adjacent = want.at("apart") == Json({1});
  if (channels > 2 && adjacent != (n.pairing == Pairing::adjacent))
    return text(adjacent ? "halves, not adjacent" : "adjacent, not halves");
  for (std::size_t pair = 0; pair < frequencies.size(); ++pair) {
    const double want_one = frequencies[pair], own = n.inv_freq.at(pair);
    if (std::abs(own - want_one) > 2e-5 * std::abs(want_one) && std::abs(own) + std::abs(want_one) > 1e-12)
      return text("pair ", pair, ": ", own, ", not ", want_one);
  }
  if (std::abs(n.attention_factor - want.at("factor").get<double>()) > 1e-5)
    return text("factor of cos and sin ", n.attention_factor, ", not ", want.at("factor").dump());
  return {};
}

// Whether each pair turns by its own coordinate. The fourth one is 0 in text, and a remark says which pairs it stops; a spec
// with scaled frequencies is one of text, and a remark says that, too.
std::string stream_difference(const LayerPosition& layer, const Resolved& model, const Numbers& n,
                              const Json& want) {
  if (!want.contains("streams")) return {};
  auto expected = want.at("streams").get<std::vector<std::int64_t>>();
  const auto says = [&](std::string_view what) {
    return std::any_of(model.remarks.begin(), model.remarks.end(),
                       [&](const Remark& r) { return r.says.find(what) != std::string::npos; });
  };
  std::string still;
  for (std::size_t pair = 0; pair < expected.size(); ++pair)
    if (expected[pair] == 3) expected[pair] = 0, still += text(still.empty() ? "" : ", ", pair);
  if (!still.empty() && !says(text("does not turn the pairs ", still, " of text")))
    return text("pairs ", still, " do not turn, without a remark");
  const bool by_section = layer.spec.print().find("mrope") != std::string::npos;
  if (!by_section) return says("the spec is for text") ? "" : "no sections, without a remark";
  return streams_of(layer, n) == expected ? "" : text("streams, not ", want.at("streams").dump());
}

// T5: a table that holds its own row numbers tells the bucket of a pair.
std::string bucket_difference(const LayerPosition& layer, const Json& want) {
  const Named* t5 = layer.spec.attention.empty() ? nullptr : &layer.spec.attention[0];
  if (!t5 || t5->name != "t5") return "no buckets";
  const auto encoding = make_encoding(*t5, shape_of(layer));
  std::vector<double> table(std::size_t(encoding->param_count())), places;
  for (std::size_t n = 0; n < table.size(); ++n) table[n] = double(n);
  const std::int64_t tokens = recorded().at("tokens");
  for (std::int64_t t = 0; t < tokens; ++t) places.push_back(double(t));
  for (const std::int64_t i : {std::int64_t{0}, tokens - 1})
    for (std::int64_t j = 0; j < tokens; ++j) {
      const double found = part<BiasPart>(*encoding)->bias(Scene{places, {}, {}, table}, 0, i, j);
      if (const double bucket = want[i != 0][std::size_t(j)]; found != bucket)
        return text("bucket ", found, " of query ", i, " and key ", j, ", not ", bucket);
    }
  return {};
}

// The same of all that a layer does.
std::string layer_difference(const LayerPosition& layer, const Resolved& model, const Json& want,
                             double context) {
  const Numbers n = numbers_of(layer, context);
  const Json& ropes = want.at("rope");
  if (ropes.empty() && !n.inv_freq.empty()) return "a rotation, not none";
  if (ropes.size() > 1) return "two rotations";
  if (!ropes.empty()) {
    const Json& rope = recorded().at("ropes").at(ropes[0].get<int>());
    const std::string found = rotation_difference(n, rope) + stream_difference(layer, model, n, rope);
    if (!found.empty()) return found;
  }
  const double scale =
      (layer.scale == 0 ? 1 / std::sqrt(double(layer.head_dim)) : layer.scale) * n.softmax_factor;
  if (std::abs(scale / want.at("scale").get<double>() - 1) > 1e-5)
    return text("scale ", scale, ", not ", want.at("scale").dump());
  if ((want.at("alibi").get<double>() != 0) == n.slopes.empty())
    return text(n.slopes.empty() ? "no" : "a", " bias by distance");
  if (want.contains("buckets"))
    if (const std::string found = bucket_difference(layer, want.at("buckets")); !found.empty()) return found;
  if (want.contains("temperature")) {
    const auto factors = want.at("temperature").get<std::vector<double>>();
    for (std::size_t i = 0; i < factors.size(); ++i)
      if (std::abs(temperature_at(layer, std::int64_t(i) + 1) - factors[i]) > 1e-5)
        return text("query ", i, " by ", temperature_at(layer, std::int64_t(i) + 1), ", not ", factors[i]);
  } else if (temperature_at(layer, recorded().at("tokens")) != 1) {
    return "a temperature";
  }
  const Json& mask = recorded().at("masks").at(want.at("sees").get<int>());
  const std::int64_t tokens = recorded().at("tokens");
  for (std::int64_t i = 0; i < tokens; ++i)
    if (const std::uint64_t row = keys_seen(layer, i, tokens);
        row != mask[std::size_t(i)].get<std::uint64_t>())
      return text("query ", i, " sees ", row, ", not ", mask[std::size_t(i)].dump());
  return {};
}

// The first difference of a case.
std::string difference(const Json& c, const Resolved& found) {
  std::map<std::int64_t, const LayerPosition*> layers;
  for (const LayerPosition& layer : found.layers)
    if (layer.mixer.empty() && (layer.component.empty() || layer.component == "encoder"))
      layers[layer.number] = &layer;
  std::set<std::int64_t> met;
  for (const Json& pair : c.at("layers")) {
    const std::int64_t number = pair[0];
    met.insert(number);
    if (!layers.contains(number)) return text("no layer ", number);
    const std::string one = layer_difference(
        *layers[number], found, recorded().at("kinds").at(pair[1].get<int>()), c.at("context").get<double>());
    if (!one.empty()) return text("layer ", number, ": ", one);
  }
  for (const auto& [number, layer] : layers)
    if (!met.contains(number)) return text("layer ", number, " has no attention there");
  return {};
}

class LlamaCpp : public Files {
 protected:
  Resolved read(const Json& c) {
    const Path path = folder_ / "model.gguf";
    const std::string bytes = bytes_of(c);
    std::ofstream(path, std::ios::binary).write(bytes.data(), std::streamsize(bytes.size()));
    return resolve(Config::open(path));
  }
};

TEST_F(LlamaCpp, ComputesTheSameFromEachFile) {
  int compared = 0;
  std::set<std::string> architectures;
  for (const Json& c : recorded().at("cases")) {
    const GgufPosition position = find_gguf_architecture(c.at("arch").get<std::string>())->position;
    if (position == GgufPosition::blocks) {
      EXPECT_THROW(read(c), WrongValue) << c.at("arch");
      continue;
    }
    const std::string name = text(c.at("arch").get<std::string>(), " ", c.at("name").get<std::string>());
    try {
      EXPECT_EQ(difference(c, read(c)), "") << name;
      ++compared, architectures.insert(c.at("arch"));
    } catch (const Error& error) {
      ADD_FAILURE() << name << ": " << error.what();
    }
  }
  EXPECT_GE(compared, 1300);
  EXPECT_GE(architectures.size(), 140u);
}

// Another base, window or factor must not pass.
TEST_F(LlamaCpp, TellsAnotherFileApart) {
  int told = 0;
  for (const Json& c : recorded().at("cases")) {
    if (c.at("name") != "yarn" && c.at("name") != "listed") continue;
    for (const auto& [key, value] : {std::pair<std::string, Json>{"rope.freq_base", 90000.0},
                                     {"rope.scaling.factor", 3.0},
                                     {"attention.sliding_window", 5}}) {
      Json other = c;
      other["keys"][key] = value;
      try {
        told += !difference(c, read(other)).empty();
      } catch (const Error&) {
      }
    }
  }
  EXPECT_GT(told, 250);
}

// One list: it has every architecture of llama.cpp's own, those that no file here runs among them.
TEST(LlamaCppArchitectures, AllStandInTheList) {
  std::set<std::string> names;
  for (const Json& c : recorded().at("cases")) names.insert(c.at("arch"));
  for (const auto& [name, why] : recorded().at("refused").items()) names.insert(name);
  EXPECT_GE(names.size(), 150u);
  for (const std::string& name : names) EXPECT_TRUE(find_gguf_architecture(name)) << name;
  for (const GgufArchitecture& one : gguf_architectures())
    EXPECT_TRUE(names.contains(std::string(one.name))) << one.name;
}

}  // namespace
}  // namespace gnomon
