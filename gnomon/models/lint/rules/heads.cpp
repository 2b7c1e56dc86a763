// The size of a head, where the file leaves it to the class.
#include "gnomon/models/lint/rules/rule.h"

namespace gnomon {
namespace {

constexpr Prose kText =
#include "gnomon/models/lint/rules/heads.txt.inc"
    ;

Findings null_head(const LintContext& file) {
  return remarked(file, "head-dim-null", kText.at("head-dim-null", "expected"));
}

// Where head_dim is said, only a class that refuses the width all the same has a finding.
LintFinding indivisible(const LintContext& file, std::string_view key, std::int64_t width, std::int64_t heads,
                        bool has_head_dim) {
  const std::string n = text(heads);
  if (has_head_dim)
    return finding(file, file.at(key), said<"heads">(kText.at("width-not-divisible", "expected.head-dim"), n),
                   said<"type", "heads">(kText.at("width-not-divisible", "says.head-dim"), file.type(), n));
  const std::int64_t channels = width / heads;
  return finding(file, file.at(key), said<"heads">(kText.at("width-not-divisible", "expected"), n),
                 file.family()->width_by_heads
                     ? said<"type", "heads">(kText.at("width-not-divisible", "says.refused"), file.type(), n)
                     : said<"heads", "channels", "width">(kText.at("width-not-divisible", "says"), n,
                                                          text(channels), text(channels * heads)));
}
Findings not_divisible(const LintContext& file) {
  if (file.gguf() || !file.family()) return {};
  const Family& family = *file.family();
  const std::string_view key = width_key(family.keys, [&](std::string_view k) { return file.has(k); });
  const auto width = file.whole(key);
  auto heads = file.whole(SizeKeys{}.heads);
  if (!heads) heads = file.whole(family.keys.heads);
  const bool has_head_dim = file.has(family.keys.head_dim) || family.sizes.head_dim || family.mla.rope;
  const bool of_class =
      width == family.sizes.width && heads == family.sizes.heads;  // GLM-4.5's are 4096 and 96
  if (!width || !heads || *width < 1 || *heads < 1 || *width % *heads == 0 || of_class ||
      (has_head_dim && !family.width_by_heads))
    return {};
  return {indivisible(file, key, *width, *heads, has_head_dim)};
}

Findings not_shared(const LintContext& file) {
  return remarked(file, "key-heads-not-shared", kText.at("key-heads-not-shared", "expected"));
}

constexpr LintRow kRows[] = {
    {"head-dim-null", Severity::error, null_head, {.departs = true}},
    {"width-not-divisible", Severity::error, not_divisible},
    {"key-heads-not-shared", Severity::error, not_shared, {.departs = true}},
};
constexpr auto kRules = written(kText, kRows);

}  // namespace

std::span<const LintRule> heads_rules() { return kRules; }

}  // namespace gnomon
