// DeepSeek's attention: a rotary slice beside the rest of the head, and an indexer with a pairing of its own.
#include "gnomon/models/lint/rules/rule.h"

namespace gnomon {
namespace {

constexpr Prose kText =
#include "gnomon/models/lint/rules/mla.txt.inc"
    ;

Findings slice_whole(const LintContext& file) {
  // The share of DeepSeek V4, Mistral 4 and Dots is one of the head.
  const bool of_head = file.type() == "deepseek_v4" || (file.family() && file.family()->mla.whole_slice);
  if (!file.has("qk_rope_head_dim") || of_head) return {};
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

std::string_view channels(Pairing pairing) {
  return pairing == Pairing::adjacent ? "adjacent channels" : "halves";
}
bool has_indexer(const LintContext& file) { return file.family() && !file.family()->indexer.dim_key.empty(); }
Findings indexer(const LintContext& file) {
  if (!file.has("index_head_dim") && !file.has("index_n_heads")) return {};
  const std::string key = file.at(file.has("index_head_dim") ? "index_head_dim" : "index_n_heads");
  const Family deepseek{.name = "unknown", .types = {}, .rope = {.pairing = Pairing::adjacent}};
  const Family& own = has_indexer(file) ? *file.family() : deepseek;
  if (own.no_position == NoPosition::always) return {};
  const std::string_view first = channels(own.rope.pairing), second = channels(own.indexer.pairing);
  return {finding(file, key, kText.at("indexer-has-its-own-pairing", "expected"),
                  first == second ? said<"pairs">(kText.at("indexer-has-its-own-pairing", "says.same"), first)
                                  : said<"attention", "indexer">(
                                        kText.at("indexer-has-its-own-pairing", "says"), first, second))};
}

Findings indexer_key(const LintContext& file) {
  if (!file.has("indexer_rope_interleave")) return {};
  const Pairing own = has_indexer(file) ? file.family()->indexer.pairing : Pairing::halves;
  return {finding(
      file, file.at("indexer_rope_interleave"), kText.at("indexer-interleave-unread", "expected"),
      said<"type", "pairs">(kText.at("indexer-interleave-unread", "says"), file.type(), channels(own)))};
}

Findings interleave_unread(const LintContext& file) {
  if (!file.has("rope_interleave") || !file.family() || !file.family()->mla.pairing_key.empty()) return {};
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
