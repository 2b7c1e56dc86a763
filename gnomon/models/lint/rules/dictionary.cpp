// rope_scaling and rope_parameters: which of them is read, and which of their keys.
#include <algorithm>

#include "gnomon/models/lint/rules/rule.h"
#include "gnomon/models/resolve/rope_dict.h"

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
  return {finding(file, parameters, "one dictionary, rope_parameters, with all keys",
                  text("transformers 5 replaces it by rope_scaling as a whole, llama.cpp's converter prefers "
                       "it; they differ in ",
                       differ))};
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
    all.push_back(finding(
        file, dict.key + ".type", text("one of them: \"rope_type\": \"", now, "\""),
        text("transformers reads rope_type, '", now, "'; readers of before 4.43 read type, '", old, "'")));
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
      all.push_back(finding(file, dict.key + "." + key, text("\"", meant, "\""),
                            text("no class of transformers 5.23 reads it: it warns and goes on",
                                 length ? text(", with max_position_embeddings (",
                                               file.config().printed(file.at("max_position_embeddings")),
                                               ") for the length before the extension")
                                        : std::string())));
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
  return {finding(file, flat->key,
                  "\"rope_parameters\": {\"full_attention\": {...}, \"sliding_attention\": {...}}",
                  file.family()->rope.dicts == RopeDicts::both_kinds
                      ? "this class takes nothing else: transformers 5.23 refuses the file when it reads it"
                      : "this class looks for full_attention and sliding_attention in it alone: type, factor "
                        "and base are kept and not used, and both kinds of layer get the class's own")};
}

// Classes of transformers 5.23 whose rotation has a dictionary for each kind of layer: those of models/*/modeling_*.py with
// buffers KIND_inv_freq, without the endings of their parts.
constexpr std::array<std::string_view, 22> kByKind{"beam",        "cohere_compass",
                                                   "deepseek_v4", "diffusion_gemma",
                                                   "dots3_note",  "embedding_gemma2",
                                                   "esmc",        "gemma3",
                                                   "gemma4",      "gte",
                                                   "laguna",      "lfm3",
                                                   "mellum",      "mimo_v2",
                                                   "modernbert",  "neomme",
                                                   "nomic_bert",  "olmo3",
                                                   "step3p7",     "t5gemma2",
                                                   "ultrabert",   "zaya"};
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
    return {finding(file, dict.key, "one dictionary for all layers",
                    listed ? text("the class of ", file.type(),
                                  " has one rotation for all layers: transformers 5.23 fails with a KeyError "
                                  "when it builds the model")
                           : text("the class of ", file.type(),
                                  " has one rotation for all layers: what stands in it is kept and not used, "
                                  "and the base is the class's ",
                                  shortest(class_theta(file))))};
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
      return {finding(file, key, text("\"", type, "\": {...}, or null for layers without position"),
                      text("there are layers of the kind ", type,
                           ", for which there is no dictionary: transformers 5.23 fails with a KeyError when "
                           "it builds the model"))};
  return {};
}

Findings labels_mixed(const LintContext& file) {
  for (const RopeDictionary& flat : file.ropes()) {
    if (!flat.label.empty()) continue;
    for (const RopeDictionary& nested : file.ropes())
      if (nested.key.starts_with(flat.key + "."))
        return {finding(
            file, flat.key, "every setting inside a dictionary of its kind of layer",
            text("it has settings beside ", nested.label,
                 ": transformers up to 5.17 takes it for one dictionary of all layers, from 5.18 on it "
                 "reads those of the kinds and leaves the others"))};
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
    all.push_back(finding(file, std::string(key), text("the same under ", file.part()),
                          text("the language model is configured by ", file.part(), ", where it is ",
                               config.printed(file.at(key)))));
  }
  return all;
}

Findings scaling_dictionary(const LintContext& file) {
  if (!file.family() || file.family()->rope.dicts != RopeDicts::as_written) return {};
  for (const RopeDictionary& dict : file.ropes())
    if (dict.key == file.at("rope_scaling"))
      return {finding(file, dict.key,
                      "\"rope_parameters\": {\"full_attention\": {...}, \"sliding_attention\": {...}}",
                      "it takes the place of rope_parameters and has no dictionary by kind of layer: "
                      "transformers 5.23 fails with a KeyError when it builds the model")};
  return {};
}
Findings type_unread(const LintContext& file) {
  return remarked(file, "type-unread-by-kind", "\"rope_type\" in place of \"type\"");
}
Findings key_unread(const LintContext& file) {
  if (file.family()) return remarked(file, "scaling-key-unread", "no such key, or the type that reads it");
  Findings all;
  for (const std::string_view rule : {"scaling-key-unread", "rope-key-misspelt"})
    for (LintFinding& found : remarked(file, rule, "the type that reads it, if the class does not"))
      all.push_back(std::move(found));
  return all;
}

Findings default_looks_like_scaling(const LintContext& file) {
  for (const RopeDictionary& dict : file.ropes())
    if (dict.key == file.at("rope_scaling") && file.type_of(dict) == "default" && !file.has(dict, "factor"))
      return {finding(file, dict.key, "null, or the same dictionary under rope_parameters",
                      "readers that ask `if rope_scaling:` take a plain rotation for a scaled one")};
  return {};
}

constexpr auto kRules = written(kText, {
    {"two-dictionaries", Severity::warning, two_dictionaries},
    {"rope-type-twice", Severity::error, type_twice, {.any_class = true}},
    {"rope-key-misspelt", Severity::error, key_misspelt},
    {"flat-dictionary-unread", Severity::error, flat_unread},
    {"nested-dictionary-unread", Severity::error, nested_unread},
    {"layer-label-missing", Severity::error, label_missing},
    {"layer-labels-mixed", Severity::error, labels_mixed},
    {"outer-settings-unread", Severity::warning, outer_unread},
    {"scaling-replaces-kinds", Severity::error, scaling_dictionary},
    {"type-unread-by-kind", Severity::error, type_unread},
    {"scaling-key-unread", Severity::warning, key_unread, {.general = true}},
    {"default-looks-like-scaling", Severity::note, default_looks_like_scaling},
});

}  // namespace

std::span<const LintRule> dictionary_rules() { return kRules; }

}  // namespace gnomon
