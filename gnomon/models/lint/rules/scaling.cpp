// The kinds of scaling, what they need, and what no model was trained with.
#include <algorithm>
#include <cmath>

#include "gnomon/core/names.h"
#include "gnomon/models/lint/rules/rule.h"

namespace gnomon {
namespace {

constexpr Prose kText =
#include "gnomon/models/lint/rules/scaling.txt.inc"
    ;

// ROPE_INIT_FUNCTIONS of transformers 5.23, and what single classes add.
constexpr std::array<std::string_view, 11> kTypes{"default",  "linear", "dynamic",      "yarn",
                                                  "longrope", "llama3", "proportional", "axial",
                                                  "mrope",    "su",     "deepseek_yarn"};

Findings type_unknown(const LintContext& file) {
  Findings all;
  for (const RopeDictionary& dict : file.ropes()) {
    const std::string type = file.type_of(dict);
    const bool su = type == "su" && !(file.family() && file.family()->rope.dicts == RopeDicts::phi3);
    if (!su && std::find(kTypes.begin(), kTypes.end(), type) != kTypes.end()) continue;
    const std::string_view meant = su ? "longrope" : nearest(type, kTypes);
    const std::string key = dict.key + (file.has(dict, "rope_type") ? ".rope_type" : ".type");
    all.push_back(finding(file, key,
                          meant.empty() ? text("one of ", join(kTypes, ", ")) : text("\"", meant, "\""),
                          text("transformers 5.23 warns when it reads the file and fails when it builds the "
                               "model: there is no method '",
                               type, "'")));
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
      all.push_back(finding(
          file, text(dict.key, ".", key), "\"rope_type\": the method that it belongs to",
          text("the type is ",
               file.has(dict, "rope_type") || file.has(dict, "type") ? "default" : "not said, hence default",
               ": the rotation is not scaled")));
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
        std::find(kTypes.begin(), kTypes.end(), type) == kTypes.end() ||
        std::find(taken.begin(), taken.end(), type) != taken.end())
      continue;
    all.push_back(finding(
        file, dict.key + (file.has(dict, "rope_type") ? ".rope_type" : ".type"),
        text("default or ", join(taken, ", ")),
        text("transformers has ", type, ", and the class of ", file.type(), " raises ValueError for it")));
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
  return file.family() && file.family()->rope.dicts == RopeDicts::as_written;
}

Findings key_missing(const LintContext& file) {
  Findings all;
  for (const RopeDictionary& dict : file.ropes()) {
    const std::string type = file.type_of(dict);
    constexpr std::string_view original = "original_max_position_embeddings";
    if (fills_nothing(file) && needs_original(type) && !file.has(dict, original))
      all.push_back(finding(file, dict.key, text("\"", original, "\": the tokens of training"),
                            text(type, " needs ", original,
                                 " in the dictionary itself: transformers 5.23 fails "
                                 "with a KeyError")));
    if (file.has(dict, "alpha") || file.has(dict, "short_factor"))
      continue;  // HunYuan's, Phi-3's words for other methods
    for (const Needed& needed : kNeeded) {
      if (needed.type != type) continue;
      for (const std::string_view key : needed.keys)
        if (!key.empty() && !file.has(dict, key))
          all.push_back(finding(file, dict.key, text("\"", key, "\": a number"),
                                text(type, " needs ", key, ": transformers 5.23 fails with a KeyError")));
    }
  }
  return all;
}

Findings factor_below_one(const LintContext& file) {
  Findings all;
  for (const RopeDictionary& dict : file.ropes()) {
    const bool hunyuan = file.family() && file.family()->rope.dicts == RopeDicts::hunyuan;
    if (const auto alpha = file.number(dict, "alpha"); hunyuan && alpha && *alpha != 0 && *alpha < 1)
      all.push_back(finding(file, dict.key + ".alpha", "a number of at least 1",
                            "the base is multiplied by a power of it, and becomes smaller"));
    const bool null =
        file.type_of(dict) == "proportional" &&
        file.config().kind(dict.key + ".factor") == Config::Kind::null;  // others: scaling-key-missing
    if (!scales(file, dict) || (!file.has(dict, "factor") && !null)) continue;
    const auto factor = file.number(dict, "factor");
    if (factor && *factor >= 1) continue;
    const bool inverse = factor && *factor > 0;
    all.push_back(finding(
        file, dict.key + ".factor", inverse ? shortest(1 / *factor) : std::string("a number of at least 1"),
        inverse
            ? text("transformers divides frequencies by it: ", shortest(*factor), " makes every pair turn ",
                   shortest(1 / *factor), " times as fast, the context shorter")
            : std::string("transformers 5.23 only warns; the frequencies cannot be computed")));
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
      all.push_back(finding(file, inner, "a whole number of tokens, or no such key",
                            "null is not an absent key: transformers 5.23 divides by it and fails"));
      continue;
    }
    const double tokens = kind == Config::Kind::number ? *file.config().number(key) : 0;
    const double least = type == "longrope" || type == "su" ? 2 : 1;
    if (tokens >= least && tokens == std::floor(tokens)) continue;
    all.push_back(finding(file, key, "a whole number of tokens",
                          tokens == 1 ? "LongRoPE divides by ln of it, 0"
                                      : "pairs are told apart by their turns within this length"));
  }
  return all;
}

Findings original_missing(const LintContext& file) {
  Findings all;
  for (const RopeDictionary& dict : file.ropes()) {
    if (!dict.live || !needs_original(file.type_of(dict)) || original_of(file, dict).first) continue;
    if (fills_nothing(file)) continue;  // scaling-key-missing says it
    if (!dict.label.empty() && file.has("original_max_position_embeddings"))
      continue;                                                   // original-length-unread says it
    if (file.family() && file.family()->rope.original) continue;  // Phi-3's class has one of its own
    const std::int64_t longest = file.longest().value_or(0);
    all.push_back(finding(file, dict.key, "\"original_max_position_embeddings\": the tokens of training",
                          text("transformers takes max_position_embeddings, ", longest,
                               ", for the length before the extension")));
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
    all.push_back(finding(file, file.at("original_max_position_embeddings"),
                          text("\"original_max_position_embeddings\": ", shortest(*outer), " in ", dict.key),
                          text("in a nested dictionary transformers 5.23 asks only the dictionary, and takes "
                               "max_position_embeddings, ",
                               file.longest().value_or(0), ", instead")));
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
    all.push_back(finding(file, dict.key + ".original_max_position_embeddings",
                          "the same number in both places",
                          text(of_class ? "the class has " : "the top level says ", shortest(*outer),
                               ", the dictionary ", shortest(*own), ": transformers 5 takes ", shortest(wins),
                               ", readers of the dictionary ", shortest(*own))));
  }
  return all;
}

Findings original_too_long(const LintContext& file) {
  Findings all;
  const auto longest = file.longest();
  for (const RopeDictionary& dict : file.ropes()) {
    const auto [original, key] = original_of(file, dict);
    if (!original || !longest || *original <= double(*longest)) continue;
    all.push_back(finding(
        file, key, text("at most max_position_embeddings, ", *longest),
        text("the length before the extension, ", shortest(*original), ", is above the one after it")));
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
    all.push_back(finding(file, dict.key, "the scaling that the model was published with: llama3 or yarn",
                          text("a base of ", shortest(theta.value_or(class_theta(file))),
                               " belongs to a model trained for long contexts; ", type,
                               " scaling changes all pairs, the fast ones too")));
  }
  return all;
}

Findings dynamic_cache(const LintContext& file) {
  for (const RopeDictionary& dict : file.ropes())
    if (dict.live && file.type_of(dict) == "dynamic" && !file.has(dict, "alpha"))
      return {finding(file, dict.key, "yarn, if there is a choice",
                      text("beyond ", file.longest().value_or(0),
                           " tokens the base grows with the context, and keys in the cache were turned with "
                           "smaller ones"))};
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
    all.push_back(finding(file, dict.key + ".alpha",
                          base > 0 ? text("without it, \"rope_theta\": ", shortest(std::round(base)))
                                   : std::string("a rope_theta that says the same"),
                          hunyuan
                              ? text("this class multiplies the base once, to ", shortest(std::round(base)),
                                     "; readers that take dynamic at its word keep ", shortest(theta),
                                     " up to the trained length")
                              : std::string("only HunYuan's classes read it")));
  }
  return all;
}

constexpr auto kRules = written(kText, {
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
});

}  // namespace

std::span<const LintRule> scaling_rules() { return kRules; }

}  // namespace gnomon
