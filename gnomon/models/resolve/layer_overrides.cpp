#include "gnomon/models/resolve/layer_overrides.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "gnomon/core/text.h"
#include "gnomon/models/resolve/layers.h"

namespace gnomon {
namespace {

constexpr std::string_view kObject = "per_layer_config", kHeadDim = "head_dim",
                           kKvHeads = "num_key_value_heads", kRule = "layer-override-refused";

// As Python's int() reads it: zeros before and spaces around a number say nothing.
std::optional<std::int64_t> layer_number(std::string_view key) {
  const auto blank = [](char c) { return c == ' '; };
  while (!key.empty() && blank(key.front())) key.remove_prefix(1);
  while (!key.empty() && blank(key.back())) key.remove_suffix(1);
  std::int64_t number = 0;
  const auto [end, fault] = std::from_chars(key.data(), key.data() + key.size(), number);
  if (fault != std::errc() || end != key.data() + key.size()) return std::nullopt;
  return number;
}

// What the file says of the whole model; nullopt: neither it nor a size of the class does.
std::optional<std::string> of_the_model(FileReading& file, const Sizes& sizes, std::string_view name) {
  if (file.kind(name) != Config::Kind::absent) return file.printed(name);
  if (name == kHeadDim) return text(sizes.head_dim);
  if (name == kKvHeads) return text(sizes.kv_heads);
  if (name == "num_attention_heads") return text(sizes.heads);
  if (name == "hidden_size") return text(sizes.width);
  return std::nullopt;
}

using Values = std::map<std::string, std::string>;  // by name, as printed
// Those of a layer that are not the whole model's: transformers drops the others. The parts of a layer to skip are no value.
Values differing(FileReading& file, const Sizes& sizes, const std::string& object) {
  Values values;
  if (object.empty()) return values;
  for (const std::string& name : file.keys(object)) {
    const std::string value = file.printed(text(object, ".", name));
    if (name != "skip" && of_the_model(file, sizes, name) != value) values.emplace(name, value);
  }
  return values;
}

// What the class reads by layer.
std::vector<std::string_view> names_by_layer(const Family& family) {
  if (family.full.head_dim) return {kHeadDim, kKvHeads};                            // Gemma 4
  if (!family.sliding.heads_key.empty()) return {"num_attention_heads", kKvHeads};  // Step
  if (family.sliding.latent)                                                        // Dots
    return {"num_attention_heads", kKvHeads,           "q_lora_rank",     "kv_lora_rank",
            "v_head_dim",          "qk_nope_head_dim", "qk_rope_head_dim"};
  if (family.windows.second) return {family.windows.key};  // NeoMME
  return {};
}

// A dictionary, for all layers or for one kind of them, has this type.
bool has_rope_type(FileReading& file, std::string_view asked) {
  for (const std::string_view object : {"rope_parameters", "rope_scaling"}) {
    if (file.kind(object) != Config::Kind::object) continue;
    std::vector<std::string> dictionaries{std::string(object)};
    for (const std::string& kind : file.config().keys(file.at(object)))
      dictionaries.push_back(text(object, ".", kind));
    for (const std::string& one : dictionaries)
      for (const char* name : {".rope_type", ".type"})
        if (file.kind(one + name) == Config::Kind::text && file.text(one + name) == asked) return true;
  }
  return false;
}

}  // namespace

std::vector<std::string> layer_overrides(FileReading& file, std::int64_t layers) {
  std::vector<std::string> objects;
  objects.resize(std::size_t(layers));
  if (file.kind(kObject) != Config::Kind::object) {
    if (file.has(kObject)) file.wrong(kObject, "an object with one object for each layer that differs");
    return objects;
  }
  for (const std::string& key : file.keys(kObject)) {
    const std::string object = text(kObject, ".", key);
    const auto number = layer_number(key);
    if (!number || *number < 0 || *number >= layers)
      file.wrong(object, text("a key that is a layer number, from 0 to ", layers - 1));
    if (file.kind(object) != Config::Kind::object) file.wrong(object, "an object");
    objects[std::size_t(*number)] = object;
  }
  return objects;
}

void remark_layer_overrides(FileReading& file, const Family& family, const Sizes& sizes,
                            std::vector<Remark>& remarks) {
  if (file.kind(kObject) != Config::Kind::object) return;
  const auto objects = layer_overrides(file, sizes.layers);
  const auto by_layer = names_by_layer(family);
  std::vector<Values> heads(objects.size());
  for (std::size_t l = 0; l < objects.size(); ++l) {
    for (const auto& [name, value] : differing(file, sizes, objects[l])) {
      if (std::find(by_layer.begin(), by_layer.end(), name) != by_layer.end()) {
        heads[l].emplace(name, value);
      } else {
        remarks.push_back({file.at(text(objects[l], ".", name)),
                           "this family cannot set it per layer: transformers 5.23 raises "
                           "AmbiguousGlobalPerLayerAttributeError when it builds the model",
                           kRule,
                           {},
                           true});
      }
    }
  }
  if (!family.full.head_dim) return;
  const bool widths =
      std::any_of(heads.begin(), heads.end(), [](const Values& v) { return v.contains("head_dim"); });
  if (widths && has_rope_type(file, "longrope"))
    remarks.push_back({file.at(kObject),
                       "layers have heads of different widths: transformers 5.23 asks for one to count the "
                       "factors of longrope, and raises AmbiguousGlobalPerLayerAttributeError",
                       kRule,
                       {},
                       true});
  const auto kinds = read_layers(file, family, sizes);
  for (std::size_t l = 1; l < kinds.size(); ++l) {
    const auto first = std::find_if(kinds.begin(), kinds.end(),
                                    [&](const LayerKind& kind) { return kind.type == kinds[l].type; });
    if (heads[l] == heads[std::size_t(first - kinds.begin())]) continue;
    remarks.push_back({file.at(kObject),
                       text("layers of type ", kinds[l].type, " have different heads from layer ", l,
                            " on: transformers 5.23 makes one rotation per layer type and raises ValueError"),
                       kRule,
                       {},
                       true});
    return;
  }
}

}  // namespace gnomon
