// rope_scaling and rope_parameters: which of them is read, and which of their keys.
#include <algorithm>

#include "gnomon/models/lint/rules/rule.h"
#include "gnomon/models/resolve/rope_dict.h"
#include "gnomon/models/resolve/rope_keys.h"

namespace gnomon {
namespace {

constexpr Prose kText =
#include "gnomon/models/lint/rules/dictionary.txt.inc"
    ;

Findings two_dictionaries(const LintContext& file) {
  const Config& config = file.config();
  const std::string scaling = file.at("rope_scaling"), parameters = file.at("rope_parameters");
  if (config.kind(scaling) != Config::Kind::object || config.kind(parameters) != Config::Kind::object ||
      file.reads_by_kind())
    return {};
  if (config.keys(scaling).empty()) return {};
  std::string differ;
  for (const std::string& key : config.keys(parameters)) {
    if (config.printed(scaling + "." + key) == config.printed(parameters + "." + key)) continue;
    if (key == "rope_theta" && config.printed(file.at(key)) == config.printed(parameters + ".rope_theta"))
      continue;
    differ += (differ.empty() ? "" : ", ") + key;
  }
  if (differ.empty()) return {};
  return {finding(file, parameters, kText.at("two-dictionaries", "expected"),
                  said<"differ">(kText.at("two-dictionaries", "says"), differ))};
}

Findings type_twice(const LintContext& file) {
  Findings all;
  for (const RopeDictionary& dict : file.ropes()) {
    const Config& config = file.config();
    if (config.kind(dict.key + ".type") != Config::Kind::text ||
        config.kind(dict.key + ".rope_type") != Config::Kind::text)
      continue;
    const std::string old = *config.text(dict.key + ".type"), now = *config.text(dict.key + ".rope_type");
    const bool mrope = (old == "mrope" && now == "default") || (old == "default" && now == "mrope");
    const bool longrope = (old == "su" || old == "yarn") && now == "longrope";
    if (old == now || mrope || longrope) continue;
    all.push_back(finding(file, dict.key + ".type", said<"now">(kText.at("rope-type-twice", "expected"), now),
                          said<"now", "old">(kText.at("rope-type-twice", "says"), now, old)));
  }
  return all;
}

Findings key_misspelt(const LintContext& file) {
  Findings all;
  for (const RopeDictionary& dict : file.ropes()) {
    for (const std::string& key : file.config().keys(dict.key)) {
      const Config::Kind kind = file.config().kind(dict.key + "." + key);
      if (kind == Config::Kind::object || kind == Config::Kind::null) continue;
      if (file.type_of(dict) == "yarn" && is_vllm_yarn_key(key)) continue;
      const std::string meant = misspelt_rope_key(key, file.type_of(dict));
      if (meant.empty()) continue;  // known, or a model's own code may read it
      const bool length = meant == "original_max_position_embeddings";
      all.push_back(
          finding(file, dict.key + "." + key, said<"meant">(kText.at("rope-key-misspelt", "expected"), meant),
                  length ? said<"longest">(kText.at("rope-key-misspelt", "says.length"),
                                           file.config().printed(file.at("max_position_embeddings")))
                         : kText.at("rope-key-misspelt", "says.plain")));
    }
  }
  return all;
}

Findings flat_unread(const LintContext& file) {
  if (!file.reads_by_kind()) return {};
  const RopeDictionary* flat = nullptr;
  for (const RopeDictionary& dict : file.ropes()) {
    if (dict.key == file.at("rope_parameters")) flat = &dict;
    if (dict.key.starts_with(file.at("rope_parameters."))) return {};  // layer-labels-mixed says it
  }
  if (!flat) return {};
  return {finding(file, flat->key, kText.at("flat-dictionary-unread", "expected"),
                  file.family()->rope.dicts == RopeDicts::both_kinds
                      ? kText.at("flat-dictionary-unread", "says.refused")
                      : kText.at("flat-dictionary-unread", "says.unused"))};
}

// Classes of transformers 5.23 whose rotation has a dictionary for each kind of layer: those of models/*/modeling_*.py with
// buffers KIND_inv_freq, without the endings of their parts.
constexpr std::array<std::string_view, 23> kByKind{"beam",        "cohere_compass",
                                                   "deepseek_v4", "diffusion_gemma",
                                                   "dots3_note",  "embedding_gemma2",
                                                   "esmc",        "gemma3",
                                                   "gemma4",      "gte",
                                                   "laguna",      "lfm3",
                                                   "mellum",      "mimo_v2",
                                                   "modernbert",  "neomme",
                                                   "nomic_bert",  "olmo3",
                                                   "step3p5",     "step3p7",
                                                   "t5gemma2",    "ultrabert",
                                                   "zaya"};
bool takes_kinds(const LintContext& file) {
  return std::any_of(kByKind.begin(), kByKind.end(),
                     [&](std::string_view name) { return file.type().starts_with(name); });
}

Findings nested_unread(const LintContext& file) {
  if (!file.family() || file.family()->method != Method::rotary || takes_kinds(file)) return {};
  const auto types = file.words("layer_types");
  for (const RopeDictionary& dict : file.ropes()) {
    if (!dict.live || dict.label.empty()) continue;
    const bool listed = types && std::find(types->begin(), types->end(), dict.label) != types->end();
    return {
        finding(file, dict.key, kText.at("nested-dictionary-unread", "expected"),
                listed ? said<"class">(kText.at("nested-dictionary-unread", "says.listed"), text(file.type()))
                       : said<"class", "of_class">(kText.at("nested-dictionary-unread", "says.unused"),
                                                   text(file.type()), shortest(class_theta(file))))};
  }
  return {};
}

Findings label_missing(const LintContext& file) {
  if (!file.family() || file.family()->rope.dicts != RopeDicts::as_written) return {};
  const std::string key =
      file.at(file.kind("rope_scaling") == Config::Kind::object ? "rope_scaling" : "rope_parameters");
  const auto dict = [&](std::string_view kind) { return file.config().kind(text(key, ".", kind)); };
  const std::vector<std::string> types =
      file.words("layer_types").value_or(std::vector<std::string>{"full_attention", "sliding_attention"});
  const bool nested =
      std::any_of(types.begin(), types.end(), [&](const auto& t) { return dict(t) == Config::Kind::object; });
  for (const std::string& type : types)
    if (nested && dict(type) == Config::Kind::absent)
      return {finding(file, key, said<"type">(kText.at("layer-label-missing", "expected"), type),
                      said<"type">(kText.at("layer-label-missing", "says"), type))};
  return {};
}

Findings labels_mixed(const LintContext& file) {
  for (const RopeDictionary& flat : file.ropes()) {
    if (!flat.label.empty()) continue;
    for (const RopeDictionary& nested : file.ropes())
      if (nested.key.starts_with(flat.key + "."))
        return {finding(file, flat.key, kText.at("layer-labels-mixed", "expected"),
                        said<"kind">(kText.at("layer-labels-mixed", "says"), nested.label))};
  }
  return {};
}

Findings outer_unread(const LintContext& file) {
  Findings all;
  if (file.part().empty() || file.gguf()) return all;
  for (const std::string_view key :
       {"rope_theta", "rope_scaling", "rope_parameters", "partial_rotary_factor"}) {
    const Config& config = file.config();
    if (!config.has(key) || config.printed(key) == config.printed(file.at(key)) ||
        config.printed(key) == "{}")
      continue;
    all.push_back(finding(file, std::string(key),
                          said<"part">(kText.at("outer-settings-unread", "expected"), text(file.part())),
                          said<"part", "inner">(kText.at("outer-settings-unread", "says"), text(file.part()),
                                                config.printed(file.at(key)))));
  }
  return all;
}

Findings scaling_dictionary(const LintContext& file) {
  if (!file.family() || file.family()->rope.dicts != RopeDicts::as_written) return {};
  const std::string key = file.at("rope_scaling");
  const bool flat = std::any_of(file.ropes().begin(), file.ropes().end(),
                                [&](const RopeDictionary& dict) { return dict.key == key; });
  const Config::Kind kind = file.config().kind(key);
  const bool empty =
      kind == Config::Kind::null || (kind == Config::Kind::object && file.config().keys(key).empty());
  if (!flat && !empty) return {};
  return {finding(file, key,
                  empty ? kText.at("scaling-replaces-kinds", "expected.empty")
                        : kText.at("scaling-replaces-kinds", "expected"),
                  kText.at("scaling-replaces-kinds", "says"))};
}
Findings scaling_unread(const LintContext& file) {
  return remarked(file, "scaling-unread-by-class", kText.at("scaling-unread-by-class", "expected"));
}
Findings type_unread(const LintContext& file) {
  return remarked(file, "type-unread-by-kind", kText.at("type-unread-by-kind", "expected"));
}
Findings key_unread(const LintContext& file) {
  if (file.family()) return remarked(file, "scaling-key-unread", kText.at("scaling-key-unread", "expected"));
  Findings all;
  for (const std::string_view rule : {"scaling-key-unread", "rope-key-misspelt"})
    for (LintFinding& found : remarked(file, rule, kText.at("scaling-key-unread", "expected.unknown")))
      all.push_back(std::move(found));
  return all;
}

Findings default_looks_like_scaling(const LintContext& file) {
  for (const RopeDictionary& dict : file.ropes())
    if (dict.key == file.at("rope_scaling") && file.type_of(dict) == "default" && !file.has(dict, "factor"))
      return {finding(file, dict.key, kText.at("default-looks-like-scaling", "expected"),
                      kText.at("default-looks-like-scaling", "says"))};
  return {};
}

constexpr LintRow kRows[] = {
    {"two-dictionaries", Severity::warning, two_dictionaries},
    {"rope-type-twice", Severity::error, type_twice, {.any_class = true}},
    {"rope-key-misspelt", Severity::error, key_misspelt, {.renames = true}},
    {"flat-dictionary-unread", Severity::error, flat_unread},
    {"nested-dictionary-unread", Severity::error, nested_unread},
    {"layer-label-missing", Severity::error, label_missing},
    {"layer-labels-mixed", Severity::error, labels_mixed},
    {"outer-settings-unread", Severity::warning, outer_unread},
    {"scaling-replaces-kinds", Severity::error, scaling_dictionary},
    {"scaling-unread-by-class", Severity::error, scaling_unread},
    {"type-unread-by-kind", Severity::error, type_unread, {.renames = true}},
    {"scaling-key-unread", Severity::warning, key_unread, {.general = true}},
    {"default-looks-like-scaling", Severity::note, default_looks_like_scaling},
};
constexpr auto kRules = written(kText, kRows);

}  // namespace

std::span<const LintRule> dictionary_rules() { return kRules; }

}  // namespace gnomon
