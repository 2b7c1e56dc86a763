// What classes of transformers 5.23 refuse, or cannot run: seen by building each class and running it on a few tokens.
#include <algorithm>

#include "gnomon/models/lint/rules/rule.h"

namespace gnomon {
namespace {

template <std::size_t N>
bool is_one(std::string_view name, const std::array<std::string_view, N>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}
// The name of the family whose class transformers 5.23 has; empty: gnomon does not know the class.
std::string_view class_of(const LintContext& file) {
  if (file.gguf() || !file.family()) return {};
  const auto& own = file.family()->own_code;
  return std::find(own.begin(), own.end(), file.type()) == own.end() ? file.family()->name : "";
}
bool rotary_class(const LintContext& file) {
  return !class_of(file).empty() && file.family()->method == Method::rotary;
}
bool grouped(const LintContext& file) {  // keys and values have heads of their own
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
Findings layer_word(const LintContext& file) {
  const auto types = file.words("layer_types");
  if (!types || class_of(file).empty()) return {};
  const bool by_kind =
      file.family()->rope.dicts == RopeDicts::as_written;  // its heads are those of the words
  for (std::size_t l = 0; l < types->size(); ++l)
    if (!is_one(types->at(l), kLayerTypes) || (by_kind && types->at(l) == "attention"))
      return {finding(file, file.at("layer_types"), "full_attention, sliding_attention or chunked_attention",
                      text("layer ", l, " is '", types->at(l), "': transformers 5.23 refuses the file"))};
  return {};
}

// Classes that have a number of their own where another takes null for as many as heads.
bool refuses_null_kv(const LintContext& file) {
  constexpr std::array<std::string_view, 7> takes{"qwen2",       "qwen3",       "qwen2_vl", "qwen3_vl",
                                                  "deepseek_v3", "granite_swa", "smollm3"};
  return file.family()->sizes.kv_heads != 0 && !is_one(file.family()->name, takes);
}
std::vector<std::string_view> whole_keys(const LintContext& file) {
  const SizeKeys& keys = file.family()->keys;
  std::vector<std::string_view> all{keys.width, keys.layers, keys.heads, keys.longest};
  if (grouped(file)) all.insert(all.end(), {"num_key_value_heads", "head_dim"});
  return all;
}
bool is_whole_number(const LintContext& file, std::string_view key) {
  return file.kind(key) == Config::Kind::number &&
         file.config().printed(file.at(key)).find_first_of(".eE") == std::string::npos;
}
// Keys that a class has a number for, and that a null empties.
struct EmptiedKey {
  std::string_view family, key, expected;
};
constexpr EmptiedKey kEmptied[] = {{"llama4", "attn_temperature_tuning", "true or false"},
                                   {"gemma4", "rope_scaling", "the key left out"},
                                   {"phi", "partial_rotary_factor", "a share, or the key left out"},
                                   {"phi3", "partial_rotary_factor", "a share, or the key left out"},
                                   {"stablelm", "partial_rotary_factor", "a share, or the key left out"},
                                   {"deepseek_v4", "sliding_window", "a number of tokens"},
                                   {"inkling", "sliding_window", "a number of tokens"}};
template <class Add>
void add_nulls(const LintContext& file, const Add& add) {
  for (const EmptiedKey& emptied : kEmptied)
    if (class_of(file) == emptied.family && file.kind(emptied.key) == Config::Kind::null)
      add(emptied.key, emptied.expected, "null");
}
Findings value_type(const LintContext& file) {
  Findings all;
  if (class_of(file).empty()) return all;
  const auto add = [&](std::string_view key, std::string_view expected, std::string_view what) {
    all.push_back(finding(file, file.at(key), std::string(expected),
                          text("transformers 5.23 refuses ", what, " here when it reads the file")));
  };
  for (const std::string_view key : whole_keys(file)) {
    if (file.kind(key) == Config::Kind::number &&
        file.config().printed(file.at(key)).find_first_of(".eE") != std::string::npos)
      add(key, "the number without a point", "a number with a point");
    if (file.kind(key) == Config::Kind::text) add(key, "the number without quotes", "a text");
  }
  if (rotary_class(file) && file.kind("max_position_embeddings") == Config::Kind::null)
    add("max_position_embeddings", "a number of tokens, or the key left out", "null");
  if (grouped(file) && refuses_null_kv(file) && file.kind("num_key_value_heads") == Config::Kind::null)
    add("num_key_value_heads", "a number of heads, or the key left out", "null");
  if (file.kind(file.family()->keys.layers) == Config::Kind::null)
    add(file.family()->keys.layers, "a number of layers, or the key left out", "null");
  add_nulls(file, add);
  if (class_of(file) == "mpt" && is_whole_number(file, "attn_config.softmax_scale"))
    add("attn_config.softmax_scale", "the number with a point", "a whole number");
  const auto flag = [&](std::string_view key, bool is_read) {
    if (is_read && file.kind(key) == Config::Kind::number) add(key, "true or false", "a number");
  };
  flag("attn_temperature_tuning", file.family()->temperature == Temperature::llama4);
  flag("use_sliding_window", switches_window(file));
  return all;
}

// Classes whose attention raises head_dim to a power, whatever the rotation.
Findings head_needed(const LintContext& file) {
  constexpr std::array<std::string_view, 12> kNull{"qwen2",   "phi",     "phi3",      "glm4",
                                                   "smollm3", "olmo",    "olmo2",     "olmo3",
                                                   "exaone4", "granite", "qwen3_moe", "granite_swa"};
  if (!rotary_class(file)) return {};
  const std::string_view name = file.family()->name;
  const Config::Kind kind = file.kind("head_dim");
  const bool none = (name == "hunyuan_v1" || name == "ministral") &&
                    (kind == Config::Kind::absent || kind == Config::Kind::null);
  const bool null = kind == Config::Kind::null && (is_one(name, kNull) || name == "granitemoe_swa");
  if ((!none && !null) || !remarked(file, "head-dim-null", "").empty()) return {};
  const auto width = file.whole("hidden_size"), heads = file.whole("num_attention_heads");
  const bool divides = width && heads && *heads > 0 && *width % *heads == 0;
  return {finding(
      file, file.at("head_dim"),
      divides ? text("\"head_dim\": ", *width / *heads) : std::string("the channels of a head"),
      text("the attention of ", file.type(), " computes with it, and transformers 5.23 raises TypeError"))};
}

Findings head_of_rotation_alone(const LintContext& file) {
  if (class_of(file) == "deepseek_v3" && file.kind("head_dim") != Config::Kind::absent) {
    const std::int64_t slice = file.whole("qk_rope_head_dim").value_or(file.family()->mla.rope);
    if (file.whole("head_dim") == slice) return {};
    return {finding(file, file.at("head_dim"), text(slice, ", or the key left out"),
                    text("the rotation is made for this, the slice that turns has ", slice,
                         " channels: transformers 5.23 raises RuntimeError when the model runs"))};
  }
  constexpr std::array<std::string_view, 3> kClasses{"stablelm", "qwen2_vl", "modernbert"};
  if (!rotary_class(file) || !is_one(file.family()->name, kClasses)) return {};
  const auto dim = file.whole("head_dim"), width = file.whole("hidden_size"),
             heads = file.whole("num_attention_heads");
  if (!dim || !width || !heads || *heads < 1 || *dim * *heads == *width) return {};
  return {finding(file, file.at("head_dim"), text(*width / *heads, ", or the key left out"),
                  text("the rotation is made for ", *dim, " channels, the attention has ", *width / *heads,
                       ": transformers 5.23 raises RuntimeError when the model runs"))};
}

Findings temperature(const LintContext& file) {
  if (class_of(file) != "ministral3") return {};
  Findings all;
  if (file.kind("rope_parameters") == Config::Kind::object && file.ropes().empty())
    all.push_back(finding(file, file.at("rope_parameters"), "no such key, or the dictionary whole",
                          "an empty dictionary takes the place of the class's own, from which it computes a "
                          "temperature: transformers 5.23 raises TypeError when the model runs"));
  for (const RopeDictionary& dict : file.ropes()) {
    if (!dict.live || !dict.label.empty()) continue;
    const bool beta = file.has(dict, "llama_4_scaling_beta");
    const bool length = file.has(dict, "original_max_position_embeddings") ||
                        (scales(file, dict) && file.type_of(dict) != "linear" &&
                         file.type_of(dict) != "dynamic" && file.type_of(dict) != "proportional");
    if (beta && length) continue;
    all.push_back(finding(file, dict.key,
                          beta ? "\"original_max_position_embeddings\": the tokens of training"
                               : "\"llama_4_scaling_beta\": 0.1",
                          text("the class computes a temperature from ",
                               beta ? "original_max_position_embeddings" : "llama_4_scaling_beta",
                               ", which is absent: transformers 5.23 raises TypeError when the model runs")));
  }
  return all;
}

Findings proportional_in_part(const LintContext& file) {
  if (class_of(file) != "phi" && class_of(file) != "stablelm") return {};
  Findings all;
  for (const RopeDictionary& dict : file.ropes()) {
    if (!dict.live || file.type_of(dict) != "proportional") continue;
    const auto said = file.has(dict, "partial_rotary_factor") ? file.number(dict, "partial_rotary_factor")
                                                              : file.number("partial_rotary_factor");
    const double share = said.value_or(file.family()->rope.partial);
    if (share >= 1) continue;
    all.push_back(
        finding(file, dict.key + (file.has(dict, "rope_type") ? ".rope_type" : ".type"), "default",
                text("the type has frequencies for the whole head, and this class turns ", shortest(share),
                     " of it: transformers 5.23 raises RuntimeError when the model runs")));
  }
  return all;
}

const LintRule kRules[] = {
    {.id = "layer-type-unknown",
     .severity = Severity::error,
     .title = "layer_types has a word that transformers does not know.",
     .explains = "transformers 5.23 compares each word with its list and refuses the file: local and global "
                 "are words of other programs. Readers that ask for sliding_attention alone take every "
                 "other word for full attention.",
     .fix = "Write full_attention or sliding_attention.",
     .link = "https://github.com/huggingface/transformers/blob/main/src/transformers/configuration_utils.py",
     .fails =
         R"({"model_type": "qwen2", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 8192, "rope_theta": 10000,
 "num_key_value_heads": 8, "layer_types": ["full_attention", "local"]})",
     .passes =
         R"({"model_type": "qwen2", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 8192, "rope_theta": 10000,
 "num_key_value_heads": 8, "layer_types": ["full_attention", "full_attention"]})",
     .find = layer_word},
    {.id = "value-type-refused",
     .severity = Severity::error,
     .title = "A value of another type than the class takes.",
     .explains = "transformers 5.23 checks types when it reads a file: a size with a point (4096.0), a null "
                 "where the class has a number, a number where it has a flag. It then raises an error, where "
                 "4.57 and other readers go on.",
     .fix = "Write the value in the type that the message names.",
     .link = "https://github.com/huggingface/transformers/blob/main/src/transformers/configuration_utils.py",
     .fails =
         R"({"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 8192.0, "rope_theta": 10000})",
     .passes =
         R"({"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 8192, "rope_theta": 10000})",
     .find = value_type},
    {.id = "head-dim-needed",
     .severity = Severity::error,
     .title = "The attention computes with head_dim, and there is none.",
     .explains =
         "Most classes of transformers 5.23 take a null for the value and multiply it; HunYuan's have "
         "no number of their own for an absent key either. The model fails when it is built, whatever "
         "its rotation. `gnomon explain` reads the width divided by the heads.",
     .fix = "Write the number, or leave the key out where the class divides by itself.",
     .link = "https://github.com/huggingface/transformers/blob/main/src/transformers/models/hunyuan_v1_dense/"
             "modeling_hunyuan_v1_dense.py",
     .fails =
         R"({"model_type": "hunyuan_v1_dense", "hidden_size": 512, "num_attention_heads": 8, "num_key_value_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 8192,
 "rope_theta": 10000})",
     .passes =
         R"({"model_type": "hunyuan_v1_dense", "hidden_size": 512, "num_attention_heads": 8, "num_key_value_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 8192,
 "rope_theta": 10000, "head_dim": 64})",
     .find = head_needed},
    {.id = "head-dim-of-rotation-alone",
     .severity = Severity::error,
     .title = "The rotation takes head_dim from the file, and the attention does not.",
     .explains = "StableLM's, Qwen2-VL's and ModernBERT's attention divides hidden_size by the heads. Their "
                 "rotation reads a head_dim where the file has one, so cos and sin have another width than q "
                 "and k.",
     .fix = "Take head_dim out.",
     .link = "https://github.com/huggingface/transformers/blob/main/src/transformers/models/modernbert/"
             "modeling_modernbert.py",
     .fails =
         R"({"model_type": "stablelm", "hidden_size": 512, "num_attention_heads": 8, "num_key_value_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 4096, "rope_theta": 10000,
 "partial_rotary_factor": 0.25, "head_dim": 128})",
     .passes =
         R"({"model_type": "stablelm", "hidden_size": 512, "num_attention_heads": 8, "num_key_value_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 4096, "rope_theta": 10000,
 "partial_rotary_factor": 0.25})",
     .find = head_of_rotation_alone},
    {.id = "temperature-unsaid",
     .severity = Severity::error,
     .title = "Ministral 3 without the numbers of its temperature.",
     .explains = "The class multiplies q by 1 + beta ln(1 + floor(position / original)), with both numbers "
                 "from its dictionary. A dictionary in the file replaces the class's own, and where one of "
                 "the two is absent every forward pass raises TypeError.",
     .fix = "Write llama_4_scaling_beta and original_max_position_embeddings; 0 for beta is no temperature.",
     .link = "https://github.com/huggingface/transformers/blob/main/src/transformers/models/ministral3/"
             "modeling_ministral3.py",
     .fails =
         R"({"model_type": "ministral3", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "head_dim": 64, "max_position_embeddings": 16384,
 "rope_parameters": {"rope_type": "default", "rope_theta": 1000000}})",
     .passes =
         R"({"model_type": "ministral3", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "head_dim": 64, "max_position_embeddings": 16384,
 "rope_parameters": {"rope_type": "default", "rope_theta": 1000000, "llama_4_scaling_beta": 0, "original_max_position_embeddings": 16384}})",
     .find = temperature},
    {.id = "proportional-in-a-part",
     .severity = Severity::error,
     .title = "Proportional rotation in a class that turns a part of the head.",
     .explains =
         "The type has one frequency for each pair of the whole head, most of them 0. Phi's and "
         "StableLM's attention takes the share out of the head before it turns: cos and sin are wider "
         "than what they multiply.",
     .fix = "Use the type default, which turns the share.",
     .link = "https://github.com/huggingface/transformers/blob/main/src/transformers/models/phi/"
             "modeling_phi.py",
     .fails =
         R"({"model_type": "phi", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 2048,
 "rope_parameters": {"rope_type": "proportional", "rope_theta": 10000, "partial_rotary_factor": 0.5}})",
     .passes =
         R"({"model_type": "phi", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 2048,
 "rope_parameters": {"rope_type": "default", "rope_theta": 10000, "partial_rotary_factor": 0.5}})",
     .find = proportional_in_part},
};

}  // namespace

std::span<const LintRule> refused_rules() { return kRules; }

}  // namespace gnomon
