// rope_scaling and rope_parameters: which of them is read, and which of their keys.
#include <algorithm>

#include "gnomon/models/lint/rules/rule.h"
#include "gnomon/models/resolve/rope_dict.h"

namespace gnomon {
namespace {

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

const LintRule kRules[] = {
    {.id = "two-dictionaries",
     .severity = Severity::warning,
     .title = "rope_scaling and rope_parameters stand side by side and say different things.",
     .explains = "transformers 5 replaces rope_parameters by a rope_scaling that is not empty, as a whole "
                 "and without a word; llama.cpp's converter prefers "
                 "rope_parameters; transformers 4 knows rope_scaling alone.",
     .fix = "Keep one, with all keys.",
     .link = "https://github.com/ggml-org/llama.cpp/issues/18013",
     .fails =
         R"({"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 8192,
 "rope_theta": 50000, "rope_parameters": {"rope_type": "default", "rope_theta": 50000},
 "rope_scaling": {"rope_type": "linear", "factor": 2.0, "rope_theta": 50000}})",
     .passes =
         R"({"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 8192,
 "rope_theta": 50000, "rope_scaling": {"rope_type": "linear", "factor": 2.0}})",
     .find = two_dictionaries},
    {.id = "rope-type-twice",
     .severity = Severity::error,
     .title = "type and rope_type name two different methods.",
     .explains = "transformers reads rope_type and keeps type unread; what was written before 4.43 reads "
                 "type. mlx-lm was misled by a type field that said default.",
     .fix = "Keep rope_type.",
     .link = "https://github.com/ml-explore/mlx-lm/issues/1768",
     .fails =
         R"({"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 8192,
 "rope_theta": 50000, "rope_scaling": {"type": "yarn", "rope_type": "linear", "factor": 2.0}})",
     .passes =
         R"({"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 8192,
 "rope_theta": 50000, "rope_scaling": {"type": "linear", "rope_type": "linear", "factor": 2.0}})",
     .find = type_twice,
     .any_class = true},
    {.id = "rope-key-misspelt",
     .severity = Severity::error,
     .title = "A key of a dictionary is nearly one that is read, and nobody reads it.",
     .explains = "transformers 5.23 warns once and goes on without it. A misspelt "
                 "original_max_position_embeddings makes YaRN compute its ramp from max_position_embeddings: "
                 "other frequencies in the middle pairs, at every length.",
     .fix = "Correct the spelling.",
     .link = "https://github.com/huggingface/transformers/issues/38224",
     .fails =
         R"({"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 16384,
 "rope_theta": 1000000, "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embedding": 4096}})",
     .passes =
         R"({"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 16384,
 "rope_theta": 1000000, "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 4096}})",
     .find = key_misspelt},
    {.id = "flat-dictionary-unread",
     .severity = Severity::error,
     .title = "One rope_parameters for all layers, in a family that reads one for each kind.",
     .explains = "Gemma 3, OLMo 3 and ModernBERT look for full_attention and sliding_attention in "
                 "rope_parameters. Gemma 3 and OLMo 3 keep anything else and do not use it: a linear scaling "
                 "by 8 for Gemma 3 written flat has no effect under transformers 5.23. ModernBERT's class "
                 "refuses the file.",
     .fix = "Nest it: one dictionary for full_attention, one for sliding_attention.",
     .link = "https://github.com/lablup/mlxcel/issues/1340",
     .fails =
         R"({"model_type": "gemma3_text", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 6, "head_dim": 64,
 "max_position_embeddings": 8192, "sliding_window": 512, "rope_parameters": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1000000}})",
     .passes =
         R"({"model_type": "gemma3_text", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 6, "head_dim": 64,
 "max_position_embeddings": 8192, "sliding_window": 512, "rope_parameters": {
  "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1000000},
  "sliding_attention": {"rope_type": "default", "rope_theta": 10000}}})",
     .find = flat_unread},
    {.id = "nested-dictionary-unread",
     .severity = Severity::error,
     .title = "A dictionary for each kind of layer, in a class that has one rotation for all.",
     .explains = "About twenty classes of transformers 5.23 read a dictionary by kind of layer. In the "
                 "others it is either left alone, with the class's base for every layer, or, where "
                 "layer_types names the kind, the model fails when it is built.",
     .fix = "Write one flat dictionary.",
     .link = "https://github.com/huggingface/transformers/blob/main/src/transformers/modeling_rope_utils.py",
     .fails =
         R"({"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 8192,
 "rope_parameters": {"full_attention": {"rope_type": "default", "rope_theta": 500000}}})",
     .passes =
         R"({"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 8192,
 "rope_theta": 500000, "rope_parameters": {"rope_type": "default", "rope_theta": 500000}})",
     .find = nested_unread},
    {.id = "layer-label-missing",
     .severity = Severity::error,
     .title = "rope_parameters is nested and leaves out a kind of layer.",
     .explains = "Gemma 4's class asks for the dictionary of every kind of layer; where there is none, "
                 "transformers fails when the model is built, and other readers use the dictionary that "
                 "they find first.",
     .fix = "Add a dictionary for it, or null if those layers carry no position.",
     .link = "https://github.com/antonellof/ferrox/pull/65",
     .fails =
         R"({"model_type": "gemma4_text", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "head_dim": 64, "max_position_embeddings": 8192,
 "sliding_window": 512, "layer_types": ["sliding_attention", "full_attention"],
 "rope_parameters": {"full_attention": {"rope_type": "default", "rope_theta": 10000}}})",
     .passes =
         R"({"model_type": "gemma4_text", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "head_dim": 64, "max_position_embeddings": 8192,
 "sliding_window": 512, "layer_types": ["sliding_attention", "full_attention"],
 "rope_parameters": {"full_attention": {"rope_type": "default", "rope_theta": 10000}, "sliding_attention": {"rope_type": "default", "rope_theta": 10000}}})",
     .find = label_missing},
    {.id = "layer-labels-mixed",
     .severity = Severity::error,
     .title = "rope_parameters mixes dictionaries for kinds of layers with settings of its own.",
     .explains = "Up to transformers 5.17 a dictionary is nested if all its keys are kinds of layers, from "
                 "5.18 on if any is: the same file is read in two ways.",
     .fix = "Move every setting into the dictionaries of the kinds.",
     .link = "https://github.com/huggingface/transformers/blob/main/src/transformers/modeling_rope_utils.py",
     .fails =
         R"({"model_type": "gemma3_text", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 6, "head_dim": 64, "max_position_embeddings": 8192,
 "sliding_window": 512, "rope_parameters": {"rope_theta": 1000000, "full_attention": {"rope_type": "default", "rope_theta": 1000000},
  "sliding_attention": {"rope_type": "default", "rope_theta": 10000}}})",
     .passes =
         R"({"model_type": "gemma3_text", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 6, "head_dim": 64, "max_position_embeddings": 8192,
 "sliding_window": 512, "rope_parameters": {"full_attention": {"rope_type": "default", "rope_theta": 1000000},
  "sliding_attention": {"rope_type": "default", "rope_theta": 10000}}})",
     .find = labels_mixed},
    {.id = "outer-settings-unread",
     .severity = Severity::warning,
     .title = "A model of several kinds has settings of RoPE outside its language part.",
     .explains = "The language model is made from text_config (or language_config) alone. An override "
                 "written at the top level, the place for plain models, changes nothing.",
     .fix = "Write it into the language part.",
     .link = "https://github.com/sgl-project/sglang/issues/22739",
     .fails =
         R"({"model_type": "llava", "rope_scaling": {"rope_type": "linear", "factor": 2.0}, "text_config": {"model_type": "llama",
 "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 8192, "rope_theta": 10000}})",
     .passes =
         R"({"model_type": "llava", "text_config": {"model_type": "llama", "rope_scaling": {"rope_type": "linear", "factor": 2.0},
 "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 8192, "rope_theta": 10000}})",
     .find = outer_unread},
    {.id = "scaling-replaces-kinds",
     .severity = Severity::error,
     .title = "A flat rope_scaling in a class whose layers look for their kind in it.",
     .explains = "Gemma 4's configuration came after rope_scaling had gone and has no rule for it: the "
                 "dictionary takes the place of rope_parameters as it stands, and transformers 5.23 fails "
                 "where other families of this kind would scale their full layers.",
     .fix = "Write it into rope_parameters, in the dictionary of its kind of layer.",
     .link = "https://github.com/huggingface/transformers/blob/main/src/transformers/models/gemma4/"
             "configuration_gemma4.py",
     .fails =
         R"({"model_type": "gemma4_text", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 6, "head_dim": 64, "max_position_embeddings": 8192,
 "rope_scaling": {"rope_type": "linear", "factor": 8.0}})",
     .passes =
         R"({"model_type": "gemma4_text", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 6, "head_dim": 64, "max_position_embeddings": 8192,
 "rope_parameters": {"full_attention": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 2048, "rope_theta": 1000000},
  "sliding_attention": {"rope_type": "default", "rope_theta": 10000}}})",
     .find = scaling_dictionary},
    {.id = "type-unread-by-kind",
     .severity = Severity::error,
     .title = "rope_scaling says type, in a class that begins with rope_type: default.",
     .explains = "Gemma 3, OLMo 3 and ModernBERT put rope_scaling over dictionaries that already say "
                 "\"rope_type\": \"default\". The older word type then stands beside it, and rope_type wins: "
                 "transformers 5.23 does not scale at all. Whoever extends such a model gets nothing.",
     .fix = "Write rope_type.",
     .link = "https://github.com/huggingface/transformers/blob/main/src/transformers/models/gemma3/"
             "configuration_gemma3.py",
     .fails =
         R"({"model_type": "gemma3_text", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 6, "head_dim": 64, "max_position_embeddings": 8192,
 "sliding_window": 512, "rope_theta": 1000000, "rope_scaling": {"type": "linear", "factor": 8.0}})",
     .passes =
         R"({"model_type": "gemma3_text", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 6, "head_dim": 64, "max_position_embeddings": 8192,
 "sliding_window": 512, "rope_theta": 1000000, "rope_scaling": {"rope_type": "linear", "factor": 8.0}})",
     .find = type_unread},
    {.id = "scaling-key-unread",
     .severity = Severity::warning,
     .title = "A key of a dictionary that its type does not read.",
     .explains = "Each type has keys of its own: attention_factor is YaRN's and LongRoPE's, "
                 "original_max_position_embeddings not that of dynamic scaling, which begins at "
                 "max_position_embeddings. transformers 5.23 warns of unrecognized keys and goes on; another "
                 "reader may obey them.",
     .fix = "Take it out, or name the type that was meant.",
     .link = "https://github.com/huggingface/transformers/blob/main/src/transformers/modeling_rope_utils.py",
     .fails =
         R"({"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 8192,
 "rope_theta": 10000, "rope_scaling": {"rope_type": "linear", "factor": 2.0, "attention_factor": 1.1}})",
     .passes =
         R"({"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 8192,
 "rope_theta": 10000, "rope_scaling": {"rope_type": "linear", "factor": 2.0}})",
     .find = key_unread,
     .general = true},
    {.id = "default-looks-like-scaling",
     .severity = Severity::note,
     .title = "rope_scaling is there and its type is default: no scaling at all.",
     .explains = "transformers 5 fills the dictionary for every model. Programs that ask `if rope_scaling:` "
                 "then take a branch for scaled models: SGLang did.",
     .fix = "Leave rope_scaling out; rope_parameters may say default.",
     .link = "https://github.com/sgl-project/sglang/issues/34792",
     .fails =
         R"({"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 8192,
 "rope_theta": 10000, "rope_scaling": {"rope_type": "default"}})",
     .passes =
         R"({"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 8192,
 "rope_theta": 10000, "rope_scaling": null})",
     .find = default_looks_like_scaling},
};

}  // namespace

std::span<const LintRule> dictionary_rules() { return kRules; }

}  // namespace gnomon
