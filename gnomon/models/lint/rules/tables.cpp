// Learned tables, and what the weights say against the file.
#include <algorithm>
#include <cmath>

#include "gnomon/models/lint/rules/rule.h"
#include "gnomon/models/resolve/numbers.h"

namespace gnomon {
namespace {

constexpr Prose kText =
#include "gnomon/models/lint/rules/tables.txt.inc"
    ;

bool offset_family(const LintContext& file) { return file.family() && file.family()->table_padded; }

Findings rows_lost(const LintContext& file) {
  const auto rows = file.whole("max_position_embeddings");
  if (!offset_family(file) || !rows || *rows < 16 || (*rows & (*rows - 1))) return {};
  const std::int64_t offset = file.whole("pad_token_id").value_or(1) + 1;
  return {finding(file, file.at("max_position_embeddings"), text(*rows + offset),
                  said<"offset", "fit">(kText.at("table-without-its-offset", "says"), text(offset),
                                        text(*rows - offset)))};
}

Findings context_twice(const LintContext& file) {
  const auto a = file.number("n_positions"), b = file.number("n_ctx");
  if (!a || !b || *a == *b) return {};
  return {finding(file, file.at("n_ctx"), shortest(*a),
                  said<"rows">(kText.at("context-named-twice", "says"), shortest(*a)))};
}

Findings table_rows(const LintContext& file) {
  const std::int64_t offset = file.family() ? file.family()->table_offset : 0;
  const auto rows = file.longest();
  for (const LintTensor& tensor : file.tensors()) {
    const bool table = tensor.name.ends_with("position_embeddings.weight") ||
                       tensor.name.ends_with("wpe.weight") || tensor.name.ends_with("embed_positions.weight");
    if (!table || file.gguf() || !rows || tensor.shape.size() != 2 || tensor.shape[0] == *rows + offset)
      continue;
    return {finding(file, file.at(file.family() ? file.family()->keys.longest : "max_position_embeddings"),
                    text(tensor.shape[0] - offset),
                    offset
                        ? said<"tensor", "rows", "offset">(kText.at("table-and-file-disagree", "says.offset"),
                                                           tensor.name, text(tensor.shape[0]), text(offset))
                        : said<"tensor", "rows">(kText.at("table-and-file-disagree", "says"), tensor.name,
                                                 text(tensor.shape[0])))};
  }
  return {};
}

Findings stored_frequencies(const LintContext& file) {
  const Resolved* read = file.read_by(Reader::v5);
  if (!read || read->layers.empty() || file.gguf()) return {};
  Findings all;
  std::vector<std::vector<double>> frequencies;
  for (const LayerPosition* layer : different_layers(read->layers, read->layers.size()))
    frequencies.push_back(numbers_of(*layer, double(std::max<std::int64_t>(read->longest, 1))).inv_freq);
  for (const LintTensor& tensor : file.tensors()) {
    if (tensor.values.empty()) continue;
    double best = 1e300;
    for (const std::vector<double>& meant : frequencies) {
      if (meant.size() != tensor.values.size()) continue;
      double worst = 0;
      for (std::size_t c = 0; c < meant.size(); ++c) {
        const double off = std::abs(tensor.values[c] - meant[c]) / std::max(meant[c], 1e-30);
        worst = std::isfinite(off) ? std::max(worst, off) : 1e300;
      }
      best = std::min(best, worst);
    }
    if (best < 0.01) continue;  // tables rounded to bfloat16 are off by less
    all.push_back(finding(
        file, file.at("rope_theta"), kText.at("stored-frequencies-differ", "expected"),
        best > 1e200 ? said<"tensor">(kText.at("stored-frequencies-differ", "says.pairs"), tensor.name)
                     : said<"tensor", "percent">(kText.at("stored-frequencies-differ", "says"), tensor.name,
                                                 fixed(100 * best, 1))));
    break;
  }
  return all;
}

Findings draft(const LintContext& file) {
  bool eagle = file.has("draft_vocab_size");
  for (const std::string& name : file.words("architectures").value_or(std::vector<std::string>{}))
    eagle |= name.find("Eagle") != std::string::npos || name.find("eagle") != std::string::npos;
  const auto theta = file.number("rope_theta");
  if (!eagle || !theta || *theta == 10000) return {};
  return {finding(file, file.at("rope_theta"), kText.at("draft-with-the-base-of-its-target", "expected"),
                  said<"base">(kText.at("draft-with-the-base-of-its-target", "says"), shortest(*theta)))};
}

constexpr LintRow kRows[] = {
    {"table-without-its-offset", Severity::warning, rows_lost},
    {"context-named-twice", Severity::warning, context_twice},
    {"table-and-file-disagree", Severity::error, table_rows},
    {"stored-frequencies-differ", Severity::error, stored_frequencies},
    {"draft-with-the-base-of-its-target", Severity::warning, draft},
};
constexpr auto kRules = written(kText, kRows);

}  // namespace

std::span<const LintRule> tables_rules() { return kRules; }

}  // namespace gnomon
