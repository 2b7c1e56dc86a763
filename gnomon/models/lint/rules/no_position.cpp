// Layers that carry no position: five spellings, and a list whose name says the opposite of what it holds.
#include <algorithm>

#include "gnomon/core/readable.h"
#include "gnomon/models/lint/rules/rule.h"

namespace gnomon {
namespace {

constexpr Prose kText =
#include "gnomon/models/lint/rules/no_position.txt.inc"
    ;

bool reads_list(const LintContext& file) {
  return file.family() && file.family()->no_position == NoPosition::listed;
}
bool reads_bases(const LintContext& file) {
  return file.type().starts_with("granite_swa") || file.type().starts_with("granitemoe_swa") ||
         file.type().starts_with("muse_");
}

std::int64_t without(const std::vector<double>& list) { return std::count(list.begin(), list.end(), 0.0); }

Findings inverted(const LintContext& file) {
  const auto list = file.numbers("no_rope_layers");
  if (!list || list->empty() || 2 * without(*list) <= std::int64_t(list->size())) return {};
  std::string layers;
  for (std::size_t l = 0; l < list->size() && layers.size() < 40; ++l)
    if ((*list)[l] == 0) layers += text(layers.empty() ? "" : ", ", l);
  return {finding(file, file.at("no_rope_layers"), kText.at("layers-without-position-inverted", "expected"),
                  said<"without", "layers", "first">(kText.at("layers-without-position-inverted", "says"),
                                                     text(without(*list)), text(list->size()), layers))};
}

Findings list_length(const LintContext& file) {
  Findings all;
  const auto layers = file.layers();
  for (const std::string_view key : {"no_rope_layers", "layer_rope_theta"}) {
    const auto list = file.numbers(key);
    if (!list || !layers || std::int64_t(list->size()) == *layers) continue;
    if (list->empty() && file.type() != "smollm3") continue;  // Llama 4 takes it for none
    all.push_back(finding(file, file.at(key),
                          said<"layers">(kText.at("layer-list-length", "expected"), text(*layers)),
                          said<"numbers">(kText.at("layer-list-length", "says"), text(list->size()))));
  }
  return all;
}

Findings interval_contradicts(const LintContext& file) {
  const auto list = file.numbers("no_rope_layers");
  const auto interval = file.whole("no_rope_layer_interval");
  if (!list || list->empty() || !interval || *interval <= 0) return {};
  for (std::size_t l = 0; l < list->size(); ++l)
    if ((list->at(l) != 0) != ((std::int64_t(l) + 1) % *interval != 0))
      return {finding(
          file, file.at("no_rope_layer_interval"), kText.at("layer-interval-contradicts", "expected"),
          said<"nth", "layer">(kText.at("layer-interval-contradicts", "says"), ordinal(*interval), text(l)))};
  return {};
}

Findings lost_in_gguf(const LintContext& file) {
  const auto list = file.numbers("no_rope_layers");
  if (!list || !reads_list(file)) return {};
  std::int64_t wrong = 0;
  for (std::size_t l = 0; l < list->size(); ++l) wrong += (list->at(l) != 0) != ((l + 1) % 4 != 0);
  if (!wrong) return {};
  return {finding(file, file.at("no_rope_layers"),
                  kText.at("layers-without-position-lost-in-gguf", "expected"),
                  said<"wrong", "layers">(kText.at("layers-without-position-lost-in-gguf", "says"),
                                          text(wrong), text(list->size())))};
}

Findings spelling(const LintContext& file) {
  Findings all;
  const auto bases = file.numbers("layer_rope_theta");
  if (bases && without(*bases) > 0 && reads_bases(file))
    all.push_back(
        finding(file, file.at("layer_rope_theta"), kText.at("no-position-spelling", "expected.bases"),
                said<"layers">(kText.at("no-position-spelling", "says.bases"), text(without(*bases)))));
  if (file.number("qk_rope_head_dim") == 0 && file.family() && file.family()->mla.present())
    all.push_back(finding(file, file.at("qk_rope_head_dim"),
                          kText.at("no-position-spelling", "expected.slice"),
                          kText.at("no-position-spelling", "says.slice")));
  for (const std::string_view object : {"rope_scaling", "rope_parameters"}) {
    if (file.kind(object) != Config::Kind::object) continue;
    for (const std::string& key : file.config().keys(file.at(object)))
      if (key.ends_with("_attention") &&
          file.config().kind(text(file.at(object), ".", key)) == Config::Kind::null)
        all.push_back(finding(file, text(file.at(object), ".", key),
                              kText.at("no-position-spelling", "expected.null"),
                              said<"kind">(kText.at("no-position-spelling", "says.null"), key)));
  }
  return all;
}

Findings bases_unread(const LintContext& file) {
  if (!file.has("layer_rope_theta") || reads_bases(file)) return {};
  return {finding(file, file.at("layer_rope_theta"), kText.at("layer-bases-unread", "expected"),
                  said<"type">(kText.at("layer-bases-unread", "says"), file.type()))};
}

Findings list_unread(const LintContext& file) {
  if (!file.has("no_rope_layers") || reads_list(file) || !file.family()) return {};
  const auto list = file.numbers("no_rope_layers");
  if (list && without(*list) == 0) return {};
  return {finding(file, file.at("no_rope_layers"), kText.at("layer-list-unread", "expected"),
                  said<"type">(kText.at("layer-list-unread", "says"), file.type()))};
}

constexpr LintRow kRows[] = {
    {"layers-without-position-inverted", Severity::warning, inverted},
    {"layer-list-length", Severity::error, list_length},
    {"layer-interval-contradicts", Severity::warning, interval_contradicts},
    {"layers-without-position-lost-in-gguf", Severity::warning, lost_in_gguf},
    {"no-position-spelling", Severity::note, spelling},
    {"layer-bases-unread", Severity::error, bases_unread},
    {"layer-list-unread", Severity::error, list_unread},
};
constexpr auto kRules = written(kText, kRows);

}  // namespace

std::span<const LintRule> no_position_rules() { return kRules; }

}  // namespace gnomon
