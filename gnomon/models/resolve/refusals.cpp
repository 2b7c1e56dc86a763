#include "gnomon/models/resolve/refusals.h"

#include <algorithm>
#include <array>

#include "gnomon/core/prose.h"
#include "gnomon/core/text.h"

namespace gnomon {
namespace {

constexpr Prose kText =
#include "gnomon/models/resolve/refusals.txt.inc"
    ;

template <std::size_t N>
bool is_one(std::string_view name, const std::array<std::string_view, N>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}
bool rotary_class(const FileView& file) {
  return !class_of(file).empty() && file.family()->method == Method::rotary;
}
bool grouped(const FileView& file) {  // keys and values have heads of their own
  constexpr std::array<std::string_view, 4> none{"gpt_neox", "gptj", "modernbert", "nomic_bert"};
  return rotary_class(file) && !is_one(file.family()->name, none);
}

// ALLOWED_ATTN_LAYER_TYPES of configuration_utils.py, and the older words that it puts in their place.
constexpr std::array<std::string_view, 18> kLayerTypes{"full_attention",
                                                       "sliding_attention",
                                                       "chunked_attention",
                                                       "window_attention",
                                                       "indexed_attention",
                                                       "compressed_sparse_attention",
                                                       "heavily_compressed_attention",
                                                       "minimax_m3_sparse",
                                                       "conv",
                                                       "moe",
                                                       "hybrid",
                                                       "hybrid_sliding",
                                                       "reference_sliding_attention",
                                                       "linear_attention",
                                                       "attention",
                                                       "mamba",
                                                       "deepseek_sparse_attention",
                                                       "qwen_sparse_attention"};
Remarks layer_word(const FileView& file) {
  const auto types = file.words("layer_types");
  if (!types || class_of(file).empty()) return {};
  const bool by_kind =
      file.family()->rope.dicts == RopeDicts::as_written;  // its heads are those of the words
  for (std::size_t l = 0; l < types->size(); ++l)
    if (!is_one(types->at(l), kLayerTypes) || (by_kind && types->at(l) == "attention"))
      return {refused(file.at("layer_types"), kText.at("layer-type-unknown", "expected"),
                      said<"layer", "word">(kText.at("layer-type-unknown", "says"), text(l), types->at(l)))};
  return {};
}

// Classes that have a number of their own where another takes null for as many as heads.
bool refuses_null_kv(const FileView& file) {
  constexpr std::array<std::string_view, 7> takes{"qwen2",       "qwen3",       "qwen2_vl", "qwen3_vl",
                                                  "deepseek_v3", "granite_swa", "smollm3"};
  return file.family()->sizes.kv_heads != 0 && !is_one(file.family()->name, takes);
}
std::vector<std::string_view> whole_keys(const FileView& file) {
  const SizeKeys& keys = file.family()->keys;
  std::vector<std::string_view> all{keys.width, keys.layers, keys.heads, keys.longest};
  if (grouped(file)) all.insert(all.end(), {"num_key_value_heads", "head_dim"});
  return all;
}
bool is_whole_number(const FileView& file, std::string_view key) {
  return file.kind(key) == Config::Kind::number &&
         file.config().printed(file.at(key)).find_first_of(".eE") == std::string::npos;
}
consteval std::string_view of_value(std::string_view field) { return kText.at("value-type-refused", field); }
// Keys that a class has a number for, and that a null empties.
struct EmptiedKey {
  std::string_view family, key, expected;
};
constexpr EmptiedKey kEmptied[] = {{"llama4", "attn_temperature_tuning", of_value("expected.flag")},
                                   {"phi", "partial_rotary_factor", of_value("expected.share")},
                                   {"phi3", "partial_rotary_factor", of_value("expected.share")},
                                   {"stablelm", "partial_rotary_factor", of_value("expected.share")},
                                   {"deepseek_v4", "sliding_window", of_value("expected.window")},
                                   {"inkling", "sliding_window", of_value("expected.window")}};
template <class Add>
void add_nulls(const FileView& file, const Add& add) {
  for (const EmptiedKey& emptied : kEmptied)
    if (class_of(file) == emptied.family && file.kind(emptied.key) == Config::Kind::null)
      add(emptied.key, emptied.expected, of_value("says.null"));
}
Remarks value_type(const FileView& file) {
  Remarks all;
  if (class_of(file).empty()) return all;
  const auto add = [&](std::string_view key, std::string_view expected, std::string_view says) {
    all.push_back(refused(file.at(key), expected, says));
  };
  for (const std::string_view key : whole_keys(file)) {
    if (file.kind(key) == Config::Kind::number &&
        file.config().printed(file.at(key)).find_first_of(".eE") != std::string::npos)
      add(key, of_value("expected.point"), of_value("says.point"));
    if (file.kind(key) == Config::Kind::text) add(key, of_value("expected.quotes"), of_value("says.quotes"));
  }
  if (rotary_class(file) && file.kind("max_position_embeddings") == Config::Kind::null)
    add("max_position_embeddings", of_value("expected.longest"), of_value("says.null"));
  if (grouped(file) && refuses_null_kv(file) && file.kind("num_key_value_heads") == Config::Kind::null)
    add("num_key_value_heads", of_value("expected.heads"), of_value("says.null"));
  if (file.kind(file.family()->keys.layers) == Config::Kind::null)
    add(file.family()->keys.layers, of_value("expected.layers"), of_value("says.null"));
  add_nulls(file, add);
  if (class_of(file) == "mpt" && is_whole_number(file, "attn_config.softmax_scale"))
    add("attn_config.softmax_scale", of_value("expected.whole"), of_value("says.whole"));
  const auto flag = [&](std::string_view key, bool is_read) {
    if (is_read && file.kind(key) == Config::Kind::number)
      add(key, of_value("expected.flag"), of_value("says.flag"));
  };
  flag("attn_temperature_tuning", file.family()->temperature == Temperature::llama4);
  flag("use_sliding_window", file.switches_window());
  return all;
}

// Classes whose attention raises head_dim to a power, whatever the rotation.
Remarks head_needed(const FileView& file) {
  constexpr std::array<std::string_view, 12> kNull{"qwen2",   "phi",     "phi3",      "glm4",
                                                   "smollm3", "olmo",    "olmo2",     "olmo3",
                                                   "exaone4", "granite", "qwen3_moe", "granite_swa"};
  if (!rotary_class(file)) return {};
  const std::string_view name = file.family()->name;
  const Config::Kind kind = file.kind("head_dim");
  const bool none = (name == "hunyuan_v1" || name == "ministral") &&
                    (kind == Config::Kind::absent || kind == Config::Kind::null);
  const bool null = kind == Config::Kind::null && (is_one(name, kNull) || name == "granitemoe_swa");
  if (!none && !null) return {};
  const auto width = file.whole("hidden_size"), heads = file.whole("num_attention_heads");
  const bool divides = width && heads && *heads > 0 && *width % *heads == 0;
  return {refused(
      file.at("head_dim"),
      divides ? said<"channels">(kText.at("head-dim-needed", "expected.divides"), text(*width / *heads))
              : std::string(kText.at("head-dim-needed", "expected")),
      said<"type">(kText.at("head-dim-needed", "says"), file.type()))};
}

Remarks head_of_rotation_alone(const FileView& file) {
  if (class_of(file) == "deepseek_v3" && file.kind("head_dim") != Config::Kind::absent) {
    const std::int64_t slice = file.whole("qk_rope_head_dim").value_or(file.family()->mla.rope);
    if (file.whole("head_dim") == slice) return {};
    return {refused(file.at("head_dim"),
                    said<"channels">(kText.at("head-dim-of-rotation-alone", "expected"), text(slice)),
                    said<"channels">(kText.at("head-dim-of-rotation-alone", "says.slice"), text(slice)))};
  }
  constexpr std::array<std::string_view, 3> kClasses{"stablelm", "qwen2_vl", "modernbert"};
  if (!rotary_class(file) || !is_one(file.family()->name, kClasses)) return {};
  const auto dim = file.whole("head_dim"), width = file.whole("hidden_size"),
             heads = file.whole("num_attention_heads");
  if (!dim || !width || !heads || *heads < 1 || *dim * *heads == *width) return {};
  const std::string channels = text(*width / *heads);
  return {refused(
      file.at("head_dim"), said<"channels">(kText.at("head-dim-of-rotation-alone", "expected"), channels),
      said<"rotated", "channels">(kText.at("head-dim-of-rotation-alone", "says"), text(*dim), channels))};
}

// Classes with a matrix of the whole width behind the heads, or a norm of it before them.
Remarks heads_of_width(const FileView& file) {
  if (class_of(file) != "helium" && class_of(file) != "esmc") return {};
  const Sizes& own = file.family()->sizes;
  const std::int64_t width = file.whole("hidden_size").value_or(own.width),
                     heads = file.whole("num_attention_heads").value_or(own.heads);
  const auto dim = own.head_dim || file.has("head_dim")
                       ? std::optional(file.whole("head_dim").value_or(own.head_dim))
                       : std::nullopt;
  if (!dim || heads < 1 || *dim * heads == width) return {};
  return {refused(file.at("head_dim"),
                  said<"channels">(kText.at("heads-not-the-width", "expected"), text(width / heads)),
                  said<"heads", "channels", "width">(kText.at("heads-not-the-width", "says"), text(heads),
                                                     text(*dim * heads), text(width)))};
}

Remarks temperature(const FileView& file) {
  if (class_of(file).empty() || file.family()->temperature != Temperature::ministral3) return {};
  Remarks all;
  if (file.kind("rope_parameters") == Config::Kind::object && file.ropes().empty())
    all.push_back(refused(file.at("rope_parameters"), kText.at("temperature-unsaid", "expected.empty"),
                          kText.at("temperature-unsaid", "says.empty")));
  const auto one = [](const RopeDictionary& dict) { return dict.live && dict.label.empty(); };
  if (!file.ropes().empty() && std::none_of(file.ropes().begin(), file.ropes().end(), one))
    all.push_back(refused(file.ropes().front().key, kText.at("temperature-unsaid", "expected.one"),
                          kText.at("temperature-unsaid", "says.nested")));
  for (const RopeDictionary& dict : file.ropes()) {
    if (!one(dict)) continue;
    const bool beta = file.has(dict, "llama_4_scaling_beta");
    const bool length = file.has(dict, "original_max_position_embeddings") ||
                        (file.scales(dict) && file.type_of(dict) != "linear" &&
                         file.type_of(dict) != "dynamic" && file.type_of(dict) != "proportional");
    if (!beta)
      all.push_back(refused(dict.key, kText.at("temperature-unsaid", "expected.beta"),
                            kText.at("temperature-unsaid", "says.beta")));
    else if (!length)
      all.push_back(refused(dict.key, kText.at("temperature-unsaid", "expected.length"),
                            kText.at("temperature-unsaid", "says.length")));
  }
  return all;
}

Remarks proportional_in_part(const FileView& file) {
  constexpr std::array<std::string_view, 3> kCut{"phi", "stablelm", "persimmon"};
  if (!is_one(class_of(file), kCut)) return {};
  Remarks all;
  for (const RopeDictionary& dict : file.ropes()) {
    if (!dict.live || file.type_of(dict) != "proportional") continue;
    const auto given = file.has(dict, "partial_rotary_factor") ? file.number(dict, "partial_rotary_factor")
                                                               : file.number("partial_rotary_factor");
    const double share = given.value_or(file.family()->rope.partial);
    if (share >= 1) continue;
    all.push_back(refused(dict.key + (file.has(dict, "rope_type") ? ".rope_type" : ".type"),
                          kText.at("proportional-in-a-part", "expected"),
                          said<"share">(kText.at("proportional-in-a-part", "says"), shortest(share))));
  }
  return all;
}

struct Refusal {
  std::string_view rule;  // of lint
  Remarks (*find)(const FileView&);
};
constexpr Refusal kRefusals[] = {
    {"layer-type-unknown", layer_word},
    {"value-type-refused", value_type},
    {"head-dim-needed", head_needed},
    {"head-dim-of-rotation-alone", head_of_rotation_alone},
    {"heads-not-the-width", heads_of_width},
    {"temperature-unsaid", temperature},
    {"proportional-in-a-part", proportional_in_part},
    {"window-missing", window_missing},
    {"window-impossible", window_impossible},
};

}  // namespace

std::string_view class_of(const FileView& file) {
  if (file.gguf() || !file.family()) return {};
  const auto& own = file.family()->own_code;
  return std::find(own.begin(), own.end(), file.type()) == own.end() ? file.family()->name : "";
}
Remark refused(std::string key, std::string_view instead, std::string_view says) {
  return {std::move(key), std::string(says), {}, std::string(instead), true};
}

Remarks refusals(const FileView& file) {
  Remarks all;
  for (const Refusal& one : kRefusals)
    for (Remark& remark : one.find(file)) {
      remark.rule = one.rule;
      all.push_back(std::move(remark));
    }
  return all;
}

}  // namespace gnomon
