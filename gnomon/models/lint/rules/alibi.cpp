// Biases that fall with distance.
#include "gnomon/models/lint/rules/rule.h"

namespace gnomon {
namespace {

constexpr Prose kText =
#include "gnomon/models/lint/rules/alibi.txt.inc"
    ;

bool is_mpt(const LintContext& file) { return file.type() == "mpt"; }
bool uses(const LintContext& file) {
  return file.type() == "bloom" || is_mpt(file) ||
         (file.type() == "falcon" && file.flag("alibi").value_or(false)) ||
         file.word("position_embedding_type") == "alibi";
}
std::optional<std::int64_t> heads(const LintContext& file) {
  for (const std::string_view key : {"num_attention_heads", "n_head", "n_heads"})
    if (const auto x = file.whole(key)) return x;
  return std::nullopt;
}

Findings most_unread(const LintContext& file) {
  const auto most = file.number("attn_config.alibi_bias_max");
  if (!is_mpt(file) || !most || *most == 8) return {};
  return {finding(file, file.at("attn_config.alibi_bias_max"), kText.at("alibi-most-unread", "expected"),
                  said<"most">(kText.at("alibi-most-unread", "says"), shortest(*most)))};
}

Findings off_unread(const LintContext& file) {
  if (!is_mpt(file) || file.flag("attn_config.alibi").value_or(true)) return {};
  return {finding(file, file.at("attn_config.alibi"), kText.at("alibi-off-unread", "expected"),
                  kText.at("alibi-off-unread", "says"))};
}

Findings two_series(const LintContext& file) {
  const auto count = heads(file);
  if (!uses(file) || !count || *count <= 0 || (*count & (*count - 1)) == 0) return {};
  return {finding(file,
                  file.at(file.has("num_attention_heads") ? "num_attention_heads"
                          : file.has("n_head")            ? "n_head"
                                                          : "n_heads"),
                  kText.at("alibi-heads-no-power-of-two", "expected"),
                  said<"heads">(kText.at("alibi-heads-no-power-of-two", "says"), text(*count)))};
}

Findings hides_rotation(const LintContext& file) {
  if (file.type() != "falcon" || !file.flag("alibi").value_or(false)) return {};
  for (const std::string_view key : {"rope_theta", "rope_scaling", "rope_parameters"})
    if (file.has(key))
      return {finding(file, file.at(key), kText.at("alibi-hides-rotation", "expected"),
                      kText.at("alibi-hides-rotation", "says"))};
  return {};
}

Findings half_precision(const LintContext& file) {
  std::string key = "dtype";
  auto type = file.word(key);
  if (!type) type = file.word(key = "torch_dtype");
  std::int64_t tokens = 0;
  for (const std::string_view name : {"seq_length", "max_seq_len", "max_position_embeddings"})
    tokens = std::max(tokens, file.whole(name).value_or(0));
  if (!uses(file) || !type || (*type != "bfloat16" && *type != "float16") ||
      (*type == "float16" && tokens <= 2048) || tokens <= 256)
    return {};
  return {
      finding(file, file.at(key), kText.at("alibi-in-half-precision", "expected"),
              said<"exact", "type", "tokens">(kText.at("alibi-in-half-precision", "says"),
                                              text(*type == "float16" ? 2048 : 256), *type, text(tokens)))};
}

Findings slopes_rounded(const LintContext& file) {
  return remarked(file, "alibi-slopes-rounded", kText.at("alibi-slopes-rounded", "expected"));
}

constexpr LintRow kRows[] = {
    {"alibi-most-unread", Severity::error, most_unread},
    {"alibi-off-unread", Severity::error, off_unread},
    {"alibi-heads-no-power-of-two", Severity::note, two_series},
    {"alibi-hides-rotation", Severity::warning, hides_rotation},
    {"alibi-in-half-precision", Severity::note, half_precision},
    {"alibi-slopes-rounded", Severity::note, slopes_rounded, {.departs = true}},
};
constexpr auto kRules = written(kText, kRows);

}  // namespace

std::span<const LintRule> alibi_rules() { return kRules; }

}  // namespace gnomon
