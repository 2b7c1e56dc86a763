// The kinds of scaling, what they need, and what no model was trained with.
#include <algorithm>
#include <cmath>

#include "gnomon/core/names.h"
#include "gnomon/models/lint/rules/rule.h"
#include "gnomon/models/resolve/rope_keys.h"

namespace gnomon {
namespace {

constexpr Prose kText =
#include "gnomon/models/lint/rules/scaling.txt.inc"
    ;

Findings type_unknown(const LintContext& file) {
  Findings all;
  for (const RopeDictionary& dict : file.ropes()) {
    const std::string type = file.type_of(dict);
    const bool su = type == "su" && !(file.family() && file.family()->rope.dicts == RopeDicts::phi3);
    if (!su && std::find(kRopeTypes.begin(), kRopeTypes.end(), type) != kRopeTypes.end()) continue;
    const std::string_view meant = su ? "longrope" : nearest(type, kRopeTypes);
    const std::string key = dict.key + (file.has(dict, "rope_type") ? ".rope_type" : ".type");
    all.push_back(finding(
        file, key,
        meant.empty()
            ? said<"types">(kText.at("scaling-type-unknown", "expected.types"), join(kRopeTypes, ", "))
            : said<"meant">(kText.at("scaling-type-unknown", "expected.meant"), meant),
        said<"type">(kText.at("scaling-type-unknown", "says"), type)));
  }
  return all;
}

Findings type_missing(const LintContext& file) {
  Findings all;
  for (const RopeDictionary& dict : file.ropes()) {
    if (file.type_of(dict) != "default" || !dict.live) continue;
    const std::string old = file.config().printed(dict.key + ".type");
    if (!file.has(dict, "rope_type") && file.has(dict, "type") && old != "\"default\"")
      continue;  // type-unread-by-kind says it
    for (const std::string_view key : {"factor", "short_factor", "low_freq_factor", "beta_fast", "alpha"}) {
      if (!file.has(dict, key) || file.number(dict, key) == 1) continue;
      all.push_back(finding(file, text(dict.key, ".", key), kText.at("scaling-type-missing", "expected"),
                            file.has(dict, "rope_type") || file.has(dict, "type")
                                ? kText.at("scaling-type-missing", "says.default")
                                : kText.at("scaling-type-missing", "says.unsaid")));
      break;
    }
  }
  return all;
}

Findings type_refused(const LintContext& file) {
  if (!file.family()) return {};
  const std::vector<std::string_view>& taken = file.family()->rope.types.names;
  Findings all;
  for (const RopeDictionary& dict : file.ropes()) {
    const std::string type = file.type_of(dict);
    const bool renamed = file.family()->rope.dicts == RopeDicts::phi3 && (type == "su" || type == "yarn");
    if (!dict.live || taken.empty() || type == "default" || renamed ||
        std::find(kRopeTypes.begin(), kRopeTypes.end(), type) == kRopeTypes.end() ||
        std::find(taken.begin(), taken.end(), type) != taken.end())
      continue;
    all.push_back(
        finding(file, dict.key + (file.has(dict, "rope_type") ? ".rope_type" : ".type"),
                said<"types">(kText.at("scaling-type-refused", "expected"), join(taken, ", ")),
                said<"type", "class">(kText.at("scaling-type-refused", "says"), type, text(file.type()))));
  }
  return all;
}

struct Needed {
  std::string_view type;
  std::array<std::string_view, 3> keys;
};
constexpr std::array<Needed, 5> kNeeded{{{"linear", {"factor"}},
                                         {"dynamic", {"factor"}},
                                         {"yarn", {"factor"}},
                                         {"llama3", {"factor", "low_freq_factor", "high_freq_factor"}},
                                         {"longrope", {"short_factor", "long_factor"}}}};

// The length before the extension, as transformers 5 finds it, and the key that says it.
std::pair<std::optional<double>, std::string> original_of(const LintContext& file,
                                                          const RopeDictionary& dict) {
  constexpr std::string_view name = "original_max_position_embeddings";
  if (const auto outer = file.number(name); outer && dict.label.empty()) return {outer, file.at(name)};
  if (const auto own = file.number(dict, name)) return {own, text(dict.key, ".", name)};
  return {std::nullopt, dict.key};
}
bool needs_original(std::string_view type) {
  return type == "yarn" || type == "llama3" || type == "longrope" || type == "su";
}
// Gemma 4's class puts nothing into its dictionaries.
bool fills_nothing(const LintContext& file) {
  return file.family() &&
         (file.family()->rope.dicts == RopeDicts::as_written || file.family()->rope.scaling_unread);
}

Findings key_missing(const LintContext& file) {
  Findings all;
  for (const RopeDictionary& dict : file.ropes()) {
    const std::string type = file.type_of(dict);
    constexpr std::string_view original = "original_max_position_embeddings";
    if (fills_nothing(file) && needs_original(type) && !file.has(dict, original))
      all.push_back(finding(
          file, dict.key, said<"original">(kText.at("scaling-key-missing", "expected.inside"), original),
          said<"type", "original">(kText.at("scaling-key-missing", "says.inside"), type, original)));
    if (file.has(dict, "alpha") || file.has(dict, "short_factor"))
      continue;  // HunYuan's, Phi-3's words for other methods
    for (const Needed& needed : kNeeded) {
      if (needed.type != type) continue;
      for (const std::string_view key : needed.keys)
        if (!key.empty() && !file.has(dict, key))
          all.push_back(finding(file, dict.key, said<"key">(kText.at("scaling-key-missing", "expected"), key),
                                said<"type", "key">(kText.at("scaling-key-missing", "says"), type, key)));
    }
  }
  return all;
}

Findings factor_below_one(const LintContext& file) {
  Findings all;
  for (const RopeDictionary& dict : file.ropes()) {
    const bool hunyuan = file.family() && file.family()->rope.dicts == RopeDicts::hunyuan;
    if (const auto alpha = file.number(dict, "alpha"); hunyuan && alpha && *alpha != 0 && *alpha < 1)
      all.push_back(finding(file, dict.key + ".alpha", kText.at("factor-below-one", "expected.alpha"),
                            kText.at("factor-below-one", "says.alpha")));
    const bool null =
        file.type_of(dict) == "proportional" &&
        file.config().kind(dict.key + ".factor") == Config::Kind::null;  // others: scaling-key-missing
    if (!file.scales(dict) || (!file.has(dict, "factor") && !null)) continue;
    const auto factor = file.number(dict, "factor");
    if (factor && *factor >= 1) continue;
    const bool inverse = factor && *factor > 0;
    all.push_back(finding(file, dict.key + ".factor",
                          inverse ? shortest(1 / *factor) : kText.at("factor-below-one", "expected.number"),
                          inverse ? said<"factor", "times">(kText.at("factor-below-one", "says.inverse"),
                                                            shortest(*factor), shortest(1 / *factor))
                                  : kText.at("factor-below-one", "says.number")));
  }
  return all;
}

Findings original_impossible(const LintContext& file) {
  Findings all;
  for (const RopeDictionary& dict : file.ropes()) {
    const std::string type = file.type_of(dict);
    const std::string key = original_of(file, dict).second;
    const Config::Kind kind = file.config().kind(key);
    if (!dict.live || !needs_original(type) || key == dict.key) {
      const std::string inner = dict.key + ".original_max_position_embeddings";
      if (!dict.live || !needs_original(type) || file.config().kind(inner) != Config::Kind::null) continue;
      all.push_back(finding(file, inner, kText.at("original-length-impossible", "expected.null"),
                            kText.at("original-length-impossible", "says.null")));
      continue;
    }
    const double tokens = kind == Config::Kind::number ? *file.config().number(key) : 0;
    const double least = type == "longrope" || type == "su" ? 2 : 1;
    if (tokens >= least && tokens == std::floor(tokens)) continue;
    all.push_back(finding(file, key, kText.at("original-length-impossible", "expected"),
                          tokens == 1 ? kText.at("original-length-impossible", "says.one")
                                      : kText.at("original-length-impossible", "says.none")));
  }
  return all;
}

Findings original_missing(const LintContext& file) {
  Findings all;
  for (const RopeDictionary& dict : file.ropes()) {
    const std::string type = file.type_of(dict);
    if (!dict.live || !needs_original(type) || type == "llama3" || original_of(file, dict).first)
      continue;                         // llama3-without-its-length says it
    if (fills_nothing(file)) continue;  // scaling-key-missing says it
    if (!dict.label.empty() && file.has("original_max_position_embeddings"))
      continue;                                                   // original-length-unread says it
    if (file.family() && file.family()->rope.original) continue;  // Phi-3's class has one of its own
    const std::int64_t longest = file.longest().value_or(0);
    all.push_back(finding(file, dict.key, kText.at("original-length-missing", "expected"),
                          said<"longest">(kText.at("original-length-missing", "says"), text(longest))));
  }
  return all;
}

Findings original_unread(const LintContext& file) {
  Findings all;
  const auto outer = file.number("original_max_position_embeddings");
  if (!outer) return all;
  for (const RopeDictionary& dict : file.ropes()) {
    if (dict.label.empty() || !needs_original(file.type_of(dict)) ||
        file.has(dict, "original_max_position_embeddings"))
      continue;
    all.push_back(finding(
        file, file.at("original_max_position_embeddings"),
        said<"outer", "dictionary">(kText.at("original-length-unread", "expected"), shortest(*outer),
                                    dict.key),
        said<"longest">(kText.at("original-length-unread", "says"), text(file.longest().value_or(0)))));
  }
  return all;
}

Findings original_twice(const LintContext& file) {
  Findings all;
  auto outer = file.number("original_max_position_embeddings");
  const bool of_class = !outer && file.family() && file.family()->rope.original;
  if (of_class) outer = double(file.family()->rope.original);
  for (const RopeDictionary& dict : file.ropes()) {
    const auto own = file.number(dict, "original_max_position_embeddings");
    if (!outer || !own || *outer == *own || !dict.live || !needs_original(file.type_of(dict))) continue;
    const double wins = dict.label.empty() ? *outer : *own;
    all.push_back(finding(
        file, dict.key + ".original_max_position_embeddings", kText.at("original-length-twice", "expected"),
        of_class ? said<"outer", "own", "wins">(kText.at("original-length-twice", "says.class"),
                                                shortest(*outer), shortest(*own), shortest(wins))
                 : said<"outer", "own", "wins">(kText.at("original-length-twice", "says.file"),
                                                shortest(*outer), shortest(*own), shortest(wins))));
  }
  return all;
}

Findings original_too_long(const LintContext& file) {
  Findings all;
  const auto longest = file.longest();
  for (const RopeDictionary& dict : file.ropes()) {
    const auto [original, key] = original_of(file, dict);
    if (!original || !longest || *original <= double(*longest)) continue;
    all.push_back(
        finding(file, key, said<"longest">(kText.at("original-length-too-long", "expected"), text(*longest)),
                said<"original">(kText.at("original-length-too-long", "says"), shortest(*original))));
  }
  return all;
}

Findings linear_over_trained(const LintContext& file) {
  Findings all;
  if (file.reads_by_kind()) return all;  // Gemma 3 was trained so
  for (const RopeDictionary& dict : file.ropes()) {
    const std::string type = file.type_of(dict);
    const auto theta =
        file.has(dict, "rope_theta") ? file.number(dict, "rope_theta") : file.number("rope_theta");
    if (!dict.live || type != "linear" || theta.value_or(class_theta(file)) < 500000 ||
        file.has(dict, "alpha"))
      continue;
    all.push_back(finding(file, dict.key, kText.at("linear-over-trained-scaling", "expected"),
                          said<"theta", "type">(kText.at("linear-over-trained-scaling", "says"),
                                                shortest(theta.value_or(class_theta(file))), type)));
  }
  return all;
}

Findings dynamic_cache(const LintContext& file) {
  for (const RopeDictionary& dict : file.ropes())
    if (dict.live && file.type_of(dict) == "dynamic" && !file.has(dict, "alpha"))
      return {finding(
          file, dict.key, kText.at("dynamic-with-a-cache", "expected"),
          said<"longest">(kText.at("dynamic-with-a-cache", "says"), text(file.longest().value_or(0))))};
  return {};
}

Findings alpha(const LintContext& file) {
  Findings all;
  for (const RopeDictionary& dict : file.ropes()) {
    if (!file.has(dict, "alpha")) continue;
    const bool hunyuan = file.type().starts_with("hunyuan") ||
                         (file.family() && file.family()->rope.dicts == RopeDicts::hunyuan);
    const auto alpha = file.number(dict, "alpha");
    const auto dim = file.head_dim();
    const double theta = file.number("rope_theta").value_or(file.number(dict, "rope_theta").value_or(10000));
    const double base =
        alpha && dim && *dim > 2 ? theta * std::pow(*alpha, double(*dim) / double(*dim - 2)) : 0;
    all.push_back(finding(
        file, dict.key + ".alpha",
        base > 0
            ? said<"base">(kText.at("alpha-means-a-larger-base", "expected.base"), shortest(std::round(base)))
            : kText.at("alpha-means-a-larger-base", "expected.unknown"),
        hunyuan ? said<"base", "theta">(kText.at("alpha-means-a-larger-base", "says.hunyuan"),
                                        shortest(std::round(base)), shortest(theta))
                : kText.at("alpha-means-a-larger-base", "says.unread")));
  }
  return all;
}

constexpr LintRow kRows[] = {
    {"scaling-type-unknown", Severity::error, type_unknown},
    {"scaling-type-refused", Severity::error, type_refused},
    {"scaling-type-missing", Severity::error, type_missing},
    {"scaling-key-missing", Severity::error, key_missing},
    {"factor-below-one", Severity::error, factor_below_one},
    {"original-length-impossible", Severity::error, original_impossible},
    {"original-length-missing", Severity::warning, original_missing},
    {"original-length-unread", Severity::error, original_unread},
    {"original-length-twice", Severity::warning, original_twice},
    {"original-length-too-long", Severity::warning, original_too_long},
    {"linear-over-trained-scaling", Severity::warning, linear_over_trained},
    {"dynamic-with-a-cache", Severity::note, dynamic_cache},
    {"alpha-means-a-larger-base", Severity::note, alpha},
};
constexpr auto kRules = written(kText, kRows);

}  // namespace

std::span<const LintRule> scaling_rules() { return kRules; }

}  // namespace gnomon
