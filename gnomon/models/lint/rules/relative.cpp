// Relative encodings: BERT's distance table, DeBERTa's terms, T5's buckets.
#include <algorithm>

#include "gnomon/models/lint/rules/rule.h"

namespace gnomon {
namespace {

constexpr Prose kText =
#include "gnomon/models/lint/rules/relative.txt.inc"
    ;

Findings table_dropped(const LintContext& file) {
  const auto type = file.word("position_embedding_type");
  if (!type || !type->starts_with("relative_key")) return {};
  return {finding(file, file.at("position_embedding_type"), kText.at("relative-table-dropped", "expected"),
                  kText.at("relative-table-dropped", "says"))};
}

bool is_deberta(const LintContext& file) { return file.type() == "deberta-v2" || file.type() == "deberta"; }

Findings attention_off(const LintContext& file) {
  if (!is_deberta(file) || file.has("relative_attention")) return {};
  return {finding(file, file.at("relative_attention"), kText.at("relative-attention-unsaid", "expected"),
                  kText.at("relative-attention-unsaid", "says"))};
}

Findings terms_missing(const LintContext& file) {
  if (!is_deberta(file) || !file.flag("relative_attention").value_or(false)) return {};
  const auto word = file.word("pos_att_type");
  const auto list = file.words("pos_att_type");
  if ((word && !word->empty()) || (list && !list->empty())) return {};
  return {finding(file, file.at("pos_att_type"), kText.at("relative-attention-without-terms", "expected"),
                  kText.at("relative-attention-without-terms", "says"))};
}

Findings no_position(const LintContext& file) {
  if (!is_deberta(file) || file.flag("position_biased_input").value_or(true) ||
      file.flag("relative_attention").value_or(false))
    return {};
  return {finding(file, file.at("position_biased_input"), kText.at("encoder-without-position", "expected"),
                  kText.at("encoder-without-position", "says"))};
}

bool is_t5(const LintContext& file) {
  return file.type().ends_with("t5") || file.type() == "longt5" || file.type() == "switch_transformers";
}

Findings distance_fixed(const LintContext& file) {
  const auto distance = file.number("relative_attention_max_distance");
  const bool fixed = file.type() == "mpnet";
  if (!distance || *distance == 128 || (!is_t5(file) && !fixed)) return {};
  return {finding(file, file.at("relative_attention_max_distance"),
                  kText.at("bucket-distance-fixed-elsewhere", "expected"),
                  fixed ? kText.at("bucket-distance-fixed-elsewhere", "says.mpnet")
                        : kText.at("bucket-distance-fixed-elsewhere", "says"))};
}

Findings buckets(const LintContext& file) {
  const auto count = file.whole("relative_attention_num_buckets");
  if (!count || (*count > 3 && *count % 4 == 0)) return {};
  return {finding(file, file.at("relative_attention_num_buckets"), kText.at("bucket-count-odd", "expected"),
                  said<"buckets">(kText.at("bucket-count-odd", "says"), text(*count)))};
}

Findings count_unread(const LintContext& file) {
  return remarked(file, "bucket-count-unread", kText.at("bucket-count-unread", "expected"));
}
Findings talking_heads(const LintContext& file) {
  return remarked(file, "talking-heads-untold", kText.at("talking-heads-untold", "expected"));
}

constexpr LintRow kRows[] = {
    {"relative-table-dropped", Severity::error, table_dropped},
    {"relative-attention-unsaid", Severity::warning, attention_off},
    {"relative-attention-without-terms", Severity::error, terms_missing},
    {"encoder-without-position", Severity::error, no_position},
    {"bucket-distance-fixed-elsewhere", Severity::warning, distance_fixed},
    {"bucket-count-odd", Severity::error, buckets},
    {"bucket-count-unread", Severity::error, count_unread},
    {"talking-heads-untold", Severity::note, talking_heads},
};
constexpr auto kRules = written(kText, kRows);

}  // namespace

std::span<const LintRule> relative_rules() { return kRules; }

}  // namespace gnomon
