// The size of a head, where the file leaves it to the class.
#include "gnomon/models/lint/rules/rule.h"

namespace gnomon {
namespace {

constexpr Prose kText =
#include "gnomon/models/lint/rules/heads.txt.inc"
    ;

Findings null_head(const LintContext& file) {
  return remarked(file, "head-dim-null",
                  "a number, hidden_size / num_attention_heads where nothing else is meant");
}

Findings not_divisible(const LintContext& file) {
  if (file.gguf() || !file.family()) return {};
  const Family& family = *file.family();
  const std::string_view key = width_key(family.keys, [&](std::string_view k) { return file.has(k); });
  const auto width = file.whole(key);
  auto heads = file.whole(SizeKeys{}.heads);
  if (!heads) heads = file.whole(family.keys.heads);
  const bool said = file.has(family.keys.head_dim) || family.sizes.head_dim || family.mla.rope;
  if (!width || !heads || *width < 1 || *heads < 1 || *width % *heads == 0 ||
      (said && !family.width_by_heads))
    return {};
  return {finding(file, file.at(key), text("a multiple of ", *heads, said ? "" : ", or a head_dim"),
                  family.width_by_heads
                      ? text("the class of ", file.type(), " refuses a width that ", *heads,
                             " heads do not divide", said ? ", whatever head_dim says" : "")
                      : text(*heads, " heads of ", *width / *heads, " channels are ",
                             *width / *heads * *heads, ": the class rounds down without a word"))};
}

Findings not_shared(const LintContext& file) {
  return remarked(file, "key-heads-not-shared", "a divisor of num_attention_heads");
}

constexpr auto kRules = written(kText, {
    {"head-dim-null", Severity::error, null_head, {.departs = true}},
    {"width-not-divisible", Severity::error, not_divisible},
    {"key-heads-not-shared", Severity::error, not_shared, {.departs = true}},
});

}  // namespace

std::span<const LintRule> heads_rules() { return kRules; }

}  // namespace gnomon
