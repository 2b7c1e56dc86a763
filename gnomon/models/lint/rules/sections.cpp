// M-RoPE: pairs shared out among time, height and width.
#include "gnomon/models/resolve/sections.h"

#include <numeric>

#include "gnomon/models/lint/rules/rule.h"

namespace gnomon {
namespace {

constexpr Prose kText =
#include "gnomon/models/lint/rules/sections.txt.inc"
    ;

std::optional<std::vector<double>> sections(const LintContext& file, const RopeDictionary& dict) {
  try {
    return file.config().numbers(dict.key + ".mrope_section");
  } catch (const Error&) {
    return std::nullopt;
  }
}

// The pairs of a head that have frequencies: of the type proportional all.
std::int64_t turning_pairs(const LintContext& file, const RopeDictionary* dict, std::int64_t dim) {
  const bool whole = dict && file.type_of(*dict) == "proportional";
  return std::int64_t(double(dim) * (whole ? 1 : share_of_head(file, dict))) / 2;
}

Findings sum_of_class(const LintContext& file) {
  const auto dim = file.head_dim();
  if (!file.family() || file.family()->rope.sections.empty() || !dim || file.gguf()) return {};
  if (file.family()->rope.streams == StreamOrder::in_turns) return {};  // the pairs that are left follow time
  const RopeDictionary* own = nullptr;
  for (const RopeDictionary& dict : file.ropes())
    if (dict.live) own = &dict;
  if (own && file.has(*own, "mrope_section")) return {};
  const std::string_view parts = file.family()->rope.sections;
  const auto numbers = sections_of(parts);
  const double total = std::accumulate(numbers.begin(), numbers.end(), 0.0);
  const auto pairs = turning_pairs(file, own, *dim);
  if (total == double(pairs)) return {};
  return {finding(file, file.at(file.has("head_dim") ? "head_dim" : file.family()->keys.width),
                  kText.at("sections-do-not-add-up", "expected.class"),
                  said<"parts", "sum", "pairs">(kText.at("sections-do-not-add-up", "says.class"), parts,
                                                shortest(total), text(pairs)))};
}
Findings sum(const LintContext& file) {
  Findings all = sum_of_class(file);
  const auto dim = file.head_dim();
  for (const RopeDictionary& dict : file.ropes()) {
    const auto parts = sections(file, dict);
    if (!parts || !dim) continue;
    const auto pairs = turning_pairs(file, &dict, *dim);
    const double total = std::accumulate(parts->begin(), parts->end(), 0.0);
    if (total == double(pairs)) continue;
    all.push_back(finding(file, dict.key + ".mrope_section",
                          said<"pairs">(kText.at("sections-do-not-add-up", "expected"), text(pairs)),
                          said<"sum">(kText.at("sections-do-not-add-up", "says"), shortest(total))));
  }
  return all;
}

Findings with_scaling(const LintContext& file) {
  Findings all;
  for (const RopeDictionary& dict : file.ropes())
    if (dict.live && file.has(dict, "mrope_section") && file.scales(dict))
      all.push_back(finding(file, dict.key, kText.at("sections-with-scaling", "expected"),
                            said<"type">(kText.at("sections-with-scaling", "says"), file.type_of(dict))));
  if (all.empty())
    return remarked(file, "sections-with-scaling", kText.at("sections-with-scaling", "expected"));
  return all;
}

Findings split_pairs(const LintContext& file) {
  return remarked(file, "sections-split-pairs", kText.at("sections-split-pairs", "expected"));
}

Findings named_default(const LintContext& file) {
  Findings all;
  for (const RopeDictionary& dict : file.ropes()) {
    const std::string type = file.type_of(dict);
    if (!dict.live || !file.has(dict, "mrope_section") || (type != "default" && type != "mrope")) continue;
    all.push_back(finding(file, dict.key + ".mrope_section",
                          kText.at("sections-invisible-in-text", "expected"),
                          kText.at("sections-invisible-in-text", "says")));
  }
  return all;
}

Findings in_turn(const LintContext& file) {
  Findings all;
  for (const RopeDictionary& dict : file.ropes()) {
    const std::string key = dict.key + ".mrope_interleaved";
    if (!dict.live || file.config().kind(key) != Config::Kind::flag || !*file.config().flag(key)) continue;
    all.push_back(finding(file, key, kText.at("sections-in-turn-are-not-pairs", "expected"),
                          kText.at("sections-in-turn-are-not-pairs", "says")));
  }
  return all;
}

constexpr LintRow kRows[] = {
    {"sections-do-not-add-up", Severity::error, sum},
    {"sections-with-scaling", Severity::warning, with_scaling, {.departs = true}},
    {"sections-split-pairs", Severity::warning, split_pairs},
    {"sections-invisible-in-text", Severity::note, named_default},
    {"sections-in-turn-are-not-pairs", Severity::note, in_turn},
};
constexpr auto kRules = written(kText, kRows);

}  // namespace

std::span<const LintRule> sections_rules() { return kRules; }

}  // namespace gnomon
