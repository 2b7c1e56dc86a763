// DeepSeek's attention: a rotary slice beside the rest of the head, and an indexer with a pairing of its own.
#include <algorithm>

#include "gnomon/models/lint/rules/rule.h"

namespace gnomon {
namespace {

constexpr Prose kText =
#include "gnomon/models/lint/rules/mla.txt.inc"
    ;

Findings slice_whole(const LintContext& file) {
  if (!file.has("qk_rope_head_dim") || file.type() == "deepseek_v4") return {};  // V4's share is of the head
  Findings all;
  const double slice = file.number("qk_rope_head_dim").value_or(0);
  const auto look = [&](const std::string& key) {
    if (file.config().kind(key) != Config::Kind::number || !(*file.config().number(key) < 1)) return;
    const std::string whole = shortest(slice), part = shortest(slice * *file.config().number(key));
    if (file.family())
      all.push_back(
          finding(file, key, kText.at("rotary-slice-turns-whole", "expected"),
                  said<"slice", "part">(kText.at("rotary-slice-turns-whole", "says"), whole, part)));
    else
      all.push_back(
          finding(file, key, kText.at("rotary-slice-turns-whole", "expected.unknown"),
                  said<"slice", "part">(kText.at("rotary-slice-turns-whole", "says.unknown"), whole, part)));
  };
  look(file.at("partial_rotary_factor"));
  for (const RopeDictionary& dict : file.ropes()) look(dict.key + ".partial_rotary_factor");
  return all;
}

Findings indexer(const LintContext& file) {
  if (!file.has("index_head_dim") && !file.has("index_n_heads")) return {};
  const bool adjacent = file.type() == "glm_moe_dsa";
  return {finding(file, file.at(file.has("index_head_dim") ? "index_head_dim" : "index_n_heads"),
                  kText.at("indexer-has-its-own-pairing", "expected"),
                  adjacent ? kText.at("indexer-has-its-own-pairing", "says.adjacent")
                           : kText.at("indexer-has-its-own-pairing", "says.halves"))};
}

Findings indexer_key(const LintContext& file) {
  if (!file.has("indexer_rope_interleave")) return {};
  return {finding(file, file.at("indexer_rope_interleave"), kText.at("indexer-interleave-unread", "expected"),
                  file.type() == "glm_moe_dsa"
                      ? said<"type">(kText.at("indexer-interleave-unread", "says.adjacent"), file.type())
                      : said<"type">(kText.at("indexer-interleave-unread", "says.halves"), file.type()))};
}

Findings interleave_unread(const LintContext& file) {
  constexpr std::array<std::string_view, 6> readers{"deepseek_v3", "kimi_k2", "glm4_moe_lite",
                                                    "mistral4",    "youtu",   "axk1"};
  if (!file.has("rope_interleave") || !file.family() ||
      std::find(readers.begin(), readers.end(), file.type()) != readers.end())
    return {};
  return {finding(file, file.at("rope_interleave"), kText.at("rope-interleave-unread", "expected"),
                  said<"type">(kText.at("rope-interleave-unread", "says"), file.type()))};
}

Findings blocks(const LintContext& file) {
  return remarked(file, "positions-of-blocks-untold", kText.at("positions-of-blocks-untold", "expected"));
}

Findings part_unsaid(const LintContext& file) {
  return remarked(file, "part-of-blocks-unsaid", kText.at("part-of-blocks-unsaid", "expected"));
}
Findings temperature(const LintContext& file) {
  return remarked(file, "yarn-temperature-added", kText.at("yarn-temperature-added", "expected"));
}

constexpr LintRow kRows[] = {
    {"rotary-slice-turns-whole", Severity::warning, slice_whole},
    {"indexer-has-its-own-pairing", Severity::note, indexer},
    {"indexer-interleave-unread", Severity::warning, indexer_key},
    {"rope-interleave-unread", Severity::warning, interleave_unread},
    {"part-of-blocks-unsaid", Severity::error, part_unsaid},
    {"yarn-temperature-added", Severity::warning, temperature},
    {"positions-of-blocks-untold", Severity::note, blocks},
};
constexpr auto kRules = written(kText, kRows);

}  // namespace

std::span<const LintRule> mla_rules() { return kRules; }

}  // namespace gnomon
