// What each layer sees: full, or a window.
#include <algorithm>
#include <cmath>

#include "gnomon/models/lint/rules/rule.h"

namespace gnomon {
namespace {

constexpr Prose kText =
#include "gnomon/models/lint/rules/layers.txt.inc"
    ;

std::int64_t sliding(const std::vector<std::string>& types) {
  return std::count(types.begin(), types.end(), "sliding_attention");
}
bool is_qwen(const LintContext& file) { return file.type().starts_with("qwen"); }

Findings length(const LintContext& file) {
  const auto types = file.words("layer_types");
  const auto layers = file.layers();
  if (!types || !layers || std::int64_t(types->size()) == *layers) return {};
  return {finding(file, file.at("layer_types"),
                  said<"layers">(kText.at("layer-types-length", "expected"), text(*layers)),
                  said<"words">(kText.at("layer-types-length", "says"), text(types->size())))};
}

Findings types_of_mistral(const LintContext& file) {
  const auto types = file.words("layer_types");
  if (!types || file.type() != "mistral" || sliding(*types) == std::int64_t(types->size())) return {};
  const bool part = file.family() && file.family()->name == "mistral";  // of another model: nothing turns it
  if (part)
    return {finding(file, file.at("layer_types"), kText.at("layer-types-of-mistral", "expected.part"),
                    kText.at("layer-types-of-mistral", "says.part"))};
  const std::int64_t full = std::int64_t(types->size()) - sliding(*types);
  return {finding(
      file, file.at("layer_types"), kText.at("layer-types-of-mistral", "expected"),
      said<"full", "layers">(kText.at("layer-types-of-mistral", "says"), text(full), text(types->size())))};
}

Findings window_missing(const LintContext& file) { return remarked(file, "window-missing"); }

Findings beyond_last(const LintContext& file) {
  const auto first = file.whole("max_window_layers"), layers = file.layers();
  if (!is_qwen(file) || !file.flag("use_sliding_window").value_or(false) || file.has("layer_types"))
    return {};
  if (!layers || first.value_or(28) < *layers) return {};
  return {finding(file, file.at("max_window_layers"),
                  said<"layers">(kText.at("window-beyond-last-layer", "expected"), text(*layers)),
                  said<"first", "last">(kText.at("window-beyond-last-layer", "says"),
                                        text(first.value_or(28)), text(*layers - 1)))};
}

Findings pattern_contradicts(const LintContext& file) {
  const auto types = file.words("layer_types");
  auto pattern = file.whole("sliding_window_pattern");
  if (!types || !pattern || *pattern <= 0) return {};
  for (std::size_t l = 0; l < types->size(); ++l)
    if ((types->at(l) == "sliding_attention") != ((std::int64_t(l) + 1) % *pattern != 0))
      return {finding(
          file, file.at("sliding_window_pattern"), kText.at("window-pattern-contradicts", "expected"),
          said<"layer", "word">(kText.at("window-pattern-contradicts", "says"), text(l), types->at(l)))};
  return {};
}

Findings window_impossible(const LintContext& file) { return remarked(file, "window-impossible"); }

bool windowed(const LayerPosition& layer) {
  return std::any_of(layer.spec.attention.begin(), layer.spec.attention.end(),
                     [](const Named& named) { return named.name == "window"; });
}
// Layers that have a window when transformers reads the file.
std::size_t windowed_layers(const LintContext& file) {
  const Resolved* read = file.gguf() || !file.family() ? nullptr : file.read_by(Reader::v5);
  if (!read) return 0;
  return std::size_t(std::count_if(read->layers.begin(), read->layers.end(), windowed));
}
// Under any of the words that the class has for it.
bool says_window(const LintContext& file, const WindowRule& windows) {
  return file.kind(windows.key) != Config::Kind::absent ||
         (!windows.beside_key.empty() && file.has(windows.beside_key)) ||
         (!windows.spare_key.empty() && file.has(windows.spare_key));
}
Findings of_class(const LintContext& file) {
  const std::size_t layers = windowed_layers(file);
  const WindowRule* windows = file.family() ? &file.family()->windows : nullptr;
  if (!layers || !windows->standard || says_window(file, *windows) || file.has("sliding_window")) return {};
  const std::string tokens = text(windows->standard);
  return {finding(
      file, file.at(windows->key),
      said<"key", "tokens">(kText.at("window-of-class", "expected"), windows->key, tokens),
      said<"tokens", "layers">(kText.at("window-of-class", "says"), tokens, counted(layers, "layer")))};
}

Findings beyond_context(const LintContext& file) {
  const std::size_t layers = windowed_layers(file);
  const auto window = layers ? file.whole(file.family()->windows.key) : std::nullopt;
  const auto longest = file.longest();
  if (!window || !longest || *window < *longest || file.family()->windows.divisor != 1) return {};
  return {finding(
      file, file.at(file.family()->windows.key), kText.at("window-beyond-context", "expected"),
      said<"window", "longest">(kText.at("window-beyond-context", "says"), text(*window), text(*longest)))};
}

Findings one_more(const LintContext& file) {
  const auto window = file.gguf() ? file.whole("attention.sliding_window") : file.whole("sliding_window");
  if (!window || *window < 33 || ((*window - 1) & (*window - 2)) != 0) return {};
  const std::string key = file.at(file.gguf() ? "attention.sliding_window" : "sliding_window");
  return {finding(
      file, key, said<"less">(kText.at("window-one-too-many", "expected"), text(*window - 1)),
      said<"window", "less">(kText.at("window-one-too-many", "says"), text(*window), text(*window - 1)))};
}

Findings by_kernel(const LintContext& file) {
  return remarked(file, "mask-depends-on-kernel", kText.at("mask-depends-on-kernel", "expected"));
}
Findings by_version(const LintContext& file) {
  return remarked(file, "mask-by-version", kText.at("mask-by-version", "expected"));
}
Findings by_layer(const LintContext& file) {
  return remarked(file, "layer-override-refused", kText.at("layer-override-refused", "expected"));
}

constexpr LintRow kRows[] = {
    {"layer-types-length", Severity::error, length},
    {"layer-types-of-mistral", Severity::warning, types_of_mistral},
    {"window-missing", Severity::error, window_missing},
    {"window-beyond-last-layer", Severity::warning, beyond_last},
    {"window-pattern-contradicts", Severity::warning, pattern_contradicts},
    {"window-impossible", Severity::error, window_impossible},
    {"window-of-class", Severity::note, of_class},
    {"window-beyond-context", Severity::note, beyond_context},
    {"window-one-too-many", Severity::note, one_more},
    {"mask-depends-on-kernel", Severity::warning, by_kernel},
    {"mask-by-version", Severity::note, by_version},
    {"layer-override-refused", Severity::error, by_layer, {.departs = true}},
};
constexpr auto kRules = written(kText, kRows);

}  // namespace

std::span<const LintRule> layers_rules() { return kRules; }

}  // namespace gnomon
