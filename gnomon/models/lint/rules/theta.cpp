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
    if (!dict.live || !file.scales(dict) || file.has(dict, "rope_theta") || of_2023(file, dict)) continue;
    all.push_back(
        finding(file, dict.key, said<"dictionary">(kText.at("scaling-without-theta", "expected"), dict.key),
                said<"of_class">(kText.at("scaling-without-theta", "says"), shortest(class_theta(file)))));
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
    all.push_back(finding(
        file, scaling->key,
        said<"theta", "scaling">(kText.at("scaling-drops-theta", "expected"), shortest(*theta), scaling->key),
        said<"dictionary", "scaling", "theta", "of_class">(kText.at("scaling-drops-theta", "says"), dict.key,
                                                           scaling->key, shortest(*theta),
                                                           shortest(class_theta(file)))));
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
    all.push_back(finding(
        file, file.at("rope_theta"),
        said<"theta", "outside">(kText.at("theta-twice", "expected"), shortest(*theta), shortest(*outside)),
        said<"theta", "dictionary", "outside">(kText.at("theta-twice", "says"), shortest(*theta), dict.key,
                                               shortest(*outside))));
  }
  return all;
}

Findings theta_null(const LintContext& file) {
  Findings all;
  if (!file.family() || file.family()->method != Method::rotary || file.family()->rope.null_theta) return all;
  const bool inside = std::any_of(file.ropes().begin(), file.ropes().end(), [&](const RopeDictionary& dict) {
    return dict.live && file.has(dict, "rope_theta");
  });
  if (file.kind("rope_theta") == Config::Kind::null && !inside)
    all.push_back(finding(file, file.at("rope_theta"), kText.at("theta-null", "expected"),
                          kText.at("theta-null", "says")));
  for (const RopeDictionary& dict : file.ropes())
    if (file.config().kind(dict.key + ".rope_theta") == Config::Kind::null)
      all.push_back(finding(file, dict.key + ".rope_theta", kText.at("theta-null", "expected"),
                            kText.at("theta-null", "says.inside")));
  return all;
}

// Parts that are no language part: the talker of Qwen2.5-Omni, vision towers.
void look_for_null(const LintContext& file, const std::string& object, std::size_t deep, Findings& all) {
  constexpr std::size_t kDeepest = 4, kMost = 4096;
  const std::vector<std::string> names = file.config().keys(object);
  if (deep > kDeepest || names.size() > kMost) return;
  for (const std::string& name : names) {
    const std::string key = object.empty() ? name : text(object, ".", name);
    if (key == file.part() || name == "rope_scaling" || name == "rope_parameters") continue;
    if (file.config().kind(key) == Config::Kind::object) look_for_null(file, key, deep + 1, all);
    if (!object.empty() && name == "rope_theta" && file.config().kind(key) == Config::Kind::null &&
        file.config().kind(object + ".rope_parameters") != Config::Kind::object)
      all.push_back(finding(file, key, kText.at("theta-null-in-a-part", "expected"),
                            said<"part">(kText.at("theta-null-in-a-part", "says"), object)));
  }
}
Findings theta_null_in_a_part(const LintContext& file) {
  Findings all;
  if (!file.gguf()) look_for_null(file, "", 0, all);
  return all;
}

Findings theta_impossible(const LintContext& file) {
  Findings all;
  const auto look = [&](const std::string& key) {
    const Config::Kind kind = file.config().kind(key);
    const bool number = kind == Config::Kind::number;
    if (kind == Config::Kind::absent || kind == Config::Kind::null || kind == Config::Kind::list) return;
    if (number && *file.config().number(key) > 1) return;
    all.push_back(finding(
        file, key, kText.at("theta-impossible", "expected"),
        number ? kText.at("theta-impossible", "says.flat") : kText.at("theta-impossible", "says.word")));
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
  if (!read || !read->longest || read->tower_alone)
    return {};  // a tower turns by rows and columns, not tokens
  for (const LayerPosition* one : different_layers(read->layers, read->layers.size())) {
    const LayerPosition& layer = *one;
    if (windowed(layer)) continue;
    const double wave = longest_wavelength(layer, double(read->longest));
    if (wave == 0 || wave >= double(read->longest)) continue;
    std::string key = file.at("rope_theta");
    for (const Because& because : layer.because)
      if (because.what == "theta" && !because.key.empty()) key = because.key;
    return {finding(file, key, kText.at("theta-short-for-context", "expected"),
                    said<"wave", "longest">(kText.at("theta-short-for-context", "says"),
                                            shortest(std::round(wave)), text(read->longest)))};
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
  const std::string_view key = file.family()->rope.theta_key;
  return {finding(file, file.at(key),
                  said<"key", "theta">(kText.at("theta-of-class", "expected"), key, shortest(theta)),
                  said<"theta">(kText.at("theta-of-class", "says"), shortest(theta)))};
}

Findings theta_for_new_readers(const LintContext& file) {
  if (file.has("rope_theta")) return {};
  for (const RopeDictionary& dict : file.ropes()) {
    const auto theta = file.number(dict, "rope_theta");
    if (!dict.live || !dict.label.empty() || !theta || *theta == 10000) continue;
    return {finding(file, dict.key + ".rope_theta",
                    said<"theta">(kText.at("theta-for-new-readers-only", "expected"), shortest(*theta)),
                    said<"theta">(kText.at("theta-for-new-readers-only", "says"), shortest(*theta)))};
  }
  return {};
}

// Own code keeps the key as it is, and a reader of rope_parameters finds none there.
Findings theta_of_own_code(const LintContext& file) {
  const auto theta = file.number("rope_theta");
  if (file.gguf() || file.family() || file.config().kind("auto_map") != Config::Kind::object || !theta ||
      *theta == 10000 || file.has("rope_parameters"))
    return {};
  return {finding(file, file.at("rope_theta"),
                  said<"theta">(kText.at("theta-of-own-code", "expected"), shortest(*theta)),
                  said<"theta">(kText.at("theta-of-own-code", "says"), shortest(*theta)))};
}

Findings theta_of_half_the_layers(const LintContext& file) {
  if (!file.reads_by_kind() || !file.family()->rope.sliding_theta_key.empty() ||
      file.has("rope_parameters.sliding_attention.rope_theta"))
    return {};
  const auto theta = file.number("rope_theta");
  if (!theta || *theta == class_theta(file)) return {};
  return {finding(file, file.at("rope_theta"),
                  said<"theta">(kText.at("theta-for-half-the-layers", "expected"), shortest(*theta)),
                  said<"theta", "of_class">(kText.at("theta-for-half-the-layers", "says"), shortest(*theta),
                                            shortest(class_theta(file))))};
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
                  kText.at("theta-by-kind-of-layer", "expected"),
                  said<"list">(kText.at("theta-by-kind-of-layer", "says"), list))};
}

constexpr LintRow kRows[] = {
    {"scaling-without-theta", Severity::error, scaling_without_theta},
    {"scaling-drops-theta", Severity::error, scaling_drops_theta},
    {"theta-twice", Severity::warning, theta_twice},
    {"theta-null", Severity::error, theta_null},
    {"theta-null-in-a-part", Severity::warning, theta_null_in_a_part},
    {"theta-impossible", Severity::error, theta_impossible},
    {"theta-short-for-context", Severity::warning, theta_short},
    {"theta-of-class", Severity::warning, theta_of_class},
    {"theta-for-new-readers-only", Severity::note, theta_for_new_readers},
    {"theta-of-own-code", Severity::note, theta_of_own_code},
    {"theta-for-half-the-layers", Severity::error, theta_of_half_the_layers},
    {"theta-by-kind-of-layer", Severity::note, theta_by_kind},
};
constexpr auto kRules = written(kText, kRows);

}  // namespace

std::span<const LintRule> theta_rules() { return kRules; }

}  // namespace gnomon
