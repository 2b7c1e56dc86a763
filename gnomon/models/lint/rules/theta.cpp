// The base of the rotation: lost, doubled, or read from where it is not.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>

#include "gnomon/models/lint/rules/rule.h"
#include "gnomon/models/resolve/numbers.h"

namespace gnomon {
namespace {

constexpr Prose kText =
#include "gnomon/models/lint/rules/theta.txt.inc"
    ;

// Linear and dynamic scaling of 2023 were written for models whose base was 10000, and leave it out.
bool of_2023(const LintContext& file, const RopeDictionary& dict) {
  const std::string type = file.type_of(dict);
  return (type == "linear" || type == "dynamic") && file.longest().value_or(1 << 20) <= 8192;
}

Findings scaling_without_theta(const LintContext& file) {
  Findings all;
  if (theta_outside(file) || class_theta(file) != 10000) return all;  // theta-of-class says it
  for (const RopeDictionary& dict : file.ropes())
    if (!dict.live && file.has(dict, "rope_theta")) return all;  // scaling-drops-theta says it
  for (const RopeDictionary& dict : file.ropes()) {
    if (!dict.live || !scales(file, dict) || file.has(dict, "rope_theta") || of_2023(file, dict)) continue;
    all.push_back(finding(file, dict.key,
                          text("\"rope_theta\": the base that the model was trained with, in ", dict.key),
                          text("no key says the base: transformers 5 and 4 both take that of the class, ",
                               shortest(class_theta(file)))));
  }
  return all;
}

Findings scaling_drops_theta(const LintContext& file) {
  Findings all;
  if (theta_outside(file)) return all;
  const RopeDictionary* scaling = nullptr;
  for (const RopeDictionary& dict : file.ropes())
    if (dict.live && dict.label.empty() && !file.has(dict, "rope_theta")) scaling = &dict;
  if (!scaling || file.reads_by_kind()) return all;
  for (const RopeDictionary& dict : file.ropes()) {
    const auto theta = file.number(dict, "rope_theta");
    if (dict.live || !theta || *theta == class_theta(file)) continue;
    all.push_back(
        finding(file, scaling->key, text("\"rope_theta\": ", shortest(*theta), " in ", scaling->key),
                text("transformers 5 replaces ", dict.key, " by ", scaling->key, " as a whole: theta ",
                     shortest(*theta), " becomes ", shortest(class_theta(file)))));
  }
  return all;
}

Findings theta_twice(const LintContext& file) {
  Findings all;
  const auto outside = file.number("rope_theta");
  if (!outside) return all;
  for (const RopeDictionary& dict : file.ropes()) {
    const auto theta = file.number(dict, "rope_theta");
    if (!dict.live || !dict.label.empty() || !theta || *theta == *outside) continue;
    all.push_back(finding(file, file.at("rope_theta"),
                          text("the same in both places: ", shortest(*theta), " or ", shortest(*outside)),
                          text("transformers 5 takes ", shortest(*theta), " from ", dict.key,
                               "; transformers 4 and readers of the "
                               "old key take ",
                               shortest(*outside))));
  }
  return all;
}

Findings theta_null(const LintContext& file) {
  Findings all;
  if (!file.family() || file.family()->method != Method::rotary) return all;
  const bool inside = std::any_of(file.ropes().begin(), file.ropes().end(), [&](const RopeDictionary& dict) {
    return dict.live && file.has(dict, "rope_theta");
  });
  if (file.kind("rope_theta") == Config::Kind::null && !inside)
    all.push_back(finding(
        file, file.at("rope_theta"), "a number, or no such key",
        "null is not an absent key: transformers 5.23 keeps it, and the model fails when it is built"));
  for (const RopeDictionary& dict : file.ropes())
    if (file.config().kind(dict.key + ".rope_theta") == Config::Kind::null)
      all.push_back(finding(file, dict.key + ".rope_theta", "a number, or no such key",
                            "null hides the class's own base"));
  return all;
}

Findings theta_impossible(const LintContext& file) {
  Findings all;
  const auto look = [&](const std::string& key) {
    const Config::Kind kind = file.config().kind(key);
    const bool number = kind == Config::Kind::number;
    if (kind == Config::Kind::absent || kind == Config::Kind::null || kind == Config::Kind::list) return;
    if (number && *file.config().number(key) > 1) return;
    all.push_back(finding(file, key, "a number above 1, such as 10000",
                          number ? "theta^(-2i/R) is then no falling row of frequencies: 1 turns every pair "
                                   "alike, 0 divides by zero"
                                 : "not a number"));
  };
  for (const std::string_view key : kThetaKeys) look(file.at(key));
  for (const RopeDictionary& dict : file.ropes()) look(dict.key + ".rope_theta");
  return all;
}

// Tokens of the slowest pair's full turn; 0 where nothing turns, or a pair of the rotation stands still.
double longest_wavelength(const LayerPosition& layer, double length) {
  double slowest = 0;
  for (const double f : numbers_of(layer, length).inv_freq) {
    if (f <= 0) return 0;
    if (slowest == 0 || f < slowest) slowest = f;
  }
  return slowest > 0 ? 2 * std::numbers::pi / slowest : 0;
}
bool windowed(const LayerPosition& layer) {
  for (const Named& named : layer.spec.attention)
    if (named.name == "window" || named.name == "chunk") return true;
  return false;
}

Findings theta_short(const LintContext& file) {
  const Resolved* read = file.read_by(Reader::v5);
  if (!read || !read->longest) return {};
  for (const LayerPosition* one : different_layers(read->layers, read->layers.size())) {
    const LayerPosition& layer = *one;
    if (windowed(layer)) continue;
    const double wave = longest_wavelength(layer, double(read->longest));
    if (wave == 0 || wave >= double(read->longest)) continue;
    std::string key = file.at("rope_theta");
    for (const Because& because : layer.because)
      if (because.what == "theta" && !because.key.empty()) key = because.key;
    return {finding(
        file, key, "the base that the model was trained with",
        text("the slowest pair turns once in ", shortest(std::round(wave)), " tokens, and the file promises ",
             read->longest, ": positions further apart look alike"))};
  }
  return {};
}

Findings theta_of_class(const LintContext& file) {
  const double theta = class_theta(file);
  if (file.gguf() || !file.family() || file.family()->method != Method::rotary || theta == 10000 ||
      theta_outside(file))
    return {};
  for (const RopeDictionary& dict : file.ropes())
    if (file.has(dict, "rope_theta")) return {};
  return {finding(file, file.at("rope_theta"), text("\"rope_theta\": ", shortest(theta)),
                  text("transformers 5 takes the class's ", shortest(theta),
                       "; a reader of getattr(config, \"rope_theta\", 10000) takes 10000"))};
}

Findings theta_for_new_readers(const LintContext& file) {
  if (file.has("rope_theta")) return {};
  for (const RopeDictionary& dict : file.ropes()) {
    const auto theta = file.number(dict, "rope_theta");
    if (!dict.live || !dict.label.empty() || !theta || *theta == 10000) continue;
    return {finding(
        file, dict.key + ".rope_theta",
        text("beside it, for older readers, \"rope_theta\": ", shortest(*theta)),
        text("transformers 4 and every reader of getattr(config, \"rope_theta\", 10000) take 10000, not ",
             shortest(*theta)))};
  }
  return {};
}

Findings theta_of_half_the_layers(const LintContext& file) {
  if (!file.reads_by_kind() || !file.family()->rope.sliding_theta_key.empty() ||
      file.has("rope_parameters.sliding_attention.rope_theta"))
    return {};
  const auto theta = file.number("rope_theta");
  if (!theta || *theta == class_theta(file)) return {};
  return {finding(file, file.at("rope_theta"),
                  text("\"rope_parameters\": {\"full_attention\": {\"rope_theta\": ", shortest(*theta),
                       "}, \"sliding_attention\": {\"rope_theta\": ", shortest(*theta), "}}"),
                  text("transformers 5.23 gives ", shortest(*theta), " to the full layers and the class's ",
                       shortest(class_theta(file)), " to the sliding ones"))};
}

Findings theta_by_kind(const LintContext& file) {
  const Resolved* read = file.read_by(Reader::v5);
  if (!read || file.gguf()) return {};
  std::map<std::string, std::size_t> layers;
  for (const LayerPosition& layer : read->layers)
    for (const Because& because : layer.because)
      if (because.what == "theta") ++layers[because.value];
  if (layers.size() < 2) return {};
  std::string list;
  for (const auto& [theta, count] : layers)
    list += text(list.empty() ? "" : ", ", theta, " in ", counted(count, "layer"));
  return {finding(file, file.at(file.has("rope_parameters") ? "rope_parameters" : "rope_theta"),
                  "a reader that has a base for each layer", text("bases differ by layer: ", list))};
}

constexpr auto kRules = written(kText, {
    {"scaling-without-theta", Severity::error, scaling_without_theta},
    {"scaling-drops-theta", Severity::error, scaling_drops_theta},
    {"theta-twice", Severity::warning, theta_twice},
    {"theta-null", Severity::error, theta_null},
    {"theta-impossible", Severity::error, theta_impossible},
    {"theta-short-for-context", Severity::warning, theta_short},
    {"theta-of-class", Severity::warning, theta_of_class},
    {"theta-for-new-readers-only", Severity::note, theta_for_new_readers},
    {"theta-for-half-the-layers", Severity::error, theta_of_half_the_layers},
    {"theta-by-kind-of-layer", Severity::note, theta_by_kind},
});

}  // namespace

std::span<const LintRule> theta_rules() { return kRules; }

}  // namespace gnomon
