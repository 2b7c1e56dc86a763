// M-RoPE: pairs shared out among time, height and width.
#include <algorithm>
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

// "16/24/24", of a class whose files may leave it out.
double sum_of(std::string_view sections) {
  double total = 0;
  for (const std::string_view part : split(sections, '/')) total += std::stod(std::string(part));
  return total;
}

Findings sum(const LintContext& file) {
  Findings all;
  const auto dim = file.head_dim();
  const bool said = std::any_of(file.ropes().begin(), file.ropes().end(), [&](const RopeDictionary& dict) {
    return dict.live && file.has(dict, "mrope_section");
  });
  if (file.family() && !file.family()->rope.sections.empty() && !said && dim && !file.gguf()) {
    const double total = sum_of(file.family()->rope.sections);
    if (total != double(*dim / 2))
      all.push_back(finding(file, file.at(file.has("head_dim") ? "head_dim" : file.family()->keys.width),
                            "mrope_section, parts whose sum is half the head",
                            text("the class's own parts, ", file.family()->rope.sections, ", are ",
                                 shortest(total), " pairs, and the head has ", *dim / 2)));
  }
  for (const RopeDictionary& dict : file.ropes()) {
    const auto parts = sections(file, dict);
    if (!parts || !dim) continue;
    const auto pairs = std::int64_t(double(*dim) * share_of_head(file, dict)) / 2;
    const double total = std::accumulate(parts->begin(), parts->end(), 0.0);
    if (total == double(pairs)) continue;
    all.push_back(finding(file, dict.key + ".mrope_section",
                          text("parts whose sum is ", pairs, ", half the rotated width"),
                          text("their sum is ", shortest(total))));
  }
  return all;
}

Findings with_scaling(const LintContext& file) {
  Findings all;
  for (const RopeDictionary& dict : file.ropes())
    if (dict.live && file.has(dict, "mrope_section") && scales(file, dict))
      all.push_back(finding(
          file, dict.key, "nothing; check that what serves it has both",
          text(file.type_of(dict),
               " scaling and three streams of positions: a reader that chooses by one key loses the other")));
  if (all.empty())
    return remarked(file, "sections-with-scaling", "nothing; check that what serves it has both");
  return all;
}

Findings named_default(const LintContext& file) {
  Findings all;
  for (const RopeDictionary& dict : file.ropes()) {
    const std::string type = file.type_of(dict);
    if (!dict.live || !file.has(dict, "mrope_section") || (type != "default" && type != "mrope")) continue;
    const auto interleaved = file.config().kind(dict.key + ".mrope_interleaved") == Config::Kind::flag &&
                             *file.config().flag(dict.key + ".mrope_interleaved");
    all.push_back(finding(
        file, dict.key + ".mrope_section", "nothing; check that what serves it reads it",
        text("text alone cannot show whether it is read",
             interleaved ? "; the axes take turns, while pairs stay halves: two meanings of interleaved"
                         : "")));
  }
  return all;
}

constexpr auto kRules = written(kText, {
    {"sections-do-not-add-up", Severity::error, sum},
    {"sections-with-scaling", Severity::warning, with_scaling, {.departs = true}},
    {"sections-invisible-in-text", Severity::note, named_default},
});

}  // namespace

std::span<const LintRule> sections_rules() { return kRules; }

}  // namespace gnomon
