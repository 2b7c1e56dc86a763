// LongRoPE: two lists of divisors, one for each pair, and the length at which they change.
#include <cmath>

#include "gnomon/models/lint/rules/rule.h"

namespace gnomon {
namespace {

constexpr Prose kText =
#include "gnomon/models/lint/rules/longrope.txt.inc"
    ;

bool is_longrope(const LintContext& file, const RopeDictionary& dict) {
  return file.has(dict, "short_factor") || file.has(dict, "long_factor");
}

Findings list_length(const LintContext& file) {
  Findings all;
  const auto dim = file.head_dim();
  if (!dim) return all;
  for (const RopeDictionary& dict : file.ropes()) {
    const auto pairs = std::size_t(double(*dim) * share_of_head(file, &dict)) / 2;
    for (const std::string_view name : {"short_factor", "long_factor"}) {
      const std::string key = text(dict.key, ".", name);
      if (file.config().kind(key) != Config::Kind::list) continue;
      try {
        const std::size_t length = file.config().numbers(key)->size();
        if (length != pairs)
          all.push_back(finding(file, key,
                                said<"pairs">(kText.at("longrope-list-length", "expected"), text(pairs)),
                                said<"length">(kText.at("longrope-list-length", "says"), text(length))));
      } catch (const Error&) {
        all.push_back(finding(file, key,
                              said<"pairs">(kText.at("longrope-list-length", "expected.words"), text(pairs)),
                              kText.at("longrope-list-length", "says.words")));
      }
    }
  }
  return all;
}

Findings explicit_factor(const LintContext& file) {
  Findings all;
  const auto longest = file.longest();
  for (const RopeDictionary& dict : file.ropes()) {
    const auto factor = file.number(dict, "factor");
    const auto outer = file.number("original_max_position_embeddings");
    if (!is_longrope(file, dict) || !factor || !outer || !longest || *outer <= 1) continue;
    const double ratio = double(*longest) / *outer;
    if (std::abs(*factor - ratio) < 1e-9 * ratio) continue;
    const auto scale = [&](double s) { return s <= 1 ? 1 : std::sqrt(1 + std::log(s) / std::log(*outer)); };
    all.push_back(finding(file, dict.key + ".factor",
                          said<"ratio">(kText.at("longrope-factor-explicit", "expected"), shortest(ratio)),
                          said<"now", "factor", "before", "ratio">(
                              kText.at("longrope-factor-explicit", "says"), fixed(scale(*factor), 4),
                              shortest(*factor), fixed(scale(ratio), 4), shortest(ratio))));
  }
  return all;
}

Findings old_name(const LintContext& file) {
  return remarked(file, "longrope-named-su", kText.at("longrope-named-su", "expected"));
}

Findings named_yarn(const LintContext& file) {
  Findings all;
  for (const RopeDictionary& dict : file.ropes())
    if (is_longrope(file, dict) && file.type_of(dict) != "longrope" && file.type_of(dict) != "su")
      all.push_back(
          finding(file, dict.key + (file.has(dict, "rope_type") ? ".rope_type" : ".type"),
                  kText.at("longrope-under-another-name", "expected"),
                  said<"type">(kText.at("longrope-under-another-name", "says"), file.type_of(dict))));
  return all;
}

Findings switches(const LintContext& file) {
  for (const RopeDictionary& dict : file.ropes())
    if (dict.live && is_longrope(file, dict)) {
      const auto outer = file.number("original_max_position_embeddings");
      const double at = outer.value_or(file.number(dict, "original_max_position_embeddings").value_or(0));
      const std::string behind = at > 0 ? shortest(at) : "max_position_embeddings";
      return {finding(file, dict.key + ".long_factor", kText.at("longrope-changes-while-writing", "expected"),
                      said<"behind">(kText.at("longrope-changes-while-writing", "says"), behind))};
    }
  return {};
}

constexpr LintRow kRows[] = {
    {"longrope-list-length", Severity::error, list_length},
    {"longrope-factor-explicit", Severity::warning, explicit_factor},
    {"longrope-named-su", Severity::error, old_name, {.departs = true}},
    {"longrope-under-another-name", Severity::warning, named_yarn},
    {"longrope-changes-while-writing", Severity::note, switches},
};
constexpr auto kRules = written(kText, kRows);

}  // namespace

std::span<const LintRule> longrope_rules() { return kRules; }

}  // namespace gnomon
