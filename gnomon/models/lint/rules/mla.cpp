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
  const auto slice = file.number("qk_rope_head_dim");
  const auto look = [&](const std::string& key) {
    const bool part = file.config().kind(key) == Config::Kind::number && *file.config().number(key) < 1;
    if (part)
      all.push_back(
          finding(file, key, file.family() ? "1, or no such key" : "nothing; check what serves it",
                  text("the slice of ", shortest(slice.value_or(0)), " channels turns whole",
                       file.family() ? "" : " in DeepSeek's classes", "; by this key a reader turns ",
                       shortest(slice.value_or(0) * *file.config().number(key)))));
  };
  look(file.at("partial_rotary_factor"));
  for (const RopeDictionary& dict : file.ropes()) look(dict.key + ".partial_rotary_factor");
  return all;
}

Findings indexer(const LintContext& file) {
  if (!file.has("index_head_dim") && !file.has("index_n_heads")) return {};
  const bool interleaved = file.type() == "glm_moe_dsa";
  return {finding(file, file.at(file.has("index_head_dim") ? "index_head_dim" : "index_n_heads"),
                  "nothing; check both pairings in what serves it",
                  text("the attention turns adjacent channels, the indexer ",
                       interleaved ? "adjacent ones too" : "halves", ", and no key says so"))};
}

Findings indexer_key(const LintContext& file) {
  if (!file.has("indexer_rope_interleave")) return {};
  return {finding(file, file.at("indexer_rope_interleave"), "know it: the class decides",
                  text("no class of transformers 5.23 reads it; that of ", file.type(), " turns ",
                       file.type() == "glm_moe_dsa" ? "adjacent channels" : "halves"))};
}

Findings interleave_unread(const LintContext& file) {
  constexpr std::array<std::string_view, 6> readers{"deepseek_v3", "kimi_k2", "glm4_moe_lite",
                                                    "mistral4",    "youtu",   "axk1"};
  if (!file.has("rope_interleave") || !file.family() ||
      std::find(readers.begin(), readers.end(), file.type()) != readers.end())
    return {};
  return {finding(file, file.at("rope_interleave"), "no such key; the class decides",
                  text("the class of ", file.type(), " does not read it"))};
}

Findings blocks(const LintContext& file) {
  return remarked(file, "positions-of-blocks-untold",
                  "nothing; read the model's code beside what gnomon tells");
}

Findings part_unsaid(const LintContext& file) {
  return remarked(file, "part-of-blocks-unsaid",
                  "partial_rotary_factor, qk_rope_head_dim / head_dim, in each of the two");
}
Findings temperature(const LintContext& file) {
  return remarked(file, "yarn-temperature-added", "\"attention_factor\": 1.0 in that dictionary");
}

constexpr auto kRules = written(kText, {
    {"rotary-slice-turns-whole", Severity::warning, slice_whole},
    {"indexer-has-its-own-pairing", Severity::note, indexer},
    {"indexer-interleave-unread", Severity::warning, indexer_key},
    {"rope-interleave-unread", Severity::warning, interleave_unread},
    {"part-of-blocks-unsaid", Severity::error, part_unsaid},
    {"yarn-temperature-added", Severity::warning, temperature},
    {"positions-of-blocks-untold", Severity::note, blocks},
});

}  // namespace

std::span<const LintRule> mla_rules() { return kRules; }

}  // namespace gnomon
