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

bool offset_family(const LintContext& file) { return file.family() && file.family()->table.padded; }

Findings rows_lost(const LintContext& file) {
  const auto rows = file.whole("max_position_embeddings");
  if (!offset_family(file) || !rows || *rows < 16 || (*rows & (*rows - 1))) return {};
  const PlaceTable& table = file.family()->table;
  const auto pad = table.pad_fixed ? std::nullopt : file.whole("pad_token_id");
  const std::int64_t offset = pad.value_or(table.pad) + 1;
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
  const std::int64_t offset = file.family() ? file.family()->table.offset : 0;
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

bool is_draft(const LintContext& file) {
  bool eagle = file.has("draft_vocab_size");
  for (const std::string& name : file.words("architectures").value_or(std::vector<std::string>{}))
    eagle |= name.find("Eagle") != std::string::npos || name.find("eagle") != std::string::npos;
  return eagle;
}
Findings draft(const LintContext& file) {
  const auto theta = file.number("rope_theta");
  if (!is_draft(file) || !theta || *theta == 10000) return {};
  return {finding(file, file.at("rope_theta"), kText.at("draft-with-the-base-of-its-target", "expected"),
                  said<"base">(kText.at("draft-with-the-base-of-its-target", "says"), shortest(*theta)))};
}

Findings draft_dictionary(const LintContext& file) {
  if (!is_draft(file) || file.has("rope_theta")) return {};
  for (const RopeDictionary& dict : file.ropes()) {
    const auto theta = file.number(dict, "rope_theta");
    if (!dict.live || !theta || *theta == 10000) continue;
    return {finding(file, dict.key + ".rope_theta",
                    said<"base">(kText.at("draft-base-in-a-dictionary", "expected"), shortest(*theta)),
                    said<"base">(kText.at("draft-base-in-a-dictionary", "says"), shortest(*theta)))};
  }
  return {};
}

// The largest angle error, in radians, at the last token of the context; and the pair that has it.
Findings rounded_frequencies(const LintContext& file) {
  const Resolved* read = file.read_by(Reader::v5);
  if (!read || read->layers.empty() || file.gguf() || read->longest < 2) return {};
  for (const LintTensor& tensor : file.tensors()) {
    if (tensor.values.empty() || (tensor.stored != "BF16" && tensor.stored != "F16")) continue;
    for (const LayerPosition* layer : different_layers(read->layers, read->layers.size())) {
      const std::vector<double> meant = numbers_of(*layer, double(read->longest)).inv_freq;
      if (meant.size() != tensor.values.size()) continue;
      double worst = 0, off = 0;
      for (std::size_t c = 0; c < meant.size(); ++c) {
        const double error = std::abs(tensor.values[c] - meant[c]);
        off = std::max(off, error / std::max(meant[c], 1e-30));
        worst = std::max(worst, error * double(read->longest - 1));
      }
      if (!(off < 0.01) || worst < 0.1) continue;  // stored-frequencies-differ says it; nobody would see it
      return {finding(file, file.at("rope_theta"), kText.at("stored-frequencies-rounded", "expected"),
                      said<"tensor", "stored", "last", "angle">(
                          kText.at("stored-frequencies-rounded", "says"), tensor.name, tensor.stored,
                          text(read->longest - 1), fixed(worst, worst < 10 ? 2 : 0)))};
    }
  }
  return {};
}

constexpr LintRow kRows[] = {
    {"table-without-its-offset", Severity::warning, rows_lost},
    {"context-named-twice", Severity::warning, context_twice},
    {"table-and-file-disagree", Severity::error, table_rows},
    {"stored-frequencies-differ", Severity::error, stored_frequencies},
    {"stored-frequencies-rounded", Severity::warning, rounded_frequencies},
    {"draft-base-in-a-dictionary", Severity::warning, draft_dictionary},
    {"draft-with-the-base-of-its-target", Severity::warning, draft},
};
constexpr auto kRules = written(kText, kRows);

}  // namespace

std::span<const LintRule> tables_rules() { return kRules; }

}  // namespace gnomon
