// The context length beside the factor that stretches it: said once, twice, or by two numbers that disagree.
#include <algorithm>
#include <cmath>

#include "gnomon/models/lint/rules/rule.h"

namespace gnomon {
namespace {

constexpr Prose kText =
#include "gnomon/models/lint/rules/lengths.txt.inc"
    ;

constexpr double kNear = 1.05;  // lengths that differ by less are the same one, rounded

// YaRN under a name of a model's own: deepseek_yarn, telechat3-yarn.
bool yarn_renamed(std::string_view type) { return type != "yarn" && type.ends_with("yarn"); }

// Types whose factor vLLM and TensorRT-LLM multiply max_position_embeddings by: vLLM, config/model.py,
// _get_and_verify_max_len (0.24); TensorRT-LLM, _torch/models/modeling_utils.py, infer_max_seq_len.
bool multiplies_length(std::string_view type) {
  return type == "linear" || type == "dynamic" || yarn_renamed(type);
}

struct Stretched {
  const RopeDictionary* dict;
  double factor, longest;
};
// The dictionary of all layers, where it has a type that multiplies and a factor above 1.
std::optional<Stretched> stretched(const LintContext& file) {
  const auto longest = file.longest();
  if (file.gguf() || file.reads_by_kind() || !longest || *longest < 1) return std::nullopt;
  for (const RopeDictionary& dict : file.ropes()) {
    const auto factor = file.number(dict, "factor");
    if (dict.live && dict.label.empty() && multiplies_length(file.type_of(dict)) && factor && *factor > 1)
      return Stretched{&dict, *factor, double(*longest)};
  }
  return std::nullopt;
}
// The length before the extension, where the file says it.
std::optional<double> said_original(const LintContext& file, const RopeDictionary& dict) {
  const auto own = file.number(dict, "original_max_position_embeddings");
  const auto original = own ? own : file.number("original_max_position_embeddings");
  return original && *original >= 1 ? original : std::nullopt;
}

Findings multiplied_again(const LintContext& file) {
  const auto found = stretched(file);
  const auto original = found ? said_original(file, *found->dict) : std::nullopt;
  if (!original || found->longest < *original * found->factor / kNear) return {};
  const std::string served = shortest(found->longest * found->factor), longest = shortest(found->longest);
  const std::string factor = shortest(found->factor);
  const std::string says =
      yarn_renamed(file.type_of(*found->dict))
          ? said<"longest", "factor", "served">(kText.at("length-multiplied-again", "says.yarn"), longest,
                                                factor, served)
          : said<"longest", "factor", "served">(kText.at("length-multiplied-again", "says"), longest, factor,
                                                served);
  return {finding(file, file.at("max_position_embeddings"),
                  said<"original", "longest">(kText.at("length-multiplied-again", "expected"),
                                              shortest(*original), longest),
                  says)};
}

// The file says the product itself, or the length before the extension.
bool says_length(const LintContext& file, const Stretched& s) {
  for (const std::string_view key : {"max_sequence_length", "model_max_length", "max_seq_len", "seq_length"})
    if (const auto said = file.number(key); said && std::abs(*said / (s.longest * s.factor) - 1) < kNear - 1)
      return true;
  return said_original(file, *s.dict).has_value();
}
Findings times_factor(const LintContext& file) {
  const auto found = stretched(file);
  if (!found || says_length(file, *found)) return {};
  return {
      finding(file, found->dict->key + ".factor", kText.at("length-times-factor", "expected"),
              said<"served", "longest">(kText.at("length-times-factor", "says"),
                                        shortest(found->longest * found->factor), shortest(found->longest)))};
}

// The other direction, a factor that does not reach, is context-beyond-scaling.
Findings factor_reaches_further(const LintContext& file) {
  const auto longest = file.longest();
  if (file.gguf() || !longest || *longest < 1) return {};
  for (const RopeDictionary& dict : file.ropes()) {
    const auto factor = file.number(dict, "factor"), original = said_original(file, dict);
    if (!dict.live || file.type_of(dict) != "yarn" || !factor || !original || file.has(dict, "short_factor"))
      continue;
    const double reach = *factor * *original, implied = double(*longest) / *original;
    if (reach <= kNear * double(*longest)) continue;
    return {finding(file, dict.key + ".factor",
                    implied == 1
                        ? said<"reach", "shorter", "longest">(
                              kText.at("yarn-factor-and-length-disagree", "expected.same"), shortest(reach),
                              shortest(std::round(double(*longest) / *factor)), text(*longest))
                        : said<"reach", "implied">(kText.at("yarn-factor-and-length-disagree", "expected"),
                                                   shortest(reach), shortest(implied)),
                    said<"reach", "longest">(kText.at("yarn-factor-and-length-disagree", "says"),
                                             shortest(reach), text(*longest)))};
  }
  return {};
}

Findings llama3_without_length(const LintContext& file) {
  if (file.family() && file.family()->rope.dicts == RopeDicts::as_written) return {};  // scaling-key-missing
  Findings all;
  const auto longest = file.longest();
  for (const RopeDictionary& dict : file.ropes()) {
    const auto low = file.number(dict, "low_freq_factor"), high = file.number(dict, "high_freq_factor");
    if (!dict.live || file.type_of(dict) != "llama3" || !longest || !low || !high || *low <= 0 ||
        *high < *low)
      continue;
    constexpr std::string_view name = "original_max_position_embeddings";
    if (file.has(dict, name) || file.has(name) ||
        file.config().kind(text(dict.key, ".", name)) == Config::Kind::null)
      continue;
    all.push_back(
        finding(file, dict.key, kText.at("llama3-without-its-length", "expected"),
                said<"longest", "near", "far">(kText.at("llama3-without-its-length", "says"), text(*longest),
                                               shortest(std::round(double(*longest) / *high)),
                                               shortest(std::round(double(*longest) / *low)))));
  }
  return all;
}

constexpr LintRow kRows[] = {
    {"length-multiplied-again", Severity::warning, multiplied_again},
    {"length-times-factor", Severity::note, times_factor},
    {"yarn-factor-and-length-disagree", Severity::warning, factor_reaches_further},
    {"llama3-without-its-length", Severity::error, llama3_without_length},
};
constexpr auto kRules = written(kText, kRows);

}  // namespace

std::span<const LintRule> lengths_rules() { return kRules; }

}  // namespace gnomon
