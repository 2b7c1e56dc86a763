// Keys under names that nobody reads, and the name of the class itself.
#include <algorithm>

#include "gnomon/models/lint/rules/rule.h"

namespace gnomon {
namespace {

constexpr Prose kText =
#include "gnomon/models/lint/rules/names.txt.inc"
    ;

// What files of transformers call their settings of position, outside the dictionaries.
constexpr std::array<std::string_view, 20> kPositionKeys{"rope_theta",
                                                         "rope_scaling",
                                                         "rope_parameters",
                                                         "rope_local_base_freq",
                                                         "global_rope_theta",
                                                         "local_rope_theta",
                                                         "layer_rope_theta",
                                                         "rotary_emb_base",
                                                         "rotary_pct",
                                                         "rotary_dim",
                                                         "partial_rotary_factor",
                                                         "max_position_embeddings",
                                                         "original_max_position_embeddings",
                                                         "sliding_window",
                                                         "sliding_window_pattern",
                                                         "use_sliding_window",
                                                         "max_window_layers",
                                                         "layer_types",
                                                         "no_rope_layers",
                                                         "no_rope_layer_interval"};

// Each character of more than one byte as one byte, so that a letter of another alphabet counts as one exchanged.
std::string one_byte_each(std::string_view key) {
  std::string out;
  for (const char c : key) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) out += c;
    if (byte >= 0xc0) out += '?';
  }
  return out;
}
std::size_t foreign(std::string_view key) { return key.size() - one_byte_each(key).size(); }

// Characters between the common beginning and the common end: 1 for one that is left out or doubled, 2 for two exchanged.
std::size_t differing(std::string_view a, std::string_view b) {
  while (!a.empty() && !b.empty() && a.front() == b.front()) a.remove_prefix(1), b.remove_prefix(1);
  while (!a.empty() && !b.empty() && a.back() == b.back()) a.remove_suffix(1), b.remove_suffix(1);
  return std::max(a.size(), b.size());
}
// The key that this is nearly, which the file does not have; empty: none, or itself a key of transformers.
std::string_view nearly(const LintContext& file, std::string_view key) {
  if (key.size() > 64 || std::find(kPositionKeys.begin(), kPositionKeys.end(), key) != kPositionKeys.end())
    return {};
  const std::string asked = one_byte_each(key);
  for (const std::string_view name : kPositionKeys)
    if (differing(asked, name) <= 2 + foreign(key)) return file.has(name) ? std::string_view() : name;
  return {};
}
// Keys of the family that are nearly one of these, and not it.
bool reads(const Family& family, std::string_view key) {
  const std::string_view own[] = {
      family.windows.key,     family.windows.every_key, family.windows.use_key,
      family.rope.theta_key,  family.rope.partial_key,  family.rope.sliding_theta_key,
      family.rope.width_key,  family.two_sided_key,     family.rope.shares_key,
      family.rope.scaled_key, family.windows.types_key, family.turning_first_key};
  return std::find(std::begin(own), std::end(own), key) != std::end(own);
}

Findings misspelt(const LintContext& file) {
  if (file.gguf() || !file.family()) return {};
  Findings all;
  for (const std::string& key : file.config().keys(file.part())) {
    const std::string_view near = nearly(file, key);
    const bool private_key = key.starts_with('_');  // transformers saves them: _sliding_window_pattern
    if (near.empty() || private_key || reads(*file.family(), key)) continue;
    all.push_back(finding(file, file.at(key),
                          said<"meant">(kText.at("position-key-misspelt", "expected"), near),
                          foreign(key) ? said<"meant">(kText.at("position-key-misspelt", "says.letter"), near)
                                       : said<"meant">(kText.at("position-key-misspelt", "says"), near)));
  }
  return all;
}

// The base under a name that the class does not read, as other programs and other classes call it.
constexpr std::array<std::string_view, 9> kBaseNames{
    "rotary_base",     "rotary_emb_base",     "rope_base", "rope_freq_base",   "rotary_theta",
    "rope_theta_base", "rope_frequency_base", "theta",     "global_rope_theta"};
Findings base_renamed(const LintContext& file) {
  const Resolved* read = file.gguf() ? nullptr : file.read_by(Reader::v5);
  if (!read || !file.family() || file.family()->method != Method::rotary) return {};
  std::string used;
  Findings all;
  for (const std::string_view key : kBaseNames) {
    const auto base = file.number(key);
    if (!base || *base <= 1 || reads(*file.family(), key)) continue;
    bool turns = false;
    for (const LayerPosition& layer : read->layers)
      for (const Because& because : layer.because) {
        if (because.what != "theta") continue;
        turns |= because.value == shortest(*base);
        used = because.value;
      }
    if (turns || used.empty()) continue;
    all.push_back(finding(file, file.at(key),
                          said<"base">(kText.at("base-under-another-name", "expected"), shortest(*base)),
                          said<"type", "key", "used", "base">(kText.at("base-under-another-name", "says"),
                                                              file.type(), key, used, shortest(*base))));
  }
  return all;
}

// The type that the class in `architectures` has: LlamaForCausalLM is of llama. Empty: none that gnomon knows.
std::string type_of_class(const LintContext& file) {
  const auto classes = file.config().kind("architectures") == Config::Kind::list
                           ? file.words("architectures")
                           : std::optional<std::vector<std::string>>();
  if (!classes || classes->empty()) return {};
  const auto letters = [](std::string_view word) {
    std::string out;
    for (const char c : word)
      if (c != '_' && c != '-') out += c >= 'A' && c <= 'Z' ? char(c + 'a' - 'A') : c;
    return out;
  };
  const std::string name = letters(classes->front());
  std::string_view best;
  for (const Family& family : families())
    for (const std::string_view type : family.types)
      if (name.starts_with(letters(type)) && type.size() > best.size()) best = type;
  return std::string(best);
}
Findings type_missing(const LintContext& file) {
  const bool sized =
      file.has("hidden_size") || file.has("num_hidden_layers") || file.has("num_attention_heads");
  if (file.gguf() || file.has("model_type") || file.config().has("model_type") || !sized ||
      file.config().has("_class_name"))
    return {};  // a file of diffusers names its class otherwise
  const std::string type = type_of_class(file);
  return {finding(file, file.at("model_type"),
                  type.empty() ? kText.at("model-type-missing", "expected")
                               : said<"type">(kText.at("model-type-missing", "expected.guess"), type),
                  type.empty() ? kText.at("model-type-missing", "says")
                               : said<"class", "type">(kText.at("model-type-missing", "says.guess"),
                                                       file.config().printed("architectures"), type))};
}

constexpr LintRow kRows[] = {
    {"position-key-misspelt", Severity::error, misspelt, {.renames = true}},
    {"base-under-another-name", Severity::error, base_renamed},
    {"model-type-missing", Severity::error, type_missing, {.any_class = true}},
};
constexpr auto kRules = written(kText, kRows);

}  // namespace

std::span<const LintRule> names_rules() { return kRules; }

}  // namespace gnomon
